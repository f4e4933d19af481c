//! Stubs of keys that a signer has.

use core::ffi::c_int;
use core::ptr;

use tollgate_keyless::Stub;

use crate::host::libcrypto;
use crate::host::{DEFAULT, Host, Key, MdContext, PREFER, errors, pem};

/// The decoder reads a stub and no more, so the program can read on.
#[test]
fn a_key_after_a_stub_is_read_next() {
    let host = Host::configured("remote = unix:/nowhere/signer.sock");
    let private = openssl::pkey::PKey::private_key_from_pem(pem("rsa-2048.pem").as_bytes());
    let stub = Stub::new(private.unwrap().public_key_to_der().unwrap()).unwrap();
    let file = [stub.to_pem(), pem("rsa-1024.pem")].concat();
    let len = c_int::try_from(file.len()).unwrap();
    // SAFETY: a buffer that outlives the BIO.
    let bio = unsafe { libcrypto::BIO_new_mem_buf(file.as_ptr().cast(), len) };
    let [first, second] = [(); 2].map(|()| {
        let (read, null) = (libcrypto::PEM_read_bio_PrivateKey_ex, ptr::null_mut());
        // SAFETY: a BIO, a context, a string; the other arguments may be null.
        let key = unsafe { read(bio, null, None, ptr::null_mut(), host.context, PREFER.as_ptr()) };
        assert!(!key.is_null(), "{}", errors());
        Key(key)
    });
    // SAFETY: freed once.
    unsafe { libcrypto::BIO_free(bio) };
    let sign = |key: &Key| host.sign(key, PREFER, c"SHA256", &[], b"a message");
    let (failures, result) = host.counted("remote-failures", || sign(&first));
    let error = result.unwrap_err();
    assert!(failures == 1 && error.contains("signer did not complete"), "{error}");
    let (ours, signature) = host.counted("signatures", || sign(&second).unwrap());
    assert_eq!((ours, signature.len()), (1, 128));
    assert_eq!(host.verify(&second, DEFAULT, c"SHA256", &[], b"a message", &signature), Ok(()));
}

/// Reading a stub, comparing it with the key of a certificate, as servers do, and starting an
/// operation leaves nothing in the error queue.
#[test]
fn stubs_leave_no_errors() {
    let Some(host) = Host::with_curves("ecdsa = on\nremote = unix:/nowhere/signer.sock") else {
        return;
    };
    for name in ["rsa-2048.pem", "ec-p256.pem"] {
        let private = openssl::pkey::PKey::private_key_from_pem(pem(name).as_bytes());
        let private = private.unwrap();
        let stub = Stub::new(private.public_key_to_der().unwrap()).unwrap();
        let key = host.key(&stub.to_pem());
        assert_eq!(errors(), "", "{name}: read");
        let public = String::from_utf8(private.public_key_to_pem().unwrap()).unwrap();
        let public = host.public_key(&public);
        for (one, other) in [(&key, &public), (&public, &key)] {
            assert_eq!(one.compare(other), 1);
            assert_eq!(errors(), "", "{name}: compared");
        }
        let context = MdContext::new();
        let init = libcrypto::EVP_DigestSignInit_ex;
        host.digest_init(init, &context, &key, PREFER, c"SHA256", &[]).unwrap();
        assert_eq!(errors(), "", "{name}: initialized");
        drop((context, key));
        assert_eq!(errors(), "", "{name}: freed");
    }
}
