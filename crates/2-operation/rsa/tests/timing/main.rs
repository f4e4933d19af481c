//! A statistical test of time, by dudect's method: exponentiations and whole private operations,
//! one and eight at a time, of fixed and of random exponents, messages and keys; and decryptions of
//! good and of bad ciphertexts. See `tollgate_bench::leak` for the method, METHODOLOGY for what it
//! shows.
//!
//! A leak made on purpose must be found in every run. The real operations take minutes and a quiet
//! machine: `./x test --long` runs them, alone.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod decryption;

use core::time::Duration;

use openssl::bn::{BigNum, BigNumContext, BigNumContextRef, BigNumRef};
use tollgate_bench::{LeakPlan, Leakage, leak};
use tollgate_mont::{
    Digit, Kernel, LANES, LaneKernel, LimbKernel, Modulus, Pair, Row, Shape, Word,
};
use tollgate_rsa::{Form, KeyParts, Plans, PrivateKey, PrivateRequest, Workspace, private_batch};

/// Bits of a prime: the largest for which a million samples of each operation take a minute.
const BITS: usize = 512;
/// Inputs that lie side by side.
const INPUTS: usize = 64;

/// A million samples, or as many as a minute allows.
const PLAN: LeakPlan = LeakPlan { samples: 1_000_000, time: Duration::from_secs(60) };

/// Prints what was found, and fails on a leak. A busy machine may show what is not there: what is
/// there, a second look shows too.
fn judge(what: &str, mut look: impl FnMut() -> Option<Leakage>) {
    for last in [false, true] {
        let Some(leakage) = look() else {
            println!("skipped: {what}: this processor has no counter to read");
            return;
        };
        println!("{what}: {leakage}");
        if !leakage.is_shown() {
            return;
        }
        assert!(!last, "{what}: time depends on the secret: {leakage}");
    }
}

fn odd(rng: &mut fastrand::Rng) -> Vec<u64> {
    let mut m: Vec<u64> = (0..BITS / 64).map(|_| rng.u64(..)).collect();
    m[0] |= 1;
    m[BITS / 64 - 1] |= 1 << 63;
    m
}

/// Words whose lanes are fixed or random; the highest bit of each number is clear, so that it is
/// below the modulus.
fn fill<W: Word>(words: &mut [W], fixed: &[W], random: bool, rng: &mut fastrand::Rng) {
    // both are drawn and copied in the same way, whatever is wanted
    for (word, fixed) in words.iter_mut().zip(fixed) {
        let mut drawn = W::default();
        (0..W::LANES).for_each(|lane| drawn.set_lane(lane, rng.u64(..)));
        let keep = W::splat(u64::from(random).wrapping_neg());
        *word = W::pick(keep, drawn, *fixed);
    }
}

/// What an exponentiation takes: the base, then the exponent.
struct Power<W> {
    x: Vec<W>,
    e: Vec<W>,
}

/// Which of the inputs is fixed or random; the other is random in both classes.
#[derive(Clone, Copy, Debug)]
enum Secret {
    Exponent,
    Message,
}

fn exponentiation<K: Kernel>(kernel: K, pair: &Pair<K::Word>, secret: Secret) -> Option<Leakage> {
    let mut rng = fastrand::Rng::with_seed(21);
    let (k, shape) = (pair.p().k(), pair.p().shape());
    let words = BITS / 64;
    let zero = K::Word::default();
    let mut fixed = Power { x: vec![zero; 2 * k], e: vec![zero; words] };
    let unset = vec![zero; 2 * k];
    fill(&mut fixed.x, &unset, true, &mut rng);
    fill(&mut fixed.e, &unset, true, &mut rng);
    let input = || Power { x: vec![zero; 2 * k], e: vec![zero; words] };
    let mut inputs: Vec<_> = (0..INPUTS).map(|_| input()).collect();
    let mut t = vec![zero; kernel.exp_words(shape, BITS)];
    let (mut z_p, mut z_q) = (vec![zero; k], vec![zero; k]);
    let mut make = |input: &mut Power<K::Word>, random: bool, rng: &mut fastrand::Rng| {
        let (exponent, message) = match secret {
            Secret::Exponent => (random, true),
            Secret::Message => (true, random),
        };
        fill(&mut input.x, &fixed.x, message, rng);
        fill(&mut input.e, &fixed.e, exponent, rng);
    };
    let mut run = |input: &mut Power<K::Word>| {
        let e = [&input.e[..], &input.e[..]];
        kernel.exp_pair(pair, BITS, &input.x, e, [&mut z_p, &mut z_q], &mut t);
    };
    leak(PLAN, &mut fastrand::Rng::with_seed(22), &mut inputs, &mut make, &mut run)
}

/// Kernels that users get: portable ones, which memcheck watches, only where there is no other.
fn chosen<K: Kernel>(all: Vec<K>) -> Vec<K> {
    let fast = |kernel: &K| !kernel.name().ends_with("portable");
    let chosen: Vec<K> = all.iter().copied().filter(fast).collect();
    if chosen.is_empty() { all } else { chosen }
}

fn single_exponentiations(secret: Secret) {
    let mut rng = fastrand::Rng::with_seed(23);
    let shape = Shape::limbs(BITS);
    let load = |m: &[u64]| Modulus::<u64>::new(m, shape).unwrap();
    let pair = Pair::new(load(&odd(&mut rng)), load(&odd(&mut rng)));
    for kernel in chosen(LimbKernel::all()) {
        let what = format!("exponentiation on {}, {secret:?}", kernel.name());
        judge(&what, || exponentiation(kernel, &pair, secret));
    }
}

fn batch_exponentiations(secret: Secret) {
    let mut rng = fastrand::Rng::with_seed(27);
    let mut pair = Pair::<Row>::lanes(Shape::digits(BITS));
    for m in pair.each_mut() {
        for lane in 0..LANES {
            let one = Modulus::<Digit>::new(&odd(&mut rng), Shape::digits(BITS)).unwrap();
            m.load_lane(lane, &one);
        }
    }
    for kernel in chosen(LaneKernel::all()) {
        let what = format!("{LANES} exponentiations on {}, {secret:?}", kernel.name());
        judge(&what, || exponentiation(kernel, &pair, secret));
    }
}

#[test]
#[ignore = "a minute or two on a quiet machine, in a release build: ./x test --long"]
fn exponents_one_at_a_time() {
    single_exponentiations(Secret::Exponent);
}

#[test]
#[ignore = "a minute or two on a quiet machine, in a release build: ./x test --long"]
fn messages_one_at_a_time() {
    single_exponentiations(Secret::Message);
}

#[test]
#[ignore = "a minute or two on a quiet machine, in a release build: ./x test --long"]
fn exponents_in_a_batch() {
    batch_exponentiations(Secret::Exponent);
}

#[test]
#[ignore = "a minute or two on a quiet machine, in a release build: ./x test --long"]
fn messages_in_a_batch() {
    batch_exponentiations(Secret::Message);
}

/// Keys of a class.
const KEYS: usize = 8;

/// Primes, whose products lie so near each other that some agree in their first bits.
const PRIMES: usize = 64;

/// Keys of two classes, each in as many places: the fixed one is loaded over and over. They are
/// made first and loaded in turn, so that the memory of neither class lies in another way.
///
/// Their moduli are near each other. A modulus is public, and a blinding factor is drawn until it
/// is below: the time of that is no leak, and shows (|t| 9 where the moduli were any).
fn keys() -> [Vec<PrivateKey>; 2] {
    let context = &mut BigNumContext::new().unwrap();
    let primes: Vec<BigNum> = (0..PRIMES).map(|_| prime()).collect();
    let mut keys = Vec::new();
    for (i, p) in primes.iter().enumerate() {
        for q in &primes[..i] {
            let mut n = BigNum::new().unwrap();
            n.checked_mul(p, q, context).unwrap();
            keys.push((n, [p, q]));
        }
    }
    keys.sort_by(|(a, _), (b, _)| a.cmp(b));
    let width = |keys: &[(BigNum, _)]| &keys[KEYS].0 - &keys[0].0;
    let near = keys.windows(KEYS + 1).min_by_key(|keys| width(keys)).unwrap();
    let near: Vec<_> = near.iter().map(|(n, primes)| parts(n, *primes, context)).collect();
    let load = |parts: &KeyParts| PrivateKey::from_parts(parts).unwrap();
    let mut keys = [Vec::new(), Vec::new()];
    for (i, other) in near[1..].iter().enumerate() {
        let turn = if i % 2 == 0 { [0, 1] } else { [1, 0] };
        turn.into_iter().for_each(|class| keys[class].push(load([&near[0], other][class])));
    }
    keys
}

/// A random prime p with p - 1 prime to e.
fn prime() -> BigNum {
    let mut p = BigNum::new().unwrap();
    let one = BigNum::from_u32(1).unwrap();
    loop {
        p.generate_prime(BITS.try_into().unwrap(), false, None, None).unwrap();
        if (&p - &one).mod_word(65537).unwrap() != 0 {
            return p;
        }
    }
}

/// The numbers of the key of n = p q.
fn parts(n: &BigNumRef, [p, q]: [&BigNum; 2], context: &mut BigNumContextRef) -> KeyParts {
    let e = BigNum::from_u32(65537).unwrap();
    let one = BigNum::from_u32(1).unwrap();
    let (p_1, q_1) = (p - &one, q - &one);
    let [mut phi, mut d, mut q_inv] = [(); 3].map(|()| BigNum::new().unwrap());
    phi.checked_mul(&p_1, &q_1, context).unwrap();
    d.mod_inverse(&e, &phi, context).unwrap();
    q_inv.mod_inverse(q, p, context).unwrap();
    KeyParts {
        n: n.to_vec(),
        e: e.to_vec(),
        d_p: (&d % &p_1).to_vec().into(),
        d_q: (&d % &q_1).to_vec().into(),
        d: d.to_vec().into(),
        p: p.to_vec().into(),
        q: q.to_vec().into(),
        q_inv: q_inv.to_vec().into(),
    }
}

/// What a private operation takes: for each of a batch a message, and which key.
struct Operation {
    messages: Vec<Vec<u8>>,
    keys: Vec<(usize, usize)>,
}

/// `batch` operations in one call; what is fixed or random is each message, or each key.
fn operations(
    workspace: &mut Workspace,
    keys: &[Vec<PrivateKey>; 2],
    batch: usize,
    of_keys: bool,
) -> Option<Leakage> {
    let mut rng = fastrand::Rng::with_seed(24);
    let size = 2 * BITS / 8;
    let message = |rng: &mut fastrand::Rng| {
        let mut message: Vec<u8> = (0..size).map(|_| rng.u8(..)).collect();
        message[0] = 0; // below every modulus
        message
    };
    let fixed = message(&mut rng);
    let empty = || Operation { messages: vec![vec![0; size]; batch], keys: vec![(0, 0); batch] };
    let mut inputs: Vec<_> = (0..INPUTS).map(|_| empty()).collect();
    let mut make = |input: &mut Operation, random: bool, rng: &mut fastrand::Rng| {
        for (buffer, key) in input.messages.iter_mut().zip(&mut input.keys) {
            let drawn = message(rng);
            let keep = of_keys || random;
            buffer.copy_from_slice(if keep { &drawn } else { &fixed });
            let class = usize::from(of_keys && random);
            *key = (class, rng.usize(..keys[class].len()));
        }
    };
    let mut run = |input: &mut Operation| {
        let key = |at: &(usize, usize)| &keys[at.0][at.1];
        if batch == 1 {
            key(&input.keys[0]).private(workspace, &mut input.messages[0]).unwrap();
        } else {
            let requests = input.messages.iter_mut().zip(&input.keys);
            let mut requests: Vec<_> =
                requests.map(|(m, at)| PrivateRequest::new(key(at), m)).collect();
            private_batch(workspace, &mut requests);
            requests.iter().for_each(|request| request.outcome().unwrap());
        }
    };
    leak(PLAN, &mut fastrand::Rng::with_seed(25), &mut inputs, &mut make, &mut run)
}

fn private_operations(of_keys: bool) {
    let keys = keys();
    let secret = if of_keys { "Key" } else { "Message" };
    for limbs in chosen(LimbKernel::all()) {
        let mut workspace = Workspace::with_kernels(limbs, LaneKernel::Portable);
        let what = format!("private operation on {}, {secret}", limbs.name());
        judge(&what, || operations(&mut workspace, &keys, 1, of_keys));
    }
}

fn private_batches(of_keys: bool) {
    let keys = keys();
    let secret = if of_keys { "Key" } else { "Message" };
    for lanes in chosen(LaneKernel::all()) {
        let mut workspace = Workspace::with_kernels(LimbKernel::best(), lanes)
            .with_plans(Plans::always(Form::Lanes));
        let what = format!("{LANES} private operations on {}, {secret}", lanes.name());
        judge(&what, || operations(&mut workspace, &keys, LANES, of_keys));
    }
}

#[test]
#[ignore = "a minute or two on a quiet machine, in a release build: ./x test --long"]
fn private_messages_one_at_a_time() {
    private_operations(false);
}

#[test]
#[ignore = "a minute or two on a quiet machine, in a release build: ./x test --long"]
fn private_keys_one_at_a_time() {
    private_operations(true);
}

#[test]
#[ignore = "a minute or two on a quiet machine, in a release build: ./x test --long"]
fn private_messages_in_a_batch() {
    private_batches(false);
}

#[test]
#[ignore = "a minute or two on a quiet machine, in a release build: ./x test --long"]
fn private_keys_in_a_batch() {
    private_batches(true);
}

/// The test must be able to fail: an exponentiation that takes its exponent for public.
#[test]
fn a_planted_leak_is_found() {
    let kernel = LimbKernel::best();
    let mut rng = fastrand::Rng::with_seed(26);
    let m = Modulus::<u64>::new(&odd(&mut rng), Shape::limbs(BITS)).unwrap();
    let k = m.k();
    let (x, mut z) = (vec![3; k], vec![0; k]);
    let mut t = vec![0; kernel.exp_words(m.shape(), 64)];
    let mut inputs = vec![0u64; INPUTS];
    // as long as the random ones, with two bits set
    let fixed = 1 << 31 | 1;
    let mut make = |e: &mut u64, random: bool, rng: &mut fastrand::Rng| {
        *e = if random { rng.u64(..1 << 31) | fixed } else { fixed };
    };
    let mut run = |e: &mut u64| kernel.exp_vartime(&m, &x, &[*e], &mut z, &mut t);
    let plan = LeakPlan { samples: 20_000, time: Duration::from_secs(60) };
    let leakage = leak(plan, &mut rng, &mut inputs, &mut make, &mut run);
    match leakage {
        Some(leakage) => {
            println!("a planted leak: {leakage}");
            assert!(leakage.is_shown(), "an exponent's bits must show: {leakage}");
        }
        None => println!("skipped: this processor has no counter to read"),
    }
}
