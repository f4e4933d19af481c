//! Keys through libcrypto: which keys are accepted, which keys fall back to another provider, and
//! which provider generates keys.

use core::ffi::CStr;
use core::ptr;
use std::thread;

use crate::host::libcrypto;
use crate::host::numbers::{KEYPAIR, PUBLIC_KEY, numbers};
use crate::host::{DEFAULT, DEMAND, Host, Key, PREFER, errors, pem};

#[test]
fn refused_keys_fall_back_to_their_own_provider() {
    let host = Host::module();
    for name in ["rsa-512.pem", "rsa-2048-3primes.pem", "bad/rsa-9000.pem"] {
        let key = host.key(&pem(name));
        let sign = |query| host.sign(&key, query, c"SHA256", &[], b"a message");
        let (refused, (ours, signature)) =
            host.counted("refused-keys", || host.counted("signatures", || sign(PREFER).unwrap()));
        assert!(refused > 0, "{name}");
        assert_eq!((ours, &signature), (0, &sign(DEFAULT).unwrap()), "{name}");
        assert_eq!(host.verify(&key, PREFER, c"SHA256", &[], b"a message", &signature), Ok(()));
        assert_eq!(errors(), "", "{name}: a fallback leaves no errors");
        assert!(sign(DEMAND).is_err(), "{name}");
        errors();
    }
}

#[test]
fn keys_of_all_sizes_are_accepted() {
    let host = Host::module();
    for name in ["rsa-1024.pem", "rsa-2047.pem", "rsa-2048-pkcs1.pem", "rsa-8192.pem"] {
        let key = host.key(&pem(name));
        let (keys, signature) =
            host.counted("keys", || host.sign(&key, DEMAND, c"SHA256", &[], b"a message").unwrap());
        assert_eq!(keys, 1, "{name}");
        assert_eq!(signature, host.sign(&key, DEFAULT, c"SHA256", &[], b"a message").unwrap());
    }
}

/// With the property query that a configuration sets globally, `default` still generates the keys.
#[test]
fn keys_are_generated_and_then_used() {
    let host = Host::module();
    let operation = host.key_operation(PREFER).unwrap();
    operation.begin_key().unwrap();
    let key = operation.generate().unwrap();
    let (ours, signature) = host
        .counted("signatures", || host.sign(&key, PREFER, c"SHA256", &[], b"a message").unwrap());
    assert_eq!(ours, 1);
    assert_eq!(host.verify(&key, DEFAULT, c"SHA256", &[], b"a message", &signature), Ok(()));
}

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

    let mut seed = fastrand::Rng::with_seed(3);
    for bits in [
        1024, 1100, 1536, 2040, 2047, 2048, 2049, 2432, 3072, 4000, 4096, 5120, 6144, 7680, 7681,
        8192,
    ] {
        let mut n: Vec<u8> =
            (0..bits / 8 + usize::from(bits % 8 != 0)).map(|_| seed.u8(..)).collect();
        let top = (bits - 1) % 8;
        n[0] = (n[0] & ((1 << top) - 1)) | (1 << top);
        *n.last_mut().unwrap() |= 1;
        let numbers = [(c"n", n), (c"e", vec![1, 0, 1])];
        let facts = |query| {
            let key = host.key_from_numbers(query, PUBLIC_KEY, &numbers).unwrap();
            let mut name = [0_u8; 32];
            // SAFETY: a key and a buffer.
            let digest = unsafe {
                libcrypto::EVP_PKEY_get_default_digest_name(key.0, name.as_mut_ptr().cast(), 32)
            };
            (key.sizes(), digest, name)
        };
        assert_eq!(facts(DEMAND), facts(DEFAULT), "{bits} bits");
    }
}

/// Eight threads share a key, and also create and drop their own keys.
#[test]
fn threads_share_keys_and_drop_them_in_use() {
    let host = Host::module();
    let shared = host.key(&pem("rsa-2048.pem"));
    let expected = host.sign(&shared, DEFAULT, c"SHA256", &[], b"a message").unwrap();
    let text = pem("rsa-2048.pem");
    let (ours, ()) = host.counted("signatures", || {
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for round in 0..25 {
                        // A thread's own keys are freed while their first and last contexts still
                        // exist.
                        let key = if round % 5 == 0 { host.key(&text) } else { shared.clone() };
                        let operation = host.operation(&key, DEMAND);
                        let params = [libcrypto::text(c"digest", c"SHA256")];
                        operation.init(libcrypto::EVP_PKEY_sign_init_ex, &params).unwrap();
                        drop(key);
                        let digest = openssl::sha::sha256(b"a message");
                        let signature = operation.run(libcrypto::EVP_PKEY_sign, &digest).unwrap();
                        assert_eq!(signature, expected);
                    }
                });
            }
        });
    });
    assert_eq!(ours, 8 * 25);
}

/// `default` exports a key of this provider first, and then writes or prints it.
#[test]
fn keys_are_written_and_printed_by_openssl() {
    let host = Host::module();
    let theirs = host.key(&pem("rsa-2048.pem"));
    let ours = host.key_from_numbers(DEMAND, KEYPAIR, &numbers(&theirs)).unwrap();
    let der = |key: &Key| {
        let mut out = vec![0; 4096];
        let mut at = out.as_mut_ptr();
        // SAFETY: a key, and a buffer with more than enough space.
        let len = unsafe { libcrypto::i2d_PrivateKey(key.0, &mut at) };
        out.truncate(usize::try_from(len).unwrap());
        out
    };
    assert_eq!(der(&ours), der(&theirs), "{}", errors());
    let text = |key: &Key| {
        // SAFETY: no arguments.
        let method = unsafe { libcrypto::BIO_s_mem() };
        // SAFETY: a method.
        let bio = unsafe { libcrypto::BIO_new(method) };
        // SAFETY: a BIO and a key.
        let done = unsafe { libcrypto::EVP_PKEY_print_private(bio, key.0, 0, ptr::null_mut()) };
        assert_eq!(done, 1, "{}", errors());
        let mut out = vec![0; 16 * 1024];
        // SAFETY: a BIO and a buffer.
        let len = unsafe { libcrypto::BIO_read(bio, out.as_mut_ptr().cast(), 16 * 1024) };
        out.truncate(usize::try_from(len).unwrap());
        // SAFETY: freed once.
        unsafe { libcrypto::BIO_free(bio) };
        String::from_utf8(out).unwrap()
    };
    assert_eq!(text(&ours), text(&theirs));
    for name in [c"n", c"e", c"d", c"rsa-factor1", c"rsa-coefficient1"] {
        let mut number = ptr::null_mut();
        // SAFETY: a key, a name, a pointer to the number.
        let got = unsafe { libcrypto::EVP_PKEY_get_bn_param(ours.0, name.as_ptr(), &mut number) };
        assert_eq!(got, 1, "{name:?}: {}", errors());
        // SAFETY: freed once.
        unsafe { libcrypto::BN_free(number) };
    }
}
