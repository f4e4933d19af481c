//! One agent, as the controller sees it.

use core::time::Duration;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::Instant;

use tollgate_load::{AgentPart, Error, LiveCounts, Part, Plan, Segment};
use tollgate_record::Machine;

use crate::LOST_AFTER;
use crate::frame::{FromAgent, FromController};
use crate::link::{Link, News};
use crate::nats::Connection;

/// Longest wait for the process of an agent to end by itself.
const EXIT_MAX: Duration = Duration::from_secs(2);

/// The carrier of an agent's frames.
pub(super) enum Carrier {
    /// A process on this machine.
    Command(Child),
    Nats(Connection),
}

/// An agent.
pub(super) struct Remote {
    /// Its name in findings: `agent 2, ssh:load1`.
    pub(super) name: String,
    pub(super) state: State,
    pub(super) live: LiveCounts,
    carrier: Carrier,
    /// `None` when the connection is closed.
    link: Option<Link<FromController, FromAgent>>,
    enrolled: Option<Enrolled>,
    clock: Clock,
    /// The last frame, or the begin of the present wait.
    heard_at: Instant,
    asked_at: Instant,
    /// The plan that it runs.
    plan: Option<Plan>,
}

pub(super) enum State {
    Starting,
    Idle,
    Arming,
    Ready,
    Running,
    Ended(Box<Part>),
    Lost { at: Instant, why: String },
}

struct Enrolled {
    version: String,
    machine: Box<Machine>,
    place: String,
}

/// The agent's clock: it shows `agent_ns` at `here`, with this error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    here: Instant,
    agent_ns: u64,
    pub(super) error: Duration,
}

impl Clock {
    /// Returns by how much the agent's clock is too fast or too slow until a later reading, as a
    /// share of the time. The part that the errors of the readings explain does not count.
    fn drift(&self, later: &Self) -> f64 {
        let here = later.here.saturating_duration_since(self.here);
        let there = Duration::from_nanos(later.agent_ns.saturating_sub(self.agent_ns));
        if here.is_zero() {
            return 0.0;
        }
        let off = here.abs_diff(there).saturating_sub(self.error + later.error);
        off.div_duration_f64(here)
    }
}

impl Remote {
    pub(super) fn new(
        name: String,
        carrier: Carrier,
        link: Link<FromController, FromAgent>,
    ) -> Self {
        Self {
            name,
            state: State::Starting,
            live: LiveCounts::default(),
            carrier,
            link: Some(link),
            enrolled: None,
            clock: Clock { here: Instant::now(), agent_ns: 0, error: Duration::ZERO },
            heard_at: Instant::now(),
            asked_at: Instant::now(),
            plan: None,
        }
    }

    /// Starts the command of an agent.
    pub(super) fn start(name: String, mut command: Command) -> Result<Self, Error> {
        let started = command.spawn().map_err(|error| {
            let why = format!("it cannot be started: {error}");
            Error::Agent { agent: name.clone(), why }
        });
        let mut child = started?;
        let pipes = child.stdout.take().zip(child.stdin.take());
        let (out, into) = pipes.expect("the command has pipes");
        Ok(Self::new(name, Carrier::Command(child), Link::new(out, into)))
    }

    /// Checks that the agent has this version, and sees this place, if one is given.
    pub(super) fn check(&self, version: &str, seen_from: Option<&str>) -> Result<(), Error> {
        let failed = |why| Err(Error::Agent { agent: self.name.clone(), why });
        let Some(Enrolled { version: of_agent, place, .. }) = &self.enrolled else {
            return failed("it has not enrolled".to_owned());
        };
        if of_agent != version {
            return failed(format!(
                "it has version {of_agent}, and this program {version}: install the same on all \
                 machines"
            ));
        }
        if seen_from.is_some_and(|here| here != place) {
            return failed(
                "a loopback address is another server there: give the server's address in the \
                 network"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// `agent 2, ssh:load1: AMD EPYC, 2 logical cores; clock within 31 µs`.
    pub(super) fn line(&self) -> String {
        let Some(Enrolled { machine, .. }) = &self.enrolled else { return self.name.clone() };
        let cores = match machine.logical_cores {
            Some(cores) => format!(", {cores} logical cores"),
            None => String::new(),
        };
        let error = self.clock.error.as_nanos().div_ceil(1000);
        format!("{}: {}{cores}; clock within {error} µs", self.name, machine.cpu)
    }

    pub(super) const fn clock_error(&self) -> Duration {
        self.clock.error
    }

    /// Returns name and reason if the agent is lost.
    pub(super) fn lost(&self) -> Option<(String, String)> {
        match &self.state {
            State::Lost { why, .. } => Some((self.name.clone(), why.clone())),
            _ => None,
        }
    }

    fn lose(&mut self, why: String) {
        self.link = None; // the agent sees the end of its input
        // a part that has come is whole
        if !matches!(self.state, State::Lost { .. } | State::Ended(_)) {
            self.state = State::Lost { at: Instant::now(), why };
        }
    }

    /// Begins a wait: the agent's silence counts from now.
    pub(super) fn expect(&mut self) {
        self.heard_at = Instant::now();
    }

    pub(super) fn send(&mut self, frame: FromController) {
        if self.link.as_ref().is_some_and(|link| !link.send(frame)) {
            self.read(u64::MAX); // it may have told the reason
            self.over(None);
        }
    }

    /// Reads all frames that have come.
    pub(super) fn read(&mut self, run: u64) {
        while let Some(link) = &self.link {
            match link.news() {
                News::None => break,
                News::Frame(frame, _) => self.take(run, frame),
                News::Over(why) => self.over(why.map(|error| error.to_string())),
            }
        }
        let is_waited_for = matches!(self.state, State::Arming | State::Ready | State::Running);
        if is_waited_for && self.heard_at.elapsed() > LOST_AFTER {
            let silent = format!("it was silent for {} s", LOST_AFTER.as_secs());
            self.lose(match &self.carrier {
                Carrier::Nats(connection) if connection.is_lost() => {
                    silent + ": this machine has no connection to NATS"
                }
                Carrier::Command(_) | Carrier::Nats(_) => silent,
            });
        }
    }

    fn over(&mut self, why: Option<String>) {
        let ended = |status: ExitStatus| format!("its command ended with {status}");
        let why = why.unwrap_or_else(|| {
            self.exit(EXIT_MAX)
                .map_or_else(|| "it closed the connection, or does not read".to_owned(), ended)
        });
        self.lose(why);
    }

    fn take(&mut self, run: u64, frame: FromAgent) {
        self.heard_at = Instant::now();
        match (frame, &self.state) {
            (FromAgent::Enrol { version, machine, place }, State::Starting) => {
                self.enrolled = Some(Enrolled { version, machine, place });
                self.state = State::Idle;
            }
            (FromAgent::Ready { run: of, plan }, State::Arming) if of == run => {
                let is_same = self.plan.as_ref().is_some_and(|own| own.hash() == plan);
                if is_same {
                    self.state = State::Ready;
                } else {
                    self.lose("it has received another plan: report the case".to_owned());
                }
            }
            (FromAgent::Ended { run: of, part }, State::Running) if of == run => {
                if self.plan.as_ref().is_some_and(|plan| part.fits(plan)) {
                    self.state = State::Ended(part);
                } else {
                    self.lose("its part does not fit the plan: report the case".to_owned());
                }
            }
            (FromAgent::Alive { live: Some(live) }, State::Running) => self.live = *live,
            (FromAgent::Refused { why }, _) => self.lose(why),
            // late answers and live counts of an earlier run
            (
                FromAgent::Alive { .. }
                | FromAgent::Clock { .. }
                | FromAgent::Ended { .. }
                | FromAgent::Ready { .. },
                _,
            ) => {}
            (FromAgent::Enrol { .. }, _) => self.lose("it enrolled twice".to_owned()),
        }
    }

    /// Asks for the agent's clock.
    pub(super) fn ask(&mut self, number: u32) {
        self.asked_at = Instant::now();
        self.send(FromController::Clock { number });
    }

    /// Waits for the answer to the question.
    pub(super) fn answer(&mut self, question: u32) -> Option<Clock> {
        let end = Instant::now() + LOST_AFTER;
        while let Some(link) = &self.link {
            match link.wait(end.saturating_duration_since(Instant::now())) {
                News::Frame(FromAgent::Clock { number, at_ns }, at) if number == question => {
                    self.heard_at = at;
                    let error = at.saturating_duration_since(self.asked_at) / 2;
                    return Some(Clock { here: self.asked_at + error, agent_ns: at_ns, error });
                }
                News::Frame(frame, _) => self.take(u64::MAX, frame),
                News::Over(why) => self.over(why.map(|error| error.to_string())),
                News::None => self.lose("its clock does not answer".to_owned()),
            }
        }
        None
    }

    /// Sets the clock for the next run.
    pub(super) const fn set(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// Compares the clocks' rates over the run that has ended.
    pub(super) fn compare(&mut self, later: &Clock) {
        let drift = self.clock.drift(later);
        if let State::Ended(part) = &mut self.state {
            part.add_clock_drift(drift);
        }
    }

    pub(super) fn arm(&mut self, run: u64, plan: &Plan, segment: Segment) {
        if matches!(self.state, State::Lost { .. }) {
            return;
        }
        self.state = State::Arming;
        if self.link.is_none() {
            return self.lose("it ended after the last run".to_owned());
        }
        self.live = LiveCounts::default();
        self.plan = Some(plan.clone());
        self.send(FromController::Arm { run, plan: Box::new(plan.clone()), segment });
    }

    /// Tells the agent that the load begins at `start`.
    pub(super) fn begin(&mut self, run: u64, start: Instant) {
        self.state = State::Running;
        let since = start.saturating_duration_since(self.clock.here);
        let since = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        let at_ns = self.clock.agent_ns.saturating_add(since);
        self.send(FromController::Start { run, at_ns });
    }

    pub(super) fn stop(&mut self, run: u64) {
        if matches!(self.state, State::Running) {
            self.send(FromController::Stop { run });
        }
    }

    /// Takes the result of a run.
    pub(super) fn part(&mut self) -> AgentPart {
        let part = match core::mem::replace(&mut self.state, State::Idle) {
            State::Ended(part) => Ok(*part),
            State::Lost { at, why } => {
                self.state = State::Lost { at, why: why.clone() };
                Err((at, why))
            }
            _ => Err((Instant::now(), "it has not ended".to_owned())),
        };
        AgentPart { agent: self.name.clone(), part }
    }

    /// Waits for the end of the process; `None` if it lives on, or is elsewhere.
    fn exit(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let Carrier::Command(child) = &mut self.carrier else { return None };
        let end = Instant::now() + timeout;
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(5)),
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.link = None; // ends the agent
        if self.exit(EXIT_MAX).is_none()
            && let Carrier::Command(child) = &mut self.carrier
        {
            let _ = child.kill(); // it has ended meanwhile
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_clock_is_found_unless_the_errors_explain_it() {
        let (here, error) = (Instant::now(), Duration::from_micros(10));
        let begin = Clock { here, agent_ns: 7, error };
        let after = |agent_ns| Clock { here: here + Duration::from_secs(1), agent_ns, error };
        assert_eq!(begin.drift(&begin), 0.0);
        assert_eq!(begin.drift(&after(1_000_020_007)), 0.0);
        assert_eq!(begin.drift(&after(999_980_007)), 0.0);
        for there in [980_000_007, 1_020_000_007] {
            let drift = begin.drift(&after(there));
            assert!((drift - 0.02).abs() < 1e-4, "{drift}");
        }
    }
}
