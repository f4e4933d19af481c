//! Encryption and decryption through libcrypto: PKCS#1 with implicit rejection, TLS, OAEP, raw.

use core::ffi::{CStr, c_int, c_uint};

use crate::host::libcrypto::{self, OSSL_PARAM};
use crate::host::operation::{DECRYPT, ENCRYPT};
use crate::host::{DEFAULT, DEMAND, Host, Key, errors};

fn encrypt(host: &Host, key: &Key, query: &CStr, params: &[OSSL_PARAM], message: &[u8]) -> Vec<u8> {
    host.run(key, query, ENCRYPT, params, message).unwrap()
}

fn decrypt(
    host: &Host,
    key: &Key,
    query: &CStr,
    params: &[OSSL_PARAM],
    ciphertext: &[u8],
) -> Result<Vec<u8>, String> {
    host.run(key, query, DECRYPT, params, ciphertext)
}

/// Returns a ciphertext from arbitrary bytes, including their padding.
fn encrypt_raw(host: &Host, key: &Key, em: &[u8]) -> Vec<u8> {
    encrypt(host, key, DEFAULT, &[libcrypto::text(c"pad-mode", c"none")], em)
}

/// Returns encodings `00 02`, padding, `00`, message; each has one part changed.
fn bad_paddings(size: usize, message: &[u8]) -> Vec<Vec<u8>> {
    let mut good = vec![9; size];
    good[..2].copy_from_slice(&[0, 2]);
    let start = size - message.len();
    good[start - 1] = 0;
    good[start..].copy_from_slice(message);
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut em = good.clone();
        change(&mut em);
        em
    };
    vec![
        changed(&|em| em[0] = 1),
        changed(&|em| em[1] = 1),
        changed(&|em| em[1] = 0),
        changed(&|em| em[2] = 0),
        changed(&|em| em[9] = 0),
        changed(&|em| em.iter_mut().skip(2).for_each(|byte| *byte |= 1)),
        changed(&|em| em[2..].fill(0)),
    ]
}

/// Returns parameters for `RSA_PKCS1_WITH_TLS_PADDING`, the version of TLS that the client offered,
/// and the negotiated version.
fn tls(settings: &mut (c_int, c_uint, c_uint)) -> Vec<OSSL_PARAM> {
    vec![
        libcrypto::int(c"pad-mode", &mut settings.0),
        libcrypto::uint(c"tls-client-version", &mut settings.1),
        libcrypto::uint(c"tls-negotiated-version", &mut settings.2),
    ]
}

/// Decrypts as libssl does in TLS 1.2 with RSA key exchange: the answer has 48 bytes for any
/// ciphertext.
#[test]
fn tls_decryption_always_gives_48_bytes() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    let premaster = [&[3, 3][..], &[0x5a; 46]].concat();
    let good = encrypt(&host, &key, DEFAULT, &[], &premaster);
    let mut settings = (7, 0x0303, 0);
    let params = tls(&mut settings);
    let (ours, got) = host.counted("decryptions", || decrypt(&host, &key, DEMAND, &params, &good));
    assert_eq!((ours, got), (1, Ok(premaster.clone())));

    let mut bad: Vec<_> =
        bad_paddings(256, &premaster).iter().map(|em| encrypt_raw(&host, &key, em)).collect();
    for length in [0, 47, 49] {
        bad.push(encrypt(&host, &key, DEFAULT, &[], &vec![3; length]));
    }
    bad.push(encrypt(&host, &key, DEFAULT, &[], &[&[3, 2][..], &[0x5a; 46]].concat()));
    bad.extend([vec![], vec![0], vec![1], vec![7; 256], vec![0xff; 256]]);
    let mut answers = Vec::new();
    for ciphertext in bad {
        for _ in 0..2 {
            let answer = decrypt(&host, &key, DEMAND, &params, &ciphertext).unwrap();
            assert_eq!(answer.len(), 48);
            answers.push(answer);
        }
    }
    assert!(!answers.contains(&premaster));
    let count = answers.len();
    answers.sort();
    answers.dedup();
    assert_eq!(answers.len(), count, "substitutes are random");
    assert_eq!(errors(), "", "the error queue is empty");

    // An old client may send the negotiated version instead of the offered one.
    let mut settings = (7, 0x0304, 0x0303);
    let params = tls(&mut settings);
    assert_eq!(decrypt(&host, &key, DEMAND, &params, &good), Ok(premaster));
    let mut settings = (7, 0, 0);
    let params = tls(&mut settings);
    let error = decrypt(&host, &key, DEMAND, &params, &good).unwrap_err();
    assert!(error.contains("set tls-client-version"), "{error}");
}

#[test]
fn overlapping_buffers_are_allowed() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    let mut buffer = encrypt(&host, &key, DEFAULT, &[], b"a message");
    let operation = host.operation(&key, DEMAND);
    operation.init(libcrypto::EVP_PKEY_decrypt_init_ex, &[]).unwrap();
    let mut len = 256;
    let place = buffer.as_mut_ptr();
    // SAFETY: a context and a buffer, decrypted in place.
    let done = unsafe { libcrypto::EVP_PKEY_decrypt(operation.0, place, &mut len, place, 256) };
    assert_eq!(crate::host::check(done), Ok(()));
    assert_eq!(&buffer[..len], b"a message");
}

/// All users may read the files with the counters. A counter that increased only for valid paddings
/// would be the oracle that programs avoid.
#[test]
fn counters_do_not_reveal_valid_paddings() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    let mut rejection: c_uint = 0;
    let explicit = libcrypto::uint(c"implicit-rejection", &mut rejection);
    let pkcs1 = vec![libcrypto::text(c"pad-mode", c"pkcs1"), explicit];
    let oaep = vec![libcrypto::text(c"pad-mode", c"oaep")];
    for params in [pkcs1, oaep] {
        let good = encrypt(&host, &key, DEFAULT, &params[..1], b"m");
        let bad = encrypt_raw(&host, &key, &[&[0; 128][..], &[7; 128]].concat());
        for (ciphertext, is_good) in [(good, true), (bad, false)] {
            let (count, got) =
                host.counted("decryptions", || decrypt(&host, &key, DEMAND, &params, &ciphertext));
            assert_eq!((count, got.is_ok()), (1, is_good), "{got:?}");
        }
    }
}
