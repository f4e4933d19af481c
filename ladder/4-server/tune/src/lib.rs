//! Tunes a server step by step: candidates as data, expected gains, decisions, and the story of a run.
//!
//! The method is that of \[HP01\]: profile, find the dominant part, say what to expect of a change
//! before it is made, change one thing, measure again. This crate starts no server and measures
//! nothing. `tollgate tune` gives it the shares of a profile and the measured ratios.
//!
//! * A [`Candidate`] is a change, read from TOML: what it edits in a [`Setup`], the parts of the
//!   profile that become cheaper, and the factor.
//! * [`gain`] is Amdahl's law with intervals. [`prospects`] orders the candidates that apply, and
//!   [`Prospect::standing`] says which to try.
//! * [`Outcome::of`] decides by the measured interval. [`Story`] prints state, reason, expectation,
//!   measurement and decision of each step.
//!
//! ```
//! use tollgate_record::Estimate;
//! use tollgate_tune::gain;
//!
//! // half of the time becomes twice as fast: 1 / (0.5 + 0.5 / 2)
//! let expected = gain(&Estimate::exact(0.5)?, &Estimate::exact(2.0)?)?;
//! assert!((expected.point() - 4.0 / 3.0).abs() < 1e-12);
//! # Ok::<(), tollgate_record::BadEstimate>(())
//! ```
#![forbid(unsafe_code)]

mod candidate;
mod expected;
mod setup;
mod story;

pub use candidate::{BadCandidates, Candidate, Change, Edit, Factor, Kind, Needs, Set};
pub use expected::{GAIN_MIN, Outcome, Prospect, Shares, Standing, gain, prospects};
pub use setup::Setup;
pub use story::{Mark, Step, Story};
