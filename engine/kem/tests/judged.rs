//! All code against AWS-LC, and each against the other, on random keys and wrong ciphertexts.
#![allow(clippy::unwrap_used, reason = "tests")]

use aws_lc_rs::kem::{self, ML_KEM_768};
use fastrand::Rng;
use tollgate_curves::{LowOrder, X25519};
use tollgate_kem::hybrid::{self, X25519MlKem768};
use tollgate_kem::{
    CIPHERTEXT_BYTES, DecapsulationKey, EXPANDED_BYTES, InvalidKey, MlKem768, SECRET_BYTES,
};

/// The rounds of a test: 10^5 keys with `TOLLGATE_TEST_LONG`.
fn rounds() -> usize {
    if std::env::var_os("TOLLGATE_TEST_LONG").is_some() { 100_000 } else { 300 }
}

fn random<const N: usize>(rng: &mut Rng) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill(&mut bytes);
    bytes
}

fn expanded(key: &DecapsulationKey) -> [u8; EXPANDED_BYTES] {
    let mut bytes = [0; EXPANDED_BYTES];
    key.expand(&mut bytes);
    bytes
}

fn decapsulated(key: &DecapsulationKey, ciphertext: &[u8; CIPHERTEXT_BYTES]) -> [u8; SECRET_BYTES] {
    let mut secret = [0; SECRET_BYTES];
    key.decapsulate(ciphertext, &mut secret);
    secret
}

#[test]
fn keys_ciphertexts_and_secrets_are_those_of_other_code() {
    let mut rng = Rng::with_seed(1);
    for round in 0..rounds() {
        let (seed, noise) = (random(&mut rng), random(&mut rng));
        let mut found = Vec::new();
        for kem in MlKem768::all() {
            let key = kem.decapsulation_key(&seed);
            let bytes = key.encapsulation_key().to_bytes();
            let public = kem.encapsulation_key(&bytes).unwrap();
            assert_eq!((public.to_bytes(), key.seed()), (bytes, Some(&seed)));
            let (mut sent, mut secret) = ([0; CIPHERTEXT_BYTES], [0; SECRET_BYTES]);
            public.encapsulate(&noise, &mut sent, &mut secret);
            found.push((key, bytes, sent, secret));
        }
        let (_, bytes, sent, secret) = &found[0];
        let mut changed = *sent;
        changed[round % CIPHERTEXT_BYTES] ^= 1 << (round % 8);
        let garbage = random(&mut rng);

        let private = expanded(&found[0].0);
        let theirs = kem::DecapsulationKey::new(&ML_KEM_768, &private).unwrap();
        let judge = |ciphertext: &[u8]| theirs.decapsulate(ciphertext.into()).unwrap();
        for (key, other_bytes, other_sent, other_secret) in &found {
            assert!(other_bytes == bytes && other_sent == sent && other_secret == secret);
            assert_eq!(expanded(key), private);
            for ciphertext in [sent, &changed, &garbage] {
                assert_eq!(decapsulated(key, ciphertext), judge(ciphertext).as_ref());
            }
            assert_eq!(decapsulated(key, sent), *secret);
        }

        let theirs = kem::EncapsulationKey::new(&ML_KEM_768, bytes).unwrap();
        let (sent, secret) = theirs.encapsulate().unwrap();
        let sent = sent.as_ref().try_into().unwrap();
        assert_eq!(decapsulated(&found[0].0, sent), secret.as_ref());
    }
}

#[test]
fn expanded_keys_are_read_and_checked() {
    let mut rng = Rng::with_seed(2);
    for kem in MlKem768::all() {
        let key = kem.decapsulation_key(&random(&mut rng));
        let bytes = expanded(&key);
        let read = kem.expanded_key(&bytes).unwrap();
        assert!(read.seed().is_none() && read.is_consistent(&random(&mut rng)));
        assert!(key.is_consistent(&random(&mut rng)));
        assert_eq!(expanded(&read), bytes);
        assert_eq!(read.encapsulation_key().to_bytes(), key.encapsulation_key().to_bytes());
        let ciphertext = random(&mut rng);
        assert_eq!(decapsulated(&read, &ciphertext), decapsulated(&key, &ciphertext));

        let refused = |bytes: &[u8]| kem.expanded_key(bytes).unwrap_err();
        assert_eq!(refused(&bytes[1..]), InvalidKey);
        // a coefficient of 3329 in each half, and the hash of another key
        for (at, value) in [(0, [0x01, 0x0d]), (1150, [0x1f, 0xd0]), (1152, [0x01, 0x0d])] {
            let mut bad = bytes;
            bad[at..at + 2].copy_from_slice(&value);
            assert_eq!(refused(&bad), InvalidKey, "byte {at}");
        }
        for at in [2336, 2367] {
            let mut bad = bytes;
            bad[at] ^= 1;
            assert_eq!(refused(&bad), InvalidKey, "byte {at}");
        }
        // another secret vector: all checks of the standard pass, the pair-wise test does not
        let mut bad = expanded(&kem.decapsulation_key(&random(&mut rng)));
        bad[1152..].copy_from_slice(&bytes[1152..]);
        assert!(!kem.expanded_key(&bad).unwrap().is_consistent(&random(&mut rng)));
    }
}

#[test]
fn both_halves_of_the_hybrid_count() {
    let mut rng = Rng::with_seed(3);
    for ml_kem in MlKem768::all() {
        for x25519 in X25519::all() {
            let group = X25519MlKem768 { ml_kem, x25519 };
            let seed: [u8; hybrid::SEED_BYTES] = random(&mut rng);
            let key = group.decapsulation_key(&seed);
            let public = group.encapsulation_key(&key.public_bytes()).unwrap();
            assert_eq!(public.to_bytes(), key.public_bytes());
            let noise = random(&mut rng);
            let (mut sent, mut secret) = ([0; hybrid::CIPHERTEXT_BYTES], [0; hybrid::SECRET_BYTES]);
            public.encapsulate(&noise, &mut sent, &mut secret).unwrap();

            // the parts in the order of the draft
            let first = ml_kem.decapsulation_key(seed.first_chunk().unwrap());
            let ciphertext = sent.first_chunk().unwrap();
            assert_eq!(decapsulated(&first, ciphertext), secret[..32]);
            assert_eq!(first.encapsulation_key().to_bytes(), key.public_bytes()[..1184]);
            let mut alone = [0; 32];
            key.agree(sent.last_chunk().unwrap(), &mut alone).unwrap();
            assert_eq!(alone, secret[32..]);

            let mut private = [0; hybrid::PRIVATE_BYTES];
            key.expand(&mut private);
            for key in [&key, &group.expanded_key(&private).unwrap()] {
                let mut received = [0; hybrid::SECRET_BYTES];
                key.decapsulate(&sent, &mut received).unwrap();
                assert_eq!(received, secret);
                assert!(key.is_consistent(&random(&mut rng)));
                let mut changed = sent;
                changed[0] ^= 1;
                key.decapsulate(&changed, &mut received).unwrap();
                assert!(received[..32] != secret[..32] && received[32..] == secret[32..]);
                changed[hybrid::CIPHERTEXT_BYTES - 32..].fill(0);
                assert_eq!(key.decapsulate(&changed, &mut received), Err(LowOrder));
            }
            let mut low = key.public_bytes();
            low[hybrid::PUBLIC_BYTES - 32..].fill(0);
            let low = group.encapsulation_key(&low).unwrap();
            assert_eq!(low.encapsulate(&noise, &mut sent, &mut secret), Err(LowOrder));
            for length in [0, 31, 1184, 1215] {
                let short = &key.public_bytes()[..length];
                assert_eq!(group.encapsulation_key(short).unwrap_err(), InvalidKey);
            }
        }
    }
}

#[test]
fn nothing_secret_is_printed() {
    let key = X25519MlKem768::best().decapsulation_key(&[0x5a; hybrid::SEED_BYTES]);
    let alone = MlKem768::best().decapsulation_key(&[0x5a; 64]);
    assert_eq!(format!("{key:?} {alone:?}"), "DecapsulationKey(..) DecapsulationKey(..)");
}
