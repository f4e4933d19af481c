//! Load generator: closed and open loops, server-confirmed transactions, referee, verdict.
//!
//! [`run`] runs a [`Plan`] against a [`Server`] and returns an [`Outcome`]: its [`Verdict`] with
//! the [`Finding`]s behind it, the counts of both sides, and figures. A [`Comparison`] has the
//! ratios of several servers within rounds, with intervals; [`records()`] and
//! [`Comparison::records`] make records.
//!
//! # Measurements
//!
//! * In a *closed* loop each connection begins a new transaction when the previous one has ended,
//!   after a pause for think time or after a failure. Times are service times under that
//!   concurrency: a connection that waits for the server sends nothing meanwhile, and no formula
//!   corrects for this afterwards. In an *open* loop transactions arrive by the clock
//!   ([`Pattern`]), and their times count from the intended start. An arrival without a free
//!   connection waits in a queue, and its time includes the wait. [`ArrivalCounts`] counts arrivals
//!   that began late, waited, or were dropped because the queue was full. Dropped and timed-out
//!   arrivals have an infinite time. Failures have no time; a run above the error budget has no
//!   figures.
//! * Threads of an open loop share no queue. Pattern and seed determine all arrivals, and a thread
//!   takes each arrival whose number modulo the number of threads is the thread's own number. All
//!   threads use the same start.
//! * Several processes can run a plan together ([`Agents`]): each runs a [`Segment`], some of the
//!   threads, and the results of all segments add up exactly ([`Part`]).
//! * A transaction is one connection: a full or resumed handshake ([`Resume`]), one or several
//!   `GET` requests, and the whole bodies, which may have several [`Sizes`]. A plain transaction
//!   has no TLS. A transaction counts when it is complete *and* the server has confirmed the
//!   handshake. Handshakes that only the client has finished are counted separately
//!   ([`Counts::client_done`]).
//! * An [`Outcome`] has three kinds of times, all from one clock: TCP connect; the handshake, from
//!   the `ClientHello` until the server confirmed it; the whole transaction.
//! * With a [`ClientTimeout`], clients reset slow connections, and may retry. These timeouts are
//!   counted separately from failures. Every connection ends as a transaction, a failure or a
//!   timeout; if the counts do not add up, the run is invalid.
//! * Only the sustained [`Stage`] gives figures. The figures come from transactions that completed
//!   in this stage. Response times of an open loop come from arrivals in this stage. [`Point`] has
//!   counts and times by second.
//! * [`Live`] has the current counts of running loads; a [`Witness`] gets the outcome of each run.
//!   [`try_transaction`] tests whether a server accepts a plan's offer.
//! * [`search()`] finds the highest rate that meets an [`Objective`].
//! * The [`Referee`] reads the server's own log ([`AccessLog`]). From the first connection to the
//!   last, the log must have the same numbers of handshakes, requests and resumed sessions as the
//!   client counted; otherwise the run is invalid and shows both numbers. A run is also invalid if
//!   its share of resumed sessions misses the plan by more than one percentage point, and by more
//!   than a few sessions. Without referee a run is at best unconfirmed.
//! * The system accounts CPU time. On loopback it delivers a packet within the call that sends the
//!   packet, so part of the server's receiving is charged to the client, and vice versa.
//! * An invalid run has no figures. Doubts are reported with the figures.
//! * [`run_requests`] sends requests over connections that stay open ([`Requester`]), such as those
//!   to a signer. Each request counts as a transaction.
//! * Load goes to this machine and to private networks. For any other server, the user must name
//!   the host, and the server itself must consent ([`Target::admit`]).
//!
//! # Skipped steps
//!
//! The client is made to cost less than the server: [`VerifySignature`], [`Freshness`] and
//! [`Close`] of the plan select the steps that it skips, and every record states them. It does not
//! validate certificates. It always verifies the server's Finished.
//!
//! ```no_run
//! use tollgate_load::{AccessLog, Plan, Protocol, Server, Target, processes_cpu, run};
//!
//! let target = Target::new("127.0.0.1:4433".parse()?)?;
//! let mut server = Server::new("tollgate", target)
//!     .with_referee(AccessLog::open("access.log")?)
//!     .with_cpu(|| processes_cpu(&[4242]));
//! let outcome = run(&Plan::new(Protocol::Tls13), &mut server, &|| false, &mut |_, _| {})?;
//! println!("{outcome}");
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod access_log;
mod agents;
mod alarm;
mod alert_advice;
mod arrival_counts;
mod arrivals;
mod bisection;
mod channel;
mod client_timeout;
mod closed_loop;
mod compare;
mod consent;
mod counts;
mod cpu;
mod descriptions;
mod disclosure;
mod error;
mod finding;
mod generator;
mod head;
mod host_conditions;
mod http;
mod latency;
mod limits;
mod live;
mod load;
mod messages;
mod objective;
mod offer;
mod open_loop;
mod outcome;
mod part;
mod phase;
mod plan;
mod ports;
mod quota;
mod records;
mod referee;
mod request_form;
mod request_spec;
mod requests;
mod resumed_share;
mod resumption;
mod run;
mod schedule;
mod search;
mod seeded;
mod segment;
mod sequence;
mod series;
mod server;
mod server_counts;
mod sizes;
mod socket;
mod steady;
mod store;
mod tally;
mod target;
mod task;
mod threads;
mod times;
mod tls;
#[cfg(test)]
#[path = "../tests/load/tls_config.rs"]
#[allow(clippy::unwrap_used, dead_code, reason = "tests use parts of it")]
mod tls_config;
mod transaction;
mod verdict;
mod worker;

pub use access_log::AccessLog;
pub use agents::{AgentPart, Agents};
pub use alert_advice::alert_advice;
pub use arrival_counts::ArrivalCounts;
pub use arrivals::{Arrivals, Pattern, Think};
pub use bisection::StepResult;
pub use client_timeout::ClientTimeout;
pub use compare::Comparison;
pub use consent::{CONSENT_BYTES_MAX, CONSENT_PATH, Reach, Refusal};
pub use counts::{Counts, Resumptions};
pub use cpu::{CgroupCpu, ClientCpu, CpuMeter, children_cpu, pin, processes_cpu, thread_cpu};
pub use descriptions::Descriptions;
pub use error::Error;
pub use finding::Finding;
pub use head::Head;
pub use host_conditions::HostConditions;
pub use latency::Latency;
pub use limits::Limits;
pub use live::{Live, LiveCounts};
pub use objective::{Objective, duration};
pub use offer::{Offer, Protocol};
pub use outcome::Outcome;
pub use part::{Part, run_part};
pub use phase::{Cause, Failure, Phase};
pub use plan::{Close, Exchange, Plan};
pub use ports::Ports;
pub use records::{Context, Naming, records};
pub use referee::{Referee, Seen};
pub use request_form::RequestForm;
pub use requests::{Requester, run_requests};
pub use resumption::{Mechanism, Resume};
pub use run::{run, try_transaction};
pub use schedule::Stage;
pub use search::{Curve, Step, search};
pub use segment::Segment;
pub use series::Point;
pub use server::{Server, Witness};
pub use server_counts::{CountsMeter, ServerCounts};
pub use sizes::Sizes;
pub use target::Target;
pub use times::{ByResumption, SessionTimes};
pub use tollgate_tls_client::{Freshness, VerifySignature};
pub use tollgate_workload::LogFormat;
pub use verdict::Verdict;
