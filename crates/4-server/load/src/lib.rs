//! Load generator: closed loop, server-confirmed transactions, referee, verdict.
//!
//! A [`Plan`] says what is to be done; [`run`] does it to a [`Server`] and gives an [`Outcome`]:
//! first its [`Verdict`] with the [`Finding`]s behind it, then counts of both sides, then figures.
//! [`compare`] runs several servers in turn and gives ratios with intervals; [`records()`] and
//! [`Comparison::records`] write them down.
//!
//! # What is measured
//!
//! * The loop is closed: so many connections are in flight, and each is replaced when it ends, a
//!   failed one too, after a pause. Times are service times under that concurrency: an arrival
//!   never waits for its turn. What failed has no time; above the budget for errors there is no
//!   figure.
//! * One transaction is one connection: a full handshake, no resumption, one `GET`, the whole body.
//!   It counts when the body is complete *and* the server has confirmed the handshake. A handshake
//!   that only the client holds for complete is counted apart ([`Counts::client_done`]).
//! * Only the sustained [`Stage`] makes figures. Its transactions are those that were completed in
//!   it.
//! * The [`Referee`] is the server's own log, here of the embedded server ([`AccessLog`]). From the
//!   first connection to the last, it must have as many handshakes and requests as the client
//!   counted, and no session may be resumed; otherwise the run is invalid and shows both numbers.
//!   Without referee a run is at best unconfirmed.
//! * CPU time is what the system charges. On loopback the system delivers a packet within the call
//!   that sends it: part of the server's receiving is charged to the client, and the reverse.
//! * An invalid run gives no figure. What is only doubtful is told beside the figures.
//! * Load goes to loopback addresses only ([`Target`]).
//!
//! # What the client skips
//!
//! It is made to cost less than the server: the plan's [`Verify`], [`Freshness`] and [`Close`] say
//! what is skipped, and every record carries them. Certificates are not validated. The server's
//! Finished is always verified.
//!
//! ```no_run
//! use tollgate_load::{AccessLog, Plan, ProcessCpu, Protocol, Server, Target, run};
//!
//! let target = Target::new("127.0.0.1:4433".parse()?)?;
//! let mut server = Server::new("tollgate", target)
//!     .with_referee(AccessLog::open("access.log")?)
//!     .with_cpu(ProcessCpu::new([4242])?);
//! let outcome = run(&Plan::new(Protocol::Tls13), &mut server, &|| false, &mut |_, _| {})?;
//! println!("{outcome}");
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod access_log;
mod compare;
mod counts;
mod cpu;
mod error;
mod finding;
mod http;
mod latency;
mod manner;
mod offer;
mod outcome;
mod phase;
mod plan;
mod records;
mod referee;
mod run;
mod schedule;
mod socket;
mod start;
mod steady;
mod tally;
mod target;
mod tls;
mod transaction;
mod verdict;
mod worker;

pub use access_log::AccessLog;
pub use compare::{Comparison, compare};
pub use counts::Counts;
pub use cpu::{CpuMeter, ProcessCpu};
pub use error::Error;
pub use finding::Finding;
pub use latency::Latency;
pub use offer::Offer;
pub use outcome::{ClientCpu, Outcome};
pub use phase::{Cause, Failure, Phase};
pub use plan::{Close, Exchange, Freshness, Plan, Protocol, Verify};
pub use records::{Context, Naming, records};
pub use referee::{Referee, Seen};
pub use run::{Server, run};
pub use schedule::Stage;
pub use steady::Steady;
pub use target::Target;
pub use verdict::{Limits, Verdict};
