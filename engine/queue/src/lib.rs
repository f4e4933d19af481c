#![doc = include_str!("../README.md")]
#![cfg_attr(
    test,
    allow(clippy::duplicate_mod, reason = "tests compile these files again, with loom's locks")
)]

#[cfg(test)]
extern crate self as tollgate_queue;

mod arrivals;
mod config;
mod curve_job;
mod curve_task;
mod error;
mod event;
#[cfg_attr(not(target_os = "linux"), path = "futex_portable.rs")]
mod futex;
mod gather;
#[cfg(test)]
mod interleavings;
mod job;
mod lanes;
mod lead;
mod private_job;
mod quarantine;
mod queue;
mod schedule;
mod state;
mod stats;
mod sync;
mod thread_wakers;
mod ticket;
#[cfg(test)]
#[path = "../tests/toy/mod.rs"]
mod toy;
mod unit;
mod unit_slot;
mod wake_next;
mod work;

pub use config::Config;
pub use error::Error;
pub use event::{Cause, Event, Listener};
pub use job::{Class, Job, Outcome, Request};
pub use lanes::{Lanes, SELF_TEST_KEY, SELF_TEST_SIGNATURE_HASH};
pub use private_job::{PrivateError, PrivateJob};
pub use queue::{Caller, Queue, ShutdownReport};
pub use stats::Stats;
pub use ticket::{Answer, RunBatch, Ticket};
pub use unit::{SelfTestFailed, Unit};
pub use work::Work;

/// The guide to writing a unit; its example is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../docs/own-unit.md")]
pub struct OwnUnit;
