//! Events of a queue. The queue prints nothing; [`Config::on_event`](crate::Config) receives them.

use core::fmt;

/// Something that an operator should know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The last unit was quarantined; requests are refused from now on.
    NoUnitLeft,
    /// A unit was quarantined.
    Quarantined {
        /// The unit's name.
        unit: String,
        /// The cause.
        cause: Cause,
    },
    /// A unit passed its self test and is in use again.
    Readmitted {
        /// The unit's name.
        unit: String,
    },
}

/// Receives events on the thread where they occur, outside the queue's lock.
pub type Listener = Box<dyn Fn(&Event) + Send + Sync>;

/// The cause of a quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The check of a result failed.
    Check,
    /// The unit moved or dropped a request of its batch. It is not readmitted.
    Exchange,
    /// The unit panicked. It is not readmitted.
    Panic,
    /// The self test failed.
    SelfTest,
}

impl Cause {
    /// Returns `true` if the unit's code is wrong, so that no self test can readmit it.
    pub(crate) const fn is_final(self) -> bool {
        matches!(self, Self::Exchange | Self::Panic)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUnitLeft => f.write_str(
                "no unit of the queue is left and requests are refused: \
                 test this machine's memory and processor, then call readmit()",
            ),
            Self::Quarantined { unit, cause } => write!(
                f,
                "unit {unit} is quarantined because {}; other units take its requests: {}",
                match cause {
                    Cause::Check => "the check of a result failed",
                    Cause::Exchange => "it exchanged requests of a batch",
                    Cause::Panic => "it panicked",
                    Cause::SelfTest => "its self test failed",
                },
                match cause {
                    Cause::Exchange =>
                        "repair it: docs/own-unit.md of tollgate-queue has its promises",
                    Cause::Panic => "report the panic's message",
                    Cause::Check | Cause::SelfTest => "test this machine's memory and processor",
                }
            ),
            Self::Readmitted { unit } => {
                write!(f, "unit {unit} passed its self test and is in use again")
            }
        }
    }
}
