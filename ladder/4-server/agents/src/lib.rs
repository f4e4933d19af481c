//! Load from several machines: the protocol, the agent on each of them, and their controller.
//!
//! # Design
//!
//! The controller is `tollgate bench URL --agents`; the agents are processes of `tollgate agent`.
//! They meet on NATS, in a fleet. Nothing listens on their machines.
//!
//! **The plan is split exactly.** A plan has threads, and the number of a thread determines its
//! connections, its arrivals and its random streams. Each agent runs a
//! [`Segment`](tollgate_load::Segment): some of the threads. The union of the arrivals is that of
//! one process with as many threads, and nothing is coordinated under load.
//!
//! **Requests and answers** ([`Request`], [`Answer`]) are those of NATS. Only the controller asks.
//! A message may be lost: every request may come twice, and is sent again until it is answered. The
//! names of both sides are in the subjects, so that the NATS server decides which side may command
//! another.
//!
//! | state | the controller sends | the agent answers |
//! |---|---|---|
//! | free | enrol, to all | enrolled: version, machine, place in the network |
//! | free | target: from now on it serves this controller only | busy, then idle |
//! | idle | arm: a plan, and a segment of it | busy, then ready, after one transaction alone |
//! | ready | clock, 20 times; start: a time on the agent's clock | clock; busy |
//! | running | poll every 200 ms; stop | busy: live counts; ended |
//! | ended | part: the next chunk | counts, histograms, host |
//!
//! "Alive", to all, is sent every 200 ms from the beginning to the end, and then "leave".
//!
//! **Clocks.** Both sides use monotonic clocks, so that nobody can set them. The controller takes
//! the offset from the question with the shortest round trip of 20; its error is half this round
//! trip. It then sends each agent the same start on the agent's own clock. An agent that learns the
//! start after it has passed refuses the run. Another reading after the run compares the clocks'
//! rates. All times of a transaction come from one clock; the error of the offset affects only the
//! start and the borders of the measured part.
//!
//! **Sums.** Counts, bins, seconds and histograms of all agents are added, which is exact: no
//! quantile is averaged. The sum is judged like that of one process. Each agent's machine, counts
//! and arrivals are judged too, with the agent's name.
//!
//! **Failures.**
//!
//! * Another version of the program, an address without consent, an agent that refuses its part or
//!   is late: no run; the error names the agent.
//! * An agent is silent for [`LOST_AFTER`], under load: the others are stopped; the run is invalid,
//!   and the finding names the agent.
//! * The controller ends, or is silent for [`LOST_AFTER`], under load: each agent stops by itself,
//!   and waits for another controller. Without load, it does so after 10 s of silence.
//! * A NATS server ends: its clients connect to another one of its cluster, and the above applies
//!   to silence.
//! * The user stops the run: the agents stop and send what they have; there are no figures.

/// [`AGENTS_MAX`] as a literal, for the texts of errors.
macro_rules! agents_max {
    () => {
        256
    };
}

mod agent;
mod controller;
mod message;
mod nats;

use core::time::Duration;
use std::fs;

pub use agent::{Agent, serve_fleet};
pub use controller::{Address, Controller, Site};
pub use message::{Answer, COUNT_MAX, Enrolled, Request, TEXT_BYTES_MAX, parse, parse_part};
pub use nats::{FleetName, Nats, NatsServer};

/// Maximum number of agents.
pub const AGENTS_MAX: usize = agents_max!();

/// The controller says at this interval that it lives, and asks each agent for its state.
pub const HEARTBEAT: Duration = Duration::from_millis(200);

/// A side that is silent for this time is lost.
pub const LOST_AFTER: Duration = Duration::from_secs(3);

/// Returns a text that is equal for processes with the same system and network.
fn network_place() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let network = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    format!("{} {}", boot.trim(), network.display())
}
