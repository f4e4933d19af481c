//! Keys that a program creates after operations of this provider: the default provider creates
//! them, of all curves and sizes, as without this provider.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(unsafe_code, reason = "functions of libcrypto")]

#[path = "../host/mod.rs"]
mod host;

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use core::time::Duration;
use std::thread;

use tollgate_rerun::alone;

use host::child::in_child;
use host::job::Job;
use host::libcrypto::{self, OSSL_PARAM};
use host::numbers::PUBLIC_KEY;
use host::openssl_conf::Folder;
use host::{DEFAULT, Host, Key, check, errors, pem, pem_path};

/// Property queries of programs: none, and that of stunnel.
const QUERIES: [&CStr; 2] = [c"", c"provider!=fips"];

/// Signs with both keys, here.
fn sign(host: &Host, query: &CStr) {
    for (name, counter) in [("ec-p256.pem", "ecdsa-signatures"), ("rsa-2048.pem", "signatures")] {
        let key = host.key(&pem(name));
        let (ours, signature) =
            host.counted(counter, || host.sign(&key, query, c"SHA256", &[], b"a message"));
        assert!(ours == 1 && signature.is_ok(), "{name} {query:?}: {signature:?}");
    }
}

/// Creates a key with these parameters.
fn generate(host: &Host, name: &CStr, query: &CStr, params: &[OSSL_PARAM]) -> Result<Key, String> {
    let operation = host.operation_of(name, query)?;
    operation.begin_key()?;
    operation.set(params)?;
    operation.generate()
}

fn generate_ec(host: &Host, query: &CStr, curve: &CStr) -> Result<Key, String> {
    generate(host, c"EC", query, &[libcrypto::text(c"group", curve)])
}

fn generate_rsa(host: &Host, query: &CStr, bits: u64, primes: u64) -> Result<Key, String> {
    let (mut bits, mut primes) = (bits, primes);
    let bits = libcrypto::unsigned(c"bits", &mut bits);
    let primes = libcrypto::unsigned(c"primes", &mut primes);
    generate(host, c"RSA", query, &[bits, primes])
}

/// Creates a key from the public values of another one. OpenSSL leaves no error for the curves
/// whose values it does not accept.
fn public_half(host: &Host, name: &CStr, query: &CStr, key: &Key) -> Option<Key> {
    let mut params = ptr::null_mut();
    // SAFETY: a key, and a pointer that the call may write.
    check(unsafe { libcrypto::EVP_PKEY_todata(key.0, PUBLIC_KEY, &mut params) }).unwrap();
    let operation = host.operation_of(name, query).unwrap();
    operation.call(libcrypto::EVP_PKEY_fromdata_init).unwrap();
    let mut copy = ptr::null_mut();
    // SAFETY: a context, a pointer to the key, and the parameters.
    let made = unsafe { libcrypto::EVP_PKEY_fromdata(operation.0, &mut copy, PUBLIC_KEY, params) };
    // SAFETY: freed once.
    unsafe { libcrypto::OSSL_PARAM_free(params) };
    (made == 1).then(|| Key(copy))
}

/// The names of the curves of this libcrypto.
fn curves() -> Vec<&'static CStr> {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Curve {
        nid: c_int,
        comment: *const c_char,
    }
    #[link(name = "crypto")]
    unsafe extern "C" {
        fn EC_get_builtin_curves(curves: *mut Curve, count: usize) -> usize;
        fn OBJ_nid2sn(nid: c_int) -> *const c_char;
    }
    let mut curves = [Curve { nid: 0, comment: ptr::null() }; 200];
    // SAFETY: an array and its length.
    let count = unsafe { EC_get_builtin_curves(curves.as_mut_ptr(), curves.len()) };
    assert!((1..=curves.len()).contains(&count));
    let name = |curve: &Curve| {
        // SAFETY: the number of a curve.
        let name = unsafe { OBJ_nid2sn(curve.nid) };
        // SAFETY: the name is a constant.
        unsafe { CStr::from_ptr(name) }
    };
    curves[..count].iter().map(name).collect()
}

/// Creates keys of all curves, and of sizes of RSA with and without kernels here, in each way.
/// Returns a line for each: the providers that hold the new key and a copy of its public half, and
/// whether keys can be exchanged.
fn creations(host: &Host, query: &CStr) -> Vec<String> {
    let mut lines = Vec::new();
    let mut describe = |what: String, name: &CStr, key: Result<Key, String>| {
        let Ok(key) = key else {
            lines.push(format!("{what} refused"));
            return;
        };
        let copy = public_half(host, name, query, &key);
        let copy_holder = copy.as_ref().map_or("refused".into(), Key::provider);
        let exchanges = name == c"EC"
            && copy.as_ref().is_some_and(|copy| host.derive(query, &key, copy).is_ok());
        lines.push(format!("{what} {} {copy_holder} {exchanges}", key.provider()));
    };
    for curve in curves() {
        describe(format!("{curve:?}"), c"EC", generate_ec(host, query, curve));
    }
    for (bits, primes) in [(512, 2), (1024, 2), (1025, 2), (2048, 3), (2049, 2)] {
        let key = generate_rsa(host, query, bits, primes);
        describe(format!("RSA {bits} {primes}"), c"RSA", key);
    }
    errors(); // of refused curves, such as SM2 as EC
    lines
}

/// Compares with the keys of the default provider by its name.
#[track_caller]
fn creates_as_openssl(host: &Host, query: &CStr) {
    let ours = creations(host, query);
    assert_eq!(ours, creations(host, DEFAULT), "{query:?}");
    assert!(ours.iter().any(|line| line == "\"prime256v1\" default default true"), "{ours:?}");
}

#[test]
fn after_signatures() {
    for query in QUERIES {
        let Some(host) = Host::with_curves("ecdsa = on") else { return };
        sign(&host, query);
        creates_as_openssl(&host, query);
        sign(&host, query);
    }
}

/// The key management of this provider refuses public keys on curves, and is in the cache all the
/// same.
#[test]
fn after_a_verification() {
    let other = Host::module();
    let signature =
        other.sign(&other.key(&pem("ec-p256.pem")), DEFAULT, c"SHA256", &[], b"a message").unwrap();
    let key = pem_path("ec-p256.pem");
    let public = Folder::new().openssl(false, &format!("pkey -in {key} -pubout"));

    let Some(host) = Host::with_curves("ecdsa = on") else { return };
    let key = host.public_key(str::from_utf8(&public).unwrap());
    host.verify(&key, c"", c"SHA256", &[], b"a message", &signature).unwrap();
    creates_as_openssl(&host, c"");
}

/// libcrypto empties its cache when a provider becomes active, and when it is unloaded.
#[test]
fn after_another_provider_is_loaded() {
    for query in QUERIES {
        let Some(host) = Host::with_curves("ecdsa = on") else { return };
        sign(&host, query);
        let base = host.load(c"base");
        sign(&host, query);
        creates_as_openssl(&host, query);
        // SAFETY: loaded above.
        assert_eq!(unsafe { libcrypto::OSSL_PROVIDER_unload(base) }, 1);
        sign(&host, query);
        creates_as_openssl(&host, query);
    }
}

#[test]
fn if_the_default_provider_was_loaded_last() {
    created_by_default(&Host::loaded_first());
}

#[test]
fn in_the_context_of_a_thread() {
    // The context stays that of this thread until the thread ends.
    thread::spawn(|| {
        let host = Host::of_thread();
        let query = c"?tollgate.operations=yes";
        let key = host.key(&pem("ec-p256.pem"));
        host.sign(&key, query, c"SHA256", &[], b"a message").unwrap();
        assert_eq!(
            generate_ec(&host, query, c"P-384").map(|key| key.provider()).as_deref(),
            Ok("default")
        );
        drop(key);
        created_by_default(&host);
        // SAFETY: no arguments.
        let global = unsafe { libcrypto::OSSL_LIB_CTX_get0_global_default() };
        // SAFETY: the context of all threads, before the other one is freed.
        unsafe { libcrypto::OSSL_LIB_CTX_set0_default(global) };
    })
    .join()
    .unwrap();
}

/// A program that has loaded the provider `null` itself.
#[test]
fn if_null_is_loaded() {
    for query in QUERIES {
        let Some(host) = Host::with_curves("ecdsa = on") else { return };
        host.load(c"null");
        sign(&host, query);
        creates_as_openssl(&host, query);
    }
}

/// Creates keys before and after signatures, with a query of each operation.
fn created_by_default(host: &Host) {
    let query = c"?tollgate.operations=yes";
    creates_as_openssl(host, query);
    for (name, counter) in [("ec-p256.pem", "ecdsa-signatures"), ("rsa-2048.pem", "signatures")] {
        let key = host.key(&pem(name));
        let (ours, _) = host.counted(counter, || {
            host.sign(&key, query, c"SHA256", &[], b"a message").unwrap();
        });
        assert_eq!((key.provider().as_str(), ours), ("default", 1));
    }
    creates_as_openssl(host, query);
    creates_as_openssl(host, c"");
}

#[test]
fn in_a_job() {
    let Some(host) = Host::with_curves("ecdsa = on") else { return };
    let mut key = Err(String::new());
    Job::new(|| {
        sign(&host, c"");
        key = generate_ec(&host, c"", c"P-256");
    })
    .finish();
    assert_eq!(key.map(|key| key.provider()).as_deref(), Ok("default"));
}

#[test]
fn in_a_forked_child() {
    alone("in_a_forked_child", forked);
}

fn forked() {
    let Some(host) = Host::with_curves("ecdsa = on") else { return };
    let creates = || {
        sign(&host, c"");
        generate_ec(&host, c"", c"P-384").is_ok() && generate_rsa(&host, c"", 512, 2).is_ok()
    };
    assert!(in_child(creates));
    assert!(creates());
    assert!(in_child(|| { !host.load(c"base").is_null() && creates() }));
    assert!(creates());
}

/// A provider without algorithms. While it is asked for key management, it empties libcrypto's
/// cache, as another thread could at that moment.
mod flusher {
    use core::sync::atomic::AtomicPtr;

    use tollgate_provider::{OSSL_CORE_HANDLE, OSSL_DISPATCH};

    use super::*;

    /// How often the provider empties the cache again.
    pub(super) static FLUSHES: AtomicUsize = AtomicUsize::new(0);
    static CONTEXT: AtomicPtr<libcrypto::OSSL_LIB_CTX> = AtomicPtr::new(ptr::null_mut());

    #[repr(C)]
    struct Row {
        number: c_int,
        function: *const c_void,
    }

    struct Functions([Row; 2]);

    // SAFETY: a number and a function, which never change.
    unsafe impl Sync for Functions {}

    static FUNCTIONS: Functions = Functions([
        // OSSL_FUNC_PROVIDER_QUERY_OPERATION
        Row { number: 1027, function: query as *const c_void },
        Row { number: 0, function: ptr::null() },
    ]);

    unsafe extern "C" fn query(
        _provctx: *mut c_void,
        operation: c_int,
        _no_cache: *mut c_int,
    ) -> *const c_void {
        const OSSL_OP_KEYMGMT: c_int = 10;
        let is_due = || FLUSHES.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)).is_ok();
        if operation == OSSL_OP_KEYMGMT && is_due() {
            flush(CONTEXT.load(Relaxed));
        }
        ptr::null()
    }

    unsafe extern "C" fn init(
        handle: *const OSSL_CORE_HANDLE,
        _input: *const OSSL_DISPATCH,
        output: *mut *const OSSL_DISPATCH,
        provctx: *mut *mut c_void,
    ) -> c_int {
        // SAFETY: the caller's variable.
        unsafe { output.write(FUNCTIONS.0.as_ptr().cast()) };
        // SAFETY: the caller's variable.
        unsafe { provctx.write(handle.cast_mut().cast()) };
        1
    }

    pub(super) fn load(host: &Host) {
        CONTEXT.store(host.context, Relaxed);
        let name = c"flusher".as_ptr();
        // SAFETY: a context, and a name and a function that live as long as the program.
        let added = unsafe { libcrypto::OSSL_PROVIDER_add_builtin(host.context, name, init) };
        assert_eq!(added, 1, "{}", errors());
        host.load(c"flusher");
    }
}

/// Empties libcrypto's cache of methods.
fn flush(context: *mut libcrypto::OSSL_LIB_CTX) {
    // SAFETY: a context and a text.
    let null = unsafe { libcrypto::OSSL_PROVIDER_load(context, c"null".as_ptr()) };
    assert!(!null.is_null(), "{}", errors());
    // SAFETY: loaded above.
    unsafe { libcrypto::OSSL_PROVIDER_unload(null) };
}

/// The cache is emptied after this provider has filled it, and before libcrypto caches the key
/// management of an operation.
#[test]
fn after_a_flush_during_a_fetch() {
    for query in QUERIES {
        let Some(host) = Host::with_curves("ecdsa = on") else { return };
        flusher::load(&host);
        for flushes in 1..=10 {
            flush(host.context);
            flusher::FLUSHES.store(flushes, Relaxed);
            sign(&host, query);
            flusher::FLUSHES.store(0, Relaxed);
            let ec = generate_ec(&host, query, c"P-384");
            assert_eq!(
                ec.map(|key| key.provider()).as_deref(),
                Ok("default"),
                "{query:?}, {flushes}"
            );
            let rsa = generate_rsa(&host, query, 512, 2);
            assert_eq!(
                rsa.map(|key| key.provider()).as_deref(),
                Ok("default"),
                "{query:?}, {flushes}"
            );
        }
    }
}

/// Threads at work repair the cache after each flush.
#[test]
fn after_flushes_by_another_thread() {
    let Some(host) = Host::with_curves("ecdsa = on") else { return };
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    let key = host.key(&pem("ec-p256.pem"));
                    host.sign(&key, c"", c"SHA256", &[], b"a message").unwrap();
                }
            });
        }
        let is_repaired = || {
            let key = generate_ec(&host, c"", c"P-384");
            errors();
            key.map(|key| key.provider()).as_deref() == Ok("default")
        };
        // The thread that has to repair the cache may have to wait for a core.
        let are_repaired = (0..100).all(|_| {
            flush(host.context);
            thread::sleep(Duration::from_millis(5));
            let mut attempts = 0..1000;
            attempts.any(|_| {
                is_repaired() || {
                    thread::sleep(Duration::from_millis(5));
                    false
                }
            })
        });
        is_over.store(true, Relaxed);
        assert!(are_repaired);
    });
}

/// A program may require this provider for RSA: the default provider does not create its keys then.
#[test]
fn a_required_provider_stays() {
    let Some(host) = Host::with_curves("ecdsa = on") else { return };
    for _ in 0..3 {
        sign(&host, c"");
        let key = generate_rsa(&host, c"tollgate.rsa=yes", 2048, 2).unwrap();
        assert_eq!(key.provider(), "tollgate");
        host.sign(&key, c"tollgate.rsa=yes", c"SHA256", &[], b"a message").unwrap();
        flush(host.context);
    }
    creates_as_openssl(&host, c"");
}
