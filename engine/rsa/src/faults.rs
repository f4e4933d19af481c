//! Faults injected into a key give [`Error::Fault`] and no signature; other operations of the batch
//! are unaffected. For faults during an operation see [`intermediates`] and [`products`].

use std::sync::OnceLock;

use tollgate_mont::{LANES, LaneKernel, LimbKernel, Modulus, Pair, Scalar};
use zeroize::DefaultIsZeroes;

mod intermediates;
mod products;

use crate::blinding::Pool;
use crate::test_keys::{self, run};
use crate::{Error, Form, Plans, PrivateKey, PrivateRequest, Workspace, private_batch};

/// A name, and the change that makes the key faulty.
type Fault = (&'static str, fn(&mut PrivateKey));

const FAULTS: [Fault; 9] = [
    ("the half modulo p", |key| key.exponents.d_p[3] ^= 1 << 17),
    ("the half modulo q", |key| key.exponents.d_q[0] ^= 1 << 63),
    ("recombination", |key| {
        key.limbs.q_inv[1] ^= 4;
        key.digits.q_inv[1].0 ^= 4;
        key.in_blocks.as_mut().expect("the key has blocks").a[1].0[2] ^= 4;
    }),
    ("q in recombination", |key| {
        key.limbs.q_n[2] ^= 1;
        key.digits.q_n[2].0 ^= 1;
        key.in_blocks.as_mut().expect("the key has blocks").b[2].0[0] ^= 1;
    }),
    ("blinding", |key| key.exponents.inverse_p[0] ^= 2),
    ("the public exponent", |key| key.public.e[0] ^= 2),
    ("the modulus", |key| {
        key.public.limbs = flipped(&key.public.limbs);
        key.public.digits = OnceLock::from(flipped(key.public.digits()));
    }),
    ("p", |key| {
        key.limbs.pair = Pair::new(flipped(key.limbs.pair.p()), key.limbs.pair.q().clone());
        key.digits.pair = Pair::new(flipped(key.digits.pair.p()), key.digits.pair.q().clone());
    }),
    ("q", |key| {
        key.limbs.pair = Pair::new(key.limbs.pair.p().clone(), flipped(key.limbs.pair.q()));
        key.digits.pair = Pair::new(key.digits.pair.p().clone(), flipped(key.digits.pair.q()));
    }),
];

fn good_key() -> PrivateKey {
    test_keys::key("rsa-1024")
}

fn faulty_key(inject: fn(&mut PrivateKey)) -> PrivateKey {
    let mut key = good_key();
    inject(&mut key);
    key
}

/// Returns the modulus with one bit flipped.
fn flipped<S: Scalar>(m: &Modulus<S>) -> Modulus<S> {
    let mut limbs = vec![0; m.k() * S::BITS / 64];
    S::unpack(&mut limbs, m.m());
    limbs[2] ^= 1 << 33;
    Modulus::new(&limbs, m.shape()).expect("still odd")
}

fn input(key: &PrivateKey, seed: u8) -> Vec<u8> {
    let mut input = vec![seed; key.size()];
    input[0] = 0;
    input
}

#[test]
fn a_fault_gives_an_error_and_no_signature() {
    for kernel in LimbKernel::all() {
        for (what, inject) in FAULTS {
            let key = faulty_key(inject);
            let mut workspace = Workspace::with_kernels(kernel, LaneKernel::Portable);
            let mut buffer = input(&key, 1);
            let outcome = key.private(&mut workspace, &mut buffer);
            assert_eq!(outcome, Err(Error::Fault), "{what}");
            assert!(buffer.iter().all(|&b| b == 0), "{what}: something was released");
        }
    }
}

/// Stored blinding pairs may be faulty too.
#[test]
fn a_broken_pair_gives_an_error_once() {
    fn spoil<S: DefaultIsZeroes>(pool: &Pool<S>, count: usize, blind: bool, flip: impl Fn(&mut S)) {
        // the pairs for the next operation
        let mut pairs: Vec<_> = (0..count).map(|_| pool.take()).collect();
        for pair in pairs.iter_mut().filter(|pair| pair.left > 0) {
            flip(if blind { &mut pair.blind[1] } else { &mut pair.unblind[1] });
        }
        pairs.into_iter().rev().for_each(|pair| pool.give(pair)); // in the same order
    }
    let lanes = LaneKernel::all().into_iter();
    for (limbs, lanes) in LimbKernel::all().into_iter().zip(lanes.cycle()) {
        for plans in [Form::Lanes, Form::One].map(Plans::always) {
            for blind in [true, false] {
                let key = good_key();
                let mut workspace = Workspace::with_kernels(limbs, lanes).with_plans(plans.clone());
                let mut sign = || {
                    let mut buffer = [input(&key, 1)];
                    (run(&mut workspace, &key, &mut buffer), buffer)
                };
                let (outcome, good) = sign();
                assert_eq!(outcome, [Ok(())]);
                spoil(&key.limb_pairs, 1, blind, |limb| *limb ^= 2);
                spoil(&key.digit_pairs, LANES, blind, |digit| digit.0 ^= 2);
                let own = key.in_blocks.as_ref().expect("the key has blocks");
                spoil(&own.pairs, 1, blind, |row| row.0[1] ^= 2);
                let (outcome, [released]) = sign();
                assert_eq!(outcome, [Err(Error::Fault)], "{limbs:?}, {lanes:?}, blind {blind}");
                assert!(released.iter().all(|&byte| byte == 0), "something was released");
                assert_eq!(sign(), (vec![Ok(())], good), "the pair is gone");
            }
        }
    }
}

#[test]
fn a_workspace_keeps_nothing_of_a_key() {
    for kernel in LaneKernel::all() {
        let mut key = good_key();
        let mut workspace = Workspace::with_kernels(LimbKernel::best(), kernel)
            .with_plans(Plans::always(Form::Lanes));
        for inject in [|_: &mut PrivateKey| (), FAULTS[0].1] {
            inject(&mut key);
            run(&mut workspace, &key, &mut [input(&key, 1)]);
            assert!(workspace.keys.is_wiped());
        }
    }
}

/// Runs a batch in which one operation has the faulty key: it fails and releases nothing, and the
/// others are right.
fn check_neighbours(
    workspace: &mut Workspace,
    inject: fn(&mut PrivateKey),
    expected: &[Vec<u8>],
    faulty_at: usize,
    what: &str,
) {
    let (good, faulty) = (good_key(), faulty_key(inject));
    let mut buffers: Vec<_> = (1..).map(|i| input(&good, i)).take(expected.len()).collect();
    let with_keys = buffers.iter_mut().enumerate();
    let mut requests: Vec<_> = with_keys
        .map(|(i, buffer)| {
            PrivateRequest::new(if i == faulty_at { &faulty } else { &good }, buffer)
        })
        .collect();
    private_batch(workspace, &mut requests);
    for (i, request) in requests.iter_mut().enumerate() {
        if i == faulty_at {
            assert_eq!(request.outcome(), Err(Error::Fault), "{what}, operation {i}");
            let released = request.buffer().iter().any(|&b| b != 0);
            assert!(!released, "{what}, operation {i}: something was released");
        } else {
            assert_eq!(request.outcome(), Ok(()), "{what}, operation {i}");
            assert_eq!(request.buffer(), expected[i], "{what}, operation {i}");
        }
    }
}

/// Returns the results of the first `count` inputs with the good key, each computed alone.
fn results(workspace: &mut Workspace, count: u8) -> Vec<Vec<u8>> {
    let good = good_key();
    let mut results: Vec<_> = (1..=count).map(|i| input(&good, i)).collect();
    for buffer in &mut results {
        good.private(workspace, buffer).expect("a good key");
    }
    results
}

#[test]
fn a_fault_in_one_lane_does_not_touch_the_others() {
    for kernel in LaneKernel::all() {
        let mut workspace = Workspace::with_kernels(LimbKernel::best(), kernel);
        let expected = results(&mut workspace, 8);
        for (what, inject) in FAULTS {
            for faulty_lane in [0, 3, 7] {
                let mut workspace = Workspace::with_kernels(LimbKernel::best(), kernel)
                    .with_plans(Plans::always(Form::Lanes));
                check_neighbours(&mut workspace, inject, &expected, faulty_lane, what);
            }
        }
    }
}
