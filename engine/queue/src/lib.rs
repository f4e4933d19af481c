//! The execution unit: requests of many callers share lanes, fairly and within bounds.
//!
//! * A [`Queue`] owns [`Unit`]s and a bounded number of slots. A [`Caller`] submits to it:
//!   [`Caller::run`] waits, [`Caller::submit`] returns a [`Ticket`] to wait for, poll or await,
//!   [`Caller::submit_with`] calls back, [`Caller::run_many`] runs many requests.
//! * The queue needs no thread of its own: a waiting caller runs the next batch and wakes the next
//!   leader. A single request costs what the operation costs; concurrent requests share calls.
//! * A full queue fails at once. A caller that floods the queue delays its own requests only.
//! * Dropping a ticket cancels its request. A unit whose check fails is quarantined and its
//!   requests run on another unit. A panic is contained. A forked child gets an error.
//! * [`Lanes`] is the unit of this processor; it runs [`PrivateJob`]s: RSA with its paddings, secrets
//!   of X25519, and signatures with ECDSA P-256. `docs/own-unit.md` says what other units promise.
//!
//! ```
//! use std::sync::Arc;
//!
//! use tollgate_queue::{Config, Queue, Work};
//! use tollgate_rsa::{Hash, PrivateKey};
//!
//! let queue = Queue::of_this_processor(Config::default())?;
//! let key = Arc::new(PrivateKey::generate(2048)?);
//! let work = Work::SignPkcs1v15 { hash: Hash::Sha256 };
//! std::thread::scope(|scope| {
//!     for number in 0..16 {
//!         let (queue, key) = (&queue, &key);
//!         scope.spawn(move || {
//!             let caller = queue.caller()?; // scheduled fairly with the others
//!             let digest = Hash::Sha256.digest(&[number]);
//!             let mut signature = vec![0; key.size()];
//!             caller.private(key, work, digest.as_ref(), &mut signature).map(<[u8]>::len)
//!         });
//!     }
//! });
//! assert_eq!(queue.stats()?.done, 16);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Versions follow semantic versioning.
#![forbid(unsafe_code)]
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
mod worker;

pub use config::Config;
pub use error::Error;
pub use event::{Cause, Event, Listener};
pub use job::{Class, Job, Outcome, Request};
pub use lanes::{Lanes, SELF_TEST_KEY, SELF_TEST_SIGNATURE_HASH};
pub use private_job::{PrivateError, PrivateJob, Signing};
pub use queue::{Caller, Queue, ShutdownReport};
pub use stats::Stats;
pub use ticket::{Answer, RunBatch, Ticket};
pub use unit::{SelfTestFailed, Unit};
pub use work::Work;

/// The guide to writing a unit; its example is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../docs/own-unit.md")]
pub struct OwnUnit;
