//! What can speak against a run.

use core::fmt;
use core::time::Duration;

use crate::phase::Failure;

/// Something that speaks against a run; its text says what to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// The run was stopped before its end.
    BrokenOff {
        /// How long after its first connection.
        after: Duration,
    },
    /// A client thread used nearly all of its core.
    ClientBusy {
        /// CPU time over time.
        share: f64,
    },
    /// A client thread often had to wait for a core.
    ClientWaited {
        /// Its share of the time.
        share: f64,
    },
    /// The clocks disagree about the time that the run took.
    ClockDrift {
        /// Over that time.
        share: f64,
    },
    /// Handshakes that the client held for complete, and the server never confirmed.
    ConfirmedLess {
        /// Client-done handshakes.
        client_done: u64,
        /// Server-confirmed handshakes.
        confirmed: u64,
    },
    /// Arrivals of an open loop never began.
    Dropped {
        /// How many.
        dropped: u64,
        /// Of how many.
        arrivals: u64,
    },
    /// The arrivals that the plan's seed gives are not near to its rate.
    DrawnOffRate {
        /// How many there are in the measured part.
        arrivals: u64,
        /// How many there are in the mean of all seeds.
        arrivals_mean: f64,
    },
    /// The rate rose or fell all the time.
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
    /// The server asked for a second `ClientHello`, which the plan does not mean to measure.
    HelloRetries {
        /// How often.
        count: u64,
    },
    /// The generator was late itself.
    LateStarts {
        /// Starts more than a millisecond late, though a connection was free.
        late: u64,
        /// Of how many arrivals.
        arrivals: u64,
    },
    /// A server on this machine had no room for connections.
    ListenDrops {
        /// How many.
        count: u64,
        /// Of how many that the client began.
        attempts: u64,
    },
    /// No transaction was completed in the sustained part.
    Nothing,
    /// Arrivals of an open loop began so late that the measured part offered more or less than the
    /// plan.
    OfferedOffPlan {
        /// How many began on the wrong side of one of its ends.
        outside: u64,
        /// Those of them that waited for a connection.
        queued: u64,
        /// How many belong there.
        arrivals: u64,
    },
    /// The run may need more ports than there are.
    PortsForecast {
        /// How many.
        needed: u64,
        /// How many there are.
        ports: u64,
    },
    /// Nearly all ports wait for nothing.
    PortsWaiting {
        /// How many sockets are in `TIME_WAIT`.
        waiting: u64,
        /// How many ports there are.
        ports: u64,
    },
    /// The server's log has another number of bytes in as many whole responses.
    RefereeBytes {
        /// Bytes of the bodies of transactions that the client counted.
        client: u64,
        /// Bytes of the bodies in the log.
        server: u64,
    },
    /// The server's log has another number of handshakes.
    RefereeHandshakes {
        /// Confirmed handshakes that the client counted.
        client: u64,
        /// Handshakes in the log.
        server: u64,
    },
    /// The server's log could not be read at the end.
    RefereeLost(String),
    /// The server's log has another number of resumed sessions.
    RefereeResumed {
        /// Resumed sessions that the client counted.
        client: u64,
        /// Resumed sessions in the log.
        server: u64,
    },
    /// The server's log has another number of requests.
    RefereeRequests {
        /// Transactions that the client counted.
        client: u64,
        /// Requests in the log.
        server: u64,
    },
    /// Segments of TCP were lost, or came late.
    Retransmits {
        /// How many were sent again.
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
    /// The share of resumed sessions is another than planned.
    ResumedOffPlan {
        /// The share that was planned.
        planned: f64,
        /// The share of the sustained part.
        achieved: f64,
        /// Sessions that were offered in it.
        offered: u64,
        /// Those of them that the server refused.
        refused: u64,
        /// Connections that were to offer one and had none.
        starved: u64,
    },
    /// Connections were refused: for a while no server was there.
    ServerAway {
        /// How many.
        refused: u64,
    },
    /// The server's CPU time was read too late to be of the sustained part.
    ServerCpuLate,
    /// The server's CPU time could not be read to the end.
    ServerCpuLost(String),
    /// Nothing succeeded any more, and the run was broken off.
    ServerGone {
        /// The most frequent failure.
        failure: Failure,
        /// Transactions until then.
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
    /// Connections were begun of which nobody knows the end.
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
                "the client used {:.0} % of a core: it limits the rate; give it more threads and \
                 cores of their own",
                100.0 * share
            ),
            Self::ClientWaited { share } => write!(
                f,
                "a client thread waited for a core {:.0} % of the time: give client and server \
                 cores of their own",
                100.0 * share
            ),
            Self::ClockDrift { share } => write!(
                f,
                "the clocks disagree by {:.2} % about the time that the run took: the time was \
                 set, or the machine was halted; repeat",
                100.0 * share
            ),
            Self::ConfirmedLess { client_done, confirmed } => write!(
                f,
                "the client completed {client_done} handshakes and the server confirmed \
                 {confirmed}: the server's log should say what became of the others"
            ),
            Self::Dropped { dropped, arrivals } => write!(
                f,
                "{dropped} of {arrivals} arrivals never began, because no connection was free for \
                 long: the server does not keep up with this rate; give a lower one, or more \
                 connections"
            ),
            Self::DrawnOffRate { arrivals, arrivals_mean } => write!(
                f,
                "by its seed {arrivals} clients came in the measured part, and {arrivals_mean:.0} \
                 do in the mean: measure longer, or with several seeds"
            ),
            Self::Drift { share } => write!(
                f,
                "the rate moved by {:+.1} % during the measured part: warm up longer, stop what \
                 else runs here, and repeat",
                100.0 * share
            ),
            Self::Errors { failed, attempts, worst } => write!(
                f,
                "{failed} of {attempts} transactions failed, most often: {worst}; the server's \
                 log should say why"
            ),
            Self::HelloRetries { count } => write!(
                f,
                "the server asked {count} times for a second ClientHello, which costs a round \
                 trip: let it accept the group of the plan"
            ),
            Self::LateStarts { late, arrivals } => write!(
                f,
                "{late} of {arrivals} arrivals began late through the client's own fault, which is \
                 in the times: give it more threads and cores of their own"
            ),
            Self::ListenDrops { count, attempts } => write!(
                f,
                "a queue of a server on this machine was full {count} times, in {attempts} \
                 connections: who met it waited a second; give its listen a larger backlog, and \
                 net.core.somaxconn too"
            ),
            Self::Nothing => f.write_str(
                "no transaction was completed in the measured part: measure longer, or look at \
                 the server",
            ),
            Self::OfferedOffPlan { outside, queued, arrivals } => write!(
                f,
                "{outside} arrivals began late, on the wrong side of an end of the measured part, \
                 which has {arrivals}: {}",
                if 2 * queued > *outside {
                    "no connection was free for them; warm up longer, or give a lower rate or more \
                     connections"
                } else {
                    "the client did not keep up; give it more threads and cores of their own, or a \
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
                "the client received {client} bytes of whole bodies and the server's log has \
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
                "the client counted {client} whole responses and the server's log has {server} \
                 requests: repeat with nothing else using this server"
            ),
            Self::Retransmits { count, segments } => write!(
                f,
                "{count} of {segments} TCP segments of this machine were sent again: the network \
                 loses them, or a server's queue is full; that is in the times"
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
                    "{achieved:.1} % of the sessions were resumed as planned, and the plan says \
                     {planned:.1} %: of {offered} that were offered the server refused {refused}, \
                     and {starved} connections had none to offer; let the server resume by this \
                     mechanism, or warm up longer"
                )
            }
            Self::ServerAway { refused } => write!(
                f,
                "nothing listened {refused} times during the run: the server ended, or was \
                 started again; look at its log, and repeat"
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
                "for a while no transaction was completed: look at the server, and repeat",
            ),
            Self::Unaccounted { attempts, ended } => write!(
                f,
                "{attempts} connections were begun and {ended} have ended: report the case"
            ),
        }
    }
}
