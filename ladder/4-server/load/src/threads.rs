//! Runs the threads of a segment in this process.

use core::convert::Infallible;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use crate::cpu::pin;
use crate::error::Error;
use crate::live::Live;
use crate::plan::Plan;
use crate::quota::Quota;
use crate::schedule::Schedule;
use crate::segment::Segment;
use crate::tally::Tally;
use crate::target::Targets;
use crate::worker::{Report, Worker};

/// Interval of calling `progress` and `stop`.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Interval of checking whether the first transaction has ended.
const PROBE_TICK: Duration = Duration::from_millis(1);

/// The part of a run for this process.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) targets: Targets<'a>,
    pub(crate) segment: Segment,
    pub(crate) live: Option<&'a Arc<Live>>,
}

/// The running threads of a job.
pub(crate) struct Threads<'a> {
    /// Returns whether all threads have ended.
    pub(crate) have_ended: &'a dyn Fn() -> bool,
    stop: &'a AtomicBool,
}

impl Threads<'_> {
    /// Tells all threads to stop.
    pub(crate) fn quit(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Runs the threads of a job. When all are ready, `begin` returns the time of the start, or `None`
/// if there will be none; then `watch` runs until the threads have ended.
pub(crate) fn run_threads<T>(
    job: Job<'_>,
    quota: &Arc<Quota>,
    begin: impl FnOnce() -> Option<Instant>,
    watch: impl FnOnce(&Schedule, Threads<'_>) -> T,
) -> Result<(Schedule, T, Vec<Report>), Error> {
    let Job { plan, targets, segment, live } = job;
    let stop = &AtomicBool::new(false);
    thread::scope(|scope| {
        let (tell_ready, ready) = mpsc::channel();
        let (mut starts, mut threads) = (Vec::new(), Vec::new());
        for thread in segment.threads() {
            let (start, started) = mpsc::channel();
            let tell_ready = tell_ready.clone();
            let work = move || {
                let worker = pin(plan, thread - segment.from)
                    .and_then(|()| Worker::new(plan, targets, thread))
                    .map(|worker| worker.publishing(live.cloned()).limited(Arc::clone(quota)))
                    .inspect_err(|_| stop.store(true, Ordering::Relaxed));
                drop(tell_ready); // closing the channel signals that the thread is ready
                let worker = worker?;
                match started.recv() {
                    Ok(schedule) => worker.run(&schedule, stop),
                    Err(mpsc::RecvError) => Err(Error::Stopped),
                }
            };
            // if a thread cannot be started, earlier ones get no schedule and end
            threads.push(spawn(scope, work)?);
            starts.push(start);
        }
        drop(tell_ready);
        let Err(mpsc::RecvError) = ready.recv() as Result<Infallible, _>;
        let all_ready = !stop.load(Ordering::Relaxed);
        let watched = all_ready.then(begin).flatten().map(|start| {
            let schedule = Schedule::new(plan, start);
            for start in &starts {
                let _ = start.send(schedule); // join reports a panicked thread
            }
            let have_ended = || threads.iter().all(thread::ScopedJoinHandle::is_finished);
            (schedule, watch(&schedule, Threads { have_ended: &have_ended, stop }))
        });
        drop(starts);
        let (mut reports, mut all_ran) = (Vec::new(), true);
        for thread in threads {
            match join(thread) {
                Ok(report) => reports.push(report),
                Err(Error::Stopped) => all_ran = false, // another thread may have the cause
                Err(error) => return Err(error),
            }
        }
        let watched = watched.filter(|_| all_ran);
        let (schedule, watched) = watched.ok_or(Error::Stopped)?;
        Ok((schedule, watched, reports))
    })
}

/// Runs the first transactions of a job, each kind alone.
pub(crate) fn first(job: Job<'_>, stop: &dyn Fn() -> bool) -> Result<Vec<Tally>, Error> {
    let share = job.plan.plain_share;
    let kinds = [(false, share < 1.0), (true, share > 0.0)].into_iter().filter(|kind| kind.1);
    kinds.map(|(is_plain, _)| probe(job, is_plain, stop)).collect()
}

/// Runs one transaction alone.
pub(crate) fn probe(job: Job<'_>, is_plain: bool, stop: &dyn Fn() -> bool) -> Result<Tally, Error> {
    let Job { plan, targets, live, .. } = job;
    let schedule = Schedule::probe(plan, Instant::now());
    let quota = Arc::new(Quota::new(Some(1)));
    let worker = Worker::new(&plan.of_one(is_plain), targets, 0)?;
    let worker = worker.publishing(live.cloned()).limited(quota);
    let flag = &AtomicBool::new(false);
    let report = thread::scope(|scope| {
        let thread = spawn(scope, move || worker.run(&schedule, flag))?;
        while !thread.is_finished() {
            if stop() {
                flag.store(true, Ordering::Relaxed);
            }
            thread::sleep(PROBE_TICK);
        }
        join(thread)
    })?;
    if report.tally.abandoned > 0 {
        return Err(Error::Stopped);
    }
    match report.tally.whole.failures.keys().next() {
        Some(failure) => {
            let target = if is_plain { targets.plain } else { targets.secure };
            Err(Error::Probe { address: target.address(), failure: failure.clone() })
        }
        None => Ok(report.tally),
    }
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<thread::ScopedJoinHandle<'scope, T>, Error> {
    let what = "start a thread";
    thread::Builder::new().spawn_scoped(scope, work).map_err(|error| Error::Io { what, error })
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
