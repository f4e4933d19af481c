//! Premasters of TLS 1.2 that other servers of the protocol decrypt: none of their answers tells
//! whether a padding was valid.

use core::ffi::{c_int, c_uint};

use tollgate_keyless::{ErrorCode, REFUSAL, RESPONSE};

use crate::host::libcrypto;
use crate::host::operation::DECRYPT;
use crate::host::{PREFER, errors};
use crate::signer::Signer;

const LIMIT_MS: u32 = 20_000;

/// Decrypts 256 bytes for TLS 1.2, and returns the answer with the counts of done and failed
/// operations.
fn decrypt(answer: (u8, Vec<u8>)) -> (Result<Vec<u8>, String>, [u64; 2]) {
    let signer = Signer::answering(0, move |_| answer.clone());
    let (host, key) = signer.host(LIMIT_MS);
    let (mut mode, mut version): (c_int, c_uint) = (7, 0x0303);
    let params = [
        libcrypto::int(c"pad-mode", &mut mode),
        libcrypto::uint(c"tls-client-version", &mut version),
    ];
    let result = host.run(&key, PREFER, DECRYPT, &params, &[1; 256]);
    assert_eq!(errors(), "");
    (result, ["remote-operations", "remote-failures"].map(|name| host.counter(name)))
}

/// Returns a premaster.
fn premaster() -> Vec<u8> {
    [&[3, 3][..], &[7; 46]].concat()
}

/// Returns a block with this message, and a valid padding.
fn block(message: &[u8]) -> Vec<u8> {
    let mut em = vec![9; 256 - message.len()];
    em[..2].copy_from_slice(&[0, 2]);
    *em.last_mut().unwrap() = 0;
    [em, message.to_vec()].concat()
}

#[test]
fn a_block_and_a_message_alone_give_the_premaster() {
    for answer in [block(&premaster()), premaster()] {
        let (result, counts) = decrypt((RESPONSE, answer));
        assert_eq!((result.unwrap(), counts), (premaster(), [1, 0]));
    }
}

#[test]
fn all_other_answers_give_a_random_premaster() {
    let mut broken = block(&premaster());
    broken[1] = 1;
    let mut other_version = premaster();
    other_version[1] = 2;
    let long = [&[0; 9][..], &premaster()].concat();
    let refused = (REFUSAL, vec![ErrorCode::Crypto as u8]);
    let given = [broken, block(&other_version), other_version, long, premaster()[1..].to_vec()];
    let given = given.into_iter().chain([vec![], vec![5; 250], vec![5; 300]]);
    for answer in given.map(|payload| (RESPONSE, payload)).chain([refused]) {
        let [(first, counts), (second, _)] = [(); 2].map(|()| decrypt(answer.clone()));
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!((first.len(), counts), (48, [1, 0]), "{answer:?}");
        assert_ne!(first, second, "{answer:?}");
        assert_ne!(first, premaster(), "{answer:?}");
    }
}

/// A failure that has nothing to do with the ciphertext is one.
#[test]
fn a_refused_client_is_told_so() {
    let (result, counts) = decrypt((REFUSAL, vec![ErrorCode::KeyNotFound as u8]));
    assert!(result.is_err());
    assert_eq!(counts, [0, 1]);
}
