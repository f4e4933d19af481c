//! Measures code: calibrates, warms up, takes samples in turn, and estimates medians.
//!
//! Contenders to be compared run in one [`interleave`]d series: A B C, C B A, A B C, and
//! so on. Each round is short, so that a drift of the clock, of heat or of other load affects all
//! of them. A [`Series`] gives medians with bootstrap intervals, ratios within rounds (not of
//! medians taken minutes apart), and [`Warning`]s with the next step. A wrong result fails
//! the measurement.
//!
//! ```
//! use core::time::Duration;
//! use tollgate_bench::{Contender, SamplePlan, Wrong, interleave};
//!
//! let sum = |n: u64| (0..n).fold(0, |a, b| core::hint::black_box(a ^ b));
//! let contender = |name: &str, n: u64, right: u64| {
//!     Contender::new(name, 1, move || (sum(n) == right).then_some(()).ok_or(Wrong::new("sum")))
//! };
//! let mut contenders = [contender("1000", 1000, sum(1000)), contender("2000", 2000, sum(2000))];
//! let plan = SamplePlan { total: Duration::from_millis(20), ..SamplePlan::quick() };
//! let series = interleave(&mut contenders, &plan, &|| false, &mut |_| {})?;
//! println!("{:.0} ns, {:.2} times", series.nanos(0).point(), series.ratio(1, 0).point());
//! # Ok::<(), tollgate_bench::Error>(())
//! ```
//!
//! [`leak`] uses the same clock to test whether the time of an operation depends on its input.

mod conditions;
mod contender;
mod estimate;
mod interleave;
mod leak;
mod machine;
mod sample;
mod series;
mod welch;

pub use conditions::Conditions;
pub use contender::{Contender, Wrong};
pub use estimate::{median, median_estimate, median_ratio_estimate};
pub use interleave::{Error, SamplePlan, interleave};
pub use leak::{Leak, LeakPlan, Leakage, leak};
pub use machine::this_machine;
pub use sample::Sample;
pub use series::{Series, Warning};
