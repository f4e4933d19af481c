//! Key generation by the provider, for programs that require it.

use core::ffi::{CStr, c_int, c_void};
use core::ptr;

use crate::host::libcrypto::{self, EVP_PKEY_CTX};
use crate::host::numbers::{KEYPAIR, numbers};
use crate::host::{DEFAULT, DEMAND, Host, Key, errors};

/// The progress events that a program receives during generation, and the point at which it stops
/// the generation.
#[derive(Default)]
struct Listener {
    heard: Vec<(c_int, c_int)>,
    stop_after: Option<usize>,
}

unsafe extern "C" fn listen(context: *mut EVP_PKEY_CTX) -> c_int {
    // SAFETY: the context that generates the key.
    let [potential, iteration] =
        [0, 1].map(|i| unsafe { libcrypto::EVP_PKEY_CTX_get_keygen_info(context, i) });
    // SAFETY: as above.
    let listener = unsafe { libcrypto::EVP_PKEY_CTX_get_app_data(context) }.cast::<Listener>();
    // SAFETY: set by `make`, and not accessed by other code meanwhile.
    let listener = unsafe { &mut *listener };
    listener.heard.push((potential, iteration));
    c_int::from(listener.stop_after != Some(listener.heard.len()))
}

/// Generates a key of this size, with an optional public exponent and number of primes.
fn make(
    host: &Host,
    bits: u64,
    e: Option<&[u8]>,
    primes: Option<u64>,
    listener: &mut Listener,
) -> Result<Key, String> {
    let operation = host.key_operation(DEMAND)?;
    operation.begin_key()?;
    let (mut bits, mut primes_set) = (bits, primes.unwrap_or(2));
    let mut e_native = libcrypto::native(e.unwrap_or(&[1, 0, 1]));
    let mut params = vec![libcrypto::unsigned(c"bits", &mut bits)];
    if primes.is_some() {
        params.push(libcrypto::unsigned(c"primes", &mut primes_set));
    }
    if e.is_some() {
        params.push(libcrypto::number(c"e", &mut e_native));
    }
    operation.set(&params)?;
    let listener = ptr::from_mut(listener).cast::<c_void>();
    // SAFETY: a context, and progress data that outlives the operation.
    unsafe { libcrypto::EVP_PKEY_CTX_set_app_data(operation.0, listener) };
    // SAFETY: a context and a function.
    unsafe { libcrypto::EVP_PKEY_CTX_set_cb(operation.0, listen) };
    operation.generate()
}

/// OpenSSL's own provider tests the primes and the numbers derived from them.
#[test]
fn generated_keys_pass_openssl_s_checks() {
    let host = Host::module();
    for (bits, e) in [
        (1024, None),
        (2048, None),
        (2048, Some(&[3][..])),
        (2050, Some(&[1, 0, 1])),
        (1024, Some(&[&[1][..], &[0; 29], &[1, 1]].concat())),
    ] {
        let (made, key) =
            host.counted("keys", || make(&host, bits, e, None, &mut Listener::default()).unwrap());
        assert_eq!(made, 1);
        let parts = numbers(&key);
        assert_eq!(parts.len(), 8);
        assert_eq!(parts[1], (c"e", e.unwrap_or(&[1, 0, 1]).to_vec()));
        let theirs = host.key_from_numbers(DEFAULT, KEYPAIR, &parts).unwrap();
        assert_eq!(u64::try_from(theirs.sizes()[0]), Ok(bits));
        let checked = host.operation(&theirs, DEFAULT).call(libcrypto::EVP_PKEY_check);
        assert_eq!(checked, Ok(()), "{bits} {e:?}");
        let (ours, signature) = host
            .counted("signatures", || host.sign(&key, DEMAND, c"SHA256", &[], b"text").unwrap());
        assert_eq!(ours, 1);
        assert_eq!(host.verify(&theirs, DEFAULT, c"SHA256", &[], b"text", &signature), Ok(()));
    }
    // OpenSSL 4.0 looks for a hash function that matches the query, and leaves its error in the
    // queue.
    errors();
}

#[test]
fn refused_generation_has_a_reason() {
    let host = Host::module();
    let refused = |bits, e: Option<&[u8]>, primes| {
        make(&host, bits, e, primes, &mut Listener::default()).map(drop).unwrap_err()
    };
    for bits in [0, 512, 1022, 2049, 8194] {
        assert!(refused(bits, None, None).contains("from 1024 to 8192"), "{bits}");
    }
    for e in [&[2][..], &[1], &[0], &[1; 33]] {
        assert!(refused(2048, Some(e), None).contains("its public exponent"), "{e:?}");
    }
    assert!(refused(2048, None, Some(3)).contains("two primes"));
}

/// The events are those of `BN_GENCB_call(3)`: 0 for candidates, 3 for a prime.
#[test]
fn a_program_gets_progress_and_can_stop_generation() {
    let host = Host::module();
    let mut listener = Listener::default();
    make(&host, 2048, None, None, &mut listener).unwrap();
    let of = |potential| -> Vec<c_int> {
        listener.heard.iter().filter(|(p, _)| *p == potential).map(|(_, i)| *i).collect()
    };
    let candidates = of(0);
    assert_eq!(candidates, (0..).take(candidates.len()).collect::<Vec<_>>());
    assert_eq!(of(3), [0, 1]);
    assert_eq!(listener.heard.last(), Some(&(3, 1)));

    let mut listener = Listener { stop_after: Some(1), ..Listener::default() };
    let error = make(&host, 2048, None, None, &mut listener).map(drop).unwrap_err();
    assert!(error.contains("callback stopped"), "{error}");
    assert_eq!(listener.heard.len(), 1, "no progress is reported after a stop");
}

/// The defaults are those of OpenSSL: 2048 bits and 65537.
#[test]
fn defaults_equal_openssl_s() {
    let host = Host::module();
    let describe = |query: &CStr| {
        let operation = host.key_operation(query).unwrap();
        operation.begin_key().unwrap();
        let key = operation.generate().unwrap();
        (key.sizes(), numbers(&key)[1].clone())
    };
    assert_eq!(describe(DEMAND), describe(DEFAULT));
}
