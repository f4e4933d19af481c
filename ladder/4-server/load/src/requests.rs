//! Requests on connections that stay open, such as those to a signer.
//!
//! The plan's arrivals, times, limits and verdict are those of transactions; each request is one.
//! The calling thread is the only one of the load.

use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use mio::{Events, Poll, Registry, Token};
use tollgate_record::Timestamp;

use crate::alarm::Alarm;
use crate::cpu::UsageReading;
use crate::error::Error;
use crate::generator::{Generator, Next};
use crate::host_conditions::Reading;
use crate::load::{Load, Readings};
use crate::outcome::Outcome;
use crate::part::Part;
use crate::phase::{Cause, Failure, Phase};
use crate::plan::Plan;
use crate::request_spec::TransactionEvent;
use crate::run::collect;
use crate::schedule::{Schedule, Stage};
use crate::segment::Segment;
use crate::server::Server;
use crate::tally::Recorder;
use crate::task::Task;
use crate::worker::Report;

/// A connection that takes requests. Its socket never blocks.
pub trait Requester {
    /// Registers the socket for reading.
    ///
    /// # Errors
    ///
    /// The system refuses.
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()>;

    /// Sends a request with this number; no request without an answer has the same. Bytes for which
    /// there is no room yet are sent in a later call.
    ///
    /// # Errors
    ///
    /// The connection has ended.
    fn ask(&mut self, number: u32) -> io::Result<()>;

    /// Reads all that has come, and passes on the number of each answer. Keeps the answers for
    /// [`check`](Self::check).
    ///
    /// # Errors
    ///
    /// The connection has ended, or something is no answer.
    fn receive(&mut self, answered: &mut dyn FnMut(u32)) -> io::Result<()>;

    /// Checks the oldest answer that was not checked yet.
    ///
    /// # Errors
    ///
    /// The answer is a refusal, or wrong: a line that says so.
    fn check(&mut self) -> Result<(), String>;
}

/// Interval of calling `stop` and `progress`, and of looking for a server that does not answer.
const SWEEP: Duration = Duration::from_millis(20);

/// Answers that may wait for their checks. Beyond them, checks go before further requests.
const UNCHECKED_MAX: usize = 4096;

/// Runs a plan whose connections are these, with the calling thread. Each connection has
/// `plan.connections / requesters.len()` requests in flight. Of the plan, what concerns TLS and
/// HTTP is not used.
///
/// A request without answer for the plan's `phase_ms_max`, or the end of a connection, ends the
/// run: it is invalid.
///
/// # Errors
///
/// [`Error`] if there was no run, or if it was stopped.
pub fn run_requests(
    plan: &Plan,
    requesters: &mut [Box<dyn Requester + '_>],
    server: &mut Server<'_>,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(Stage, f64),
) -> Result<Outcome, Error> {
    plan.check()?;
    let each = (plan.connections as usize).checked_div(requesters.len());
    if plan.threads != 1
        || each.is_none_or(|each| each * requesters.len() != plan.connections as usize)
    {
        return Err(Error::Plan("requests have one thread, and as many for each connection"));
    }
    let poll = Poll::new().map_err(|error| Error::of_socket("wait for sockets", error))?;
    for (number, requester) in requesters.iter_mut().enumerate() {
        let registered = requester.register(poll.registry(), Token(number));
        registered.map_err(|error| Error::of_socket("watch a socket", error))?;
    }
    let alarm = Alarm::new(poll.registry())?;
    if let Some(referee) = &mut server.referee {
        referee.mark().map_err(Error::Referee)?;
    }
    let (host, began_at) = (Reading::now(), Timestamp::now());
    let schedule = Schedule::new(plan, Instant::now());
    let mut generator = Generator::new(plan, 0);
    generator.begin(&schedule);
    let recorder = Recorder::new(&schedule, plan.arrivals.is_open(), false);
    let flights = vec![None; plan.connections as usize];
    let mut asking = Asking {
        answer_max: plan.phase_max(),
        requesters,
        generator,
        recorder,
        poll,
        alarm,
        flights,
        unchecked: VecDeque::new(),
        live: 0,
        heard: schedule.start,
        readings: Readings::default(),
    };
    let report = asking.run(server, stop, progress)?;
    let Asking { readings, .. } = asking;
    let part = Part::new(plan, &schedule, vec![report], &[], host.until_now());
    let parts = vec![(None, Segment::whole(plan), part)];
    progress(Stage::Collect, 1.0);
    let is_stopped = readings.broken_off.is_some();
    let load = Load { parts, lost: Vec::new(), schedule, readings, began_at };
    let outcome = collect(plan, server, load, stop)?;
    if is_stopped { Err(Error::Stopped) } else { Ok(outcome) }
}

/// The state of a run.
struct Asking<'r, 'c> {
    /// The longest time to an answer.
    answer_max: Duration,
    requesters: &'r mut [Box<dyn Requester + 'c>],
    generator: Generator,
    recorder: Recorder,
    poll: Poll,
    alarm: Alarm,
    /// The requests without an answer, by their number. A request with number n goes over
    /// connection n modulo the number of connections.
    flights: Vec<Option<Flight>>,
    unchecked: VecDeque<Answered>,
    live: usize,
    /// The time of the last answer.
    heard: Instant,
    readings: Readings,
}

/// A request without an answer.
#[derive(Clone, Copy)]
struct Flight {
    task: Task,
    asked: Instant,
}

/// An answer that was not checked.
struct Answered {
    connection: usize,
    flight: Flight,
    at: Instant,
}

impl Asking<'_, '_> {
    fn run(
        &mut self,
        server: &mut Server<'_>,
        stop: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(Stage, f64),
    ) -> Result<Report, Error> {
        let gone = self.turns(server, stop, progress);
        let (cpu, server_gone) = match gone? {
            Ok(cpu) => (cpu, None),
            Err(failure) => (None, Some(failure)),
        };
        while !self.unchecked.is_empty() {
            self.check();
        }
        self.recorder.tally.abandoned += self.live as u64;
        let tally = self.recorder.tally.clone();
        Ok(Report { tally, cpu, server_gone, ended_at: self.heard })
    }

    /// Returns the CPU time of this thread in the sustained part, or the failure that ended the
    /// run.
    #[allow(clippy::type_complexity, reason = "an error of this machine, or one of the server")]
    fn turns(
        &mut self,
        server: &mut Server<'_>,
        stop: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(Stage, f64),
    ) -> Result<Result<Option<crate::cpu::Usage>, Failure>, Error> {
        let schedule = self.recorder.schedule;
        let mut events = Events::with_capacity(1024);
        let (mut stage, mut reading, mut usage) = (Stage::RampUp, None, None);
        let mut sweep_at = schedule.start + SWEEP;
        loop {
            let now = Instant::now();
            let entered = schedule.stage(now);
            if stage != entered {
                stage = entered;
                self.read(server);
                if entered == Stage::Sustain {
                    reading = Some(UsageReading::now());
                } else {
                    usage = reading.as_ref().map(UsageReading::until_now);
                    // arrivals due in the last turn still begin if a slot is free
                    if let Err(failure) = self.start(schedule.sustain_end - Duration::from_nanos(1))
                    {
                        return Ok(Err(failure));
                    }
                    while let Some(intended) = self.generator.rest(schedule.sustain_end) {
                        self.recorder.dropped(intended);
                    }
                }
            }
            if now >= sweep_at {
                sweep_at = now + SWEEP;
                let all = schedule.sustain_end - schedule.start;
                progress(stage, (now - schedule.start).div_duration_f64(all).min(1.0));
                if stop() {
                    self.readings.broken_off = Some(now);
                    return Ok(Ok(None));
                }
                if let Err(failure) = self.sweep(now) {
                    return Ok(Err(failure));
                }
            }
            if stage == Stage::RampDown {
                if self.live == 0 {
                    return Ok(Ok(usage));
                }
            } else if let Err(failure) = self.start(now) {
                return Ok(Err(failure));
            }
            let timeout = self.timeout(sweep_at)?;
            match self.poll.poll(&mut events, timeout) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Error::Io { what: "wait for sockets", error }),
            }
            for event in &events {
                if event.token() == Alarm::TOKEN {
                    self.alarm.fired();
                } else if let Err(failure) = self.receive(event.token().0) {
                    return Ok(Err(failure));
                }
            }
            self.check();
            while self.unchecked.len() > UNCHECKED_MAX {
                self.check();
            }
        }
    }

    /// Reads the server's CPU time and counts, at both ends of the sustained part.
    fn read(&mut self, server: &mut Server<'_>) {
        if let Some(meter) = &mut server.cpu {
            self.readings.server_cpu.push((Instant::now(), meter()));
        }
        if let Some(meter) = &mut server.counts {
            self.readings.counts.push(meter());
        }
    }

    /// Sends the requests that are due.
    fn start(&mut self, due: Instant) -> Result<(), Failure> {
        while let Some(next) = self.generator.next(due) {
            let (place, task, queued) = match next {
                Next::Begins { place, task, queued } => (place, task, queued),
                Next::Dropped { intended } => {
                    self.recorder.dropped(intended);
                    continue;
                }
            };
            let now = Instant::now(); // sending the earlier ones took time
            if self.generator.is_open() {
                self.recorder.began(task, queued, now);
            }
            self.recorder.attempt(task, now);
            self.live += 1;
            self.flights[place] = Some(Flight { task, asked: now });
            let number = u32::try_from(place).expect("a plan has at most 100000 connections");
            let connection = place % self.requesters.len();
            self.requesters[connection].ask(number).map_err(|error| failure(&error))?;
        }
        Ok(())
    }

    fn receive(&mut self, connection: usize) -> Result<(), Failure> {
        let Self { requesters, flights, generator, unchecked, live, heard, .. } = self;
        let Some(requester) = requesters.get_mut(connection) else { return Ok(()) };
        let mut is_asked = true;
        let received = requester.receive(&mut |number| {
            let place = number as usize;
            let Some(flight) = flights.get_mut(place).and_then(Option::take) else {
                is_asked = false;
                return;
            };
            let at = Instant::now();
            unchecked.push_back(Answered { connection, flight, at });
            generator.ended(place, at);
            *heard = at;
            *live -= 1;
        });
        received.map_err(|error| failure(&error))?;
        let why = "an answer to a request that has none in flight";
        if is_asked { Ok(()) } else { Err(wrong(why.to_owned())) }
    }

    /// Checks the oldest answer, and counts it.
    fn check(&mut self) {
        let Some(Answered { connection, flight, at }) = self.unchecked.pop_front() else { return };
        let Flight { task, asked } = flight;
        match self.requesters[connection].check() {
            Ok(()) => {
                let (service, response) = (at - asked, at - task.intended);
                self.recorder.event(task, TransactionEvent::Response { bytes: 0 }, at);
                let complete = TransactionEvent::Complete { service, response, resumed: false };
                self.recorder.event(task, complete, at);
            }
            Err(why) => self.recorder.failed(task, &wrong(why), at),
        }
    }

    /// Sends bytes for which there was no room, and returns a failure if an answer does not come.
    fn sweep(&mut self, now: Instant) -> Result<(), Failure> {
        (0..self.requesters.len()).try_for_each(|connection| self.receive(connection))?;
        let since = |flight: &Flight| now.saturating_duration_since(flight.asked);
        let is_late = self.flights.iter().flatten().any(|flight| since(flight) > self.answer_max);
        if is_late { Err(Failure::new(Phase::Data, Cause::Deadline)) } else { Ok(()) }
    }

    /// Returns the timeout of the wait for events; without one, the alarm ends the wait.
    fn timeout(&mut self, sweep_at: Instant) -> Result<Option<Duration>, Error> {
        if !self.unchecked.is_empty() {
            return Ok(Some(Duration::ZERO));
        }
        let Schedule { sustain_start, sustain_end, .. } = self.recorder.schedule;
        let now = Instant::now();
        let next = if now >= sustain_end { None } else { self.generator.next_at() };
        let stages = [sustain_start, sustain_end].into_iter().filter(|&at| at > now);
        let at = stages.chain(next).chain([sweep_at]).min().unwrap_or(sweep_at);
        if at <= now {
            return Ok(Some(Duration::ZERO));
        }
        self.alarm.set(at, now)?;
        Ok(None)
    }
}

fn failure(error: &io::Error) -> Failure {
    Failure::new(Phase::Data, Cause::of_io(error))
}

const fn wrong(why: String) -> Failure {
    Failure::new(Phase::Data, Cause::Violation(why))
}
