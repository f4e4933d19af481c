//! The controller: starts agents, splits plans among them, and collects their parts.

mod address;
mod remote;

use core::cell::RefCell;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::rc::Rc;
use std::time::Instant;

use tollgate_load::{AgentPart, Agents, Error, LiveCounts, Plan, Segment};

pub use self::address::Address;
use self::address::{Place, command};
use self::remote::{Carrier, Clock, Remote, State};
use crate::frame::FromController;
use crate::link::Link;
use crate::nats::{Bus, Nats, Role};
use crate::{AGENTS_MAX, HEARTBEAT, LOST_AFTER, place};

/// Longest wait for agents, and for their first frames: a login may take this long.
const ENROL_MAX: Duration = Duration::from_secs(30);

/// Questions for a clock. The one with the shortest round trip gives the offset.
const QUESTIONS: u32 = 20;

/// Interval of reading the agents' frames while waiting.
const TICK: Duration = Duration::from_millis(5);

/// Time from the last question for a clock to the start, in addition to the round trips.
const LEAD: Duration = Duration::from_millis(300);

/// The server that all agents load.
#[derive(Clone, Debug)]
pub struct Site {
    /// The server's URL.
    pub url: String,
    /// Its address.
    pub address: SocketAddr,
    /// The host that the user allows to be tested.
    pub may_test: Option<String>,
}

/// The connections to all agents. Clones share them.
#[derive(Clone)]
pub struct Controller(Rc<RefCell<Fleet>>);

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Controller").field(&self.lines()).finish()
    }
}

struct Fleet {
    agents: Vec<Remote>,
    /// Connections of the agents above: they end after them.
    _buses: Vec<Bus>,
    run: u64,
    told_at: Instant,
    /// The last time at which this process read frames.
    read_at: Instant,
}

impl Controller {
    /// Starts at most [`AGENTS_MAX`] agents, and waits until all have enrolled. Those on NATS run
    /// already; `nats` is the connection to them. `version` is that of this program, which all
    /// agents must have. `stop` is called every few milliseconds.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] if there are too many agents, or none. [`Error::Agent`] if an agent cannot be
    /// started, does not enrol or has another version, if the server has a loopback address and an
    /// agent another network, or if there is no connection to NATS. [`Error::Stopped`] if `stop`
    /// returned true.
    pub fn start(
        all: &[Address],
        nats: Option<&Nats>,
        site: &Site,
        version: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let count: usize = all.iter().map(Address::agents).sum();
        if count == 0 || count > AGENTS_MAX {
            return Err(Error::Plan(concat!("agents are 1 to ", agents_max!())));
        }
        let (mut agents, mut buses) = (Vec::new(), Vec::new());
        for address in all {
            match &address.place {
                Place::Command(words) => {
                    let name = format!("agent {}, {address}", agents.len() + 1);
                    agents.push(Remote::start(name, command(words))?);
                }
                Place::Nats(fleet, count) => {
                    let failed = |why| Error::Agent { agent: address.to_string(), why };
                    let nats = nats.ok_or(Error::Plan("agents on NATS need its address"))?;
                    let mut bus = Bus::connect(nats, fleet, Role::Controller).map_err(failed)?;
                    let opened = bus.recruit(*count, ENROL_MAX, stop).map_err(failed)?;
                    for opened in opened.ok_or(Error::Stopped)? {
                        let number = agents.len() + 1;
                        let name = format!("agent {number}, nats:{fleet}/{}", opened.peer);
                        let carrier = Carrier::Nats(bus.connection());
                        let link = Link::new(opened.reader, opened.writer);
                        agents.push(Remote::new(name, carrier, link));
                    }
                    buses.push(bus);
                }
            }
        }
        let now = Instant::now();
        let mut fleet = Fleet { agents, _buses: buses, run: 0, told_at: now, read_at: now };
        fleet.wait(ENROL_MAX, stop, |state| !matches!(state, State::Starting))?;
        for agent in &mut fleet.agents {
            agent.check(version, (site.address.ip().is_loopback()).then(place).as_deref())?;
            agent.send(FromController::Target {
                url: site.url.clone(),
                address: site.address,
                may_test: site.may_test.clone(),
            });
        }
        fleet.set_clocks()?;
        Ok(Self(Rc::new(RefCell::new(fleet))))
    }

    /// Returns a line about each agent: its machine, and its clock.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.0.borrow().agents.iter().map(Remote::line).collect()
    }

    /// Returns the largest error of an agent's clock at the last run.
    #[must_use]
    pub fn clock_error(&self) -> Duration {
        let fleet = self.0.borrow();
        fleet.agents.iter().map(Remote::clock_error).max().unwrap_or_default()
    }
}

impl Fleet {
    /// Reads frames until all agents have such a state. An agent that is lost ends the wait.
    fn wait(
        &mut self,
        timeout: Duration,
        stop: &dyn Fn() -> bool,
        is_done: impl Fn(&State) -> bool,
    ) -> Result<(), Error> {
        let begin = Instant::now();
        self.agents.iter_mut().for_each(Remote::expect);
        loop {
            self.turn();
            self.lost()?;
            let waiting = self.agents.iter().find(|agent| !is_done(&agent.state));
            let Some(waiting) = waiting else { return Ok(()) };
            if begin.elapsed() > timeout {
                let why = format!("it did not answer within {} s", timeout.as_secs());
                return Err(Error::Agent { agent: waiting.name.clone(), why });
            }
            if stop() {
                return Err(Error::Stopped);
            }
            std::thread::sleep(TICK);
        }
    }

    /// Reads what has come, and tells the agents that the controller lives.
    fn turn(&mut self) {
        if self.read_at.elapsed() > LOST_AFTER / 3 {
            // this process itself stood still: the frames that came meanwhile are still unread
            self.agents.iter_mut().for_each(Remote::expect);
        }
        self.read_at = Instant::now();
        let is_due = self.told_at.elapsed() >= HEARTBEAT;
        if is_due {
            self.told_at = Instant::now();
        }
        for agent in &mut self.agents {
            agent.read(self.run);
            if is_due {
                agent.send(FromController::Alive);
            }
        }
    }

    /// Reads all clocks at the same time; `None` if an agent is lost.
    fn read_clocks(&mut self) -> Option<Vec<Clock>> {
        let mut best: Option<Vec<Clock>> = None;
        for number in 0..QUESTIONS {
            self.agents.iter_mut().for_each(|agent| agent.ask(number));
            let answers = self.agents.iter_mut().map(|agent| agent.answer(number));
            let clocks = answers.collect::<Option<Vec<Clock>>>()?;
            let shorter = |(best, next): (Clock, Clock)| match next.error < best.error {
                true => next,
                false => best,
            };
            best = Some(match best {
                Some(best) => best.into_iter().zip(clocks).map(shorter).collect(),
                None => clocks,
            });
        }
        best
    }

    fn set_clocks(&mut self) -> Result<(), Error> {
        match self.read_clocks() {
            Some(clocks) => {
                self.agents.iter_mut().zip(clocks).for_each(|(agent, clock)| agent.set(clock));
                Ok(())
            }
            None => self.lost(),
        }
    }

    /// Returns the error of an agent that is lost, if there is one.
    fn lost(&self) -> Result<(), Error> {
        let mut lost = self.agents.iter().filter_map(Remote::lost);
        lost.next().map_or(Ok(()), |(agent, why)| Err(Error::Agent { agent, why }))
    }
}

impl Agents for Controller {
    fn arm(&mut self, plan: &Plan, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        let mut fleet = self.0.borrow_mut();
        if plan.transactions.is_some() || plan.keeps_timeline || !plan.request.is_default() {
            return Err(Error::Plan(
                "agents send plain GET requests, for a time and not up to a number",
            ));
        }
        let count = u32::try_from(fleet.agents.len()).unwrap_or(u32::MAX);
        let segments = Segment::split(plan, count)
            .ok_or(Error::Plan("each agent needs at least one thread and one connection"))?;
        fleet.run += 1;
        let run = fleet.run;
        for (agent, segment) in fleet.agents.iter_mut().zip(segments) {
            agent.arm(run, plan, segment);
        }
        // each first transaction may take a phase; threads and sessions take far less
        let timeout = 4 * Duration::from_millis(plan.phase_ms_max) + LOST_AFTER;
        fleet.wait(timeout, stop, |state| matches!(state, State::Ready))?;
        fleet.set_clocks()
    }

    fn start(&mut self) -> Instant {
        let mut fleet = self.0.borrow_mut();
        let run = fleet.run;
        let slowest = fleet.agents.iter().map(Remote::clock_error).max().unwrap_or_default();
        let start = Instant::now() + LEAD + 4 * slowest;
        fleet.agents.iter_mut().for_each(|agent| agent.begin(run, start));
        start
    }

    fn have_ended(&mut self) -> bool {
        let mut fleet = self.0.borrow_mut();
        fleet.turn();
        if fleet.agents.iter().any(|agent| agent.lost().is_some()) {
            fleet.stop(); // a run without a part has no figures
        }
        fleet.agents.iter().all(|agent| matches!(agent.state, State::Ended(_) | State::Lost { .. }))
    }

    fn live_counts(&self) -> LiveCounts {
        let fleet = self.0.borrow();
        let mut sum = LiveCounts::default();
        fleet.agents.iter().for_each(|agent| sum.add(&agent.live));
        sum
    }

    fn stop(&mut self) {
        self.0.borrow_mut().stop();
    }

    fn parts(&mut self) -> Vec<AgentPart> {
        let mut fleet = self.0.borrow_mut();
        if let Some(clocks) = fleet.read_clocks() {
            fleet.agents.iter_mut().zip(&clocks).for_each(|(agent, clock)| agent.compare(clock));
        }
        fleet.agents.iter_mut().map(Remote::part).collect()
    }
}

impl Fleet {
    fn stop(&mut self) {
        let run = self.run;
        self.agents.iter_mut().for_each(|agent| agent.stop(run));
    }
}
