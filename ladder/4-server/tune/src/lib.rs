//! Servers with changes, as data: experiments, and candidates that tune a server step by step.
//!
//! An [`Experiment`] is a file in TOML: servers and loads, each with one change, and the columns of
//! its table. `tollgate bench experiment` runs it.
//!
//! The method of tuning is that of \[HP01\]: profile, find the dominant part, say what to expect of
//! a change before it is made, change one thing, measure again. This crate starts no server and
//! measures nothing. `tollgate tune` gives it the shares of a profile and the measured ratios.
//!
//! * A [`Candidate`] is a change, read from TOML: what it changes of a [`Setup`], the parts of the
//!   profile that become cheaper, and the factor.
//! * [`gain`] is Amdahl's law with intervals. [`prospects`] orders the candidates that apply, and
//!   [`Prospect::standing`] says which to try.
//! * [`Outcome::new`] decides by the measured interval. [`Story`] prints state, reason,
//!   expectation, measurement and decision of each step.
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

mod candidate;
mod expected;
mod experiment;
mod file;
mod setup;
mod story;

pub use candidate::{Candidate, Change, Factor, Kind, Needs, Set};
pub use expected::{GAIN_MIN, Outcome, Prospect, Shares, Standing, gain, prospects};
pub use experiment::{Case, EXPERIMENTS, Experiment};
pub use file::BadFile;
pub use setup::{Host, Setup, Storage};
pub use story::{Step, Story};
