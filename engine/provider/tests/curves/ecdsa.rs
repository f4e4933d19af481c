//! ECDSA with P-256, beside that of OpenSSL's own provider; and the keys that stay with it.

use core::ffi::CStr;
use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};

use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey, EcPoint};
use openssl::ecdsa::EcdsaSig;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use tollgate_rerun::alone;

use crate::host::child::in_child;
use crate::host::libcrypto;
use crate::host::x25519::ANY;
use crate::host::{DEFAULT, Host, Key, MdContext, check, errors};

/// Property query: requires this provider's ECDSA.
pub(crate) const OURS: &CStr = c"tollgate.ecdsa=yes";

pub(crate) fn host() -> Option<Host> {
    Host::with_curves("ecdsa = on")
}

pub(crate) fn p256() -> Option<(Host, Key)> {
    Some(host()?.with_key("ec-p256.pem"))
}

pub(crate) fn counts(host: &Host) -> [u64; 2] {
    ["ecdsa-signatures", "ecdsa-verifications"].map(|name| host.counter(name))
}

/// Returns whether a signature is valid. OpenSSL's own provider leaves no error if it is not.
pub(crate) fn is_valid(
    host: &Host,
    key: &Key,
    query: &CStr,
    digest: &CStr,
    message: &[u8],
    signature: &[u8],
) -> bool {
    let context = MdContext::new();
    let init = libcrypto::EVP_DigestVerifyInit_ex;
    host.digest_init(init, &context, key, query, digest, &[]).unwrap();
    let is_valid = context.verify(signature, message) == 1;
    assert!(!is_valid || errors().is_empty());
    errors();
    is_valid
}

/// A signature that is no DER of two positive numbers is an error (-1), not an invalid signature
/// (0).
#[test]
fn results_of_verifications_equal_openssl_s() {
    let Some((host, key)) = p256() else { return };
    let made = host.sign(&key, ANY, c"SHA256", &[], b"a message").unwrap();
    let changed = |at: usize, change: u8| {
        let mut bytes = made.clone();
        bytes[at] ^= change;
        bytes
    };
    let verify = |query, signature: &[u8]| {
        let context = MdContext::new();
        let init = libcrypto::EVP_DigestVerifyInit_ex;
        host.digest_init(init, &context, &key, query, c"SHA256", &[]).unwrap();
        let result = context.verify(signature, b"a message");
        errors();
        result
    };
    let above_n = [&[0x30, 38, 2, 33, 0][..], &[0xff; 32], &[2, 1, 9]].concat();
    let long = [&[0x30, 45, 2, 40][..], &[1; 40], &[2, 1, 9]].concat();
    for (signature, expected) in [
        (made.clone(), 1),
        (changed(made.len() - 1, 1), 0),
        (above_n, 0),
        (long, 0),
        (vec![0x30, 6, 2, 1, 0, 2, 1, 0], 0),
        (vec![0x30, 6, 2, 1, 0x87, 2, 1, 9], -1),
        (vec![0x30, 7, 2, 2, 0, 7, 2, 1, 9], -1),
        (changed(0, 1), -1),
        (made[..made.len() - 1].to_vec(), -1),
        ([&made[..], &[0]].concat(), -1),
        (vec![], -1),
    ] {
        // OpenSSL 4.0 gives 0 for an empty one.
        if !signature.is_empty() {
            assert_eq!(verify(DEFAULT, &signature), expected, "{signature:x?}");
        }
        assert_eq!(verify(ANY, &signature), expected, "{signature:x?}");
    }
}

/// RFC 6979, section A.2.5: signatures of "sample" and of "test". OpenSSL has the nonce type since
/// 3.2.
#[test]
fn deterministic_signatures_are_those_of_the_rfc() {
    let Some(host) = host() else { return };
    let key = host.key(&with_secret(
        Nid::X9_62_PRIME256V1,
        "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
    ));
    let sign = |query, digest, nonce_type: u32, message: &[u8]| {
        let context = MdContext::new();
        let init = libcrypto::EVP_DigestSignInit_ex;
        host.digest_init(init, &context, &key, query, digest, &[]).unwrap();
        let mut nonce_type = nonce_type;
        context.operation().set(&[libcrypto::uint(c"nonce-type", &mut nonce_type)])?;
        context.sign(message)
    };
    for (digest, message, r, s) in [
        (
            c"SHA256",
            "sample",
            "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
            "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
        ),
        (
            c"SHA256",
            "test",
            "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367",
            "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083",
        ),
    ] {
        let [r, s] = [r, s].map(|number| BigNum::from_hex_str(number).unwrap());
        let expected = EcdsaSig::from_private_components(r, s).unwrap().to_der().unwrap();
        let ours = sign(ANY, digest, 1, message.as_bytes()).unwrap();
        assert_eq!(ours, expected, "{digest:?} {message}");
        assert_ne!(sign(ANY, digest, 0, message.as_bytes()).unwrap(), expected);
    }
    let error = sign(ANY, c"SHA256", 2, b"sample").unwrap_err();
    assert!(error.contains("nonce-type must be"), "{error}");
    assert_eq!(counts(&host), [4, 0]);
}

/// Returns the PEM of a key with this secret number.
fn with_secret(curve: Nid, secret: &str) -> String {
    let group = EcGroup::from_curve_name(curve).unwrap();
    let secret = BigNum::from_hex_str(secret).unwrap();
    let mut context = openssl::bn::BigNumContext::new().unwrap();
    let mut public = EcPoint::new(&group).unwrap();
    public.mul_generator2(&group, &secret, &mut context).unwrap();
    pem_of(EcKey::from_private_components(&group, &secret, &public).unwrap())
}

pub(crate) fn pem_of(key: EcKey<Private>) -> String {
    let pem = PKey::from_ec_key(key).unwrap().private_key_to_pem_pkcs8().unwrap();
    String::from_utf8(pem).unwrap()
}

/// The smallest and the largest secret numbers, and numbers with leading zeros.
#[test]
fn extreme_keys_sign() {
    let Some(host) = host() else { return };
    for secret in [
        "01",
        "0102",
        "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550", // n - 1
    ] {
        let key = host.key(&with_secret(Nid::X9_62_PRIME256V1, secret));
        let before = counts(&host);
        let made = host.sign(&key, ANY, c"SHA256", &[], b"a message").unwrap();
        assert_eq!(counts(&host)[0], before[0] + 1, "{secret}");
        host.verify(&key, DEFAULT, c"SHA256", &[], b"a message", &made).unwrap();
    }
}

#[test]
fn parameters_are_read() {
    let Some((host, key)) = p256() else { return };
    let operation = host.operation(&key, OURS);
    let digest = [libcrypto::text(c"digest", c"SHA384")];
    operation.init(libcrypto::EVP_PKEY_sign_init_ex, &digest).unwrap();
    let (mut name, mut size, mut nonce_type) = ([0; 16], 0, u64::MAX);
    let params = [
        libcrypto::text_buffer(c"digest", &mut name),
        libcrypto::unsigned(c"digest-size", &mut size),
        libcrypto::unsigned(c"nonce-type", &mut nonce_type),
    ];
    operation.get(&params).unwrap();
    assert_eq!(CStr::from_bytes_until_nul(&name).unwrap(), c"SHA2-384");
    assert_eq!((size, nonce_type), (48, 0));
    errors();
}

#[test]
fn unsupported_operations_raise_a_reason() {
    let Some((host, key)) = p256() else { return };
    for (digest, params, word) in [
        (c"BLAKE2B-512", &[][..], "unsupported digest"),
        (c"MD4", &[], "unsupported digest"),
        (c"SHA256", &[(c"digest", c"SHA512")][..], "keeps its digest"),
    ] {
        let params: Vec<(&CStr, &CStr)> = params.iter().map(|&(k, v)| (k, v)).collect();
        let error = host.sign(&key, OURS, digest, &params, b"a message").unwrap_err();
        assert!(error.contains(word), "{digest:?}: {error}");
    }
}

#[test]
fn a_small_buffer_is_not_written() {
    let Some((host, key)) = p256() else { return };
    let operation = host.operation(&key, OURS);
    operation.init(libcrypto::EVP_PKEY_sign_init_ex, &[]).unwrap();
    let (mut buffer, mut len) = ([0xa5; 80], 71);
    let tbs = [5; 32];
    // SAFETY: a context, a buffer that is longer than the given length, a digest.
    let signed = unsafe {
        libcrypto::EVP_PKEY_sign(operation.0, buffer.as_mut_ptr(), &mut len, tbs.as_ptr(), 32)
    };
    let error = check(signed).unwrap_err();
    assert!(error.contains("too small"), "{error}");
    assert_eq!((buffer, counts(&host)), ([0xa5; 80], [0, 0]));
    errors();
}

/// Two signatures with the same r have the same nonce, and give the key away.
#[test]
fn forked_processes_never_repeat_a_nonce() {
    alone("ecdsa::forked_processes_never_repeat_a_nonce", fork_alone);
}

fn fork_alone() {
    let Some((host, key)) = p256() else { return };
    let r = || {
        let made = host.sign(&key, ANY, c"SHA256", &[], b"a message").unwrap();
        EcdsaSig::from_der(&made).unwrap().r().to_vec_padded(32).unwrap()
    };
    let mut all = BTreeSet::from([r()]);
    let children = 8;
    for _ in 0..children {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        assert!(in_child(|| writer.write_all(&[r(), r()].concat()).is_ok()));
        drop(writer);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        all.extend(bytes.chunks_exact(32).map(<[u8]>::to_vec));
    }
    all.insert(r());
    assert_eq!(all.len(), 2 + 2 * children);
    assert_eq!(counts(&host), [2, 0]);
}
