//! The agents of a run: processes that run its segments, on this and on other machines.

use std::time::Instant;

use crate::error::Error;
use crate::live::LiveCounts;
use crate::part::Part;
use crate::plan::Plan;

/// Processes that together run a plan: each runs a [`Segment`](crate::Segment), with
/// [`run_part`](crate::run_part).
pub trait Agents {
    /// Prepares the agents, each for its segment: it has tried one transaction alone, and its
    /// threads are ready. Returns when all are. It calls `stop` at least every 50 ms.
    ///
    /// # Errors
    ///
    /// [`Error::Agent`] if an agent refuses or is lost, [`Error::Stopped`] if `stop` returned true.
    fn arm(&mut self, plan: &Plan, stop: &dyn Fn() -> bool) -> Result<(), Error>;

    /// Tells all agents the time of their start, and returns it.
    fn start(&mut self) -> Instant;

    /// Reads the news of all agents without waiting, and tells them that this process lives; called
    /// about every 50 ms from the start to the end. Returns true when all agents have ended their
    /// parts or are lost.
    fn have_ended(&mut self) -> bool;

    /// Returns the sum of the agents' live counters.
    fn live_counts(&self) -> LiveCounts;

    /// Tells all agents to stop; they still send their parts.
    fn stop(&mut self);

    /// Returns the results after the end, in the order of the segments.
    fn parts(&mut self) -> Vec<AgentPart>;
}

/// The result of an agent.
#[derive(Debug)]
pub struct AgentPart {
    /// The agent's name in findings.
    pub agent: String,
    /// Its part; or the time at which the agent was lost, and why.
    pub part: Result<Part, (Instant, String)>,
}
