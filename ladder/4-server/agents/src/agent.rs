//! The agent: runs its segments of the controller's plans.

use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use futures_util::StreamExt as _;
use futures_util::stream::select_all;
use tokio::time::sleep;
use tollgate_load::{Error as LoadError, Live, Plan, Segment, Target, run_part};
use tollgate_probe::Site;
use tollgate_record::Machine;

use crate::message::{Answer, Enrolled, Request, chunk, parse};
use crate::nats::{ALL, Connection, FleetName, Nats, Role};
use crate::{LOST_AFTER, network_place};

/// A controller that is silent for this time without load is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);

/// Interval of looking for the start.
const TICK: Duration = Duration::from_millis(5);

/// Serves the controllers of a fleet on NATS, one after another. `version` and `machine` are those
/// of this program and this machine. `tell` gets a line when a controller comes and when it has
/// gone.
///
/// The agent loads only the server that the controller names, and only if this server may be loaded
/// ([`Site::find`]). In a run it stops by itself when the controller is gone, or silent for
/// [`LOST_AFTER`].
///
/// # Errors
///
/// The reason why no controller can reach this agent, in one line.
pub fn serve_fleet(
    nats: &Nats,
    fleet: &FleetName,
    version: &str,
    machine: &Machine,
    tell: &dyn Fn(&str),
) -> Result<(), String> {
    let mut connection = Connection::new(nats, fleet, Role::Agent)?;
    let agent = Arc::new(Agent::new(Enrolled {
        agent: connection.name.clone(),
        version: version.to_owned(),
        machine: machine.clone(),
        place: network_place(),
    }));
    let Connection { runtime, client, failure, .. } = &mut connection;
    runtime.block_on(async {
        let mut inboxes = Vec::new();
        for name in [agent.enrolled.agent.as_str(), ALL] {
            let inbox = client.subscribe(Role::Agent.subject(fleet, name, "*")).await;
            inboxes.push(inbox.map_err(|error| error.to_string())?);
        }
        client.flush().await.map_err(|error| error.to_string())?;
        tell(&format!("{} waits for controllers of the fleet {fleet}", agent.enrolled.agent));
        let mut inbox = select_all(inboxes);
        let mut served = None;
        loop {
            let message = tokio::select! {
                message = inbox.next() => Some(message.ok_or("the connection to NATS is closed")?),
                why = failure.recv() => return Err(why.unwrap_or_default()),
                () = sleep(LOST_AFTER / 3) => {
                    agent.state().forget_silent();
                    None
                }
            };
            if let Some(message) = message
                && let Some((_, controller)) = message.subject.rsplit_once('.')
            {
                let answer = match parse(&message.payload) {
                    Ok(request) => agent.answer(controller, request),
                    Err(why) => Some(Answer::Refused { why }),
                };
                if let Some((answer, reply)) = answer.zip(message.reply) {
                    let text = serde_json::to_vec(&answer).map_err(|error| error.to_string())?;
                    // without an answer the controller asks again
                    let _ = client.publish(reply, text.into()).await;
                }
            }
            let serves = agent.controller();
            if serves != served {
                match &serves {
                    Some(controller) => tell(&format!("controller {controller}: serves it")),
                    None => tell("waits for the next controller"),
                }
                served = serves;
            }
        }
    })
}

/// An agent, without its connection.
#[derive(Debug)]
pub struct Agent {
    enrolled: Enrolled,
    /// The origin of this agent's clock.
    origin: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    controller: Option<Controller>,
    /// The target that may be loaded.
    target: Option<Target>,
    /// The last run.
    run: u64,
    phase: Phase,
    live: Arc<Live>,
    start: Option<Instant>,
    is_stopped: bool,
    /// The part of the last run.
    part: String,
}

#[derive(Debug)]
struct Controller {
    name: String,
    heard_at: Instant,
    /// It has left, or was silent in a run, which stops.
    is_gone: bool,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    Busy,
    Ready,
    Ended,
    Refused(String),
}

impl Agent {
    /// Returns an agent without a controller.
    #[must_use]
    pub fn new(enrolled: Enrolled) -> Self {
        Self { enrolled, origin: Instant::now(), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the name of the controller that it serves.
    fn controller(&self) -> Option<String> {
        let state = self.state();
        let controller = state.controller.as_ref().filter(|controller| !controller.is_gone);
        controller.map(|controller| controller.name.clone())
    }

    /// Returns the answer to a controller's request; `None` if there is none.
    #[must_use]
    pub fn answer(self: &Arc<Self>, from: &str, request: Request) -> Option<Answer> {
        let mut state = self.state();
        state.forget_silent();
        let serves = state
            .controller
            .as_ref()
            .map(|controller| controller.name == from && !controller.is_gone);
        match (&request, serves) {
            (Request::Enrol, None) => {
                return Some(Answer::Enrolled(Box::new(self.enrolled.clone())));
            }
            (Request::Enrol, Some(_)) | (Request::Alive | Request::Leave, Some(false) | None) => {
                return None;
            }
            (Request::Target { .. }, None) => {
                let name = from.to_owned();
                let controller = Controller { name, heard_at: Instant::now(), is_gone: false };
                *state = State { controller: Some(controller), ..State::default() };
            }
            (Request::Target { .. }, Some(false)) => {
                let why = "it serves another controller".to_owned();
                return Some(Answer::Refused { why });
            }
            (_, Some(false) | None) => {
                let why = "the controller is gone, and the load was stopped".to_owned();
                return Some(Answer::Refused { why });
            }
            (_, Some(true)) => {}
        }
        if let Some(controller) = &mut state.controller {
            controller.heard_at = Instant::now();
        }
        match request {
            Request::Clock => {
                let at_ns = u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX);
                return Some(Answer::Clock { at_ns });
            }
            Request::Part { from } => {
                return Some(Answer::Part { text: chunk(&state.part, from).to_owned() });
            }
            Request::Alive => return None,
            Request::Leave => {
                state.leave();
                return None;
            }
            Request::Target { url, address, may_test } if serves.is_none() => {
                state.phase = Phase::Busy;
                let agent = Arc::clone(self);
                thread::spawn(move || agent.examine(&url, address, may_test.as_deref()));
            }
            Request::Arm { run, plan, segment } if run > state.run && !state.is_running() => {
                (state.run, state.phase, state.start) = (run, Phase::Busy, None);
                (state.is_stopped, state.live) = (false, Arc::default());
                let agent = Arc::clone(self);
                thread::spawn(move || agent.run(&plan, segment));
            }
            Request::Start { run, at_ns } if run == state.run && state.start.is_none() => {
                state.start = self.origin.checked_add(Duration::from_nanos(at_ns));
            }
            Request::Stop { run } if run == state.run => state.is_stopped = true,
            // repeated, or of an earlier run
            Request::Enrol
            | Request::Target { .. }
            | Request::Arm { .. }
            | Request::Start { .. }
            | Request::Stop { .. }
            | Request::Poll => {}
        }
        Some(state.answer())
    }

    /// Finds the server, and asks for its consent.
    fn examine(&self, url: &str, address: core::net::SocketAddr, may_test: Option<&str>) {
        let site = url.parse().map_err(|error| format!("{url}: {error}")).and_then(|url| {
            let site = Site::find(&url, may_test, &|_, _| Ok(vec![address]));
            site.map_err(|error| error.to_string())
        });
        let mut state = self.state();
        match site {
            _ if state.is_abandoned() => *state = State::default(),
            Ok(site) => {
                state.target = Some(site.target().clone());
                state.phase = Phase::Idle;
            }
            Err(why) => state.phase = Phase::Refused(why),
        }
    }

    /// Runs a segment of the plan, and keeps its part.
    fn run(&self, plan: &Plan, segment: Segment) {
        let part = self.part(plan, segment);
        let mut state = self.state();
        if state.is_abandoned() {
            *state = State::default();
            return;
        }
        state.phase = match part {
            Ok(Some(part)) => {
                state.part = part;
                Phase::Ended
            }
            Ok(None) => Phase::Idle,
            Err(why) => Phase::Refused(why),
        };
    }

    /// Returns the part in JSON; `None` if the run was stopped before its start.
    fn part(&self, plan: &Plan, segment: Segment) -> Result<Option<String>, String> {
        let (target, live) = {
            let state = self.state();
            (state.target.clone().ok_or("a run has no target")?, Arc::clone(&state.live))
        };
        let mut is_late = false;
        let mut start = || {
            self.state().phase = Phase::Ready;
            let start = self.wait_for_start()?;
            self.state().phase = Phase::Busy;
            is_late = Instant::now() >= start;
            (!is_late).then_some(start)
        };
        let stop = || self.state().must_stop();
        match run_part(plan, &target, segment, &live, &mut start, &stop) {
            Ok(part) => serde_json::to_string(&part).map(Some).map_err(|error| error.to_string()),
            Err(_) if is_late => {
                let why =
                    "it learned the time of the start too late: repeat, or use a faster network";
                Err(why.to_owned())
            }
            Err(LoadError::Stopped) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Returns the time of the start; `None` if the run does not begin.
    fn wait_for_start(&self) -> Option<Instant> {
        loop {
            let mut state = self.state();
            if state.must_stop() {
                return None;
            }
            if state.start.is_some() {
                return state.start;
            }
            drop(state);
            thread::sleep(TICK);
        }
    }
}

impl State {
    const fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Busy | Phase::Ready)
    }

    fn is_silent_for(&self, limit: Duration) -> bool {
        self.controller.as_ref().is_some_and(|controller| controller.heard_at.elapsed() > limit)
    }

    /// Returns whether a run must stop.
    fn must_stop(&mut self) -> bool {
        if self.is_silent_for(LOST_AFTER) {
            self.leave();
        }
        self.is_stopped || self.is_abandoned()
    }

    fn is_abandoned(&self) -> bool {
        self.controller.as_ref().is_none_or(|controller| controller.is_gone)
    }

    /// The controller has gone: the agent is free as soon as nothing runs.
    fn leave(&mut self) {
        match &mut self.controller {
            Some(controller) if matches!(self.phase, Phase::Busy | Phase::Ready) => {
                controller.is_gone = true;
            }
            _ => *self = Self::default(),
        }
    }

    /// Forgets a controller that is silent.
    fn forget_silent(&mut self) {
        let limit = if self.is_running() { LOST_AFTER } else { FORGOTTEN_AFTER };
        if self.is_silent_for(limit) {
            self.leave();
        }
    }

    fn answer(&self) -> Answer {
        match &self.phase {
            Phase::Idle => Answer::Idle,
            Phase::Busy => Answer::Busy { live: self.live.counts() },
            Phase::Ready => Answer::Ready { run: self.run },
            Phase::Ended => Answer::Ended { run: self.run },
            Phase::Refused(why) => Answer::Refused { why: why.clone() },
        }
    }
}
