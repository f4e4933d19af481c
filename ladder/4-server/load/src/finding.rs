//! Findings: objections to a run.

use core::fmt;
use core::time::Duration;

use crate::phase::Failure;

/// An objection to a run; its text says what to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// The run was stopped before its end.
    BrokenOff {
        /// Time since its first connection.
        after: Duration,
    },
    /// A client thread used nearly all of its core.
    ClientBusy {
        /// CPU time over time.
        share: f64,
    },
    /// A client thread often waited for a core.
    ClientWaited {
        /// Share of the time.
        share: f64,
    },
    /// The clocks disagree about the duration of the run.
    ClockDrift {
        /// Disagreement over that duration.
        share: f64,
    },
    /// Handshakes that the client finished and the server never confirmed.
    ConfirmedLess {
        /// Handshakes that the client finished.
        client_done: u64,
        /// Handshakes that the server confirmed.
        confirmed: u64,
    },
    /// Arrivals of an open loop never began.
    Dropped {
        /// How many.
        dropped: u64,
        /// Of how many.
        arrivals: u64,
    },
    /// The arrivals drawn from the plan's seed differ from its rate.
    DrawnOffRate {
        /// Arrivals in the measured part.
        arrivals: u64,
        /// Mean over all seeds.
        arrivals_mean: f64,
    },
    /// The rate drifted.
    Drift {
        /// From the first bin to the last, relative to the mean.
        share: f64,
    },
    /// Too many failures.
    Errors {
        /// How many.
        failed: u64,
        /// Of how many attempts.
        attempts: u64,
        /// The most frequent kind.
        worst: Failure,
    },
    /// The server requested a second `ClientHello`, which the plan does not intend to measure.
    HelloRetries {
        /// Number of requests.
        count: u64,
    },
    /// The generator itself was late.
    LateStarts {
        /// Starts more than a millisecond late although a connection was free.
        late: u64,
        /// Of how many arrivals.
        arrivals: u64,
    },
    /// A listen queue on this machine was full.
    ListenDrops {
        /// How many.
        count: u64,
        /// Connections that the client began.
        attempts: u64,
    },
    /// No transaction was completed in the sustained part.
    Nothing,
    /// Arrivals of an open loop began so late that the load of the measured part differs from
    /// the plan.
    OfferedOffPlan {
        /// Arrivals that began on the wrong side of one of its boundaries.
        outside: u64,
        /// Of these, arrivals that waited for a connection.
        queued: u64,
        /// Arrivals of the measured part.
        arrivals: u64,
    },
    /// The run may need more local ports than there are.
    PortsForecast {
        /// How many.
        needed: u64,
        /// How many there are.
        ports: u64,
    },
    /// Nearly all local ports are in `TIME_WAIT`.
    PortsWaiting {
        /// Sockets in `TIME_WAIT`.
        waiting: u64,
        /// Number of ports.
        ports: u64,
    },
    /// The bytes in the server's log differ, for the same number of responses.
    RefereeBytes {
        /// Bytes of the bodies of transactions that the client counted.
        client: u64,
        /// Bytes of the bodies in the log.
        server: u64,
    },
    /// The number of handshakes in the server's log differs.
    RefereeHandshakes {
        /// Confirmed handshakes that the client counted.
        client: u64,
        /// Handshakes in the log.
        server: u64,
    },
    /// The server's log could not be read at the end.
    RefereeLost(String),
    /// The number of resumed sessions in the server's log differs.
    RefereeResumed {
        /// Resumed sessions that the client counted.
        client: u64,
        /// Resumed sessions in the log.
        server: u64,
    },
    /// The number of requests in the server's log differs.
    RefereeRequests {
        /// Transactions that the client counted.
        client: u64,
        /// Requests in the log.
        server: u64,
    },
    /// TCP segments were retransmitted.
    Retransmits {
        /// Retransmitted segments.
        count: u64,
        /// Of how many.
        segments: u64,
    },
    /// The server's log shows resumed sessions in a run of full handshakes.
    Resumed {
        /// How many.
        count: u64,
        /// Of how many.
        handshakes: u64,
    },
    /// The share of resumed sessions differs from the plan.
    ResumedOffPlan {
        /// The planned share.
        planned: f64,
        /// The share of the sustained part.
        achieved: f64,
        /// Offered sessions.
        offered: u64,
        /// Offered sessions that the server refused.
        refused: u64,
        /// Connections without a session to offer.
        starved: u64,
    },
    /// Connections were refused: the server was away for a while.
    ServerAway {
        /// How many.
        refused: u64,
    },
    /// The server's CPU time was read too late for the sustained part.
    ServerCpuLate,
    /// The server's CPU time could not be read to the end.
    ServerCpuLost(String),
    /// The server stopped answering, and the run was ended.
    ServerGone {
        /// The most frequent failure.
        failure: Failure,
        /// Transactions before that.
        transactions: u64,
    },
    /// The measured part has too few bins to show a drift.
    ShapeUnknown,
    /// The rate per bin was uneven.
    Spread {
        /// Standard deviation over mean.
        share: f64,
    },
    /// For a while no transaction was completed.
    Stalled,
    /// The counts of begun and ended connections differ.
    Unaccounted {
        /// How many were begun.
        attempts: u64,
        /// How many ended.
        ended: u64,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BrokenOff { after } => write!(
                f,
                "it was stopped after {:.1} s: let it run to its end",
                after.as_secs_f64()
            ),
            Self::ClientBusy { share } => write!(
                f,
                "the client used {:.0} % of a core and limits the rate: give it more threads and \
                 its own cores",
                100.0 * share
            ),
            Self::ClientWaited { share } => write!(
                f,
                "a client thread waited for a core {:.0} % of the time: give client and server \
                 its own cores",
                100.0 * share
            ),
            Self::ClockDrift { share } => write!(
                f,
                "the clocks disagree by {:.2} % about the duration of the run: the time was \
                 set, or the machine was suspended; repeat",
                100.0 * share
            ),
            Self::ConfirmedLess { client_done, confirmed } => write!(
                f,
                "the client completed {client_done} handshakes and the server confirmed \
                 {confirmed}: see the server's log for the others"
            ),
            Self::Dropped { dropped, arrivals } => write!(
                f,
                "{dropped} of {arrivals} arrivals never began, because no connection was free for \
                 long: the server does not keep up with this rate; give a lower rate, or more \
                 connections"
            ),
            Self::DrawnOffRate { arrivals, arrivals_mean } => write!(
                f,
                "the seed gives {arrivals} arrivals in the measured part, the mean is \
                 {arrivals_mean:.0}: measure longer, or with several seeds"
            ),
            Self::Drift { share } => write!(
                f,
                "the rate moved by {:+.1} % during the measured part: warm up longer, stop what \
                 else runs here, and repeat",
                100.0 * share
            ),
            Self::Errors { failed, attempts, worst } => write!(
                f,
                "{failed} of {attempts} transactions failed, most often: {worst}; see the server's \
                 log"
            ),
            Self::HelloRetries { count } => write!(
                f,
                "the server requested a second ClientHello {count} times, which costs a round \
                 trip: enable the group of the plan in the server"
            ),
            Self::LateStarts { late, arrivals } => write!(
                f,
                "the client began {late} of {arrivals} arrivals late, which is part of \
                 the times: give it more threads and its own cores"
            ),
            Self::ListenDrops { count, attempts } => write!(
                f,
                "a listen queue on this machine was full {count} times, in {attempts} \
                 connections: affected clients waited a second; increase the backlog of listen and \
                 net.core.somaxconn"
            ),
            Self::Nothing => f.write_str(
                "no transaction was completed in the measured part: measure longer, or look at \
                 the server",
            ),
            Self::OfferedOffPlan { outside, queued, arrivals } => write!(
                f,
                "{outside} arrivals began late, on the wrong side of a boundary of the measured \
                 part, which has {arrivals}: {}",
                if 2 * queued > *outside {
                    "no connection was free for them; warm up longer, or give a lower rate or more \
                     connections"
                } else {
                    "the client did not keep up; give it more threads and its own cores, or a \
                     lower rate"
                }
            ),
            Self::PortsForecast { needed, ports } => write!(
                f,
                "the run needs about {needed} ports and has {ports}: close with rst-after-confirm, \
                 use more source addresses, or widen net.ipv4.ip_local_port_range"
            ),
            Self::PortsWaiting { waiting, ports } => write!(
                f,
                "sockets in TIME_WAIT take {waiting} of {ports} ports: close with \
                 rst-after-confirm, or wait a minute before the next run"
            ),
            Self::RefereeBytes { client, server } => write!(
                f,
                "the client received {client} bytes of complete bodies and the server's log has \
                 {server}: report the case"
            ),
            Self::RefereeHandshakes { client, server } => write!(
                f,
                "the client counted {client} confirmed handshakes and the server's log has \
                 {server}: repeat with nothing else using this server"
            ),
            Self::RefereeLost(why) => {
                write!(f, "the server's log could not be read at the end: {why}")
            }
            Self::RefereeRequests { client, server } => write!(
                f,
                "the client counted {client} complete responses and the server's log has {server} \
                 requests: repeat with nothing else using this server"
            ),
            Self::Retransmits { count, segments } => write!(
                f,
                "{count} of {segments} TCP segments of this machine were retransmitted: the \
                 network loses them, or a listen queue is full; the delay is part of the times"
            ),
            Self::Resumed { count, handshakes } => write!(
                f,
                "the server's log shows {count} of {handshakes} sessions as resumed, and the plan \
                 resumes none: something else uses this server"
            ),
            Self::RefereeResumed { client, server } => write!(
                f,
                "the client counted {client} resumed sessions and the server's log has {server}: \
                 repeat with nothing else using this server"
            ),
            Self::ResumedOffPlan { planned, achieved, offered, refused, starved } => {
                let [planned, achieved] = [planned, achieved].map(|share| 100.0 * share);
                write!(
                    f,
                    "{achieved:.1} % of the sessions were resumed, and the plan has \
                     {planned:.1} %: of {offered} offered sessions the server refused {refused}, \
                     and {starved} connections had none to offer; enable this \
                     mechanism in the server, or warm up longer"
                )
            }
            Self::ServerAway { refused } => write!(
                f,
                "{refused} connections were refused during the run: the server ended, or was \
                 restarted; see its log, and repeat"
            ),
            Self::ServerCpuLate => f.write_str(
                "the server's CPU time was read late, and there is no figure of it: stop what else \
                 runs here, or measure longer",
            ),
            Self::ServerCpuLost(why) => write!(
                f,
                "the server's CPU time could not be read to the end ({why}): see that the server \
                 lives"
            ),
            Self::ServerGone { failure, transactions } => write!(
                f,
                "the server stopped answering after {transactions} transactions: {failure}; start \
                 it again, and look at its log"
            ),
            Self::ShapeUnknown => f.write_str(
                "the measured part is too short to tell whether the rate stood still: measure \
                 for 600 ms at least",
            ),
            Self::Spread { share } => write!(
                f,
                "the rate per bin scatters by {:.1} %: stop what else runs here, or measure longer",
                100.0 * share
            ),
            Self::Stalled => f.write_str(
                "for a while no transaction was completed: check the server, and repeat",
            ),
            Self::Unaccounted { attempts, ended } => write!(
                f,
                "{attempts} connections were begun and {ended} have ended: report the case"
            ),
        }
    }
}
