//! Times decryptions of the ciphertexts that the Marvin workshop (H. Kario, ESORICS 2023) and
//! tlsfuzzer send. Compares each class of invalid ciphertexts with valid ones. Memcheck follows the
//! decoders alone.
//!
//! With OAEP, the validity of a ciphertext is public, but not the reason.

use core::hint::black_box;
use core::time::Duration;

use tollgate_bench::{LeakPlan, Leakage, leak};
use tollgate_rsa::{Hash, Oaep, PrivateKey, TlsVersions, Workspace};

use crate::INPUTS;
use crate::judge::{judge, planted};

/// A million samples, or as many as fit in six seconds, since there are many classes.
const PLAN: LeakPlan = LeakPlan { samples: 1_000_000, time: Duration::from_secs(6) };
/// The length of the modulus in bytes; a short one allows more samples.
const SIZE: usize = 128;
/// Position of the zero before a premaster secret.
const SEPARATOR: usize = SIZE - 49;
const VERSIONS: TlsVersions = TlsVersions { client: 0x0303, negotiated: None };

/// The change of a valid encoded message that defines a class.
type Change = fn(&mut [u8]);
type Class = (&'static str, Change);

/// Classes of PKCS#1 v1.5 with a premaster secret.
const CLASSES: [Class; 13] = [
    ("good", |_| {}),
    ("wrong first byte", |em| em[0] = 1),
    ("wrong type byte", |em| em[1] = 1),
    ("no separator", |em| em[2..].iter_mut().for_each(|byte| *byte |= 1)),
    ("zero in the first byte of padding", |em| em[2] = 0),
    ("zero in the eighth byte of padding", |em| em[9] = 0),
    ("longest message", |em| em[10] = 0),
    ("a byte too long", |em| em[SEPARATOR - 1] = 0),
    ("a byte too short", |em| em[SEPARATOR..][..2].copy_from_slice(&[7, 0])),
    ("empty message", |em| {
        em[2..].iter_mut().for_each(|byte| *byte |= 1);
        em[SIZE - 1] = 0;
    }),
    ("wrong version", |em| em[SEPARATOR + 2] = 1),
    ("eight leading zero bytes", |em| em[..8].fill(0)),
    ("first half zero", |em| em[..SIZE / 2].fill(0)),
];

/// Classes of OAEP, changed before masking: all of them fail.
const OAEP_CLASSES: [Class; 4] = [
    ("wrong first byte", |em| em[0] = 1),
    ("wrong hash of the label", |em| em[1 + HASH_LEN] ^= 1),
    ("padding not zero", |em| em[1 + 2 * HASH_LEN] = 2),
    ("no 01", |em| em[1 + 2 * HASH_LEN..].fill(0)),
];
const OAEP_HASH: Hash = Hash::Sha1;
const HASH_LEN: usize = OAEP_HASH.len();

/// Writes 00 02 PS 00 03 03 and 46 bytes, with the change of the class.
fn pkcs1v15(em: &mut [u8], change: Change, rng: &mut fastrand::Rng) {
    em.iter_mut().for_each(|byte| *byte = rng.u8(1..));
    em[..2].copy_from_slice(&[0, 2]);
    em[SEPARATOR..][..3].copy_from_slice(&[0, 3, 3]);
    change(em);
}

/// Writes 00 seed DB with the change of the class, and masks it.
fn masked(em: &mut [u8], change: Change, rng: &mut fastrand::Rng) {
    em[0] = 0;
    em[1..=HASH_LEN].iter_mut().for_each(|byte| *byte = rng.u8(..));
    em[1 + HASH_LEN..].fill(0);
    em[1 + HASH_LEN..][..HASH_LEN].copy_from_slice(OAEP_HASH.digest(b"").as_ref());
    em[SIZE - 2] = 1;
    change(em);
    let (seed, db) = em[1..].split_at_mut(HASH_LEN);
    mgf1_xor(db, seed);
    mgf1_xor(seed, db);
}

fn mgf1_xor(out: &mut [u8], seed: &[u8]) {
    for (counter, block) in (0_u32..).zip(out.chunks_mut(HASH_LEN)) {
        let mask = OAEP_HASH.digest_parts(&[seed, &counter.to_be_bytes()]);
        block.iter_mut().zip(mask.as_ref()).for_each(|(byte, mask)| *byte ^= mask);
    }
}

fn key() -> PrivateKey {
    PrivateKey::from_pem(include_str!("../../../../vectors/keys/rsa-1024.pem")).unwrap()
}

/// Compares the decryption of ciphertexts of two classes.
fn decryption(
    encode: fn(&mut [u8], Change, &mut fastrand::Rng),
    classes: [Change; 2],
    run: impl Fn(&PrivateKey, &mut Workspace, &[u8]),
) -> Option<Leakage> {
    let (key, mut encryption) = (key(), Workspace::new().unwrap());
    let mut make = |em: &mut Vec<u8>, other: bool, rng: &mut fastrand::Rng| {
        encode(em, classes[usize::from(other)], rng);
        key.public().public(&mut encryption, em).unwrap();
    };
    let mut workspace = Workspace::new().unwrap();
    let mut run = |em: &mut Vec<u8>| run(&key, &mut workspace, em);
    let mut rng = fastrand::Rng::with_seed(32);
    leak(PLAN, &mut rng, &mut vec![vec![0; SIZE]; INPUTS], &mut make, &mut run)
}

/// Compares each class with the first.
fn each(what: &str, classes: &[Class], mut look: impl FnMut([Change; 2]) -> Option<Leakage>) {
    for (name, change) in classes {
        judge(&format!("{what}, {name}"), || look([classes[0].1, *change]));
    }
}

#[test]
#[ignore = "a minute or two on a quiet machine, in a release build: ./x test --long"]
fn pkcs1v15_decryptions() {
    let run = |key: &PrivateKey, workspace: &mut Workspace, ciphertext: &[u8]| {
        let mut buffer = [0; SIZE];
        let message = key.decrypt_pkcs1v15_with(workspace, ciphertext, &mut buffer).unwrap();
        black_box(message.as_ptr());
    };
    each("decryption, PKCS#1 v1.5", &CLASSES, |classes| decryption(pkcs1v15, classes, run));
}

#[test]
#[ignore = "a minute or two on a quiet machine, in a release build: ./x test --long"]
fn premaster_decryptions() {
    let run = |key: &PrivateKey, workspace: &mut Workspace, ciphertext: &[u8]| {
        black_box(key.decrypt_tls_premaster(workspace, VERSIONS, ciphertext).unwrap());
    };
    each("decryption, premaster", &CLASSES, |classes| decryption(pkcs1v15, classes, run));
}

#[test]
#[ignore = "a minute or two on a quiet machine, in a release build: ./x test --long"]
fn oaep_decryptions() {
    let run = |key: &PrivateKey, workspace: &mut Workspace, ciphertext: &[u8]| {
        let (hash, mut buffer) = (OAEP_HASH, [0; SIZE]);
        let refused = key.decrypt_oaep_with(workspace, Oaep::new(hash), ciphertext, &mut buffer);
        assert!(black_box(refused).is_err());
    };
    each("decryption, OAEP", &OAEP_CLASSES, |classes| decryption(masked, classes, run));
}

/// Checks that the test can fail.
#[test]
fn a_check_that_stops_early_is_detected() {
    let mut make = |em: &mut Vec<u8>, other: bool, rng: &mut fastrand::Rng| {
        pkcs1v15(em, CLASSES[usize::from(other)].1, rng);
    };
    let mut run = |em: &mut Vec<u8>| {
        let good = em[..2] == [0, 2] && em[2..].iter().position(|&b| b == 0) > Some(8);
        black_box(good);
    };
    let plan = LeakPlan { samples: 60_000, time: Duration::from_secs(60) };
    let mut rng = fastrand::Rng::with_seed(31);
    let leakage = leak(plan, &mut rng, &mut vec![vec![0; SIZE]; INPUTS], &mut make, &mut run);
    planted("a check that stops early", leakage);
}
