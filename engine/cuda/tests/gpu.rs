//! A real GPU, if there is one: whole batches against the processor, with words and with doubles,
//! and the time of batches against their secrets. Without a GPU, one line says what is missing.
//!
//! `TOLLGATE_TEST_LONG` runs 10^7 operations of RSA-2048 and a million of the other sizes; take a
//! release build for it.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, reason = "what was skipped is said, and figures are shown")]

use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard};

use tollgate_cuda::{Device, Gpu, Numbers, Operation, Operations, Size};
use tollgate_rsa::{PrivateKey, PublicRequest, Workspace, public_batch};

const LIMIT: Duration = Duration::from_secs(30);

/// Returns the GPU, which one test has at a time.
fn gpu() -> Option<(MutexGuard<'static, ()>, Box<dyn Device>)> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match Gpu::open() {
        Ok(gpu) => Some((guard, Box::new(gpu))),
        Err(error) => {
            eprintln!("not tested: {error}");
            None
        }
    }
}

fn is_long() -> bool {
    std::env::var_os("TOLLGATE_TEST_LONG").is_some()
}

fn key(size: Size) -> Arc<PrivateKey> {
    let pem = match size {
        Size::Rsa1024 => include_str!("../../../vectors/keys/rsa-1024.pem"),
        Size::Rsa2048 => include_str!("../../../vectors/keys/rsa-2048.pem"),
        Size::Rsa3072 => include_str!("../../../vectors/keys/rsa-3072.pem"),
        Size::Rsa4096 => include_str!("../../../vectors/keys/rsa-4096.pem"),
    };
    Arc::new(PrivateKey::from_pem(pem).unwrap())
}

/// Returns how many of the results, raised to e, are not their inputs.
fn wrong(key: &PrivateKey, inputs: &[Vec<u8>], results: &[Vec<u8>]) -> usize {
    let threads = std::thread::available_parallelism().map_or(1, core::num::NonZero::get);
    let part = inputs.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let parts = inputs.chunks(part).zip(results.chunks(part));
        let threads: Vec<_> = parts
            .map(|(inputs, results)| {
                scope.spawn(move || {
                    let mut powers = results.to_vec();
                    let mut requests: Vec<_> =
                        powers.iter_mut().map(|s| PublicRequest::new(key.public(), s)).collect();
                    public_batch(&mut Workspace::new().unwrap(), &mut requests);
                    requests.iter().for_each(|request| request.outcome().unwrap());
                    inputs.iter().zip(&powers).filter(|(input, power)| input != power).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

/// Returns the width of batches with these numbers, or `None` if the GPU has no use for them.
fn width(operations: &mut Operations, size: Size, numbers: Numbers) -> Option<usize> {
    let prepared = operations.prepare(size).unwrap();
    if prepared.numbers == numbers {
        return Some(prepared.width);
    }
    assert!(size.limbs52().is_none() || !operations.device_name().contains("H100"), "{prepared:?}");
    eprintln!("not tested: {numbers:?} with {} bits, which this GPU has not", size.bits());
    None
}

/// A result s is right if s < n and s^e = c: no other number has both.
#[test]
fn results_are_those_of_the_processor() {
    for size in Size::ALL {
        for numbers in Numbers::ALL {
            let Some((_guard, device)) = gpu() else { return };
            let mut operations = Operations::with_numbers(device, usize::MAX, numbers);
            let Some(width) = width(&mut operations, size, numbers) else { continue };
            let (key, mut rng) = (key(size), fastrand::Rng::with_seed(51));
            let total = match (is_long(), size) {
                (false, _) => width,
                (true, Size::Rsa2048) => 10_000_000,
                (true, _) => 1_000_000,
            };
            let (mut done, mut failed, mut not_equal) = (0, 0, 0);
            while done < total {
                let random = |_| {
                    let mut number = vec![0; key.size()];
                    rng.fill(&mut number[1..]);
                    number
                };
                let inputs: Vec<Vec<u8>> = (0..width).map(random).collect();
                let mut results = inputs.clone();
                let mut batch: Vec<_> = results
                    .iter_mut()
                    .map(|number| Operation { key: &key, number, passed: false })
                    .collect();
                operations.run(size, &mut batch, LIMIT).unwrap();
                failed += batch.iter().filter(|operation| !operation.passed).count();
                not_equal += wrong(&key, &inputs, &results);
                done += width;
            }
            eprintln!("{} bits, {numbers:?}: {done} operations, {not_equal} wrong", size.bits());
            assert_eq!((failed, not_equal), (0, 0), "{} bits, {numbers:?}", size.bits());
        }
    }
}

/// Compares the device's time of batches of two classes, which take turns: Welch's t test, as in
/// the crate `rsa`. A median would hide a difference of few batches, a mean is moved by outliers:
/// the slowest tenth of each class is left out.
#[test]
fn the_time_of_a_batch_does_not_depend_on_secrets() {
    let size = Size::Rsa2048;
    let batches = if is_long() { 2000 } else { 100 };
    for numbers in Numbers::ALL {
        let Some((_guard, device)) = gpu() else { return };
        let mut operations = Operations::with_numbers(device, usize::MAX, numbers);
        let Some(width) = width(&mut operations, size, numbers) else { continue };
        // The key of the project, and one made for this test.
        let keys = [key(size), Arc::new(PrivateKey::generate(size.bits()).unwrap())];
        let mut rng = fastrand::Rng::with_seed(52);
        let mut times = [Vec::new(), Vec::new()];
        for i in 0..2 * batches {
            // Zeros with one key, for which all powers are zero; random numbers with another key.
            let key = &keys[i % 2];
            let mut inputs = vec![vec![0; key.size()]; width];
            if i % 2 == 1 {
                inputs.iter_mut().for_each(|number| rng.fill(&mut number[1..]));
            }
            let mut batch: Vec<_> =
                inputs.iter_mut().map(|number| Operation { key, number, passed: false }).collect();
            let done = operations.run(size, &mut batch, LIMIT).unwrap();
            times[i % 2].push(done.execute.as_secs_f64());
        }
        let moments = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times.truncate(batches * 9 / 10);
            let count = f64::from(u32::try_from(times.len()).unwrap());
            let mean = times.iter().sum::<f64>() / count;
            let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / count;
            (mean, variance / count)
        });
        let [(zeros, a), (random, b)] = moments;
        let t = (zeros - random) / (a + b).sqrt();
        eprintln!(
            "{numbers:?}: batches of zeros {:.4} ms, of random numbers {:.4} ms, t = {t:.1}",
            zeros * 1e3,
            random * 1e3
        );
        // A leak of one part in a thousand is no accident.
        let is_same = t.abs() < 10.0 || ((zeros - random) / random).abs() < 1e-3;
        assert!(is_same, "{numbers:?}: the time of a batch depends on its numbers");
    }
}
