//! Load generator: closed and open loops, server-confirmed transactions, referee, verdict.
//!
//! A [`Plan`] says what is to be done; [`run`] does it to a [`Server`] and gives an [`Outcome`]:
//! first its [`Verdict`] with the [`Finding`]s behind it, then counts of both sides, then figures.
//! [`compare`] runs several servers in turn and gives ratios with intervals; [`records()`] and
//! [`Comparison::records`] write them down.
//!
//! # What is measured
//!
//! * A *client* comes for one transaction. In a *closed* loop there are as many clients as
//!   connections, and each comes again when it is done, after a pause if it thinks or has failed.
//!   Times are service times under that concurrency: who waits for the server asks nothing
//!   meanwhile, and no formula mends that afterwards. In an *open* loop clients come by the clock
//!   ([`Pattern`]), and their times count from their intended start on: who finds no connection
//!   free waits in line, and that is part of the time. [`Offered`] says who began late, who had to
//!   wait, and who was dropped because the line was full; whose transaction never began or was
//!   given up has a longer time than anybody. What failed has no time; above the budget for errors
//!   there is no figure.
//! * The threads of an open loop share no queue: arrivals are a function of pattern and seed, and a
//!   thread takes those whose numbers are its own modulo the threads. All count from one beginning.
//! * One transaction is one connection: a full handshake, or a session resumed where the plan says
//!   so ([`Resume`]), one `GET` or several, the whole bodies, which may be of many [`Sizes`]; or
//!   the same without TLS. It counts
//!   when they are complete *and* the server has confirmed the handshake. A handshake that only the
//!   client holds for complete is counted apart ([`Counts::client_done`]).
//! * Impatient clients ([`Patience`]) close their connection and give up, or begin again: that is
//!   no failure, and has a count of its own. Every connection that was begun ends as a
//!   transaction, as a failure or given up; if the counts do not add up the run is invalid.
//! * Only the sustained [`Stage`] makes figures. Its transactions are those that were completed in
//!   it; the response times of an open loop are those of clients who came in it. [`Times`] has them
//!   by phase, [`Point`] by second.
//! * [`Live`] has what runs have counted so far, for who looks on; a [`Witness`] is told of each
//!   run that has ended or was stopped. [`ask()`] says whether a server takes what a plan offers.
//! * [`search()`] finds the highest rate at which an [`Objective`] is met.
//! * The [`Referee`] is the server's own log, here of the embedded server ([`AccessLog`]). From the
//!   first connection to the last, it must have as many handshakes and requests as the client
//!   counted, and as many resumed sessions; otherwise the run is invalid and shows both numbers. So
//!   is a run whose share of resumed sessions misses the plan by more than a point.
//!   Without referee a run is at best unconfirmed.
//! * CPU time is what the system charges. On loopback the system delivers a packet within the call
//!   that sends it: part of the server's receiving is charged to the client, and the reverse.
//! * An invalid run gives no figure. What is only doubtful is told beside the figures.
//! * Load goes to this machine and to private networks, and to a server elsewhere if its user and
//!   the server itself say that it may ([`Target::admit`]).
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
mod alarm;
mod arrivals;
mod ask;
mod bisection;
mod channel;
mod clients;
mod closed;
mod compare;
mod consent;
mod cores;
mod counts;
mod cpu;
mod disclosure;
mod error;
mod finding;
mod head;
mod http;
mod kinds;
mod latency;
mod latency_log;
mod limits;
mod live;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod lying;
mod manner;
mod objective;
mod offer;
mod offered;
mod open;
mod outcome;
mod patience;
mod phase;
mod plan;
mod ports;
mod records;
mod referee;
mod resumption;
mod run;
mod schedule;
mod search;
mod seeded;
mod sequence;
mod series;
mod served;
mod sizes;
mod socket;
mod steady;
mod store;
mod surroundings;
mod tally;
mod target;
mod task;
mod times;
mod tls;
#[cfg(test)]
#[path = "../tests/load/tls_server.rs"]
#[allow(clippy::unwrap_used, dead_code, reason = "tests, which take what they need of it")]
mod tls_server;
mod trace;
mod transaction;
mod usage;
mod verdict;
mod worker;

// the tests' server is theirs and ours
#[cfg(test)]
extern crate self as tollgate_load;

pub use access_log::AccessLog;
pub use arrivals::{Arrivals, Pattern, Think};
pub use ask::ask;
pub use bisection::Judged;
pub use compare::{Comparison, compare};
pub use consent::{CONSENT_BYTES_MAX, CONSENT_PATH, Reach, Refusal};
pub use cores::pin;
pub use counts::Counts;
pub use cpu::{CgroupCpu, CpuMeter, ProcessCpu, children_cpu, thread_cpu};
pub use error::Error;
pub use finding::Finding;
pub use head::Head;
pub use kinds::{Kinds, Sessions};
pub use latency::Latency;
pub use latency_log::LatencyLog;
pub use limits::Limits;
pub use live::{Buckets, Cells, Live, LiveCounts, StepTimes};
pub use objective::{Objective, duration};
pub use offer::Offer;
pub use offered::Offered;
pub use outcome::{ClientCpu, Outcome};
pub use patience::Patience;
pub use phase::{Cause, Failure, Phase};
pub use plan::{Close, Exchange, Freshness, Plan, Protocol, Verify};
pub use ports::Ports;
pub use records::{Context, Naming, records};
pub use referee::{Referee, Seen};
pub use resumption::{Mechanism, Resume, Resumptions};
pub use run::{Server, Witness, run};
pub use schedule::Stage;
pub use search::{Curve, Step, search};
pub use series::Point;
pub use served::Served;
pub use sizes::Sizes;
pub use steady::Steady;
pub use surroundings::Surroundings;
pub use target::Target;
pub use times::Times;
pub use tollgate_workload::LogFormat;
pub use trace::{BadTrace, Recorded, Trace};
pub use verdict::Verdict;
