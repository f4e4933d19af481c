//! A small host program: library contexts that load the provider, through libcrypto's C functions.
#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

pub(crate) mod child;
pub(crate) mod job;
pub(crate) mod libcrypto;
pub(crate) mod numbers;
pub(crate) mod openssl_conf;
pub(crate) mod operation;
pub(crate) mod stack;
pub(crate) mod x25519;

use core::ffi::{CStr, c_int};
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::ffi::CString;
use std::path::{Path, PathBuf};

use libcrypto::{EVP_PKEY, OSSL_LIB_CTX, OSSL_PARAM, OSSL_PROVIDER};
pub(crate) use operation::{Kind, MdContext, Operation};
use tollgate_curves::p256::P256;
use tollgate_provider::init_function;

/// Property query: prefers this provider, and falls back to another one.
pub(crate) const PREFER: &CStr = c"?provider=tollgate";
/// Property query: requires this provider.
pub(crate) const DEMAND: &CStr = c"tollgate.rsa=yes";

/// Property query: requires OpenSSL's own provider.
pub(crate) const DEFAULT: &CStr = c"provider=default";

/// Returns whether this processor runs several operations faster together than in sequence;
/// otherwise there are no batches.
pub(crate) fn has_lanes() -> bool {
    let workspace = tollgate_rsa::Workspace::new().unwrap();
    !matches!(workspace.lane_kernel(), tollgate_mont::LaneKernel::Portable)
}

/// Returns whether kernels of the curves run here. Prints that a test did not run otherwise.
pub(crate) fn has_curves() -> bool {
    let has_curves = P256::best().is_ok();
    if !has_curves {
        println!("not run: this processor has no kernels of the curves");
    }
    has_curves
}

/// A library context with `default` and the provider, loaded in this order.
pub(crate) struct Host {
    pub(crate) context: *mut OSSL_LIB_CTX,
    default: *mut OSSL_PROVIDER,
    tollgate: *mut OSSL_PROVIDER,
}

// SAFETY: libcrypto's contexts and providers may be used by any thread.
unsafe impl Sync for Host {}

/// How the providers are loaded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loading {
    DefaultFirst,
    IntoContextOfThread,
    ProviderFirst,
}

/// A key with libcrypto's reference count.
pub(crate) struct Key(pub(crate) *mut EVP_PKEY);

// SAFETY: libcrypto's keys may be used by several threads.
unsafe impl Send for Key {}
// SAFETY: as for `Send`.
unsafe impl Sync for Key {}

impl Host {
    /// Loads the provider that is linked into this program, as a server would.
    pub(crate) fn builtin() -> Self {
        Self::new(add_builtin)
    }

    /// Loads the provider from a file, as a module.
    pub(crate) fn module() -> Self {
        Self::new(|context| {
            let module = module();
            let folder = CString::new(module.parent().unwrap().to_str().unwrap()).unwrap();
            // SAFETY: a new context and a string.
            let set = unsafe {
                libcrypto::OSSL_PROVIDER_set_default_search_path(context, folder.as_ptr())
            };
            assert_eq!(set, 1);
            module.file_stem().unwrap().to_str().unwrap().into()
        })
    }

    /// Loads the provider that is linked into this program by a configuration. It has these lines
    /// in the provider's section, and prefers the provider's operations.
    pub(crate) fn configured(lines: &str) -> Self {
        Self::new(|context| {
            let name = add_builtin(context);
            let folder = openssl_conf::Folder::new();
            folder.configure(lines);
            let path = CString::new(folder.path("on.cnf")).unwrap();
            // SAFETY: a new context and a string.
            let done = unsafe { libcrypto::OSSL_LIB_CTX_load_config(context, path.as_ptr()) };
            assert_eq!(done, 1, "{}", errors());
            name
        })
    }

    /// The same, with curves that the lines switch on. Returns `None` if no kernels run here:
    /// OpenSSL has these operations then.
    pub(crate) fn with_curves(lines: &str) -> Option<Self> {
        has_curves().then(|| Self::configured(lines))
    }

    /// Loads the provider before `default`.
    pub(crate) fn loaded_first() -> Self {
        Self::loaded(Loading::ProviderFirst, add_builtin)
    }

    /// Makes a new context that of this thread, and loads the providers into the context of the
    /// thread.
    pub(crate) fn of_thread() -> Self {
        Self::loaded(Loading::IntoContextOfThread, add_builtin)
    }

    fn new(prepare: impl FnOnce(*mut OSSL_LIB_CTX) -> String) -> Self {
        Self::loaded(Loading::DefaultFirst, prepare)
    }

    fn loaded(how: Loading, prepare: impl FnOnce(*mut OSSL_LIB_CTX) -> String) -> Self {
        // libcrypto numbers the sources of errors from 128, one for each loaded provider, and
        // stores eight bits. After 128 providers, errors have no texts; a host loads two.
        static HOSTS: AtomicUsize = AtomicUsize::new(0);
        let hosts = HOSTS.fetch_add(1, Ordering::Relaxed);
        assert!(hosts < 60, "too many hosts in one process: share one, or add a test program");
        // SAFETY: no arguments.
        let context = unsafe { libcrypto::OSSL_LIB_CTX_new() };
        let name = CString::new(prepare(context)).unwrap();
        let mut target = context;
        if how == Loading::IntoContextOfThread {
            // SAFETY: a context, which is not freed while the thread uses it.
            unsafe { libcrypto::OSSL_LIB_CTX_set0_default(context) };
            target = ptr::null_mut();
        }
        let load = |name: &CStr| {
            // SAFETY: a context or NULL, and a string.
            let provider = unsafe { libcrypto::OSSL_PROVIDER_load(target, name.as_ptr()) };
            assert!(!provider.is_null(), "{name:?}: {}", errors());
            provider
        };
        let [default, tollgate] = if how == Loading::ProviderFirst {
            let tollgate = load(&name);
            [load(c"default"), tollgate]
        } else {
            [load(c"default"), load(&name)]
        };
        assert_eq!(errors(), "", "loading leaves no errors");
        Self { context, default, tollgate }
    }

    /// Returns a counter of the provider, given its name without `tollgate-`.
    pub(crate) fn counter(&self, name: &str) -> u64 {
        let name = CString::new(format!("tollgate-{name}")).unwrap();
        let mut value = u64::MAX;
        let mut params = [libcrypto::unsigned(&name, &mut value), libcrypto::END];
        // SAFETY: a provider, and parameters that outlive the call.
        let got =
            unsafe { libcrypto::OSSL_PROVIDER_get_params(self.tollgate, params.as_mut_ptr()) };
        assert_eq!(got, 1, "{}", errors());
        assert_ne!(value, u64::MAX, "{name:?} was not answered");
        value
    }

    /// Returns the increase of a counter while `run` runs, and its result.
    pub(crate) fn counted<T>(&self, name: &str, run: impl FnOnce() -> T) -> (u64, T) {
        let before = self.counter(name);
        let result = run();
        (self.counter(name) - before, result)
    }

    pub(crate) fn self_test(&self) -> c_int {
        // SAFETY: a provider.
        unsafe { libcrypto::OSSL_PROVIDER_self_test(self.tollgate) }
    }

    /// Reads a test key, and returns it with this context.
    pub(crate) fn with_key(self, name: &str) -> (Self, Key) {
        let key = self.key(&pem(name));
        (self, key)
    }

    /// Reads a key from PEM.
    pub(crate) fn key(&self, pem: &str) -> Key {
        self.read_key(pem, libcrypto::PEM_read_bio_PrivateKey_ex)
    }

    /// Reads a public key from PEM.
    pub(crate) fn public_key(&self, pem: &str) -> Key {
        self.read_key(pem, libcrypto::PEM_read_bio_PUBKEY_ex)
    }

    fn read_key(&self, pem: &str, read: libcrypto::ReadKey) -> Key {
        let len = c_int::try_from(pem.len()).unwrap();
        // SAFETY: a buffer that outlives the BIO.
        let bio = unsafe { libcrypto::BIO_new_mem_buf(pem.as_ptr().cast(), len) };
        let (context, null) = (self.context, ptr::null_mut());
        // SAFETY: a BIO, a context, a string; the other arguments may be null.
        let key = unsafe { read(bio, null, None, ptr::null_mut(), context, PREFER.as_ptr()) };
        // SAFETY: freed once.
        unsafe { libcrypto::BIO_free(bio) };
        assert!(!key.is_null(), "{}", errors());
        Key(key)
    }

    /// Signs a message in one call, as libssl does; parameters are given by name and value.
    pub(crate) fn sign(
        &self,
        key: &Key,
        query: &CStr,
        digest: &CStr,
        params: &[(&CStr, &CStr)],
        message: &[u8],
    ) -> Result<Vec<u8>, String> {
        let context = MdContext::new();
        self.digest_init(libcrypto::EVP_DigestSignInit_ex, &context, key, query, digest, params)?;
        context.sign(message)
    }

    /// Verifies a signature by [`sign`](Self::sign).
    pub(crate) fn verify(
        &self,
        key: &Key,
        query: &CStr,
        digest: &CStr,
        params: &[(&CStr, &CStr)],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), String> {
        let context = MdContext::new();
        self.digest_init(libcrypto::EVP_DigestVerifyInit_ex, &context, key, query, digest, params)?;
        check(context.verify(signature, message))
    }

    /// Starts signing or verifying a message.
    pub(crate) fn digest_init(
        &self,
        init: libcrypto::DigestInit,
        context: &MdContext,
        key: &Key,
        query: &CStr,
        digest: &CStr,
        params: &[(&CStr, &CStr)],
    ) -> Result<(), String> {
        let params = libcrypto::texts(params);
        let null = ptr::null_mut();
        let (digest, query, params) = (digest.as_ptr(), query.as_ptr(), params.as_ptr());
        // SAFETY: a context, strings, a key, parameters: all outlive the call.
        check(unsafe { init(context.0, null, digest, self.context, query, key.0, params) })
    }

    /// Creates a context for an operation on a key.
    pub(crate) fn operation(&self, key: &Key, query: &CStr) -> Operation {
        // SAFETY: a context, a key, a string.
        let context =
            unsafe { libcrypto::EVP_PKEY_CTX_new_from_pkey(self.context, key.0, query.as_ptr()) };
        assert!(!context.is_null(), "{}", errors());
        Operation(context)
    }

    /// Runs an operation on a key.
    pub(crate) fn run(
        &self,
        key: &Key,
        query: &CStr,
        (init, step): Kind,
        params: &[OSSL_PARAM],
        input: &[u8],
    ) -> Result<Vec<u8>, String> {
        let operation = self.operation(key, query);
        operation.init(init, params)?;
        operation.run(step, input)
    }

    /// Loads another provider into the context.
    pub(crate) fn load(&self, name: &CStr) -> *mut OSSL_PROVIDER {
        // SAFETY: a context and a text.
        let provider = unsafe { libcrypto::OSSL_PROVIDER_load(self.context, name.as_ptr()) };
        assert!(!provider.is_null(), "{name:?}: {}", errors());
        provider
    }

    /// Creates a context for generating or importing an RSA key.
    pub(crate) fn key_operation(&self, query: &CStr) -> Result<Operation, String> {
        self.operation_of(c"RSA", query)
    }

    /// Creates a context for generating or importing a key of this type.
    pub(crate) fn operation_of(&self, name: &CStr, query: &CStr) -> Result<Operation, String> {
        // SAFETY: a context and strings.
        let context = unsafe {
            libcrypto::EVP_PKEY_CTX_new_from_name(self.context, name.as_ptr(), query.as_ptr())
        };
        if context.is_null() { Err(errors()) } else { Ok(Operation(context)) }
    }

    /// Creates a key from named big-endian numbers, with the provider that the query selects.
    pub(crate) fn key_from_numbers(
        &self,
        query: &CStr,
        selection: c_int,
        numbers: &[(&CStr, Vec<u8>)],
    ) -> Result<Key, String> {
        let operation = self.key_operation(query)?;
        let (mut numbers, keys): (Vec<_>, Vec<_>) =
            numbers.iter().map(|(key, n)| (libcrypto::native(n), *key)).unzip();
        let mut params: Vec<OSSL_PARAM> = keys
            .iter()
            .zip(&mut numbers)
            .map(|(key, n)| libcrypto::number(key, n))
            .chain([libcrypto::END])
            .collect();
        operation.key_from_data(selection, params.as_mut_ptr())
    }
}

impl Key {
    /// Returns the length of the key in bits, its size in bytes, and its strength in bits.
    pub(crate) fn sizes(&self) -> [c_int; 3] {
        let functions: [unsafe extern "C" fn(*const EVP_PKEY) -> c_int; 3] = [
            libcrypto::EVP_PKEY_get_bits,
            libcrypto::EVP_PKEY_get_size,
            libcrypto::EVP_PKEY_get_security_bits,
        ];
        // SAFETY: a key.
        functions.map(|function| unsafe { function(self.0) })
    }

    /// Returns the size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.sizes()[1].try_into().unwrap()
    }

    /// Returns libcrypto's result of a comparison.
    pub(crate) fn compare(&self, other: &Self) -> c_int {
        // SAFETY: two keys.
        unsafe { libcrypto::EVP_PKEY_eq(self.0, other.0) }
    }

    pub(crate) fn copied(&self) -> Self {
        // SAFETY: a key.
        Self(unsafe { libcrypto::EVP_PKEY_dup(self.0) })
    }

    /// Returns the parameters that can be got.
    pub(crate) fn table(&self) -> Vec<(&CStr, OSSL_PARAM)> {
        // SAFETY: a key.
        libcrypto::list(unsafe { libcrypto::EVP_PKEY_gettable_params(self.0) })
    }
}

/// Registers the provider that is linked into this program, and returns its name.
fn add_builtin(context: *mut OSSL_LIB_CTX) -> String {
    let (name, init) = (c"tollgate", init_function());
    // SAFETY: a new context; the name and the function live as long as the program.
    let added = unsafe { libcrypto::OSSL_PROVIDER_add_builtin(context, name.as_ptr(), init) };
    assert_eq!(added, 1);
    name.to_str().unwrap().into()
}

impl Drop for Host {
    fn drop(&mut self) {
        for provider in [self.tollgate, self.default] {
            // SAFETY: loaded once, unloaded once.
            let unloaded = unsafe { libcrypto::OSSL_PROVIDER_unload(provider) };
            assert!(unloaded == 1 || std::thread::panicking());
        }
        // SAFETY: freed once; keys and contexts hold their own references.
        unsafe { libcrypto::OSSL_LIB_CTX_free(self.context) };
    }
}

impl Clone for Key {
    fn clone(&self) -> Self {
        // SAFETY: the key is valid; the clone frees the new reference.
        unsafe { libcrypto::EVP_PKEY_up_ref(self.0) };
        Self(self.0)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: freed once per reference.
        unsafe { libcrypto::EVP_PKEY_free(self.0) };
    }
}

/// Returns the error queue unless the result is 1, which is success.
pub(crate) fn check(result: c_int) -> Result<(), String> {
    if result == 1 {
        return Ok(());
    }
    let errors = errors();
    assert_ne!(errors, "", "a failure leaves an error");
    Err(errors)
}

/// Takes the thread's error queue as text.
pub(crate) fn errors() -> String {
    let mut text = String::new();
    loop {
        // SAFETY: no arguments.
        let error = unsafe { libcrypto::ERR_get_error() };
        if error == 0 {
            return text;
        }
        let mut line = [0_u8; 512];
        // SAFETY: a buffer and its length; OpenSSL terminates it with a NUL.
        unsafe { libcrypto::ERR_error_string_n(error, line.as_mut_ptr().cast(), line.len()) };
        text += CStr::from_bytes_until_nul(&line).unwrap().to_str().unwrap();
        text.push('\n');
    }
}

/// Returns the module that cargo built with this test. The file of the library is in `deps`, like
/// the test program, and has no hash in its name. The program may be started by another loader.
pub(crate) fn module() -> PathBuf {
    let program = PathBuf::from(std::env::args_os().next().unwrap());
    let module = program.with_file_name("libtollgate_provider.so");
    assert!(module.exists(), "{} is missing: cargo builds it with the tests", module.display());
    module
}

/// Returns a test key.
pub(crate) fn pem(name: &str) -> String {
    std::fs::read_to_string(pem_path(name)).unwrap()
}

/// Returns the path of a test key.
pub(crate) fn pem_path(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/keys");
    folder.join(name).to_str().unwrap().into()
}
