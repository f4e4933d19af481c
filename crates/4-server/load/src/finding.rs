//! What can speak against a run.

use core::fmt;

use crate::phase::Failure;

/// Something that speaks against a run; its text says what to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
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
    /// No transaction was completed in the sustained part.
    Nothing,
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
    /// The server's log has another number of requests.
    RefereeRequests {
        /// Transactions that the client counted.
        client: u64,
        /// Requests in the log.
        server: u64,
    },
    /// The server's log shows resumed sessions in a run of full handshakes.
    Resumed {
        /// How many.
        count: u64,
        /// Of how many.
        handshakes: u64,
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
            Self::Nothing => f.write_str(
                "no transaction was completed in the measured part: measure longer, or look at \
                 the server",
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
            Self::Resumed { count, handshakes } => write!(
                f,
                "the server's log shows {count} of {handshakes} sessions as resumed, and the plan \
                 resumes none: something else uses this server"
            ),
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
