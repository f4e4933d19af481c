//! Whole operations against those of the engine, and what remains on the device.

use core::time::Duration;
use std::sync::Arc;

use num_bigint::BigUint;
use tollgate_cuda::{Numbers, Operation, Operations, Size};
use tollgate_rsa::{PrivateKey, Workspace};

use crate::library::{EmulatedDriver, LONG, Value};
use crate::rounds;

pub(crate) fn key(size: Size) -> Arc<PrivateKey> {
    let pem = match size {
        Size::Rsa1024 => include_str!("../../../../vectors/keys/rsa-1024.pem"),
        Size::Rsa2048 => include_str!("../../../../vectors/keys/rsa-2048.pem"),
        Size::Rsa3072 => include_str!("../../../../vectors/keys/rsa-3072.pem"),
        Size::Rsa4096 => include_str!("../../../../vectors/keys/rsa-4096.pem"),
    };
    Arc::new(PrivateKey::from_pem(pem).unwrap())
}

/// Runs one operation for each number; returns whether it passed.
pub(crate) fn run(
    operations: &mut Operations,
    size: Size,
    jobs: &mut [(Arc<PrivateKey>, Vec<u8>)],
) -> Vec<bool> {
    let mut batch: Vec<Operation<'_>> =
        jobs.iter_mut().map(|(key, number)| Operation { key, number, passed: false }).collect();
    operations.run(size, &mut batch, LONG).unwrap();
    batch.iter().map(|operation| operation.passed).collect()
}

/// Returns c^d mod n of the engine's own lanes and limbs.
pub(crate) fn expected(key: &PrivateKey, c: &[u8]) -> Vec<u8> {
    let mut number = c.to_vec();
    key.private(&mut Workspace::new().unwrap(), &mut number).unwrap();
    number
}

fn random_below_n(key: &PrivateKey, rng: &mut fastrand::Rng) -> Vec<u8> {
    let n = key.public().modulus();
    let mut c = vec![0; n.len()];
    while {
        rng.fill(&mut c);
        c >= n
    } {}
    c
}

/// Returns 0, 1, n - 1, p, q and random numbers.
fn inputs(key: &PrivateKey, rng: &mut fastrand::Rng, count: usize) -> Vec<Vec<u8>> {
    let (size, parts) = (key.size(), key.to_parts());
    let mut one = vec![0; size];
    one[size - 1] = 1;
    let mut most = key.public().modulus();
    most[size - 1] -= 1; // n is odd
    let padded = |p: &[u8]| [&vec![0; size - p.len()], p].concat();
    let mut all = vec![vec![0; size], one, most, padded(&parts.p), padded(&parts.q)];
    all.extend((0..count).map(|_| random_below_n(key, rng)));
    all
}

#[test]
fn the_structures_of_host_and_device_have_the_same_sizes() {
    let driver = EmulatedDriver::new();
    for size in Size::ALL {
        let bits = u32::try_from(size.bits()).unwrap();
        let sizes = driver.sizes(bits);
        let expected = [size.key_bytes(), size.pair_bytes()].map(|x| u32::try_from(x).unwrap());
        assert_eq!(sizes, expected);
        assert_eq!(size.lanes() * size.words() * 64, size.bits());
    }
}

#[test]
fn results_equal_those_of_the_engine() {
    for size in Size::ALL {
        results_equal(size, Numbers::Words, EmulatedDriver::new());
    }
}

#[test]
fn results_with_doubles_equal_those_of_the_engine() {
    for size in Size::ALL.into_iter().filter(|size| size.limbs52().is_some()) {
        results_equal(size, Numbers::Doubles, with_doubles());
    }
}

/// Returns a device with units for doubles.
pub(crate) fn with_doubles() -> EmulatedDriver {
    let driver = EmulatedDriver::new();
    driver.set(Value::SingleToDouble, 2);
    driver
}

#[test]
fn the_faster_numbers_are_chosen_among_those_of_the_device() {
    let size = Size::Rsa1024;
    let words = Operations::new(EmulatedDriver::new().device(), 1000).prepare(size).unwrap();
    assert_eq!((words.width, words.numbers, words.times.len()), (32, Numbers::Words, 0));
    // No width says which is faster in the emulation.
    let both = Operations::new(with_doubles().device(), 1000).prepare(size).unwrap();
    let fastest = both.times.iter().min_by_key(|(_, time)| *time).unwrap().0;
    assert_eq!((both.numbers, both.times.len()), (fastest, 2));
    assert_eq!(both.width, if fastest == Numbers::Words { 32 } else { 64 });
    let doubles = |size| {
        let device = with_doubles().device();
        let prepared = Operations::with_numbers(device, 3, Numbers::Doubles).prepare(size).unwrap();
        (prepared.width, prepared.numbers)
    };
    assert_eq!(doubles(size), (3, Numbers::Doubles));
    assert_eq!(doubles(Size::Rsa4096), (3, Numbers::Words));
}

fn results_equal(size: Size, numbers: Numbers, driver: EmulatedDriver) {
    let mut rng = fastrand::Rng::with_seed(32);
    let count = [20, 6, 2, 1][size as usize];
    {
        let key = key(size);
        let inputs = inputs(&key, &mut rng, rounds(count, 50 * count));
        let mut operations = Operations::with_numbers(driver.device(), 4, numbers);
        // Batches of 1, 2, 3 and 4, so that pairs are new, used, and of several operations.
        let mut rest = &inputs[..];
        for fill in (1..=4).cycle() {
            let (now, later) = rest.split_at(fill.min(rest.len()));
            if now.is_empty() {
                break;
            }
            rest = later;
            let mut jobs: Vec<_> = now.iter().map(|c| (Arc::clone(&key), c.clone())).collect();
            assert_eq!(run(&mut operations, size, &mut jobs), vec![true; now.len()]);
            for ((_, result), c) in jobs.iter().zip(now) {
                assert_eq!(*result, expected(&key, c), "{} bits", size.bits());
            }
        }
    }
}

/// Returns the key of a size with its primes exchanged.
fn exchanged(size: Size) -> Arc<PrivateKey> {
    let mut parts = key(size).to_parts();
    core::mem::swap(&mut parts.p, &mut parts.q);
    core::mem::swap(&mut parts.d_p, &mut parts.d_q);
    let [p, q] = [&parts.p, &parts.q].map(|prime| BigUint::from_bytes_be(prime));
    *parts.q_inv = q.modinv(&p).unwrap().to_bytes_be();
    Arc::new(PrivateKey::from_parts(&parts).unwrap())
}

/// Of the two keys of each size, one has p > q and one p < q.
#[test]
fn keys_of_one_size_share_a_batch() {
    let mut rng = fastrand::Rng::with_seed(33);
    let sizes = [Size::Rsa1024, Size::Rsa2048].into_iter();
    for (size, numbers) in sizes.flat_map(|size| Numbers::ALL.map(|numbers| (size, numbers))) {
        let keys = [key(size), exchanged(size), key(size), exchanged(size)];
        // Fewer places than keys: keys are evicted and copied again.
        let mut operations = Operations::with_numbers(with_doubles().device(), 3, numbers);
        for round in 0..4 {
            let chosen = (0..3).map(|i| &keys[(round * 2 + i) % keys.len()]);
            let mut jobs: Vec<_> =
                chosen.map(|key| (Arc::clone(key), random_below_n(key, &mut rng))).collect();
            let before = jobs.clone();
            assert_eq!(run(&mut operations, size, &mut jobs), [true; 3]);
            for ((key, c), (_, result)) in before.iter().zip(&jobs) {
                assert_eq!(*result, expected(key, c));
            }
        }
    }
}

#[test]
fn a_blinding_pair_is_replaced_after_its_last_use() {
    Numbers::ALL.into_iter().for_each(a_pair_is_replaced);
}

fn a_pair_is_replaced(numbers: Numbers) {
    let mut rng = fastrand::Rng::with_seed(34);
    let key = key(Size::Rsa1024);
    let mut operations = Operations::with_numbers(with_doubles().device(), 1, numbers);
    for _ in 0..130 {
        let c = random_below_n(&key, &mut rng);
        let mut jobs = [(Arc::clone(&key), c.clone())];
        assert_eq!(run(&mut operations, Size::Rsa1024, &mut jobs), [true]);
        assert_eq!(jobs[0].1, expected(&key, &c));
    }
}

#[test]
fn times_add_up() {
    let key = key(Size::Rsa1024);
    let mut operations = Operations::new(EmulatedDriver::new().device(), 4);
    let mut numbers = vec![vec![7; key.size()]; 4];
    let mut batch: Vec<_> =
        numbers.iter_mut().map(|number| Operation { key: &key, number, passed: false }).collect();
    let begin = std::time::Instant::now();
    let done = operations.run(Size::Rsa1024, &mut batch, LONG).unwrap();
    assert_eq!(done.operations, 4);
    assert!(done.execute > Duration::ZERO && done.notify > Duration::ZERO);
    assert!(done.load + done.execute + done.store + done.notify <= begin.elapsed());
    assert!(done.cpu <= begin.elapsed());
}

/// Looks at the memory of the device, whose first eight areas are those of the first size.
#[test]
fn no_secret_remains_but_keys_and_pairs_in_use() {
    let size = Size::Rsa1024;
    let driver = EmulatedDriver::new();
    let mut operations = Operations::new(driver.device(), 4);
    let dropped = key(size);
    let mut jobs = vec![(Arc::clone(&dropped), vec![7; size.bytes()]); 4];
    assert_eq!(run(&mut operations, size, &mut jobs), [true; 4]);
    let is_clear = |memory| driver.memory(memory).iter().all(|&byte| byte == 0);
    for memory in 3..8 {
        assert!(is_clear(memory), "memory {memory}");
    }
    assert!(!is_clear(0) && !is_clear(1), "they serve the next batch");
    // A dropped key is overwritten by the next batch.
    drop((jobs, dropped));
    assert_eq!(run(&mut operations, size, &mut [(key(size), vec![7; size.bytes()])]), [true]);
    assert!(driver.memory(0)[size.key_bytes()..].iter().all(|&byte| byte == 0), "one key is left");
    drop(operations);
    assert!(is_clear(0) && is_clear(1));
}
