//! Signatures through libcrypto, with the provider linked in and loaded as a module.

use core::ffi::CStr;
use core::ptr;

use crate::host::libcrypto::{self, OSSL_PARAM};
use crate::host::operation::SIGN;
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

const PSS: (&CStr, &CStr) = (c"pad-mode", c"pss");

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
