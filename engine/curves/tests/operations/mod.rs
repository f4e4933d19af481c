//! The operations that take secrets, for tests that watch them.
#![allow(dead_code, reason = "each test program uses its part")]

use core::array::from_fn;
use core::hint::black_box;

use tollgate_curves::p256::{self, Nonce, P256, Request};
use tollgate_curves::{SecretKey, X25519};

/// The keys of an operation in lanes.
pub(crate) const LANES: usize = 8;

/// Keys of each curve.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) x25519: Vec<SecretKey>,
    pub(crate) p256: Vec<p256::SecretKey>,
}

impl Keys {
    /// Each of `numbers` is neither zero nor, big end first, the order of P-256 or above.
    pub(crate) fn new<'a>(numbers: impl Iterator<Item = &'a [u8; 32]> + Clone) -> Self {
        let p256 = |number| p256::SecretKey::from_bytes(number).expect("not zero, and below n");
        Self {
            x25519: numbers.clone().map(SecretKey::from_bytes).collect(),
            p256: numbers.map(p256).collect(),
        }
    }
}

type Run = dyn Fn(&Keys, &[u8; 32]) + Sync;

/// An operation with one key, or with eight in lanes.
pub(crate) struct Operation {
    pub(crate) name: String,
    pub(crate) keys: usize,
    /// Branches on secrets for each key: none of ours. Those of `graviola` check the shared secret
    /// of X25519, or on P-256 the range of each scalar, twice, and the point: the outcomes are
    /// public.
    pub(crate) branches: u64,
    /// Takes the keys and 32 random bytes.
    pub(crate) run: Box<Run>,
}

impl Operation {
    fn new<R>(
        name: &str,
        curve: impl core::fmt::Debug,
        keys: usize,
        checks: u64,
        run: impl Fn(&Keys, &[u8; 32]) -> R + Sync + 'static,
    ) -> Self {
        let name = format!("{name}, {curve:?}, {keys} at a time");
        let branches = if name.contains("Graviola") { checks } else { 0 };
        let run = Box::new(move |keys: &Keys, noise: &[u8; 32]| drop(black_box(run(keys, noise))));
        Self { name, keys, branches, run }
    }
}

/// Returns each operation of each kernel of this machine.
pub(crate) fn all() -> Vec<Operation> {
    let mut all = Vec::new();
    for curve in X25519::all() {
        let peer = curve.public_key(&SecretKey::from_bytes(&[7; 32]));
        let key = move |keys: &Keys, _: &[u8; 32]| curve.public_key(&keys.x25519[0]);
        let secret = move |keys: &Keys, _: &[u8; 32]| curve.agree(&keys.x25519[0], &peer);
        let exchange = move |keys: &Keys, _: &[u8; 32]| curve.exchange(&keys.x25519[0], &peer);
        all.push(Operation::new("key of X25519", curve, 1, 0, key));
        all.push(Operation::new("key and secret of X25519", curve, 1, 1, exchange));
        all.push(Operation::new("secret of X25519", curve, 1, 1, secret));
        if curve.has_lanes() {
            let keys = move |keys: &Keys, _: &[u8; 32]| curve.public_keys(&keys.x25519);
            let secrets = move |keys: &Keys, _: &[u8; 32]| {
                curve.agree_all(&from_fn::<_, LANES, _>(|l| (&keys.x25519[l], &peer)))
            };
            all.push(Operation::new("keys of X25519", curve, LANES, 0, keys));
            all.push(Operation::new("secrets of X25519", curve, LANES, 1, secrets));
        }
    }
    for curve in P256::all() {
        let peer = curve.public_key(&Keys::new([[7; 32]].iter()).p256[0]);
        let key = move |keys: &Keys, _: &[u8; 32]| curve.public_key(&keys.p256[0]);
        let secret = move |keys: &Keys, _: &[u8; 32]| curve.agree(&keys.p256[0], &peer);
        all.push(Operation::new("key on P-256", curve, 1, 3, key));
        all.push(Operation::new("secret on P-256", curve, 1, 3, secret));
        for is_hedged in [true, false] {
            let sign = move |keys: &Keys, noise: &[u8; 32]| {
                curve.sign(&keys.p256[0], &[8; 32], nonce(is_hedged, noise)).expect("no fault")
            };
            all.push(Operation::new("signature on P-256", curve, 1, 6, sign));
        }
        if curve.has_lanes() {
            let keys = move |keys: &Keys, _: &[u8; 32]| curve.public_keys(&keys.p256);
            let secrets = move |keys: &Keys, _: &[u8; 32]| {
                curve.agree_all(&from_fn::<_, LANES, _>(|l| (&keys.p256[l], &peer)))
            };
            all.push(Operation::new("keys on P-256", curve, LANES, 3, keys));
            all.push(Operation::new("secrets on P-256", curve, LANES, 3, secrets));
            for is_hedged in [true, false] {
                // equal digests would have equal nonces, and would be signed alone
                let sign = move |keys: &Keys, noise: &[u8; 32]| {
                    curve.sign_all(&from_fn::<_, LANES, _>(|l| Request {
                        key: &keys.p256[l],
                        digest: &DIGESTS[l],
                        nonce: nonce(is_hedged, noise),
                    }))
                };
                all.push(Operation::new("signatures on P-256", curve, LANES, 6, sign));
            }
        }
    }
    all
}

const DIGESTS: [[u8; 32]; LANES] =
    [[1; 32], [2; 32], [3; 32], [4; 32], [5; 32], [6; 32], [7; 32], [8; 32]];

fn nonce(is_hedged: bool, noise: &[u8; 32]) -> Nonce<'_> {
    if is_hedged { Nonce::Hedged(noise) } else { Nonce::Deterministic }
}
