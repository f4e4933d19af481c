//! ECDSA leaks nothing, and leaves no secret in freed memory.

use core::ffi::CStr;

use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::EcGroup;
use openssl::nid::Nid;
use openssl::pkey::PKey;
use tollgate_rerun::alone;

use crate::allocator::{in_use, is_in_use, left_behind};
use crate::host::x25519::ANY;
use crate::host::{Host, Key, errors, pem};
use crate::x25519::{is_in, masked};

#[test]
fn ecdsa_leaves_nothing_behind() {
    alone("ecdsa::ecdsa_leaves_nothing_behind", signatures_alone);
}

/// Returns d 2^256 mod n, small end first, as the engine keeps the number.
fn montgomery_form(secret: &[u8]) -> Vec<u8> {
    let mut context = BigNumContext::new().unwrap();
    let (mut n, mut form) = (BigNum::new().unwrap(), BigNum::new().unwrap());
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    group.order(&mut n, &mut context).unwrap();
    let mut shifted = BigNum::new().unwrap();
    shifted.lshift(&BigNum::from_slice(secret).unwrap(), 256).unwrap();
    form.nnmod(&shifted, &n, &mut context).unwrap();
    let mut bytes = form.to_vec_padded(32).unwrap();
    bytes.reverse();
    masked(&bytes)
}

fn signatures_alone() {
    let Some(host) = Host::with_curves("ecdsa = on") else { return };
    let pem = pem("ec-p256.pem");
    let secret = {
        let key = PKey::private_key_from_pem(pem.as_bytes()).unwrap();
        key.ec_key().unwrap().private_key().to_vec_padded(32).unwrap()
    };
    let mut reversed = secret.clone(); // as a number of libcrypto
    reversed.reverse();
    let values = [masked(&secret), masked(&reversed), montgomery_form(&secret)];
    let ((), left) = left_behind(|| drop(secret));
    assert!(is_in(&left, &values[0]), "bytes that are left are found");
    drop(left);
    drop(reversed);
    let sign = |key: &Key, digest: &CStr| host.sign(key, ANY, digest, &[], b"a message").unwrap();
    let (signatures, left) = left_behind(|| {
        let key = host.key(&pem);
        let signatures = [sign(&key, c"SHA256"), sign(&key, c"SHA512")];
        assert!(is_in_use(|memory| is_in(memory, &values[2])), "the key is found in use");
        signatures
    });
    assert_eq!(host.counter("ecdsa-signatures"), 2);
    for value in &values {
        assert!(!is_in(&left, value), "keys and buffers are wiped");
        assert!(!is_in_use(|memory| is_in(memory, value)));
    }
    drop((left, signatures));

    let sign_and_fail = || {
        let key = host.key(&pem);
        sign(&key, c"SHA256");
        assert!(host.sign(&key, ANY, c"BLAKE2B-512", &[], b"a message").is_err());
        errors();
    };
    sign_and_fail();
    let before = in_use();
    (0..100).for_each(|_| sign_and_fail());
    assert_eq!(in_use(), before, "nothing leaks");
}
