//! Errors of the computations.

use tollgate_record::{BadEstimate, BadSubject, Subject, Unit};

/// The reason why there is no figure. No input makes this crate panic.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number outside its range. Give another one.
    #[error("{what} is {value}; it must {must}")]
    Rejected {
        /// The name of the number.
        what: &'static str,
        /// Its value.
        value: f64,
        /// The requirement.
        must: &'static str,
    },
    /// More sessions arrive than the cores can serve: the queue grows without limit, and no mean
    /// exists. Use more cores, a faster engine or less load.
    #[error(
        "utilisation {utilisation:.3}: more sessions arrive than the cores can serve, so no mean \
         response time exists; add cores or lower the load"
    )]
    Unstable {
        /// Arriving work divided by capacity; at least 1.
        utilisation: f64,
    },
    /// The queue is stable for the point values of the estimates, but not at an end of their
    /// intervals. Measure longer, or use less load.
    #[error(
        "utilisation is {utilisation:.3} at the end of the interval: the queue may grow without \
         limit; measure longer, or lower the load"
    )]
    PerhapsUnstable {
        /// Utilisation at that end, at least 1.
        utilisation: f64,
    },
    /// The unit of a record is not nanoseconds. Give another record.
    #[error("{subject} is in {unit}; give a record in ns")]
    WrongUnit {
        /// The record's subject.
        subject: Box<Subject>,
        /// Its unit.
        unit: Unit,
    },
    /// A record is in cycles, but its machine has no core clock. Give a record in nanoseconds.
    #[error(
        "{subject} is in cycles and its machine has no core clock; give it in ns, or measure the \
         clock"
    )]
    NoClock {
        /// The record's subject.
        subject: Box<Subject>,
    },
    /// The records have no prediction of a session. Add it.
    #[error(
        "no prediction of {subject}: add the records of `tollgate explain --json` for this session"
    )]
    NoPrediction {
        /// The session's subject.
        subject: Box<Subject>,
    },
    /// Records of two machines or of two workloads cannot be compared.
    #[error("the two differ in {what}; compare records of one run")]
    NotComparable {
        /// The difference.
        what: &'static str,
    },
    /// A result is not finite. Check the inputs.
    #[error("the result is no figure: {0}; check the inputs")]
    Estimate(#[from] BadEstimate),
    /// An invalid subject or quantity. Use a shorter one.
    #[error("cannot be written as a record: {0}")]
    Spelling(#[from] BadSubject),
}

impl Error {
    /// Returns `value` if it is finite and above zero.
    pub(crate) fn positive(what: &'static str, value: f64) -> Result<f64, Self> {
        if value.is_finite() && value > 0.0 {
            Ok(value)
        } else {
            Err(Self::Rejected { what, value, must: "be finite and above 0" })
        }
    }

    /// Returns `value` if it is finite and not below zero; -0 becomes 0, because the reciprocal of
    /// -0 is negative.
    pub(crate) fn not_negative(what: &'static str, value: f64) -> Result<f64, Self> {
        if value.is_finite() && value >= 0.0 {
            Ok(value + 0.0) // -0 + 0 is 0
        } else {
            Err(Self::Rejected { what, value, must: "be finite and not below 0" })
        }
    }
}
