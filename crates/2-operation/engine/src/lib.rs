//! The execution unit: requests of many callers share a processor's lanes, fairly and within bounds.
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as tollgate_engine;

mod config;
mod engine;
mod error;
mod event;
#[cfg(test)]
mod interleavings;
mod job;
pub mod judge;
mod lanes;
mod lead;
mod private_job;
mod schedule;
mod stats;
mod sync;
mod ticket;
#[cfg(test)]
#[path = "../tests/toy/mod.rs"]
mod toy;
mod unit;
mod worker;

pub use config::Config;
pub use engine::{Caller, Ended, Engine};
pub use error::Error;
pub use event::{Cause, Event};
pub use job::{Class, Job, Outcome, Request};
pub use lanes::Lanes;
pub use private_job::{PrivateError, PrivateJob, Signing, Work};
pub use stats::{Distribution, Stats};
pub use ticket::{Answer, Ticket};
pub use unit::{SelfTestFailed, Unit};
