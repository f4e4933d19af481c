//! The entry functions of libcrypto's algorithms, as its default provider lists them, and the
//! functions that they end in.
//!
//! All `unsafe` code of this crate is here. Declarations follow `openssl/core.h` and
//! `openssl/provider.h` of OpenSSL 3.0.
#![allow(unsafe_code, reason = "declarations of libcrypto")]

use core::ffi::{CStr, c_char, c_int, c_void};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::binary::Binary;

/// `OSSL_ALGORITHM`; an array ends with a null name.
#[repr(C)]
struct Algorithm {
    names: *const c_char,
    properties: *const c_char,
    implementation: *const Dispatch,
    description: *const c_char,
}

/// `OSSL_DISPATCH`; an array ends with the id 0.
#[repr(C)]
struct Dispatch {
    id: c_int,
    function: *const c_void,
}

unsafe extern "C" {
    fn OSSL_LIB_CTX_new() -> *mut c_void;
    fn OSSL_LIB_CTX_free(context: *mut c_void);
    fn OSSL_PROVIDER_load(context: *mut c_void, name: *const c_char) -> *mut c_void;
    fn OSSL_PROVIDER_query_operation(
        provider: *const c_void,
        operation: c_int,
        no_cache: *mut c_int,
    ) -> *const Algorithm;
    fn OSSL_PROVIDER_unquery_operation(
        provider: *const c_void,
        operation: c_int,
        algorithms: *const Algorithm,
    );
    fn OSSL_PROVIDER_unload(provider: *mut c_void) -> c_int;
}

/// The operations that sessions use, with their numbers in `openssl/core_dispatch.h`.
const OPERATIONS: [(c_int, &str); 10] = [
    (1, "digest"),
    (2, "cipher"),
    (3, "mac"),
    (4, "kdf"),
    (5, "rand"),
    (10, "keymgmt"),
    (11, "keyexch"),
    (12, "signature"),
    (13, "asym-cipher"),
    (14, "kem"),
];

/// Names by the start of a function.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    /// The file of this process's libcrypto.
    file: PathBuf,
    names: BTreeMap<u64, String>,
}

impl Operations {
    /// Asks the libcrypto of this process; empty if it is linked statically, or has no provider.
    pub(crate) fn of_libcrypto() -> Self {
        let mut found: BTreeMap<u64, Vec<(&'static str, String)>> = BTreeMap::new();
        openssl_sys::init();
        // A context of its own: loading a provider changes a context for good.
        // SAFETY: the function has no requirements.
        let context = unsafe { OSSL_LIB_CTX_new() };
        if context.is_null() {
            return Self::default();
        }
        // SAFETY: the context is valid, and the name is a C string.
        let provider = unsafe { OSSL_PROVIDER_load(context, c"default".as_ptr()) };
        if provider.is_null() {
            // SAFETY: the context was created above, and nothing uses it.
            unsafe { OSSL_LIB_CTX_free(context) };
            return Self::default();
        }
        for (operation, word) in OPERATIONS {
            let mut no_cache = 0;
            // SAFETY: the provider is loaded, and `no_cache` is writable.
            let first =
                unsafe { OSSL_PROVIDER_query_operation(provider, operation, &raw mut no_cache) };
            for (name, address) in entries(first) {
                found.entry(address).or_default().push((word, name));
            }
            // SAFETY: the array is that of the query above; null is permitted.
            unsafe { OSSL_PROVIDER_unquery_operation(provider, operation, first) };
        }
        // SAFETY: the provider was loaded above, and nothing of it is used afterwards.
        unsafe { OSSL_PROVIDER_unload(provider) };
        // SAFETY: the context was created above, and nothing uses it any more.
        unsafe { OSSL_LIB_CTX_free(context) };
        Self::of_addresses(found).unwrap_or_default()
    }

    /// Turns addresses of this process into places of the file, and names each function.
    fn of_addresses(found: BTreeMap<u64, Vec<(&'static str, String)>>) -> Option<Self> {
        let maps = fs::read_to_string("/proc/self/maps").ok()?;
        let maps: Vec<Map> = maps.lines().filter_map(Map::new).collect();
        let map = |address: u64| maps.iter().find(|map| map.holds(address));
        let file = map(*found.keys().next()?)?.file.clone();
        let binary = Binary::read(&file)?;
        let by_start = found.into_iter().filter_map(|(address, entries)| {
            let map = map(address).filter(|map| map.file == file)?;
            Some((binary.function_at(address - map.from + map.offset)?, entries))
        });
        let by_start: BTreeMap<u64, Vec<_>> = by_start.collect();
        // an entry function that ends in another function is not on the stack
        let mut ends: BTreeMap<u64, Vec<_>> = BTreeMap::new();
        let bytes = if cfg!(target_arch = "x86_64") { fs::read(&file).ok()? } else { Vec::new() };
        for (&start, entries) in &by_start {
            let targets = binary.tail_calls(&bytes, start).into_iter();
            for target in targets.filter(|target| !by_start.contains_key(target)) {
                ends.entry(target).or_default().extend_from_slice(entries);
            }
        }
        let all = by_start.into_iter().chain(ends);
        let names = all.filter_map(|(start, entries)| Some((start, name(&entries)?)));
        Some(Self { names: names.collect(), file })
    }

    /// Returns the name of the function with this start, if `file` is the libcrypto of this
    /// process.
    pub(crate) fn at(&self, file: &Path, start: u64) -> Option<&str> {
        let name = self.names.get(&start)?;
        let is_same = file == self.file || file.canonicalize().is_ok_and(|file| file == self.file);
        is_same.then_some(name)
    }
}

/// Returns the names and the addresses of an array of algorithms.
fn entries(first: *const Algorithm) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    let mut next = first;
    // SAFETY: the provider's arrays are static, and end with a null name.
    while let Some(algorithm) = unsafe { next.as_ref() }
        && !algorithm.names.is_null()
    {
        // SAFETY: a name of the array is a C string.
        let names = unsafe { CStr::from_ptr(algorithm.names) }.to_string_lossy();
        let name = names.split(':').next().unwrap_or_default().to_owned();
        let mut entry = algorithm.implementation;
        // SAFETY: an implementation is a static array that ends with the id 0.
        while let Some(dispatch) = unsafe { entry.as_ref() }
            && dispatch.id != 0
        {
            all.push((name.clone(), dispatch.function.addr() as u64));
            // SAFETY: the array has a next element, because this is not its end.
            entry = unsafe { entry.add(1) };
        }
        // SAFETY: as above.
        next = unsafe { next.add(1) };
    }
    all
}

/// Returns a name such as `kdf TLS13-KDF`, or `signature CMAC|HMAC` if algorithms share the
/// function; `None` if several operations do.
fn name(entries: &[(&'static str, String)]) -> Option<String> {
    let (operation, _) = entries.first()?;
    if entries.iter().any(|(other, _)| other != operation) {
        return None;
    }
    let algorithms: BTreeSet<&str> = entries.iter().map(|(_, name)| name.as_str()).collect();
    Some(format!("{operation} {}", algorithms.into_iter().collect::<Vec<_>>().join("|")))
}

/// A line of `/proc/self/maps`: `7f..-7f.. r-xp 000c9000 fe:01 1234   /usr/lib/libcrypto.so.3`.
struct Map {
    from: u64,
    to: u64,
    offset: u64,
    file: PathBuf,
}

impl Map {
    fn new(line: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace();
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let (from, to) = fields.next()?.split_once('-')?;
        let offset = fields.nth(1)?;
        let file = line.find('/').map(|at| PathBuf::from(&line[at..]))?;
        Some(Self { from: hex(from)?, to: hex(to)?, offset: hex(offset)?, file })
    }

    fn holds(&self, address: u64) -> bool {
        (self.from..self.to).contains(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libcrypto_names_its_algorithms() {
        let operations = Operations::of_libcrypto();
        let has = |name: &str| operations.names.values().any(|known| known == name);
        assert!(operations.names.len() > 300, "{}", operations.names.len());
        for name in ["signature RSA", "kdf TLS13-KDF", "keyexch X25519", "mac HMAC"] {
            assert!(has(name), "{name}");
        }
        let (&start, name) = operations.names.iter().next().unwrap();
        assert_eq!(operations.at(&operations.file, start), Some(name.as_str()));
        assert_eq!(operations.at(Path::new("/usr/lib/other.so"), start), None);
    }

    #[test]
    fn shared_functions_have_all_names() {
        let entry = |operation, algorithm: &str| (operation, algorithm.to_owned());
        let ciphers = [entry("cipher", "AES-128-GCM"), entry("cipher", "AES-256-GCM")];
        assert_eq!(name(&ciphers).as_deref(), Some("cipher AES-128-GCM|AES-256-GCM"));
        assert_eq!(name(&[entry("cipher", "a"), entry("digest", "a")]), None);
    }
}
