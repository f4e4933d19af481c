//! A server under load, and what a run reads about it.

use core::fmt;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use crate::agents::Agents;
use crate::cpu::CpuMeter;
use crate::live::Live;
use crate::outcome::Outcome;
use crate::referee::Referee;
use crate::server_counts::{CountsMeter, ServerCounts};
use crate::target::Target;

/// A callback for the outcome of each run.
pub type Witness<'a> = dyn FnMut(&Outcome) + 'a;

/// A server under load.
pub struct Server<'a> {
    /// The server's name in comparisons and messages.
    pub name: String,
    /// The server's address.
    pub target: Target,
    /// The server's address for HTTP without TLS.
    pub plain: Option<Target>,
    /// The reader of the server's log. Without a referee a run is at best unconfirmed.
    pub referee: Option<Box<dyn Referee + 'a>>,
    /// The reader of the server's CPU time.
    pub cpu: Option<Box<CpuMeter<'a>>>,
    /// The reader of the server's own counts. It is read together with the CPU time.
    pub counts: Option<Box<CountsMeter<'a>>>,
    /// Live counters for its runs.
    pub live: Option<Arc<Live>>,
    /// Called after each run, also if it was stopped.
    pub witness: Option<Box<Witness<'a>>>,
    /// The processes that run its plans; `None` for this process.
    pub agents: Option<Box<dyn Agents + 'a>>,
}

impl<'a> Server<'a> {
    /// Creates a server with a name and an address, and nothing else.
    pub fn new(name: impl Into<String>, target: Target) -> Self {
        let name = name.into();
        Self {
            name,
            target,
            plain: None,
            referee: None,
            cpu: None,
            counts: None,
            live: None,
            witness: None,
            agents: None,
        }
    }

    /// Sets the address for HTTP without TLS.
    #[must_use]
    pub fn with_plain(self, target: Target) -> Self {
        Self { plain: Some(target), ..self }
    }

    /// Sets the reader of the server's log.
    #[must_use]
    pub fn with_referee(self, referee: impl Referee + 'a) -> Self {
        Self { referee: Some(Box::new(referee)), ..self }
    }

    /// Sets the reader of the server's CPU time.
    #[must_use]
    pub fn with_cpu(self, cpu: impl FnMut() -> io::Result<Duration> + 'a) -> Self {
        Self { cpu: Some(Box::new(cpu)), ..self }
    }

    /// Sets the reader of the server's own counts.
    #[must_use]
    pub fn with_counts(self, counts: impl FnMut() -> ServerCounts + 'a) -> Self {
        Self { counts: Some(Box::new(counts)), ..self }
    }

    /// Sets the live counters.
    #[must_use]
    pub fn with_live(self, live: Arc<Live>) -> Self {
        Self { live: Some(live), ..self }
    }

    /// Sets the processes that run its plans, instead of this one.
    #[must_use]
    pub fn with_agents(self, agents: impl Agents + 'a) -> Self {
        Self { agents: Some(Box::new(agents)), ..self }
    }

    /// Sets the callback for each run; it also gets stopped runs, for which [`run`](crate::run)
    /// returns an error.
    #[must_use]
    pub fn with_witness(self, witness: impl FnMut(&Outcome) + 'a) -> Self {
        Self { witness: Some(Box::new(witness)), ..self }
    }
}

impl fmt::Debug for Server<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("name", &self.name)
            .field("target", &self.target)
            .field("plain", &self.plain)
            .field("referee", &self.referee.is_some())
            .field("cpu", &self.cpu.is_some())
            .finish_non_exhaustive()
    }
}
