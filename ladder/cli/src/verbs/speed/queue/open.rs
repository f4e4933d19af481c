//! Random arrivals at a share of the engine's capacity. The arrivals do not wait for earlier
//! results.
//!
//! A shared machine changes within seconds. The run is therefore divided into windows, each with
//! its own capacity and service time from slices just before and after. Windows in which another
//! process used part of a core are marked as lost.

use core::time::Duration;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Instant;

use tollgate_calibrate::sibling::{self, SHARED_FROM};
use tollgate_queue::{Caller, Error, PrivateError, PrivateJob, Queue};
use tollgate_record::Estimate;

use super::closed::{batch, rate};
use super::{BATCH, Cases, CliError, WORK, Workspace, engine, interrupt, median};
use crate::cells::float;

/// The arrival rate, as a share of the throughput of the same threads with a full queue.
pub(super) const LOAD: f64 = 0.7;

/// The number of threads that submit the arrivals and receive the callbacks.
pub(super) const THREADS: u32 = 2;

/// Number of windows, each with its own quantiles; the first one is the warm-up.
const WINDOWS: u32 = 25;

/// Shares of a window: batches without the engine, the engine with a full queue, and random
/// arrivals.
const PARTS: [f64; 3] = [0.15, 0.25, 0.6];

/// The minimum number of windows for figures.
const WINDOWS_MIN: usize = 8;

/// Maximum relative change of the throughput of batches between the start and the end of a window.
const CHANGE: f64 = 0.15;

/// Response times, from the intended arrival to the result.
pub(super) struct Responses {
    pub(super) p50: Estimate,
    pub(super) p99: Estimate,
    /// The p99 divided by the service time of the same window.
    pub(super) services_p99: Estimate,
    /// The service time of a batch.
    pub(super) service_ns: Estimate,
    pub(super) fill: Estimate,
    pub(super) windows: Windows,
}

#[derive(Clone, Copy)]
pub(super) struct Windows {
    pub(super) all: usize,
    /// The number of windows in which another process used part of a core.
    pub(super) lost: usize,
    /// True if the figures exclude the lost windows.
    pub(super) left_out: bool,
}

struct Window {
    p50: f64,
    p99: f64,
    service_ns: f64,
    /// The throughputs of batches before and after the window: the higher divided by the lower.
    change: f64,
    /// Ticks of the gauge of the sibling thread: the maximum of all cores, measured before and
    /// after the window.
    gauge: Option<u64>,
}

/// Measures all windows; `None` after Ctrl-C.
pub(super) fn responses(
    cases: &Arc<Cases>,
    cores: u32,
    seconds: f64,
) -> Result<Option<Responses>, CliError> {
    let [without, full, open] =
        PARTS.map(|part| Duration::from_secs_f64(part * seconds / f64::from(WINDOWS)));
    let workspaces = (0..cores).map(|_| Workspace::new()).collect::<Result<Vec<_>, _>>();
    let mut workspaces = workspaces?;
    let mut batches = || rate(&mut workspaces, without, |workspace| batch(cases, workspace));
    let (kept_full, random) = (engine()?, engine()?);
    let mut windows = Vec::new();
    let (mut gauge, mut per_s) = (gauge_of(cores), batches()?);
    for number in 0..WINDOWS {
        if interrupt::asked() {
            return Ok(None);
        }
        let begin = Instant::now();
        // at least one: on a busy machine a short slice may end before the first result
        let done = answers(cases, &kept_full, Arrivals::Full, full)?.len().max(1);
        let capacity = float(done as u64) / begin.elapsed().as_secs_f64();
        let arrivals = Arrivals::Poisson { per_s: LOAD * capacity, seed: number };
        let mut times = answers(cases, &random, arrivals, open)?;
        times.sort_unstable();
        let (gauge_after, per_s_after) = (gauge_of(cores), batches()?);
        if number > 0 && !times.is_empty() {
            let mean = 0.5 * (per_s + per_s_after);
            windows.push(Window {
                p50: quantile(&times, 50),
                p99: quantile(&times, 99),
                service_ns: f64::from(BATCH) * f64::from(cores) * 1e9 / mean,
                change: per_s.max(per_s_after) / per_s.min(per_s_after),
                gauge: gauge.max(gauge_after),
            });
        }
        (gauge, per_s) = (gauge_after, per_s_after);
    }
    let fill = random.stats()?.mean_fill();
    let fill = Estimate::exact(fill)?;
    summary(windows, fill).map(Some)
}

/// Returns the medians of the windows that no other process slowed down, or of all windows if too
/// few remain.
fn summary(mut windows: Vec<Window>, fill: Estimate) -> Result<Responses, CliError> {
    let all = windows.len();
    let lowest = windows.iter().filter_map(|window| window.gauge).min().unwrap_or(0);
    let is_lost = |window: &Window| {
        let shared = window.gauge.is_some_and(|gauge| float(gauge) >= SHARED_FROM * float(lowest));
        shared || window.change > 1.0 + CHANGE
    };
    let lost = windows.iter().filter(|window| is_lost(window)).count();
    let left_out = all - lost >= WINDOWS_MIN;
    if left_out {
        windows.retain(|window| !is_lost(window));
    }
    let of = |figure: fn(&Window) -> f64| median(&windows.iter().map(figure).collect::<Vec<_>>());
    Ok(Responses {
        p50: of(|window| window.p50)?,
        p99: of(|window| window.p99)?,
        services_p99: of(|window| window.p99 / window.service_ns)?,
        service_ns: of(|window| window.service_ns)?,
        fill,
        windows: Windows { all, lost, left_out },
    })
}

/// Reads the gauge of the sibling thread on `cores` threads at once, and returns the maximum.
fn gauge_of(cores: u32) -> Option<u64> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(sibling::gauge)).collect();
        threads.into_iter().filter_map(|thread| thread.join().expect("it does not panic")).max()
    })
}

/// Returns the given percentile of sorted times, in nanoseconds.
fn quantile(times: &[u64], of_100: usize) -> f64 {
    float(times[(times.len() * of_100).div_ceil(100).max(1) - 1])
}

#[derive(Clone, Copy)]
enum Arrivals {
    /// The next request arrives as soon as the queue has a free slot.
    Full,
    /// Random arrivals, `per_s` per second.
    Poisson { per_s: f64, seed: u32 },
}

impl Arrivals {
    /// Returns the arrivals of one thread. Each call returns the time at which the next arrival is
    /// due.
    fn of_thread(self, number: u32, begin: Instant) -> impl FnMut() -> Duration {
        let (mean_gap_s, seed) = match self {
            Self::Full => (0.0, 0),
            Self::Poisson { per_s, seed } => (f64::from(THREADS) / per_s, seed),
        };
        let mut random = fastrand::Rng::with_seed(u64::from(seed) << 32 | u64::from(number));
        let mut due = Duration::ZERO;
        move || {
            // exponentially distributed gaps make the arrivals of each thread a Poisson process;
            // the arrivals of all threads together are then a Poisson process, too
            due += Duration::from_secs_f64(-mean_gap_s * (1.0 - random.f64()).ln());
            if mean_gap_s > 0.0 { due } else { begin.elapsed() }
        }
    }
}

/// Returns the response times in nanoseconds of the requests that are due within `length`.
fn answers(
    cases: &Arc<Cases>,
    engine: &Queue<PrivateJob>,
    arrivals: Arrivals,
    length: Duration,
) -> Result<Vec<u64>, CliError> {
    let callers = (0..THREADS).map(|_| engine.caller()).collect::<Result<Vec<_>, _>>()?;
    let (tell, told) = mpsc::channel();
    let begin = Instant::now();
    thread::scope(|scope| {
        let threads: Vec<_> = callers
            .into_iter()
            .zip(0..)
            .map(|(caller, number)| {
                let (tell, mut due) = (tell.clone(), arrivals.of_thread(number, begin));
                scope.spawn(move || {
                    for i in 0.. {
                        let due = due();
                        if due >= length {
                            break;
                        }
                        thread::sleep(due.saturating_sub(begin.elapsed()));
                        submit(cases, &caller, i, begin + due, &tell)?;
                    }
                    Ok::<(), CliError>(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    drop(tell); // the callbacks drop their copies
    told.iter().collect()
}

/// The pause of a thread after a full queue, much shorter than the time in which the queue empties.
const REST: Duration = Duration::from_micros(50);

/// Submits case `i` and reports the time from `due` to its result; retries if the queue is full.
fn submit(
    cases: &Arc<Cases>,
    caller: &Caller<PrivateJob>,
    i: usize,
    due: Instant,
    tell: &Sender<Result<u64, CliError>>,
) -> Result<(), CliError> {
    let i = i % cases.digests.len();
    loop {
        let (own, tell) = (Arc::clone(cases), tell.clone());
        let callback = move |end: Result<&PrivateJob, PrivateError>| {
            let time = u64::try_from(due.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let checked = end.map_err(CliError::new).and_then(|job| own.compare(i, job.output()));
            let _ = tell.send(checked.map(|()| time)); // the receiver may be gone after a failure
        };
        match caller.submit_with(|job| job.load(&cases.key, WORK, &cases.digests[i]), callback) {
            Ok(()) => return Ok(()),
            Err(Error::Full { .. } | Error::CallerFull { .. }) => thread::sleep(REST),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_times() {
        let times: Vec<u64> = (1..=200).collect();
        assert_eq!(quantile(&times, 50).to_bits(), 100.0_f64.to_bits());
        assert_eq!(quantile(&times, 99).to_bits(), 198.0_f64.to_bits());
        assert_eq!(quantile(&[7], 50).to_bits(), 7.0_f64.to_bits());
    }

    /// Returns windows with equal service times, except those in `lost`, which another process
    /// slowed down.
    fn summary_of(lost: &[Window]) -> Responses {
        let window = |window: &Window| Window { ..*window };
        let good = Window { p50: 1e3, p99: 2e3, service_ns: 1e3, change: 1.0, gauge: Some(100) };
        let windows = (0..10).map(|_| window(&good)).chain(lost.iter().map(window)).collect();
        summary(windows, Estimate::exact(1.0).unwrap()).unwrap()
    }

    #[test]
    fn windows_with_a_neighbour_are_told_and_left_out_if_enough_remain() {
        let slow = || Window { p50: 1e6, p99: 1e6, service_ns: 1e3, change: 1.0, gauge: Some(131) };
        let found = summary_of(&[slow(), Window { gauge: None, change: 1.2, ..slow() }]);
        assert_eq!((found.windows.all, found.windows.lost, found.windows.left_out), (12, 2, true));
        assert_eq!(found.services_p99.interval(), (2.0, 2.0));
        let few = summary(vec![slow(), slow(), slow()], Estimate::exact(1.0).unwrap()).unwrap();
        assert_eq!((few.windows.lost, few.windows.left_out), (0, false), "the lowest is as high");
        assert_eq!(few.services_p99.point().to_bits(), 1e3_f64.to_bits());
    }
}
