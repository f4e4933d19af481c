//! Memcheck watches the decoding of decrypted messages with every byte of them marked: no branch
//! and no address may depend on one. (`tollgate-mont` shows that the check can fail; so does the
//! last test here.)
#![forbid(unsafe_code)]

use tollgate_cpu::{memcheck, rerun};
use tollgate_rsa::Hash;
use zeroize::Zeroizing;

use crate::encryption_padding::{self, PREMASTER};
use crate::{handle, implicit_rejection, oaep};

/// A message with good padding and one with bad padding, of 128 bytes, secret.
fn messages() -> [Vec<u8>; 2] {
    let mut good = vec![0; 128];
    encryption_padding::encode(&mut good, &[3; PREMASTER]).expect("it fits");
    let mut bad = good.clone();
    bad[1] = 1;
    [good, bad].map(|em| {
        memcheck::mark_secret(&em);
        em
    })
}

#[test]
fn premaster_secrets_are_decoded_in_constant_time() {
    rerun::constant_time("constant_time::premaster_secrets_are_decoded_in_constant_time", || {
        for em in messages() {
            let substitute = Zeroizing::new([7; PREMASTER]);
            encryption_padding::premaster(&em, 0x0303, Some(0x0302), substitute);
        }
    });
}

#[test]
fn implicit_rejection_is_constant_time() {
    rerun::constant_time("constant_time::implicit_rejection_is_constant_time", || {
        let d_hash = [5; 32];
        memcheck::mark_secret(&d_hash);
        for mut em in messages() {
            implicit_rejection::decode(&mut em, &d_hash, &[9; 128]).expect("HMAC takes any key");
        }
    });
}

#[test]
fn oaep_is_decoded_in_constant_time() {
    rerun::constant_time("constant_time::oaep_is_decoded_in_constant_time", || {
        let hash = Hash::Sha256;
        let mut good = vec![0; 128];
        oaep::encode(&mut good, hash, hash, b"", b"a message").expect("it fits");
        let mut bad = good.clone();
        bad[100] ^= 1;
        for (mut em, expected) in [(good, true), (bad, false)] {
            memcheck::mark_secret(&em);
            assert_eq!(oaep::decode(&mut em, hash, hash, b"").is_ok(), expected);
        }
    });
}

#[test]
fn what_is_handed_over_is_the_caller_s() {
    if !memcheck::running_on_valgrind() {
        return rerun::under_memcheck("constant_time::what_is_handed_over_is_the_caller_s");
    }
    let (mut buffer, mut length) = ([0; 128], 0);
    let [secret, _] = messages();
    let before = memcheck::count_errors();
    let mut output = handle::tests::output(&mut buffer, &mut length);
    output.write(&secret).expect("it fits");
    output.hand_over();
    if core::hint::black_box(buffer[100] == 7) {
        core::hint::black_box(&buffer);
    }
    assert_eq!(memcheck::count_errors(), before);
    assert_eq!(length, 128);
}

#[test]
fn a_decoder_that_stops_early_is_seen() {
    if !memcheck::running_on_valgrind() {
        return rerun::under_memcheck("constant_time::a_decoder_that_stops_early_is_seen");
    }
    for em in messages() {
        let before = memcheck::count_errors();
        let separator = em.iter().skip(2).position(|&byte| byte == 0);
        if core::hint::black_box(separator).is_some() {
            core::hint::black_box(&em);
        }
        assert!(memcheck::count_errors() > before, "a branch on a secret goes unseen");
    }
}
