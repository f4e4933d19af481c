//! One agent, as the controller sees it.

use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use async_nats::Client;
use async_nats::connection::State as Connected;
use tokio::sync::watch::Receiver;
use tokio::time::{sleep, timeout};
use tollgate_load::{Error, LiveCounts, Part, Plan, Segment};

use super::encode;
use crate::message::{Answer, Enrolled, Request, TEXT_BYTES_MAX, parse, parse_part};
use crate::{HEARTBEAT, LOST_AFTER};

/// Longest wait for one answer, before the request is sent again.
const ANSWER_MAX: Duration = Duration::from_secs(1);

/// Interval of requests that were not answered, and of questions while the agent prepares.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Readings of a clock. The one with the shortest round trip gives the offset.
const READINGS: u32 = 20;

/// An agent.
pub(super) struct Remote {
    /// Its name in findings: `agent 2, nats:lab/host-1a2b3c`.
    pub(super) name: String,
    pub(super) enrolled: Enrolled,
    pub(super) subject: String,
    pub(super) client: Client,
    pub(super) state: Mutex<State>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct State {
    pub(super) is_ready: bool,
    pub(super) is_lost: bool,
    pub(super) live: LiveCounts,
    pub(super) clock: Option<Clock>,
}

/// The orders to all agents of a run: they change while it goes on.
#[derive(Clone, Copy, Default)]
pub(super) struct Control {
    pub(super) start: Option<Instant>,
    pub(super) is_stopped: bool,
}

/// The run of one agent.
pub(super) struct Order {
    pub(super) run: u64,
    pub(super) plan: Plan,
    pub(super) segment: Segment,
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

    /// Returns what the agent's clock shows at this time.
    fn at_ns(&self, time: Instant) -> u64 {
        let since = time.saturating_duration_since(self.here).as_nanos();
        self.agent_ns.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    }
}

impl Remote {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn clock_error(&self) -> Duration {
        self.state().clock.map_or(Duration::ZERO, |clock| clock.error)
    }

    /// `agent 2, nats:lab/load1: AMD EPYC, 2 logical cores; clock within 31 µs`.
    pub(super) fn line(&self) -> String {
        let machine = &self.enrolled.machine;
        let cores = match machine.logical_cores {
            Some(cores) => format!(", {cores} logical cores"),
            None => String::new(),
        };
        let error = self.clock_error().as_nanos().div_ceil(1000);
        format!("{}: {}{cores}; clock within {error} µs", self.name, machine.cpu)
    }

    /// Sends a request until it is answered.
    async fn ask(&self, request: &Request) -> Result<Answer, String> {
        let payload = encode(request);
        let end = Instant::now() + LOST_AFTER;
        while Instant::now() < end {
            let sent = self.client.request(self.subject.clone(), payload.clone().into());
            if let Ok(Ok(message)) = timeout(ANSWER_MAX, sent).await {
                return match parse(&message.payload)? {
                    Answer::Refused { why } => Err(why),
                    answer => Ok(answer),
                };
            }
            sleep(RETRY_INTERVAL).await;
        }
        let silent = format!("it was silent for {} s", LOST_AFTER.as_secs());
        Err(match self.client.connection_state() {
            Connected::Connected => silent,
            _ => silent + ": this machine has no connection to NATS",
        })
    }

    /// Names the target, and waits until the agent may load it; then reads its clock.
    pub(super) async fn prepare(&self, target: &Request) -> Result<(), Error> {
        let failed = |why| Error::Agent { agent: self.name.clone(), why };
        while self.ask(target).await.map_err(failed)? != Answer::Idle {
            sleep(RETRY_INTERVAL).await;
        }
        let clock = self.read_clock().await.map_err(failed)?;
        self.state().clock = Some(clock);
        Ok(())
    }

    async fn read_clock(&self) -> Result<Clock, String> {
        let mut best: Option<Clock> = None;
        for _ in 0..READINGS {
            let sent_at = Instant::now();
            let Answer::Clock { at_ns } = self.ask(&Request::Clock).await? else {
                return Err(unexpected());
            };
            let error = sent_at.elapsed() / 2;
            if best.is_none_or(|best| error < best.error) {
                best = Some(Clock { here: sent_at + error, agent_ns: at_ns, error });
            }
        }
        best.ok_or_else(unexpected)
    }

    /// Runs an order to its end. If the agent is lost, the result has the time and the reason.
    pub(super) async fn run(
        &self,
        order: Order,
        control: Receiver<Control>,
    ) -> Result<Part, (Instant, String)> {
        let part = self.run_whole(&order, control).await;
        part.map_err(|why| {
            self.state().is_lost = true;
            (Instant::now(), why)
        })
    }

    async fn run_whole(
        &self,
        order: &Order,
        mut control: Receiver<Control>,
    ) -> Result<Part, String> {
        let run = order.run;
        let plan = Box::new(order.plan.clone());
        let arm = Request::Arm { run, plan, segment: order.segment };
        let mut answer = self.ask(&arm).await?;
        while matches!(answer, Answer::Busy { .. }) && !control.borrow().is_stopped {
            sleep(RETRY_INTERVAL).await;
            answer = self.ask(&Request::Poll).await?;
        }
        if !matches!(answer, Answer::Ready { .. }) {
            self.ask(&Request::Stop { run }).await?;
            return Err("it was stopped before the start".to_owned());
        }
        let clock = self.read_clock().await?;
        {
            let mut state = self.state();
            (state.clock, state.is_ready) = (Some(clock), true);
        }
        let mut is_started = false;
        loop {
            let Control { start, is_stopped } = *control.borrow_and_update();
            let request = match start {
                _ if is_stopped => Request::Stop { run },
                Some(start) if !is_started => Request::Start { run, at_ns: clock.at_ns(start) },
                _ => Request::Poll,
            };
            is_started |= start.is_some();
            match self.ask(&request).await? {
                Answer::Busy { live } => self.state().live = live,
                Answer::Ended { run: ended } if ended == run => break,
                Answer::Idle => return Err("it was stopped before the start".to_owned()),
                Answer::Ready { .. } => {}
                _ => return Err(unexpected()),
            }
            // Asks at this interval, or earlier.
            let _ = timeout(HEARTBEAT, control.changed()).await;
        }
        let mut part = parse_part(&self.receive_part().await?)?;
        if !part.fits(&order.plan) {
            return Err("its part does not fit the plan: report the case".to_owned());
        }
        part.add_clock_drift(clock.drift(&self.read_clock().await?));
        Ok(part)
    }

    async fn receive_part(&self) -> Result<String, String> {
        let mut part = String::new();
        while part.len() <= TEXT_BYTES_MAX {
            let Answer::Part { text } = self.ask(&Request::Part { from: part.len() }).await? else {
                return Err(unexpected());
            };
            if text.is_empty() {
                return Ok(part);
            }
            part.push_str(&text);
        }
        Err(format!("its part is larger than {TEXT_BYTES_MAX} bytes: report the case"))
    }
}

fn unexpected() -> String {
    "it sent another answer than was asked for: report the case".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_clock_is_found_unless_the_errors_explain_it() {
        let (here, error) = (Instant::now(), Duration::from_micros(10));
        let first = Clock { here, agent_ns: 7, error };
        let after = |agent_ns| Clock { here: here + Duration::from_secs(1), agent_ns, error };
        assert_eq!(first.drift(&first), 0.0);
        assert_eq!(first.drift(&after(1_000_020_007)), 0.0);
        assert_eq!(first.drift(&after(999_980_007)), 0.0);
        for there in [980_000_007, 1_020_000_007] {
            let drift = first.drift(&after(there));
            assert!((drift - 0.02).abs() < 1e-4, "{drift}");
        }
        assert_eq!(first.at_ns(here + Duration::from_micros(1)), 1007);
    }
}
