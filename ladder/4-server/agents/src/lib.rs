//! Load from several machines: the protocol, the agent on each of them, and their controller.
//!
//! # Design
//!
//! The controller is `tollgate bench URL --agents LIST`; the agents are processes of
//! `tollgate agent`. An agent speaks the protocol on a stream of bytes in each direction. This is
//! standard input and output of a process that the controller starts, so that any program that
//! connects these two can carry it: `ssh`, or a command on this machine. Or it is NATS, where agents
//! wait for controllers.
//!
//! **The plan is split exactly.** A plan has threads, and the number of a thread determines its
//! connections, its arrivals and its random streams. Each agent runs a
//! [`Segment`](tollgate_load::Segment): some of the threads. The union of the arrivals is that of
//! one process with as many threads, and nothing is coordinated under load.
//!
//! **Frames** ([`FromController`], [`FromAgent`]) are JSON with a head of eight bytes: magic,
//! version, length. The length is bounded, memory grows only with what has come, and any other
//! input is an error.
//!
//! | state | the controller sends | the agent sends |
//! |---|---|---|
//! | enrolment | target | enrol: version, machine, place in the network |
//! | idle | | alive |
//! | arming | arm: plan, segment; alive | ready: hash of the plan, after one transaction alone |
//! | ready | clock, 20 times; start: a time on the agent's clock | clock |
//! | running | alive every 200 ms; stop | alive: live counts; ended: counts, histograms, host |
//!
//! **NATS** carries messages, and may lose them. A message has a number, at most 256 KiB of a stream,
//! and the number that its sender expects next. The sender keeps messages until they are
//! acknowledged, and sends them again on request; so a stream is whole, or it ends. The names of both
//! sides are in the subjects, so that the NATS server decides which side may command another.
//!
//! | message | numbered | meaning |
//! |---|---|---|
//! | alive | | the sender lives, and has sent the messages before this number; the first one opens the stream, or calls for agents |
//! | again | | alive, and the expected message is missing |
//! | data, end | yes | bytes of the stream, and its end |
//! | reset | | the sender has no such stream |
//!
//! **Clocks.** Both sides use monotonic clocks, so that nobody can set them. The controller takes the
//! offset from the question with the shortest round trip of 20; its error is half this round trip.
//! It then sends each agent the same start on the agent's own clock. An agent that learns the start
//! after it has passed refuses the run. Another reading after the run compares the clocks' rates.
//! All times of a transaction come from one clock; the error of the offset affects only the start
//! and the borders of the measured part.
//!
//! **Sums.** Counts, bins, seconds and histograms of all agents are added, which is exact: no
//! quantile is averaged. The sum is judged like that of one process. Each agent's machine, counts
//! and arrivals are judged too, with the agent's name.
//!
//! **Failures.**
//!
//! | failure | result |
//! |---|---|
//! | another version of the program, foreign output, an address without consent | no run; the error names the agent |
//! | an agent refuses its part, or is late | no run; the error names the agent |
//! | an agent ends, or is silent for [`LOST_AFTER`], under load | the others are stopped; the run is invalid, and the finding names the agent |
//! | the controller ends, or is silent for [`LOST_AFTER`], under load | each agent stops by itself; those on NATS wait for another controller |
//! | a NATS server ends | its clients connect to another one of its cluster, and the streams go on whole; the rows above apply to silence |
//! | a peer on NATS is silent for 10 s without load | the stream ends |
//! | the user stops the run | the agents stop and send what they have; there are no figures |
#![forbid(unsafe_code)]

/// [`AGENTS_MAX`] as a literal, for the texts of errors.
macro_rules! agents_max {
    () => {
        256
    };
}

mod agent;
mod controller;
mod frame;
mod link;
mod nats;

use core::time::Duration;
use std::fs;

pub use agent::{serve, serve_fleet};
pub use controller::{Address, Controller, Site};
pub use frame::{
    COUNT_MAX, FRAME_BYTES_MAX, Frame, FrameError, FromAgent, FromController, VERSION, read, write,
};

pub use nats::{FleetName, Nats, NatsServer};

/// Maximum number of agents.
pub const AGENTS_MAX: usize = agents_max!();

/// Each side says at this interval that it lives.
pub const HEARTBEAT: Duration = Duration::from_millis(200);

/// A side that is silent for this time is lost.
pub const LOST_AFTER: Duration = Duration::from_secs(3);

/// Returns a text that is equal for processes with the same system and network.
fn place() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let network = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    format!("{} {}", boot.trim(), network.display())
}
