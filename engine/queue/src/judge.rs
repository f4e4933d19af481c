//! Tests a unit. Results must be right at every tried batch size. A refusal or a fault must affect
//! its own request only. With several threads, each request must get exactly one answer. The
//! duration of the calls is measured.

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

/// Test cases with known results, all of one class.
pub trait Cases<J: Job>: Sync {
    /// Writes case `i` into a job. Any number is valid.
    ///
    /// # Errors
    ///
    /// The job refuses the case; this ends the test.
    fn load(&self, i: usize, job: &mut J) -> Result<(), J::Refusal>;

    /// Returns `true` if the job holds the right result of case `i`.
    fn is_right(&self, i: usize, job: &J) -> bool;

    /// Writes a job that every unit must refuse.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    fn load_refused(&self, job: &mut J) -> Result<(), J::Refusal>;

    /// Writes a job whose check must fail, and returns `true`; `false` if faults cannot be planted.
    fn load_faulty(&self, _: &mut J) -> bool {
        false
    }
}

/// A unit that passed.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The unit's name.
    pub name: String,
    /// Maximum number of jobs in one call.
    pub width: usize,
    /// The shortest call for each tried batch size: number of requests and duration of the call.
    pub calls: Vec<(usize, Duration)>,
    /// `true` if faults were planted.
    pub saw_faults: bool,
}

/// A defect of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// A test case could not be loaded.
    Case(String),
    /// A planted fault was not reported.
    FaultMissed {
        /// The request's position in the batch.
        position: usize,
    },
    /// A request had no right answer in a queue with several threads.
    InQueue(String),
    /// The unit panicked.
    Panicked,
    /// An impossible job was not refused.
    RefusalMissed {
        /// The request's position in the batch.
        position: usize,
    },
    /// The self test failed.
    SelfTest(&'static str),
    /// The width is 0.
    Width,
    /// A valid job has no right result.
    Wrong {
        /// Number of requests in the batch.
        fill: usize,
        /// The request's position in the batch.
        position: usize,
        /// The outcome that the unit set.
        outcome: String,
    },
}

impl core::error::Error for Finding {}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Case(why) => write!(f, "a case could not be loaded: {why}"),
            Self::FaultMissed { position } => {
                write!(f, "request {position} has an unreported wrong result: check every result")
            }
            Self::InQueue(why) => write!(f, "in a queue with several threads: {why}"),
            Self::Panicked => {
                f.write_str("the unit panicked: set an outcome for each request instead")
            }
            Self::RefusalMissed { position } => write!(
                f,
                "request {position} is impossible and was not refused: call refuse() for it"
            ),
            Self::SelfTest(what) => write!(f, "the self test failed at {what}: repair the unit"),
            Self::Width => f.write_str("the width is 0: return 1 or more"),
            Self::Wrong { fill, position, outcome } => write!(
                f,
                "request {position} of {fill} ended as {outcome} instead of a right result: \
                 look for state shared by requests of a batch"
            ),
        }
    }
}

/// Number of calls for each batch size; the shortest counts.
const ROUNDS: usize = 5;

/// Every batch size up to this one is tried; of larger sizes, the powers of two and the width.
const EVERY_FILL_TO: usize = 16;

/// Number of threads of the test in a queue, and number of requests of each thread.
const THREADS: usize = 4;
const REQUESTS: usize = 40;

/// Tests a unit; takes as long as a few hundred calls.
///
/// # Errors
///
/// The first defect found.
pub fn judge<J: Job>(
    mut unit: Box<dyn Unit<J>>,
    cases: &impl Cases<J>,
) -> Result<Verdict, Finding> {
    unit.self_test().map_err(|failed| Finding::SelfTest(failed.what))?;
    let mut first = J::default();
    cases.load(0, &mut first).map_err(case)?;
    let width = unit.width(first.class());
    if width == 0 {
        return Err(Finding::Width);
    }
    let mut trial = Trial { unit: &mut *unit, cases, case: 0 };
    let mut calls = Vec::new();
    for fill in (1..=width)
        .filter(|fill| *fill <= EVERY_FILL_TO || fill.is_power_of_two() || *fill == width)
    {
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

/// The kind of the one request in a batch that is not a normal case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Odd {
    Refused,
    Faulty,
}

struct Trial<'a, J: Job, C> {
    unit: &'a mut dyn Unit<J>,
    cases: &'a C,
    /// Number of cases so far; none is used twice.
    case: usize,
}

impl<J: Job, C: Cases<J>> Trial<'_, J, C> {
    /// Runs one batch and returns the duration of the call.
    fn batch(&mut self, fill: usize, odd: Option<(usize, Odd)>) -> Result<Duration, Finding> {
        let first = self.case;
        self.case += fill;
        let mut batch: Vec<Box<Request<J>>> = (0..fill).map(|_| Box::default()).collect();
        for (position, request) in batch.iter_mut().enumerate() {
            match odd.filter(|(at, _)| *at == position) {
                None => self.cases.load(first + position, &mut request.job).map_err(case)?,
                Some((_, Odd::Refused)) => {
                    self.cases.load_refused(&mut request.job).map_err(case)?;
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
                    let outcome = outcome.map_or("no outcome".into(), |outcome| match outcome {
                        Outcome::Done => "a wrong result".to_owned(),
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

fn case(why: impl fmt::Display) -> Finding {
    Finding::Case(why.to_string())
}

/// Runs the unit in a queue, with several threads: each request must get its own answer once.
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
        return Err(Finding::InQueue(format!("{} checks failed", stats.faults)));
    }
    Ok(())
}
