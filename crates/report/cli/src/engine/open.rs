//! Arrivals at random, at a share of what the cores can do, whether the engine keeps up or not.

use core::time::Duration;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Instant;

use tollgate_engine::{Caller, Error, PrivateError, PrivateJob};
use tollgate_record::Estimate;

use super::{Cases, Failed, Stop, WORK, engine, interrupt, median};

/// Share of the throughput of full batches without an engine, on all cores.
pub(super) const LOAD: f64 = 0.7;

/// Threads that the arrivals are spread over; they submit and are called back.
pub(super) const THREADS: u32 = 2;

/// Runs, each with quantiles of its own; the first one warms up.
const RUNS: u32 = 9;

/// From the intended arrival to the answer.
pub(super) struct Responses {
    pub(super) p50: Estimate,
    pub(super) p99: Estimate,
    pub(super) fill: Estimate,
}

/// Runs one after the other; `None` after Ctrl-C.
pub(super) fn responses(
    cases: &Arc<Cases>,
    cores: u32,
    per_s_and_core: f64,
    seconds: f64,
) -> Result<Option<Responses>, Stop> {
    let per_s = LOAD * per_s_and_core * f64::from(cores);
    let length = Duration::from_secs_f64(seconds) / RUNS;
    let (mut p50, mut p99, mut fill) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..RUNS {
        if interrupt::asked() {
            return Ok(None);
        }
        let (mut times, mean_fill) = one_run(cases, per_s, length, run)?;
        times.sort_unstable();
        if run > 0 && !times.is_empty() {
            p50.push(quantile(&times, 50));
            p99.push(quantile(&times, 99));
            fill.push(mean_fill);
        }
    }
    let (p50, p99, fill) = (median(&p50)?, median(&p99)?, median(&fill)?);
    Ok(Some(Responses { p50, p99, fill }))
}

/// Nanoseconds that so many of a hundred do not exceed; of sorted times.
#[allow(clippy::cast_precision_loss, reason = "times are far below 2^52 ns")]
fn quantile(times: &[u64], of_100: usize) -> f64 {
    times[(times.len() * of_100).div_ceil(100).max(1) - 1] as f64
}

/// Response times in nanoseconds, and the mean fill.
fn one_run(
    cases: &Arc<Cases>,
    per_s: f64,
    length: Duration,
    run: u32,
) -> Result<(Vec<u64>, f64), Stop> {
    let engine = engine()?;
    let callers = (0..THREADS).map(|_| engine.caller()).collect::<Result<Vec<_>, _>>();
    let (tell, told) = mpsc::channel();
    let mean_gap_s = f64::from(THREADS) / per_s;
    let begin = Instant::now();
    thread::scope(|scope| {
        let threads: Vec<_> = callers
            .map_err(Failed::new)?
            .into_iter()
            .zip(0..)
            .map(|(caller, number)| {
                let mut random = fastrand::Rng::with_seed(u64::from(run) << 32 | number);
                let (tell, mut due) = (tell.clone(), Duration::ZERO);
                scope.spawn(move || {
                    for i in 0.. {
                        // Poisson: the gaps of each thread, and so of all, are exponential
                        due += Duration::from_secs_f64(-mean_gap_s * (1.0 - random.f64()).ln());
                        if due >= length {
                            break;
                        }
                        thread::sleep(due.saturating_sub(begin.elapsed()));
                        submit(cases, &caller, i, begin + due, &tell)?;
                    }
                    Ok::<(), Failed>(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })
    .map_err(|failed| Stop::new(failed.to_string()))?;
    drop(tell); // the others go with their callbacks
    let times: Result<Vec<u64>, Failed> = told.iter().collect();
    let times = times.map_err(|failed| Stop::new(failed.to_string()))?;
    let fill = engine.stats().map_err(Stop::from_error)?.mean_fill();
    Ok((times, fill))
}

/// Has case `i` signed, and its time since `due` told; where there is no place, later.
fn submit(
    cases: &Arc<Cases>,
    caller: &Caller<PrivateJob>,
    i: usize,
    due: Instant,
    tell: &Sender<Result<u64, Failed>>,
) -> Result<(), Failed> {
    let i = i % cases.digests.len();
    loop {
        let (own, tell) = (Arc::clone(cases), tell.clone());
        let callback = move |end: Result<&PrivateJob, PrivateError>| {
            let time = u64::try_from(due.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let checked = end.map_err(Failed::new).and_then(|job| own.compare(i, job.output()));
            let _ = tell.send(checked.map(|()| time)); // nobody listens after a failure
        };
        match caller.submit_with(|job| job.load(&cases.key, WORK, &cases.digests[i]), callback) {
            Ok(()) => return Ok(()),
            Err(Error::Full { .. } | Error::CallerFull { .. }) => thread::yield_now(),
            Err(error) => return Err(Failed::new(error)),
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
}
