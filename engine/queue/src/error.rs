//! Why a request has no result; each message says who must act.

use core::fmt;

/// Why a request has no result. `R` is what the jobs of this queue are refused with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error<R> {
    /// This caller holds as many slots as one may.
    CallerFull {
        /// The bound.
        slots_per_caller_max: usize,
    },
    /// The configuration does not make a queue.
    Config(&'static str),
    /// The check of the result failed, and no other unit did better. Nothing was released.
    Fault,
    /// This process is a child of the one that made the queue.
    Forked,
    /// Every slot is taken.
    Full {
        /// How many there are.
        capacity: usize,
    },
    /// Every unit is quarantined.
    NoUnit,
    /// The job cannot be done.
    Rejected(R),
    /// The queue is shutting down.
    ShutDown,
    /// The system gave no thread for a worker.
    Threads,
    /// The unit that had the job panicked.
    UnitPanicked,
}

impl<R: core::error::Error> core::error::Error for Error<R> {}

impl<R: fmt::Display> fmt::Display for Error<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CallerFull { slots_per_caller_max } => write!(
                f,
                "this caller has {slots_per_caller_max} requests in the queue, as many as one \
                 may: take their results, or raise slots_per_caller_max"
            ),
            Self::Config(what) => write!(f, "the queue's configuration: {what}"),
            Self::Fault => f.write_str(
                "the check after the operation failed and nothing was released: \
                 test the key, and this machine's memory and processor",
            ),
            Self::Forked => f.write_str(
                "this process was forked from the one that made the queue: \
                 make a queue in this process",
            ),
            Self::Full { capacity } => write!(
                f,
                "all {capacity} slots of the queue are taken: retry later, or raise capacity"
            ),
            Self::NoUnit => f.write_str(
                "every unit of the queue is quarantined: \
                 test this machine's memory and processor, then call readmit()",
            ),
            Self::Rejected(why) => why.fmt(f),
            Self::ShutDown => {
                f.write_str("the queue is shutting down: send the request to another")
            }
            Self::Threads => f.write_str(
                "the system gave no thread for a worker of the queue: \
                 raise its limit (ulimit -u), or set workers to 0",
            ),
            Self::UnitPanicked => f.write_str(
                "the unit that had the request panicked and is quarantined: \
                 retry, and report the panic's message",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line_that_says_what_to_do() {
        let all: [Error<fmt::Error>; 10] = [
            Error::CallerFull { slots_per_caller_max: 3 },
            Error::Config("capacity is 0: give at least 1"),
            Error::Fault,
            Error::Forked,
            Error::Full { capacity: 3 },
            Error::NoUnit,
            Error::Rejected(fmt::Error),
            Error::ShutDown,
            Error::Threads,
            Error::UnitPanicked,
        ];
        for error in all {
            let text = error.to_string();
            assert!(!text.contains('\n'), "{text}");
            assert!(matches!(error, Error::Rejected(_)) || text.contains(": "), "{text}");
        }
    }
}
