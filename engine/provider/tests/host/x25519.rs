//! X25519 through libcrypto: keys from bytes, new keys, and shared secrets.

use core::ffi::{CStr, c_char, c_int};
use core::ptr;

use super::libcrypto;
use super::{Host, Key, Operation, check, errors};

/// Property query: requires this provider's X25519.
pub(crate) const OURS: &CStr = c"provider=tollgate";
/// Property query: none, so that of the configuration decides.
pub(crate) const ANY: &CStr = c"";

type NewRaw = unsafe extern "C" fn(
    *mut libcrypto::OSSL_LIB_CTX,
    *const c_char,
    *const c_char,
    *const u8,
    usize,
) -> *mut libcrypto::EVP_PKEY;
type GetRaw = unsafe extern "C" fn(*const libcrypto::EVP_PKEY, *mut u8, *mut usize) -> c_int;

impl Host {
    pub(crate) fn new_x25519(&self, query: &CStr) -> Key {
        let operation = self.operation_of(c"X25519", query).unwrap();
        operation.begin_key().unwrap();
        operation.generate().unwrap()
    }

    pub(crate) fn x25519_private(&self, query: &CStr, bytes: &[u8]) -> Result<Key, String> {
        self.raw_x25519(libcrypto::EVP_PKEY_new_raw_private_key_ex, query, bytes)
    }

    pub(crate) fn x25519_public(&self, query: &CStr, bytes: &[u8]) -> Result<Key, String> {
        self.raw_x25519(libcrypto::EVP_PKEY_new_raw_public_key_ex, query, bytes)
    }

    fn raw_x25519(&self, new: NewRaw, query: &CStr, bytes: &[u8]) -> Result<Key, String> {
        let (name, query) = (c"X25519".as_ptr(), query.as_ptr());
        // SAFETY: a context, strings, and bytes with their length.
        let key = unsafe { new(self.context, name, query, bytes.as_ptr(), bytes.len()) };
        if key.is_null() { Err(errors()) } else { Ok(Key(key)) }
    }

    /// Starts a derivation with this key and peer, as libssl does.
    pub(crate) fn exchange(
        &self,
        query: &CStr,
        key: &Key,
        peer: &Key,
    ) -> Result<Operation, String> {
        let operation = self.operation(key, query);
        operation.call(libcrypto::EVP_PKEY_derive_init)?;
        // SAFETY: a context and a key.
        check(unsafe { libcrypto::EVP_PKEY_derive_set_peer_ex(operation.0, peer.0, 1) })?;
        Ok(operation)
    }

    pub(crate) fn derive(&self, query: &CStr, key: &Key, peer: &Key) -> Result<Vec<u8>, String> {
        self.exchange(query, key, peer)?.derive()
    }
}

impl Key {
    pub(crate) fn raw_public(&self) -> Vec<u8> {
        self.raw(libcrypto::EVP_PKEY_get_raw_public_key)
    }

    pub(crate) fn raw_private(&self) -> Vec<u8> {
        self.raw(libcrypto::EVP_PKEY_get_raw_private_key)
    }

    fn raw(&self, get: GetRaw) -> Vec<u8> {
        let mut len = 0;
        // SAFETY: a key; NULL queries the length.
        assert_eq!(unsafe { get(self.0, ptr::null_mut(), &mut len) }, 1, "{}", errors());
        let mut bytes = vec![0; len];
        // SAFETY: a key, and a buffer of this length.
        assert_eq!(unsafe { get(self.0, bytes.as_mut_ptr(), &mut len) }, 1, "{}", errors());
        bytes
    }

    /// Returns the name of the provider that holds the key.
    pub(crate) fn provider(&self) -> String {
        // SAFETY: a key.
        let provider = unsafe { libcrypto::EVP_PKEY_get0_provider(self.0) };
        // SAFETY: the provider of a key.
        let name = unsafe { libcrypto::OSSL_PROVIDER_get0_name(provider) };
        // SAFETY: the provider's name, which outlives the key.
        unsafe { CStr::from_ptr(name) }.to_str().unwrap().into()
    }
}
