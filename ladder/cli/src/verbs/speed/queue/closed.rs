//! Threads that submit without a pause, compared with one thread per core that signs full batches.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use tollgate_queue::{Caller, PrivateJob};
use tollgate_record::Estimate;
use tollgate_rsa::PrivateRequest;

use super::{BATCH, Cases, CliError, Hash, THREADS, WORK, Workspace, engine, interrupt, median};
use crate::cells::float;

/// Operations per second and core, with and without the engine, and the ratios of these rates.
pub(super) struct Rates {
    pub(super) direct: Estimate,
    pub(super) engine: Estimate,
    pub(super) ratio: Estimate,
    pub(super) fill: Estimate,
    /// The rate of one thread per core that submits many requests before it waits.
    pub(super) many: Estimate,
    pub(super) many_ratio: Estimate,
}

/// Rounds. Each has one slice without the engine and two slices with it.
const ROUNDS: u32 = 12;

/// The number of requests that one thread submits before it waits.
pub(super) const MANY: u32 = 64;

/// Runs the slices in turn; `None` after Ctrl-C.
pub(super) fn rates(cases: &Cases, cores: u32, seconds: f64) -> Result<Option<Rates>, CliError> {
    let slice = Duration::from_secs_f64(seconds) / (3 * ROUNDS);
    let engine = engine()?;
    let callers = (0..THREADS).map(|_| engine.caller()).collect::<Result<Vec<_>, _>>()?;
    let cores = usize::try_from(cores)?;
    let workspaces = (0..cores).map(|_| Workspace::new()).collect::<Result<Vec<_>, _>>();
    let mut workspaces = workspaces?;
    let mut rounds = Vec::new();
    let engine_of_many = self::engine()?;
    let mut few = (0..cores).map(|_| engine_of_many.caller()).collect::<Result<Vec<_>, _>>()?;
    for round in 0..=ROUNDS {
        if interrupt::asked() {
            return Ok(None);
        }
        let without = rate(&mut workspaces, slice, |workspace| batch(cases, workspace))?;
        let mut turns: Vec<_> = callers.iter().zip(0..).collect();
        let with = rate(&mut turns, slice, |(caller, i)| {
            *i += 1;
            cases.sign(caller, *i).map(|()| 1)
        })?;
        let with_many = rate(&mut few, slice, |caller| sign_many(cases, caller))?;
        if round > 0 {
            // the first round is the warm-up
            let cores = float(cores as u64);
            let (engine, many) = (with / without, with_many / without);
            rounds.push([without / cores, with / cores, engine, with_many / cores, many]);
        }
    }
    let fill = engine.stats()?.mean_fill();
    let fill = Estimate::exact(fill)?;
    let of = |figure: usize| median(&rounds.iter().map(|round| round[figure]).collect::<Vec<_>>());
    let (direct, engine, ratio, many, many_ratio) = (of(0)?, of(1)?, of(2)?, of(3)?, of(4)?);
    Ok(Some(Rates { direct, engine, ratio, fill, many, many_ratio }))
}

/// Signs many requests through the engine from one thread, checks them and returns their number.
fn sign_many(cases: &Cases, caller: &Caller<PrivateJob>) -> Result<u64, CliError> {
    let case = |i: usize| i % cases.digests.len();
    let mut end = Ok(());
    caller
        .run_many(
            MANY as usize,
            |i, job| job.load(&cases.key, WORK, &cases.digests[case(i)]),
            |i, done| match done.map_err(CliError::new) {
                Ok(job) if end.is_ok() => end = cases.compare(case(i), job.output()),
                Ok(_) => {}
                Err(failed) => end = Err(failed),
            },
        )
        .map_err(CliError::new)?;
    end.map(|()| u64::from(MANY))
}

/// Signs all cases in one batch, checks them and returns their number.
pub(super) fn batch(cases: &Cases, workspace: &mut Workspace) -> Result<u64, CliError> {
    let size = cases.key.size();
    let mut buffers = [[0; tollgate_rsa::MODULUS_BYTES_MAX]; BATCH as usize];
    let mut digests = cases.digests.iter();
    let mut requests = buffers.each_mut().map(|buffer| {
        let digest = digests.next().expect("as many digests as buffers");
        let signature = &mut buffer[..size];
        PrivateRequest::sign_pkcs1v15(&cases.key, Hash::Sha256, digest, signature)
    });
    tollgate_rsa::private_batch(workspace, &mut requests);
    for (i, request) in requests.iter_mut().enumerate() {
        request.outcome()?;
        cases.compare(i, request.buffer())?;
    }
    Ok(u64::from(BATCH))
}

/// Returns the operations per second of all threads together; each thread repeats `work`.
pub(super) fn rate<S: Send>(
    threads: &mut [S],
    slice: Duration,
    work: impl Fn(&mut S) -> Result<u64, CliError> + Sync,
) -> Result<f64, CliError> {
    let (stop, operations) = (AtomicBool::new(false), AtomicU64::new(0));
    let begin = Instant::now();
    thread::scope(|scope| {
        let running: Vec<_> = threads
            .iter_mut()
            .map(|state| {
                scope.spawn(|| {
                    let mut own = 0;
                    while !stop.load(Relaxed) {
                        own += work(state)?;
                    }
                    operations.fetch_add(own, Relaxed);
                    Ok::<(), CliError>(())
                })
            })
            .collect();
        thread::sleep(slice);
        stop.store(true, Relaxed);
        running.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    Ok(float(operations.into_inner()) / begin.elapsed().as_secs_f64())
}
