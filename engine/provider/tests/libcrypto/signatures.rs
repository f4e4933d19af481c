//! Signatures through libcrypto, with the provider linked in and loaded as a module.

use core::ffi::CStr;
use core::ptr;

use crate::host::libcrypto::{self, OSSL_PARAM};
use crate::host::operation::{RECOVER, SIGN};
use crate::host::{DEFAULT, DEMAND, Host, MdContext, PREFER, check, errors, pem};

/// Two servers in one process, each with its own library context.
#[test]
fn each_library_context_has_its_own_counters() {
    let hosts = [Host::builtin(), Host::builtin(), Host::module()];
    for (host, times) in hosts.iter().zip(1..) {
        let key = host.key(&pem("rsa-2048.pem"));
        for _ in 0..times {
            host.sign(&key, PREFER, c"SHA256", &[], b"a message").unwrap();
        }
    }
    assert_eq!(hosts.each_ref().map(|host| host.counter("signatures")), [1, 2, 3]);
    assert_eq!(hosts.each_ref().map(|host| host.counter("keys")), [1, 1, 1]);
}

/// Registers, loads and queries the provider as a server would; the counters show which provider
/// signed.
#[test]
fn the_linked_provider_signs_on_request() {
    let (host, key) = Host::builtin().with_key("rsa-2048.pem");
    let sign = |query| host.sign(&key, query, c"SHA256", &[], b"a message").unwrap();
    let (ours, signature) = host.counted("signatures", || sign(PREFER));
    assert_eq!(ours, 1);
    let (theirs, expected) = host.counted("signatures", || sign(DEFAULT));
    assert_eq!((theirs, &expected), (0, &signature), "PKCS#1 v1.5 has one signature");
    assert_eq!(errors(), "");
    let (demanded, signature) = host.counted("signatures", || sign(DEMAND));
    assert_eq!((demanded, signature), (1, expected));
    // OpenSSL 4.0 also searches for a hash function that matches the query. The search fails and
    // leaves an error in the queue.
    errors();
}

#[test]
fn the_module_describes_and_tests_itself() {
    for host in [Host::module as fn() -> Host, Host::builtin] {
        let host = host();
        assert_eq!(host.text(c"name"), "Tollgate provider");
        assert_eq!(host.text(c"version"), env!("CARGO_PKG_VERSION"));
        assert_eq!(host.self_test(), 1);
        let key = host.key(&pem("rsa-2048.pem"));
        let (keys, _) = host.counted("keys", || {
            for _ in 0..5 {
                host.sign(&key, PREFER, c"SHA256", &[], b"a message").unwrap();
            }
        });
        assert_eq!(keys, 1, "a key is imported once");
        assert_eq!(errors(), "");
    }
}

const DIGESTS: [&CStr; 13] = [
    c"MD5",
    c"MD5-SHA1",
    c"SHA1",
    c"SHA224",
    c"SHA2-256",
    c"SHA384",
    c"SHA512",
    c"SHA512-224",
    c"SHA512-256",
    c"SHA3-224",
    c"SHA3-256",
    c"SHA3-384",
    c"SHA3-512",
];

const KEYS: [&str; 6] = [
    "rsa-1024.pem",
    "rsa-2047.pem",
    "rsa-2048.pem",
    "rsa-2048-e3.pem",
    "rsa-3072.pem",
    "rsa-4096.pem",
];

#[test]
fn pkcs1_signatures_are_those_of_openssl_byte_for_byte() {
    let host = Host::module();
    for name in KEYS {
        let key = host.key(&pem(name));
        for digest in DIGESTS {
            let sign = |query| host.sign(&key, query, digest, &[], b"a message").unwrap();
            let (ours, signature) = host.counted("signatures", || sign(PREFER));
            assert_eq!(ours, 1);
            assert!(signature == sign(DEFAULT), "{name} {digest:?}");
            let verify =
                |signature: &[u8]| host.verify(&key, PREFER, digest, &[], b"a message", signature);
            let (verified, result) = host.counted("verifications", || verify(&signature));
            assert_eq!((verified, result), (1, Ok(())), "{name} {digest:?}");
            let mut bad = signature;
            bad[17] ^= 1;
            assert!(verify(&bad).is_err());
            assert!(verify(&bad[1..]).is_err());
        }
    }
}

const PSS: (&CStr, &CStr) = (c"pad-mode", c"pss");

#[test]
fn pss_is_verified_across_providers() {
    let host = Host::module();
    for name in ["rsa-1024.pem", "rsa-2047.pem", "rsa-2048.pem"] {
        let key = host.key(&pem(name));
        for digest in [c"SHA1", c"SHA256", c"SHA384", c"SHA3-256"] {
            for salt in [c"digest", c"max", c"auto", c"0", c"11"] {
                for mgf1 in [None, Some((c"mgf1-digest", c"SHA512"))] {
                    let params = [PSS, (c"saltlen", salt)].into_iter().chain(mgf1);
                    let params: Vec<(&CStr, &CStr)> =
                        params.map(|(key, value)| -> (&CStr, &CStr) { (key, value) }).collect();
                    for (from, to) in [(PREFER, DEFAULT), (DEFAULT, PREFER), (PREFER, PREFER)] {
                        let made = host.sign(&key, from, digest, &params, b"a message").unwrap();
                        let verify =
                            |message: &[u8]| host.verify(&key, to, digest, &params, message, &made);
                        assert_eq!(verify(b"a message"), Ok(()), "{name} {digest:?} {params:?}");
                        assert!(verify(b"another message").is_err());
                    }
                }
            }
        }
    }
    // A verifier with a fixed salt length refuses other lengths.
    let key = host.key(&pem("rsa-2048.pem"));
    let with = |salt| [PSS, (c"saltlen", salt)];
    let made = host.sign(&key, PREFER, c"SHA256", &with(c"11"), b"a message").unwrap();
    for (salt, good) in [(c"11", true), (c"auto", true), (c"12", false), (c"digest", false)] {
        let result = host.verify(&key, PREFER, c"SHA256", &with(salt), b"a message", &made);
        assert_eq!(result.is_ok(), good, "{salt:?}");
    }
}

/// `openssl dgst` and X.509 sign in pieces, with copied contexts.
#[test]
fn messages_are_signed_in_pieces_with_copied_contexts() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    let expected = host.sign(&key, DEFAULT, c"SHA512", &[], b"a longer message").unwrap();
    let first = MdContext::new();
    let init = libcrypto::EVP_DigestSignInit_ex;
    host.digest_init(init, &first, &key, DEMAND, c"SHA512", &[]).unwrap();
    first.update(b"a longer ").unwrap();
    let second = first.copied();
    first.update(b"message").unwrap();
    second.update(b"story").unwrap();
    assert_eq!(first.finish().unwrap(), expected);
    assert_ne!(second.finish().unwrap(), expected);
}

/// The algorithm identifier that X.509 stores with a signature.
#[test]
fn algorithm_identifiers_equal_openssl_s() {
    let (host, key) = Host::module().with_key("rsa-4096.pem");
    let identifier = |query: &CStr, digest: &CStr, params: &[(&CStr, &CStr)]| {
        host.algorithm_id(&key, query, digest, params)
    };
    for digest in DIGESTS {
        let ours = identifier(PREFER, digest, &[]);
        if [c"MD5-SHA1"].contains(&digest) {
            assert!(ours.is_err());
            continue;
        }
        assert_eq!(ours, identifier(DEFAULT, digest, &[]), "{digest:?}");
    }
    for digest in [c"SHA1", c"SHA224", c"SHA256", c"SHA384", c"SHA512"] {
        for salt in [c"digest", c"auto", c"20", c"0", c"300"] {
            for mgf1 in [c"SHA1", digest] {
                let params = [PSS, (c"saltlen", salt), (c"mgf1-digest", mgf1)];
                let ours = identifier(PREFER, digest, &params).unwrap();
                let theirs = identifier(DEFAULT, digest, &params).unwrap();
                assert_eq!(hex::encode(ours), hex::encode(theirs), "{digest:?} {params:?}");
            }
        }
    }
}

/// Without a digest, the bytes are padded directly: `openssl pkeyutl -sign`, `openssl speed`.
#[test]
fn bytes_are_signed_verified_and_recovered_raw() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    for (mode, message) in
        [(c"pkcs1", vec![5; 36]), (c"pkcs1", vec![5; 245]), (c"none", vec![5; 256])]
    {
        let params = [libcrypto::text(c"pad-mode", mode)];
        let sign = |query| host.run(&key, query, SIGN, &params, &message).unwrap();
        let signature = sign(DEMAND);
        assert_eq!(signature, sign(DEFAULT));
        let recovered = host.run(&key, DEMAND, RECOVER, &params, &signature).unwrap();
        assert_eq!(recovered, message);
        let operation = host.operation(&key, DEMAND);
        operation.init(libcrypto::EVP_PKEY_verify_init_ex, &params).unwrap();
        assert_eq!(operation.verify(&signature, &message), 1);
        assert_eq!(operation.verify(&signature, &message[1..]), 0);
    }
    let error = host.run(&key, DEMAND, SIGN, &[], &[5; 246]).unwrap_err();
    assert!(error.contains("too long"), "{error}");
}

#[test]
fn digests_are_recovered_under_their_name_only() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    let recover = |digest: &CStr, signature: &[u8]| {
        host.run(&key, DEMAND, RECOVER, &[libcrypto::text(c"digest", digest)], signature)
    };
    let signature = host.sign(&key, DEFAULT, c"SHA256", &[], b"abc").unwrap();
    let digest = recover(c"SHA256", &signature).unwrap();
    assert_eq!(
        hex::encode(digest),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    assert!(recover(c"SHA512", &signature).is_err());
    assert!(recover(c"MD5-SHA1", &signature).is_err());
}

#[test]
fn parameters_are_read_as_number_or_name() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    let context = MdContext::new();
    let params = [PSS, (c"saltlen", c"digest"), (c"mgf1-digest", c"SHA384")];
    let init = libcrypto::EVP_DigestSignInit_ex;
    host.digest_init(init, &context, &key, DEMAND, c"SHA256", &params).unwrap();
    let operation = context.operation();
    let (mut mode, mut salt) = (0, 0);
    let numbers = [libcrypto::int(c"pad-mode", &mut mode), libcrypto::int(c"saltlen", &mut salt)];
    operation.get(&numbers).unwrap();
    assert_eq!((mode, salt), (6, -1));
    let mut buffers = [[0_u8; 32]; 4];
    let names = [c"pad-mode", c"saltlen", c"digest", c"mgf1-digest"];
    let texts = names.iter().zip(&mut buffers);
    let texts: Vec<_> = texts.map(|(key, buffer)| libcrypto::text_buffer(key, buffer)).collect();
    operation.get(&texts).unwrap();
    let texts = buffers.map(|b| CStr::from_bytes_until_nul(&b).unwrap().to_owned());
    assert_eq!(
        texts.each_ref().map(|t| t.as_c_str()),
        [c"pss", c"digest", c"SHA2-256", c"SHA2-384"]
    );
}

#[test]
fn unsupported_operations_raise_a_reason() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    for (digest, params, word) in [
        (c"BLAKE2B-512", &[][..], "unsupported digest"),
        (c"SHA224", &[(c"pad-mode", c"x931")][..], "unsupported digest"),
        (c"SHA256", &[(c"pad-mode", c"none")][..], "unsupported padding"),
        (c"SHA256", &[PSS, (c"saltlen", c"300")][..], "salt length"),
        (c"SHA256", &[PSS, (c"saltlen", c"-9")][..], "salt length"),
        (c"SHA256", &[(c"digest", c"SHA512")][..], "keeps its digest"),
    ] {
        let digest: &CStr = digest;
        let params: Vec<(&CStr, &CStr)> = params.iter().map(|&(k, v)| (k, v)).collect();
        let result = host.sign(&key, DEMAND, digest, &params, b"a message");
        let error = result.unwrap_err();
        assert!(error.contains(word), "{digest:?} {params:?}: {error}");
    }
}

/// Unknown names of a padding are ignored; other texts for the length of a salt are read by `atoi`.
#[test]
fn unknown_names_are_read_as_openssl_does() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    for params in [
        &[(c"pad-mode", c"oaep")][..],
        &[(c"pad-mode", c"")],
        &[(c"no-such-parameter", c"1")],
        &[PSS, (c"saltlen", c"none")],
        &[PSS, (c"saltlen", c"0x20")],
    ] {
        let [ours, theirs] = [DEMAND, DEFAULT]
            .map(|query| host.sign(&key, query, c"SHA256", params, b"a message").unwrap());
        assert_eq!(ours, theirs, "{params:?}"); // no salt
    }
    // Numbers are not ignored: here that of OAEP.
    let mut number = 4;
    for query in [DEMAND, DEFAULT] {
        let operation = host.operation(&key, query);
        let params = [libcrypto::int(c"pad-mode", &mut number)];
        operation.init(libcrypto::EVP_PKEY_sign_init_ex, &params).unwrap_err();
    }
}

/// A program asks with a text parameter: `EVP_PKEY_CTX_get_rsa_pss_saltlen(3)`.
#[test]
fn the_length_of_a_salt_is_answered_as_text() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    for length in [c"32", c"0", c"digest", c"auto"] {
        let [ours, theirs] = [DEMAND, DEFAULT].map(|query| {
            let operation = host.operation(&key, query);
            let params =
                [libcrypto::text(c"pad-mode", c"pss"), libcrypto::text(c"saltlen", length)];
            operation.init(libcrypto::EVP_PKEY_sign_init_ex, &params).unwrap();
            let mut buffer = [0_u8; 50];
            let got = operation.get(&[libcrypto::text_buffer(c"saltlen", &mut buffer)]).unwrap();
            (CStr::from_bytes_until_nul(&buffer).unwrap().to_owned(), got[0].return_size)
        });
        assert_eq!(ours.0.as_c_str(), length);
        assert_eq!(ours.0, theirs.0);
        assert_eq!(ours.1, length.to_bytes().len());
    }
}

/// An empty input, without a hash function: RSA signs it, but does not verify it.
#[test]
fn nothing_is_signed_as_openssl_does() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    let Some(curve_host) = Host::with_curves("ecdsa = on") else { return };
    let curve_key = curve_host.key(&pem("ec-p256.pem"));
    for (host, key, queries) in
        [(&host, &key, [DEMAND, DEFAULT]), (&curve_host, &curve_key, [c"", DEFAULT])]
    {
        let [ours, theirs] = queries.map(|query| {
            let signature = host.run(key, query, SIGN, &[], b"").unwrap();
            let operation = host.operation(key, query);
            operation.init(libcrypto::EVP_PKEY_verify_init_ex, &[]).unwrap();
            operation.verify(&signature, b"")
        });
        assert_eq!(ours, theirs);
        errors();
    }
    let used = ["ecdsa-signatures", "ecdsa-verifications"].map(|name| curve_host.counter(name));
    assert_eq!(used, [1, 1]);
}

/// A padding of X9.31 needs a hash function, which is set before it or with it.
#[test]
fn x931_needs_a_hash_function() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    let [padding, digest] =
        [(c"pad-mode", c"x931"), (c"digest", c"SHA256")].map(|(k, v)| libcrypto::text(k, v));
    for query in [DEMAND, DEFAULT] {
        let init = |params: &[OSSL_PARAM]| {
            host.operation(&key, query).init(libcrypto::EVP_PKEY_sign_init_ex, params)
        };
        assert!(init(&[padding]).is_err(), "{query:?}");
        assert_eq!(init(&[padding, digest]), Ok(()), "{query:?}");
    }
}

#[test]
fn a_small_buffer_is_not_written() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    let operation = host.operation(&key, DEMAND);
    operation.init(libcrypto::EVP_PKEY_sign_init_ex, &[]).unwrap();
    let (mut buffer, mut len) = ([0xa5; 256], 255);
    let tbs = [5; 36];
    // SAFETY: a context, a buffer that is longer than the given length, a message.
    let signed = unsafe {
        libcrypto::EVP_PKEY_sign(operation.0, buffer.as_mut_ptr(), &mut len, tbs.as_ptr(), 36)
    };
    let error = check(signed).unwrap_err();
    assert!(error.contains("too small"), "{error}");
    assert_eq!(buffer, [0xa5; 256]);
    // SAFETY: a context, and a NULL message of no bytes.
    let signed = unsafe {
        libcrypto::EVP_PKEY_sign(operation.0, buffer.as_mut_ptr(), &mut 256, ptr::null(), 0)
    };
    assert_eq!(check(signed), Ok(()));
}
