//! How a rate grows with the cores of one machine: a line, or the universal scalability law.

mod fit;
mod law;

pub use fit::{Point, fit};
pub use law::{Fit, Law, Rate};
