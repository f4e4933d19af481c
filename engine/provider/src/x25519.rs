//! X25519 keys: import and export, generation, and the TLS group (RFC 7748).
#![forbid(unsafe_code)]

use std::sync::Arc;

use tollgate_curves::{KEY_BYTES, PublicKey, SecretKey};
use tollgate_rsa::Hash;
use zeroize::Zeroizing;

use crate::abi::*;
use crate::counters::Event;
use crate::generation::Request;
use crate::hashing;
use crate::key_slot::{KeySlot, KeyType, PeerKey};
use crate::params::{Answers, Param, Params, Values};
use crate::provider::Provider;
use crate::reason::Reason;
use crate::table::Table;

/// A public key, or a key pair.
pub(crate) struct X25519Key {
    public: PublicKey,
    secret: Option<Arc<SecretKey>>,
}

/// The properties of a key, followed by its values. The public value comes last.
static GETTABLE: Table<[OSSL_PARAM; 7]> = Table::of_keys([
    (OSSL_PKEY_PARAM_BITS, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_SECURITY_BITS, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_MAX_SIZE, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, OSSL_PARAM_OCTET_STRING),
    (OSSL_PKEY_PARAM_PRIV_KEY, OSSL_PARAM_OCTET_STRING),
    (OSSL_PKEY_PARAM_PUB_KEY, OSSL_PARAM_OCTET_STRING),
    (c"", 0),
]);

/// The bits of a key and its security strength, as in OpenSSL.
const BITS: (i64, i64) = (253, 128);

impl KeyType for X25519Key {
    const GETTABLE: *const OSSL_PARAM = GETTABLE.first();
    const PUBLIC_TYPES: *const OSSL_PARAM = GETTABLE.row(5);
    const PAIR_TYPES: *const OSSL_PARAM = GETTABLE.row(4);

    /// Computes the public key if only the private one is given.
    fn import(provider: &Provider, params: Params<'_>, with_private: bool) -> Result<Self, Reason> {
        let curve = provider.x25519()?;
        let secret = params.find(OSSL_PKEY_PARAM_PRIV_KEY).filter(|_| with_private);
        let secret = secret.map(bytes).transpose()?.map(SecretKey::from_bytes).map(Arc::new);
        let public = match (params.find(OSSL_PKEY_PARAM_PUB_KEY), &secret) {
            (Some(public), _) => PublicKey(*bytes(public)?),
            (None, Some(secret)) => curve.public_key(secret),
            (None, None) => return Err(Reason::X25519Key),
        };
        Ok(Self { public, secret })
    }

    fn has_private(&self) -> bool {
        self.secret.is_some()
    }

    fn matches(&self, other: &Self) -> bool {
        self.public == other.public
    }

    /// An empty slot has sizes too: libcrypto asks for them before the peer's key share is set.
    fn describe(key: Option<&Self>, answers: &mut Answers<'_>) -> Result<(), Reason> {
        answers.integer(OSSL_PKEY_PARAM_BITS, BITS.0)?;
        answers.integer(OSSL_PKEY_PARAM_SECURITY_BITS, BITS.1)?;
        answers.integer(OSSL_PKEY_PARAM_MAX_SIZE, KEY_BYTES as i64)?;
        let Some(key) = key else {
            return Ok(());
        };
        answers.octets(OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, &key.public.0)?;
        answers.octets(OSSL_PKEY_PARAM_PUB_KEY, &key.public.0)?;
        match &key.secret {
            Some(secret) => answers.octets(OSSL_PKEY_PARAM_PRIV_KEY, secret.as_bytes()),
            None => Ok(()),
        }
    }

    fn export(&self, with_private: bool) -> Values {
        let mut values = Values::default();
        values.octets(OSSL_PKEY_PARAM_PUB_KEY, &self.public.0);
        if let Some(secret) = self.secret.as_ref().filter(|_| with_private) {
            values.octets(OSSL_PKEY_PARAM_PRIV_KEY, secret.as_bytes());
        }
        values
    }

    fn check(&self, provider: &Provider) -> Result<(), Reason> {
        let curve = provider.x25519()?;
        let is_ours = |secret: &Arc<SecretKey>| curve.public_key(secret) == self.public;
        if self.secret.as_ref().is_none_or(is_ours) { Ok(()) } else { Err(Reason::KeyInconsistent) }
    }
}

impl PeerKey for X25519Key {
    const IS_SET_ONCE: bool = false;

    fn from_encoded(_provider: &Provider, encoded: &[u8]) -> Result<Self, Reason> {
        let public = encoded.try_into().map_err(|_| Reason::X25519Key)?;
        Ok(Self { public: PublicKey(public), secret: None })
    }
}

impl X25519Key {
    pub(crate) fn public(&self) -> &PublicKey {
        &self.public
    }

    pub(crate) fn secret(&self) -> Result<&Arc<SecretKey>, Reason> {
        self.secret.as_ref().ok_or(Reason::KeyNotPrivate)
    }
}

fn bytes(param: Param<'_>) -> Result<&[u8; KEY_BYTES], Reason> {
    let bytes = param.octets().ok_or(Reason::Parameter)?;
    bytes.try_into().map_err(|_| Reason::X25519Key)
}

/// The parameters of a key to generate.
pub(crate) struct X25519Request {
    provider: Arc<Provider>,
    /// False if the program asks for domain parameters: the new key is empty then, and libssl sets
    /// the peer's public key in it.
    with_key: bool,
    /// The input from which DHKEM derives the key; if `None`, the key is random.
    seed: Option<Zeroizing<Vec<u8>>>,
}

static SETTABLE_OF_REQUEST: Table<[OSSL_PARAM; 4]> = Table::of_keys([
    (OSSL_PKEY_PARAM_GROUP_NAME, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_PROPERTIES, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_DHKEM_IKM, OSSL_PARAM_OCTET_STRING),
    (c"", 0),
]);

impl AsRef<Provider> for X25519Request {
    fn as_ref(&self) -> &Provider {
        &self.provider
    }
}

impl Request for X25519Request {
    type Key = X25519Key;

    const SETTABLE: *const OSSL_PARAM = SETTABLE_OF_REQUEST.first();

    fn new(provider: &Arc<Provider>, with_key: bool) -> Option<Self> {
        Some(Self { provider: Arc::clone(provider), with_key, seed: None })
    }

    fn set(&mut self, params: Params<'_>) -> Result<(), Reason> {
        if let Some(param) = params.find(OSSL_PKEY_PARAM_GROUP_NAME) {
            let is_ours = |name: &str| name.eq_ignore_ascii_case("x25519");
            param.text().filter(|name| is_ours(name)).ok_or(Reason::X25519Group)?;
        }
        if let Some(param) = params.find(OSSL_PKEY_PARAM_DHKEM_IKM) {
            let seed = param.octets().ok_or(Reason::Parameter)?.to_vec();
            self.seed = Some(Zeroizing::new(seed)).filter(|seed| !seed.is_empty());
        }
        Ok(())
    }

    fn run(&mut self) -> Result<KeySlot<X25519Key>, Reason> {
        let key = if self.with_key { Some(Arc::new(self.generate()?)) } else { None };
        Ok(KeySlot { provider: Arc::clone(&self.provider), key })
    }
}

impl X25519Request {
    fn generate(&self) -> Result<X25519Key, Reason> {
        let curve = self.provider.x25519()?;
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        match &self.seed {
            Some(seed) => dhkem_secret(seed, &mut bytes)?,
            None => getrandom::fill(&mut *bytes).map_err(|_| Reason::Random)?,
        }
        // OpenSSL stores new keys clamped, so a program may expect it of a file.
        bytes[0] &= 0xf8;
        bytes[KEY_BYTES - 1] = bytes[KEY_BYTES - 1] & 0x7f | 0x40;
        let secret = Arc::new(SecretKey::from_bytes(&bytes));
        let public = curve.public_key(&secret);
        self.provider.count(Event::X25519Generation);
        Ok(X25519Key { public, secret: Some(secret) })
    }
}

/// `DeriveKeyPair` of DHKEM(X25519, HKDF-SHA256), without clamping (RFC 9180, section 7.1.3). The
/// output of HKDF is one block, so each of its steps is one HMAC.
fn dhkem_secret(ikm: &[u8], secret: &mut [u8; KEY_BYTES]) -> Result<(), Reason> {
    // The smallest input that RFC 9180 recommends, and OpenSSL accepts.
    if ikm.len() < KEY_BYTES {
        return Err(Reason::X25519Seed);
    }
    let hmac = |key: &[u8], pieces: [&[u8]; 4]| {
        let mut output = Zeroizing::new([0; 64]);
        hashing::hmac(Hash::Sha256, key, &pieces, &mut output);
        output
    };
    const SUITE: &[u8] = b"HPKE-v1KEM\x00\x20";
    // dkp_prk = LabeledExtract("", "dkp_prk", ikm)
    let dkp_prk = hmac(&[], [SUITE, b"dkp_prk", ikm, b""]);
    // sk = LabeledExpand(dkp_prk, "sk", "", Nsk)
    let output = hmac(&dkp_prk[..KEY_BYTES], [b"\x00\x20", SUITE, b"sk", b"\x01"]);
    secret.copy_from_slice(&output[..KEY_BYTES]);
    Ok(())
}

/// Returns the description of the TLS group x25519, with the values of OpenSSL's own provider.
pub(crate) fn tls_group() -> Values {
    let mut values = Values::default();
    values.text(OSSL_CAPABILITY_TLS_GROUP_NAME, c"x25519");
    values.text(OSSL_CAPABILITY_TLS_GROUP_NAME_INTERNAL, c"X25519");
    values.text(OSSL_CAPABILITY_TLS_GROUP_ALG, c"X25519");
    for (key, value) in [
        (OSSL_CAPABILITY_TLS_GROUP_ID, 29_u32),
        (OSSL_CAPABILITY_TLS_GROUP_SECURITY_BITS, 128),
        (OSSL_CAPABILITY_TLS_GROUP_MIN_TLS, 0x0301), // TLS 1.0
        (OSSL_CAPABILITY_TLS_GROUP_MAX_TLS, 0),      // no limit
        (OSSL_CAPABILITY_TLS_GROUP_MIN_DTLS, 0xfeff), // DTLS 1.0
        (OSSL_CAPABILITY_TLS_GROUP_MAX_DTLS, 0),
    ] {
        values.number(key, &value.to_be_bytes());
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9180, appendix A.1.1: `ikmE` and `skEm`.
    #[test]
    fn a_dhkem_key_is_derived() {
        let ikm: [u8; 32] =
            bytes("7268600d403fce431561aef583ee1613527cff655c1343f29812e66706df3234");
        let sk: [u8; 32] =
            bytes("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736");
        let mut secret = [0; KEY_BYTES];
        assert_eq!(dhkem_secret(&ikm, &mut secret), Ok(()));
        assert_eq!(secret, sk);
        assert_eq!(dhkem_secret(&ikm[1..], &mut secret), Err(Reason::X25519Seed));
    }

    fn bytes(text: &str) -> [u8; 32] {
        hex::decode(text).unwrap().try_into().unwrap()
    }
}
