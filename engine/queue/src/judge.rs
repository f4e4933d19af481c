//! Says whether something is a unit: right answers at every fill, alone in who is refused or
//! faulty, each request answered exactly once between threads; and how long its calls take.

use core::fmt;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic::catch_unwind;
use std::thread;
use std::time::Instant;

use crate::config::Config;
use crate::job::{Job, Outcome, Request};
use crate::queue::{Caller, Queue};
use crate::unit::Unit;

mod private;

pub use private::PrivateCases;

/// Jobs whose answers somebody else knows. All of one class.
pub trait Cases<J: Job>: Sync {
    /// Writes case `i` into a job; every number is a case.
    ///
    /// # Errors
    ///
    /// The job takes no such case, which ends the trial.
    fn load(&self, i: usize, job: &mut J) -> Result<(), J::Refusal>;

    /// Whether the job holds the right answer to case `i`.
    fn is_right(&self, i: usize, job: &J) -> bool;

    /// Writes a job that every unit refuses.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    fn load_refused(&self, job: &mut J) -> Result<(), J::Refusal>;

    /// Writes a job whose check must fail, if there is a way to plant that; whether there is.
    fn load_faulty(&self, _: &mut J) -> bool {
        false
    }
}

/// A unit that passed.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Its name.
    pub name: String,
    /// Jobs of one call.
    pub width: usize,
    /// The shortest call at each fill that was tried: requests, and the time of all of them.
    pub calls: Vec<(usize, Duration)>,
    /// Whether faults were planted.
    pub saw_faults: bool,
}

/// What is wrong with a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// A case could not be loaded.
    Case(String),
    /// A request whose check must fail did not fault.
    FaultMissed {
        /// Its position in the batch.
        position: usize,
    },
    /// In a queue, between threads, a request had no right answer.
    InQueue(String),
    /// It panicked.
    Panicked,
    /// A job that nobody can do was not refused.
    RefusalMissed {
        /// Its position in the batch.
        position: usize,
    },
    /// Its self test fails.
    SelfTest(&'static str),
    /// It takes no jobs at all.
    Width,
    /// A job that can be done has no right answer.
    Wrong {
        /// Requests in the batch.
        fill: usize,
        /// Its position among them.
        position: usize,
        /// What it was given.
        outcome: String,
    },
}

impl core::error::Error for Finding {}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Case(why) => write!(f, "a case could not be loaded: {why}"),
            Self::FaultMissed { position } => {
                write!(f, "request {position} should have failed its check: check every result")
            }
            Self::InQueue(why) => write!(f, "between threads of a queue: {why}"),
            Self::Panicked => f.write_str("it panicked: give an outcome to every request instead"),
            Self::RefusalMissed { position } => write!(
                f,
                "request {position} cannot be done and was not refused: call refuse() on it"
            ),
            Self::SelfTest(what) => write!(f, "its self test fails at {what}: see there"),
            Self::Width => f.write_str("its width is 0: say 1 or more"),
            Self::Wrong { fill, position, outcome } => write!(
                f,
                "request {position} of {fill} ended as {outcome} and should have been done right: \
                 look for what requests of a batch share"
            ),
        }
    }
}

/// Calls at each fill; the shortest is the verdict's.
const ROUNDS: usize = 5;

/// Wider units are tried at some fills only.
const EVERY_FILL_TO: usize = 16;

/// Threads, and requests of each, of the trial in a queue.
const THREADS: usize = 4;
const REQUESTS: usize = 40;

/// Tries a unit, for as long as a few hundred of its calls take.
///
/// # Errors
///
/// What is wrong with it.
pub fn judge<J: Job>(
    mut unit: Box<dyn Unit<J>>,
    cases: &impl Cases<J>,
) -> Result<Verdict, Finding> {
    unit.self_test().map_err(|failed| Finding::SelfTest(failed.what))?;
    let mut first = Request::<J>::default();
    load(cases, 0, &mut first)?;
    let width = unit.width(first.job.class());
    if width == 0 {
        return Err(Finding::Width);
    }
    let mut trial = Trial { unit: &mut *unit, cases, case: 0 };
    let fills = (1..=width).filter(|fill| *fill <= EVERY_FILL_TO || fill.is_power_of_two());
    let mut fills: Vec<_> = fills.collect();
    if fills.last() != Some(&width) {
        fills.push(width);
    }
    let mut calls = Vec::new();
    for fill in fills {
        let mut shortest = Duration::MAX;
        for _ in 0..ROUNDS {
            shortest = shortest.min(trial.batch(fill, None)?);
        }
        calls.push((fill, shortest));
    }
    let mut saw_faults = false;
    for position in (0..width).filter(|p| *p < EVERY_FILL_TO || p + 1 == width) {
        trial.batch(width, Some((position, Odd::Refused)))?;
        if cases.load_faulty(&mut Request::<J>::default().job) {
            trial.batch(width, Some((position, Odd::Faulty)))?;
            saw_faults = true;
        }
    }
    let name = unit.name().to_owned();
    in_queue(unit, cases)?;
    Ok(Verdict { name, width, calls, saw_faults })
}

/// What one request of a batch is, where the others are cases.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Odd {
    Refused,
    Faulty,
}

struct Trial<'a, J: Job, C> {
    unit: &'a mut dyn Unit<J>,
    cases: &'a C,
    /// Cases so far: none comes twice.
    case: usize,
}

impl<J: Job, C: Cases<J>> Trial<'_, J, C> {
    /// One batch, and the time of the call.
    fn batch(&mut self, fill: usize, odd: Option<(usize, Odd)>) -> Result<Duration, Finding> {
        let first = self.case;
        self.case += fill;
        let mut batch: Vec<Box<Request<J>>> = (0..fill).map(|_| Box::default()).collect();
        for (position, request) in batch.iter_mut().enumerate() {
            match odd.filter(|(at, _)| *at == position) {
                None => load(self.cases, first + position, request)?,
                Some((_, Odd::Refused)) => {
                    let loaded = self.cases.load_refused(&mut request.job);
                    loaded.map_err(|why| Finding::Case(why.to_string()))?;
                }
                Some((_, Odd::Faulty)) => drop(self.cases.load_faulty(&mut request.job)),
            }
        }
        let begin = Instant::now();
        catch_unwind(AssertUnwindSafe(|| self.unit.run(&mut batch)))
            .map_err(|_| Finding::Panicked)?;
        let time = begin.elapsed();
        for (position, request) in batch.iter_mut().enumerate() {
            let outcome = request.take_outcome();
            match (odd.filter(|(at, _)| *at == position), outcome) {
                (None, Some(Outcome::Done))
                    if self.cases.is_right(first + position, &request.job) => {}
                (None, outcome) => {
                    let outcome = outcome.map_or("nothing".into(), |outcome| match outcome {
                        Outcome::Done => "done, and is wrong".to_owned(),
                        Outcome::Fault => "a fault".to_owned(),
                        Outcome::Refused(why) => format!("refused ({why})"),
                    });
                    return Err(Finding::Wrong { fill, position, outcome });
                }
                (Some((_, Odd::Refused)), Some(Outcome::Refused(_)))
                | (Some((_, Odd::Faulty)), Some(Outcome::Fault)) => {}
                (Some((_, Odd::Refused)), _) => return Err(Finding::RefusalMissed { position }),
                (Some((_, Odd::Faulty)), _) => return Err(Finding::FaultMissed { position }),
            }
            request.wipe();
        }
        Ok(time)
    }
}

fn load<J: Job>(cases: &impl Cases<J>, i: usize, request: &mut Request<J>) -> Result<(), Finding> {
    cases.load(i, &mut request.job).map_err(|why| Finding::Case(why.to_string()))
}

/// Threads that share it: each request is answered, once, with its own answer.
fn in_queue<J: Job>(unit: Box<dyn Unit<J>>, cases: &impl Cases<J>) -> Result<(), Finding> {
    let failed = |error: crate::Error<J::Refusal>| Finding::InQueue(error.to_string());
    let config = Config { slots_per_caller_max: THREADS, ..Config::with_capacity(4 * THREADS) };
    let queue = Queue::start(config, [unit]).map_err(failed)?;
    let callers: Result<Vec<_>, _> = (0..THREADS).map(|_| queue.caller()).collect();
    let work = |thread: usize, caller: Caller<J>| {
        for i in (0..REQUESTS).map(|i| i * THREADS + thread) {
            let answer = caller.run(|job| cases.load(i, job)).map_err(failed)?;
            if !cases.is_right(i, &answer) {
                return Err(Finding::InQueue(format!("case {i} had a wrong answer")));
            }
        }
        Ok(())
    };
    let work = &work;
    thread::scope(|scope| {
        let callers = callers.map_err(failed)?.into_iter().enumerate();
        let threads: Vec<_> =
            callers.map(|(thread, caller)| scope.spawn(move || work(thread, caller))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| Finding::Panicked)?)
    })?;
    let stats = queue.stats().map_err(failed)?;
    if stats.done != (THREADS * REQUESTS) as u64 || stats.quarantines != 0 {
        return Err(Finding::InQueue(format!("{} of its checks failed", stats.faults)));
    }
    Ok(())
}
