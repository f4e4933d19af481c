//! Calibrate, warm up, sample, pair and interleave, estimate.
//!
//! Things to compare are [`Contender`]s. [`interleave`] runs them in turn, forwards and backwards
//! (A B C, C B A, ...), so that whatever changes slowly on the machine changes for all of them; one
//! pass is a round and gives one sample of each. The [`Series`] that comes out answers with
//! medians and their bootstrap intervals, ratios paired by round, and [`Warning`]s about the
//! machine. A contender whose result is wrong fails the measurement.
//!
//! ```
//! use std::time::Duration;
//! use tollgate_bench::{Contender, Plan, Wrong, interleave};
//!
//! let sum_to = |n: u64| move || match std::hint::black_box((1..=n).fold(0, |a, b| a ^ b)) {
//!     0 => Err(Wrong::new("the exclusive or of these numbers is not 0")),
//!     _ => Ok(()),
//! };
//! let mut contenders =
//!     [Contender::new("short", 1, sum_to(1_000)), Contender::new("long", 1, sum_to(4_000))];
//! let plan = Plan { total: Duration::from_millis(20), ..Plan::default() };
//! let series = interleave(&mut contenders, &plan, &|| false, &mut |_done| ())?;
//! println!("long takes {:.1} times as long", series.ratio(1, 0).point());
//! assert!(series.rounds() >= plan.min_rounds);
//! # Ok::<(), tollgate_bench::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod conditions;
pub mod contender;
pub mod estimate;
pub mod interleave;
pub mod machine;
pub mod sample;
pub mod series;
pub mod warning;

pub use contender::{Contender, Wrong};
pub use interleave::{Error, Plan, interleave};
pub use sample::{CoreMeter, Meter, Sample};
pub use series::Series;
pub use warning::Warning;
