//! Threads that submit without a pause, beside one thread per core that has its batches at hand.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use tollgate_record::Estimate;
use tollgate_rsa::PrivateRequest;

use super::{BATCH, Cases, Failed, Hash, Stop, THREADS, Workspace, engine, interrupt, median};

/// Operations per second and core, and what they are to each other.
pub(super) struct Rates {
    pub(super) direct: Estimate,
    pub(super) engine: Estimate,
    pub(super) ratio: Estimate,
    pub(super) fill: Estimate,
}

/// Rounds, of a slice without the engine and one with it.
const ROUNDS: u32 = 12;

/// Slices in turn; `None` after Ctrl-C.
pub(super) fn rates(cases: &Cases, cores: u32, seconds: f64) -> Result<Option<Rates>, Stop> {
    let slice = Duration::from_secs_f64(seconds) / (2 * ROUNDS);
    let engine = engine()?;
    let callers = (0..THREADS).map(|_| engine.caller()).collect::<Result<Vec<_>, _>>();
    let callers = callers.map_err(Stop::from_error)?;
    let cores = usize::try_from(cores).map_err(Stop::from_error)?;
    let mut workspaces = (0..cores).map(|_| Workspace::new()).collect::<Result<Vec<_>, _>>();
    let workspaces = workspaces.as_mut().map_err(|error| Stop::new(error.to_string()))?;
    let (mut direct, mut through, mut ratio) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        if interrupt::asked() {
            return Ok(None);
        }
        let without = rate(workspaces, slice, |workspace| batch(cases, workspace))?;
        let mut turns: Vec<_> = callers.iter().zip(0..).collect();
        let with = rate(&mut turns, slice, |(caller, i)| {
            *i += 1;
            cases.sign(caller, *i).map(|()| 1)
        })?;
        if round > 0 {
            // the first one warms up
            #[allow(clippy::cast_precision_loss, reason = "few cores")]
            let cores = cores as f64;
            direct.push(without / cores);
            through.push(with / cores);
            ratio.push(with / without);
        }
    }
    let fill = engine.stats().map_err(Stop::from_error)?.mean_fill();
    let fill = Estimate::exact(fill).map_err(Stop::from_error)?;
    let (direct, engine, ratio) = (median(&direct)?, median(&through)?, median(&ratio)?);
    Ok(Some(Rates { direct, engine, ratio, fill }))
}

/// One batch of all cases, compared; how many operations that were.
fn batch(cases: &Cases, workspace: &mut Workspace) -> Result<u64, Failed> {
    let size = cases.key.size();
    let mut buffers = [[0; tollgate_rsa::MODULUS_BITS_MAX / 8]; BATCH as usize];
    let digests: [&[u8]; BATCH as usize] = core::array::from_fn(|i| &cases.digests[i][..]);
    let mut requests =
        buffers.each_mut().map(|buffer| PrivateRequest::new(&cases.key, &mut buffer[..size]));
    tollgate_rsa::sign_pkcs1v15_batch(workspace, Hash::Sha256, &digests, &mut requests);
    for (i, request) in requests.iter_mut().enumerate() {
        request.outcome().map_err(Failed::new)?;
        cases.compare(i, request.buffer())?;
    }
    Ok(u64::from(BATCH))
}

/// Operations per second of all threads together, each of which does `work` again and again.
fn rate<S: Send>(
    threads: &mut [S],
    slice: Duration,
    work: impl Fn(&mut S) -> Result<u64, Failed> + Sync,
) -> Result<f64, Stop> {
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
                    Ok::<(), Failed>(())
                })
            })
            .collect();
        thread::sleep(slice);
        stop.store(true, Relaxed);
        running.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })
    .map_err(|failed| Stop::new(failed.to_string()))?;
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    let operations = operations.into_inner() as f64;
    Ok(operations / begin.elapsed().as_secs_f64())
}
