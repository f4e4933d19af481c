//! The growth of a rate with the cores of one machine: linear, or the universal scalability law.

mod fit;
mod law;

pub use fit::{Fit, FittedRate, Point, fit};
pub use law::Law;
