//! The object that libcrypto holds as a key, for keys of any type.
#![forbid(unsafe_code)]

use core::ffi::CStr;
use std::sync::Arc;

use tollgate_keyless::Stub;

use crate::abi::OSSL_PARAM;
use crate::params::{Answers, Params, Values};
use crate::provider::Provider;
use crate::reason::Reason;

/// A type of keys. A key never changes, so slots and contexts share it.
pub(crate) trait KeyType: Send + Sync + Sized + 'static {
    /// The descriptions of the parameters that can be read, up to a NULL key.
    const GETTABLE: *const OSSL_PARAM;
    /// The descriptions of the values of a public key, for import and export.
    const PUBLIC_TYPES: *const OSSL_PARAM;
    /// The descriptions of the values of a key pair, for import and export.
    const PAIR_TYPES: *const OSSL_PARAM;

    /// Imports a key from its values, or returns the reason why it is refused.
    fn import(provider: &Provider, params: Params<'_>, with_private: bool) -> Result<Self, Reason>;

    fn has_private(&self) -> bool;

    /// Returns whether the public halves are equal.
    fn matches(&self, other: &Self) -> bool;

    /// Answers what a program asks about the key of a slot, or about an empty slot.
    fn describe(key: Option<&Self>, answers: &mut Answers<'_>) -> Result<(), Reason>;

    /// Returns the key's values. The secret values are included only if `with_private` is true.
    fn export(&self, with_private: bool) -> Values;

    /// Checks the private half, if there is one, against the public half.
    fn check(&self, provider: &Provider) -> Result<(), Reason>;
}

/// A type of keys of which libssl receives the public half from a peer.
pub(crate) trait PeerKey: KeyType {
    /// True if a key that has a value refuses another one, as in OpenSSL.
    const IS_SET_ONCE: bool;

    /// Reads an encoded public key.
    fn from_encoded(provider: &Provider, encoded: &[u8]) -> Result<Self, Reason>;
}

/// A type of keys that a signer may have.
pub(crate) trait RemoteKey: KeyType {
    /// The name of the type in libcrypto.
    const NAME: &'static CStr;

    /// Returns the key of a stub; `None` if it is of another type.
    fn of_stub(stub: &Stub) -> Option<Self>;
}

/// The object that libcrypto holds as a key. The slot is empty until a key is imported or
/// generated.
pub(crate) struct KeySlot<K> {
    pub(crate) provider: Arc<Provider>,
    pub(crate) key: Option<Arc<K>>,
}

impl<K> AsRef<Provider> for KeySlot<K> {
    fn as_ref(&self) -> &Provider {
        &self.provider
    }
}

impl<K: KeyType> KeySlot<K> {
    pub(crate) fn import(&mut self, params: Params<'_>, with_private: bool) -> Result<(), Reason> {
        self.key = Some(Arc::new(K::import(&self.provider, params, with_private)?));
        Ok(())
    }

    pub(crate) fn key(&self) -> Result<&Arc<K>, Reason> {
        self.key.as_ref().ok_or(Reason::KeyMissing)
    }

    /// Returns whether the slot has the selected halves.
    pub(crate) fn has(&self, public: bool, private: bool) -> bool {
        match self.key.as_deref() {
            Some(key) => !private || key.has_private(),
            None => !public && !private,
        }
    }
}
