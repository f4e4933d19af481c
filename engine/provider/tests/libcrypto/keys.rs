//! Keys through libcrypto: which keys are accepted, which keys fall back to another provider, and
//! which provider generates keys.

use core::ffi::CStr;

use crate::host::libcrypto;
use crate::host::numbers::{KEYPAIR, PUBLIC_KEY, numbers};
use crate::host::{DEFAULT, DEMAND, Host, pem};

#[test]
fn numbers_are_imported_and_exported() {
    let host = Host::module();
    let theirs = host.key(&pem("rsa-2048.pem"));
    let expected = numbers(&theirs);
    assert_eq!(expected.len(), 8);
    let ours = host.key_from_numbers(DEMAND, KEYPAIR, &expected).unwrap();
    assert_eq!(numbers(&ours), expected);
    let copy = ours.copied();
    assert_eq!(numbers(&copy), expected);
    let other = host.key(&pem("rsa-2048-e3.pem"));
    for (one, two, same) in [(&ours, &theirs, 1), (&ours, &copy, 1), (&ours, &other, 0)] {
        assert_eq!(one.compare(two), same);
    }
    let operation = host.operation(&ours, DEMAND);
    assert_eq!(operation.call(libcrypto::EVP_PKEY_pairwise_check), Ok(()));
    assert_eq!(operation.call(libcrypto::EVP_PKEY_private_check), Ok(()));
    let signature = host.sign(&ours, DEMAND, c"SHA256", &[], b"a message").unwrap();
    drop(ours);
    assert_eq!(signature, host.sign(&copy, DEMAND, c"SHA256", &[], b"a message").unwrap());
    assert_eq!(signature, host.sign(&theirs, DEFAULT, c"SHA256", &[], b"a message").unwrap());
}

#[test]
fn bad_numbers_are_refused_with_a_reason() {
    let host = Host::module();
    let good = numbers(&host.key(&pem("rsa-2048.pem")));
    let make = |numbers: &[(&CStr, Vec<u8>)]| {
        host.key_from_numbers(DEMAND, KEYPAIR, numbers).map(drop).unwrap_err()
    };
    for at in 2..8 {
        let mut bad = good.clone();
        *bad[at].1.last_mut().unwrap() ^= 2;
        assert!(make(&bad).contains("inconsistent"), "{:?}", bad[at].0);
        bad.remove(at);
        if at == 2 {
            // Without d, the key is accepted as a public key.
            assert!(host.key_from_numbers(DEMAND, KEYPAIR, &bad).is_ok());
            continue;
        }
        let error = make(&bad);
        assert!(error.contains("both primes and the CRT numbers"), "{error}");
    }
    let mut three = good.clone();
    three.push((c"rsa-factor3", vec![7]));
    assert!(make(&three).contains("more than two primes"));
    for e in [vec![2], vec![1], [&[1][..], &[0; 31], &[1]].concat()] {
        let mut exponent = good[..2].to_vec();
        exponent[1].1 = e;
        let refused = host.key_from_numbers(DEMAND, PUBLIC_KEY, &exponent).map(drop).unwrap_err();
        assert!(refused.contains("its public exponent"), "{refused}");
    }
    let small = numbers(&host.key(&pem("rsa-512.pem")));
    assert!(make(&small).contains("must be 1024 to 8192 bits"));
    assert!(make(&good[1..]).contains("a private key needs n, e, d"));
}

#[test]
fn public_keys_verify_and_describe_themselves_as_openssl_does() {
    let host = Host::module();
    let private = host.key(&pem("rsa-2048.pem"));
    let public = host.key_from_numbers(DEMAND, PUBLIC_KEY, &numbers(&private)[..2]).unwrap();
    let signature = host.sign(&private, DEFAULT, c"SHA256", &[], b"a message").unwrap();
    let verify = |message: &[u8]| host.verify(&public, DEMAND, c"SHA256", &[], message, &signature);
    assert_eq!(verify(b"a message"), Ok(()));
    assert!(verify(b"another").unwrap_err().contains("not valid"));
    let error = host.sign(&public, DEMAND, c"SHA256", &[], b"a message").unwrap_err();
    assert!(error.contains("no private half"), "{error}");

    for name in ["rsa-1024.pem", "rsa-2047.pem", "rsa-3072.pem", "rsa-4096.pem", "rsa-8192.pem"] {
        let theirs = host.key(&pem(name));
        let numbers = &numbers(&theirs)[..2];
        let ours = host.key_from_numbers(DEMAND, PUBLIC_KEY, numbers).unwrap();
        assert_eq!(ours.sizes(), theirs.sizes(), "{name}");
    }
}
