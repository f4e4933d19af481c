//! Errors of a queue; each message says who must act.

use core::fmt;

/// The error of a request. `R` is the refusal of the queue's job type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error<R> {
    /// This caller holds its maximum number of slots.
    CallerFull {
        /// The maximum number of slots of one caller.
        slots_per_caller_max: usize,
    },
    /// The configuration is invalid.
    Config(&'static str),
    /// The check of the result failed. If the queue has a second unit, the check failed on that
    /// unit too. No result was released.
    Fault,
    /// This process is a forked child of the process that started the queue.
    Forked,
    /// All slots are in use.
    Full {
        /// The number of slots.
        capacity: usize,
    },
    /// Every unit is quarantined.
    NoUnit,
    /// The job was refused.
    Rejected(R),
    /// The queue is shutting down.
    ShutDown,
    /// The unit that ran the job panicked.
    UnitPanicked,
}

impl<R: core::error::Error> core::error::Error for Error<R> {}

impl<R: fmt::Display> fmt::Display for Error<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CallerFull { slots_per_caller_max } => write!(
                f,
                "this caller holds {slots_per_caller_max} slots of the queue, the maximum: \
                 take their results, or raise slots_per_caller_max"
            ),
            Self::Config(what) => write!(f, "the queue's configuration: {what}"),
            Self::Fault => f.write_str(
                "the check after the operation failed and nothing was released: \
                 test the key, and this machine's memory and processor",
            ),
            Self::Forked => f.write_str(
                "this process was forked from the one that started the queue: \
                 start a queue in this process",
            ),
            Self::Full { capacity } => write!(
                f,
                "all {capacity} slots of the queue are in use: retry later, or raise capacity"
            ),
            Self::NoUnit => f.write_str(
                "every unit of the queue is quarantined: \
                 test this machine's memory and processor, then call readmit()",
            ),
            Self::Rejected(why) => why.fmt(f),
            Self::ShutDown => f.write_str("the queue is shutting down: use another queue"),
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
        let all: [Error<fmt::Error>; 9] = [
            Error::CallerFull { slots_per_caller_max: 3 },
            Error::Config("capacity is 0: give at least 1"),
            Error::Fault,
            Error::Forked,
            Error::Full { capacity: 3 },
            Error::NoUnit,
            Error::Rejected(fmt::Error),
            Error::ShutDown,
            Error::UnitPanicked,
        ];
        for error in all {
            let text = error.to_string();
            assert!(!text.contains('\n'), "{text}");
            assert!(matches!(error, Error::Rejected(_)) || text.contains(": "), "{text}");
        }
    }
}
