//! What a queue says aloud. It prints nothing: whoever configured it listens.

use core::fmt;

/// Something that a person should hear about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A callback panicked. Nobody else noticed.
    CallbackPanicked,
    /// No unit is left; requests are refused from now on.
    NoUnitLeft,
    /// A unit was taken out.
    Quarantined {
        /// Its name.
        unit: String,
        /// Why.
        cause: Cause,
    },
    /// A unit passed its self test and is back.
    Readmitted {
        /// Its name.
        unit: String,
    },
}

/// Hears events, on the thread where they happen; outside of the queue's lock.
pub type Listener = Box<dyn Fn(&Event) + Send + Sync>;

/// Why a unit was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The check of a result failed.
    Check,
    /// It left a request where another one belongs, or none. It does not come back.
    Exchange,
    /// It panicked. It does not come back.
    Panic,
    /// Its self test failed.
    SelfTest,
}

impl Cause {
    /// Whether the unit's code is to be repaired, so that no self test brings it back.
    pub(crate) const fn is_final(self) -> bool {
        matches!(self, Self::Exchange | Self::Panic)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CallbackPanicked => f.write_str(
                "a callback panicked; its request was done and others were not touched: \
                 repair the callback",
            ),
            Self::NoUnitLeft => f.write_str(
                "no unit of the queue is left and requests are refused: \
                 test this machine's memory and processor, then call readmit()",
            ),
            Self::Quarantined { unit, cause } => write!(
                f,
                "the unit {unit} is quarantined because {}; its work is done elsewhere: {}",
                match cause {
                    Cause::Check => "the check of a result failed",
                    Cause::Exchange => "it exchanged requests of a batch",
                    Cause::Panic => "it panicked",
                    Cause::SelfTest => "its self test failed",
                },
                match cause {
                    Cause::Exchange => "judge it (docs/own-unit.md) and repair it",
                    Cause::Panic => "report the panic's message",
                    Cause::Check | Cause::SelfTest => "test this machine's memory and processor",
                }
            ),
            Self::Readmitted { unit } => {
                write!(f, "the unit {unit} passed its self test and is in use again")
            }
        }
    }
}
