//! What this arithmetic refuses, and what to do about it.

use core::fmt;

use tollgate_record::{BadEstimate, BadSubject, Subject, Unit};

/// Why there is no figure. Nothing here panics on a number that it does not like.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A number outside its range. Fixed by giving another one.
    Rejected {
        /// Which number it is.
        what: &'static str,
        /// What was given.
        value: f64,
        /// What it must be.
        must: &'static str,
    },
    /// More arrives than the cores can serve: the queue grows without end and no mean exists. Fixed
    /// by more cores, a faster engine, or less load.
    Unstable {
        /// Work that arrives over work that can be done, at least one.
        utilisation: f64,
    },
    /// The queue is stable at the point of the estimates, and not at the end of their intervals.
    /// Fixed by measuring longer, or by less load.
    PerhapsUnstable {
        /// Utilisation at the unfavourable end, at least one.
        utilisation: f64,
    },
    /// More is asked for than one machine reaches with any number of cores: past its peak the
    /// scaling law falls. Fixed by more machines.
    BeyondPeak {
        /// The most per second that the law reaches.
        peak_per_s: f64,
        /// The cores at which it does.
        peak_cores: u32,
    },
    /// A law with three parameters needs three different numbers of cores. Fixed by measuring more.
    TooFewPoints {
        /// Different numbers of cores given.
        distinct: usize,
    },
    /// No time of this kind of line has a quantile that could be defended.
    NoQuantile,
    /// A record in a unit that says nothing about CPU time. Fixed by giving another record.
    WrongUnit {
        /// The record's subject.
        subject: Box<Subject>,
        /// Its unit.
        unit: Unit,
        /// What was wanted.
        wanted: &'static str,
    },
    /// A record in cycles, and nobody knows the clock. Fixed by giving it in nanoseconds.
    NoClock {
        /// The record's subject.
        subject: Box<Subject>,
    },
    /// Records of two machines, or of two workloads, that were to be compared.
    NotComparable {
        /// What differs.
        what: &'static str,
    },
    /// A result left the range of numbers. Fixed by inputs that are not astronomical.
    Estimate(BadEstimate),
    /// A subject or quantity that cannot be spelled. Fixed by a shorter one.
    Spelling(BadSubject),
}

impl Error {
    /// `value` where it is finite and above zero.
    pub(crate) fn positive(what: &'static str, value: f64) -> Result<f64, Self> {
        if value.is_finite() && value > 0.0 {
            Ok(value)
        } else {
            Err(Self::Rejected { what, value, must: "be finite and above 0" })
        }
    }

    /// `value` where it is finite and not below zero; never -0, whose reciprocal is.
    pub(crate) fn not_negative(what: &'static str, value: f64) -> Result<f64, Self> {
        if value.is_finite() && value >= 0.0 {
            Ok(value + 0.0) // -0 + 0 is 0
        } else {
            Err(Self::Rejected { what, value, must: "be finite and not below 0" })
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected { what, value, must } => write!(f, "{what} is {value}; it must {must}"),
            Self::Unstable { utilisation } => write!(
                f,
                "utilisation {utilisation:.3}: more arrives than the cores can serve, so no mean \
                 response time exists; add cores or lower the load"
            ),
            Self::PerhapsUnstable { utilisation } => write!(
                f,
                "utilisation is {utilisation:.3} at the end of the interval: the queue may grow \
                 without end; measure longer, or lower the load"
            ),
            Self::BeyondPeak { peak_per_s, peak_cores } => write!(
                f,
                "one machine reaches at most {peak_per_s:.0} per second, with {peak_cores} cores; \
                 take more machines"
            ),
            Self::TooFewPoints { distinct } => write!(
                f,
                "{distinct} different numbers of cores: a scaling law with three parameters needs \
                 at least 3; measure at more"
            ),
            Self::NoQuantile => f.write_str(
                "no quantile of the response time under processor sharing can be defended; take \
                 the mean, or another line",
            ),
            Self::WrongUnit { subject, unit, wanted } => {
                write!(f, "{subject} is in {unit}; give a record in {wanted}")
            }
            Self::NoClock { subject } => write!(
                f,
                "{subject} is in cycles and its machine has no core clock; give it in ns, or \
                 measure the clock"
            ),
            Self::NotComparable { what } => {
                write!(f, "the two differ in {what}; compare records of one run")
            }
            Self::Estimate(why) => write!(f, "the result is no figure: {why}; check the inputs"),
            Self::Spelling(why) => write!(f, "cannot be written as a record: {why}"),
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Estimate(why) => Some(why),
            Self::Spelling(why) => Some(why),
            _ => None,
        }
    }
}

impl From<BadEstimate> for Error {
    fn from(why: BadEstimate) -> Self {
        Self::Estimate(why)
    }
}

impl From<BadSubject> for Error {
    fn from(why: BadSubject) -> Self {
        Self::Spelling(why)
    }
}
