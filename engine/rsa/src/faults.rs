//! Faults injected into a key, and into its blinding pairs, give [`Error::Fault`] and no signature.
//! [`intermediates`] injects faults during an operation, with others in the same batch.

use std::sync::OnceLock;

use tollgate_mont::{LANES, LaneKernel, LimbKernel, Modulus, Pair, Scalar};
use zeroize::DefaultIsZeroes;

mod intermediates;

use crate::blinding::Pool;
use crate::test_keys::{self, run};
use crate::{Error, Form, Plans, PrivateKey, Workspace};

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
    // Every kernel of both kinds, the shorter list again and again.
    let (limbs, lanes) = (LimbKernel::all(), LaneKernel::all());
    for at in 0..limbs.len().max(lanes.len()) {
        let (limbs, lanes) = (limbs[at % limbs.len()], lanes[at % lanes.len()]);
        for plans in [Form::Lanes, Form::One].map(Plans::always) {
            for (what, inject) in FAULTS {
                let mut key = good_key();
                inject(&mut key);
                let mut workspace = Workspace::with_kernels(limbs, lanes).with_plans(plans.clone());
                let mut buffer = [input(&key, 1)];
                assert_eq!(run(&mut workspace, &key, &mut buffer), [Err(Error::Fault)], "{what}");
                assert!(buffer[0].iter().all(|&b| b == 0), "{what}: something was released");
                assert!(workspace.keys.is_wiped(), "{what}: a workspace keeps nothing of a key");
            }
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
                let blocks = key.in_blocks.as_ref().expect("the key has blocks");
                spoil(&blocks.pairs, 1, blind, |row| row.0[1] ^= 2);
                let (outcome, [released]) = sign();
                assert_eq!(outcome, [Err(Error::Fault)], "{limbs:?}, {lanes:?}, blind {blind}");
                assert!(released.iter().all(|&byte| byte == 0), "something was released");
                assert_eq!(sign(), (vec![Ok(())], good), "the pair is gone");
            }
        }
    }
}
