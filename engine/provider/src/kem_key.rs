//! Keys of key encapsulation mechanisms: ML-KEM-768 (FIPS 203), and X25519MLKEM768, the hybrid
//! group of TLS (draft-ietf-tls-ecdhe-mlkem).
#![forbid(unsafe_code)]

use core::ffi::CStr;
use core::marker::PhantomData;
use std::sync::Arc;

use tollgate_kem::RANDOM_BYTES;
use zeroize::Zeroizing;

use crate::abi::*;
use crate::alt_stack::with_room;
use crate::counters::Event;
use crate::generation::Request;
use crate::key_slot::{KeySlot, KeyType, PeerKey};
use crate::params::{Answers, Param, Params, Values};
use crate::provider::Provider;
use crate::reason::Reason;

/// A key encapsulation mechanism. Slices have the lengths that the constants state.
pub(crate) trait Kem: Sized + Send + Sync + 'static {
    type Public: Send + Sync;
    type Pair: Send + Sync;

    /// The properties of a key, followed by its values: the secret ones, and then the public one.
    const GETTABLE: *const OSSL_PARAM;
    const PAIR_TYPES: *const OSSL_PARAM;
    const PUBLIC_TYPES: *const OSSL_PARAM;
    /// The parameters of a new key.
    const SETTABLE_OF_REQUEST: *const OSSL_PARAM;
    /// The parameters of an encapsulation.
    const SETTABLE_OF_CONTEXT: *const OSSL_PARAM;

    const CIPHERTEXT_BYTES: usize;
    const SECRET_BYTES: usize;
    const PRIVATE_BYTES: usize;
    /// True if keys are imported and exported by their seeds too.
    const HAS_SEED: bool;
    /// The random input of a new key.
    const SEED_BYTES: usize;
    /// The random input of an encapsulation.
    const RANDOM_BYTES: usize;

    fn read_public(provider: &Provider, bytes: &[u8]) -> Result<Self::Public, Reason>;
    fn read_private(provider: &Provider, bytes: &[u8]) -> Result<Self::Pair, Reason>;
    fn generate(provider: &Provider, seed: &[u8]) -> Result<Self::Pair, Reason>;

    fn public_bytes(public: &Self::Public) -> Vec<u8>;
    fn public_bytes_of_pair(pair: &Self::Pair) -> Vec<u8>;
    fn write_private(pair: &Self::Pair, bytes: &mut [u8]);
    /// Returns the seed, if there is one to export.
    fn seed(pair: &Self::Pair) -> Option<&[u8]>;
    /// The pair-wise test, with fresh random bytes.
    fn is_consistent(pair: &Self::Pair, random: &[u8; RANDOM_BYTES]) -> bool;

    fn encapsulate(
        public: &Self::Public,
        random: &[u8],
        ciphertext: &mut [u8],
        secret: &mut [u8],
    ) -> Result<(), Reason>;
    fn decapsulate(pair: &Self::Pair, ciphertext: &[u8], secret: &mut [u8]) -> Result<(), Reason>;

    fn private_bytes(pair: &Self::Pair) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(vec![0; Self::PRIVATE_BYTES]);
        Self::write_private(pair, &mut bytes);
        bytes
    }
}

/// A public key, or a key pair.
pub(crate) enum KemKey<K: Kem> {
    Public(K::Public),
    Pair(K::Pair),
}

/// The bits of a key and its security strength, as in OpenSSL.
const BITS: (i64, i64) = (768, 192);
/// The category of strength by NIST, which OpenSSL 4.0 asks for.
const CATEGORY: i64 = 3;

impl<K: Kem> KeyType for KemKey<K> {
    const GETTABLE: *const OSSL_PARAM = K::GETTABLE;
    const PUBLIC_TYPES: *const OSSL_PARAM = K::PUBLIC_TYPES;
    const PAIR_TYPES: *const OSSL_PARAM = K::PAIR_TYPES;

    /// The hybrid of OpenSSL 3.5 imports public halves with a selection of private ones, so the
    /// values decide.
    fn import(provider: &Provider, params: Params<'_>, with_private: bool) -> Result<Self, Reason> {
        let value = |key: &CStr| {
            let octets = params.find(key).map(octets).transpose();
            octets.map(|octets| octets.filter(|octets| !octets.is_empty()))
        };
        let public = value(OSSL_PKEY_PARAM_PUB_KEY)?;
        let private = value(OSSL_PKEY_PARAM_PRIV_KEY)?.filter(|_| with_private);
        let seed = value(OSSL_PKEY_PARAM_ML_KEM_SEED)?.filter(|_| with_private);
        let pair = match (seed.filter(|_| K::HAS_SEED), private, public) {
            (Some(seed), ..) if seed.len() != K::SEED_BYTES => return Err(Reason::KemKey),
            (Some(seed), ..) => with_room(|| K::generate(provider, seed))?,
            (None, Some(private), _) => {
                let pair = with_room(|| K::read_private(provider, private))?;
                check_pair::<K>(&pair)?;
                pair
            }
            (None, None, Some(public)) => return Self::from_encoded(provider, public),
            (None, None, None) => return Err(Reason::KemKey),
        };
        // of the values that are given, none may be of another key
        let is_same = private.is_none_or(|private| *private == **K::private_bytes(&pair))
            && public.is_none_or(|public| *public == *K::public_bytes_of_pair(&pair));
        if is_same { Ok(Self::Pair(pair)) } else { Err(Reason::KeyInconsistent) }
    }

    fn has_private(&self) -> bool {
        matches!(self, Self::Pair(_))
    }

    fn matches(&self, other: &Self) -> bool {
        self.public_bytes() == other.public_bytes()
    }

    /// An empty slot has sizes too: libcrypto asks for them before the peer's key share is set.
    fn describe(key: Option<&Self>, answers: &mut Answers<'_>) -> Result<(), Reason> {
        answers.integer(OSSL_PKEY_PARAM_BITS, BITS.0)?;
        answers.integer(OSSL_PKEY_PARAM_SECURITY_BITS, BITS.1)?;
        answers.integer(OSSL_PKEY_PARAM_SECURITY_CATEGORY, CATEGORY)?;
        answers.integer(OSSL_PKEY_PARAM_MAX_SIZE, K::CIPHERTEXT_BYTES as i64)?;
        let Some(key) = key else {
            return Ok(());
        };
        for name in [OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, OSSL_PKEY_PARAM_PUB_KEY] {
            if answers.has(name) {
                answers.octets(name, &key.public_bytes())?;
            }
        }
        let Self::Pair(pair) = key else {
            return Ok(());
        };
        if answers.has(OSSL_PKEY_PARAM_PRIV_KEY) {
            answers.octets(OSSL_PKEY_PARAM_PRIV_KEY, &K::private_bytes(pair))?;
        }
        K::seed(pair).map_or(Ok(()), |seed| answers.octets(OSSL_PKEY_PARAM_ML_KEM_SEED, seed))
    }

    fn export(&self, with_private: bool) -> Values {
        let mut values = Values::default();
        values.octets(OSSL_PKEY_PARAM_PUB_KEY, &self.public_bytes());
        if let Self::Pair(pair) = self
            && with_private
        {
            values.octets(OSSL_PKEY_PARAM_PRIV_KEY, &K::private_bytes(pair));
            if let Some(seed) = K::seed(pair) {
                values.octets(OSSL_PKEY_PARAM_ML_KEM_SEED, seed);
            }
        }
        values
    }

    fn check(&self, _provider: &Provider) -> Result<(), Reason> {
        match self {
            Self::Public(_) => Ok(()),
            Self::Pair(pair) => check_pair::<K>(pair),
        }
    }
}

/// Fails unless the halves of a key pair belong together.
fn check_pair<K: Kem>(pair: &K::Pair) -> Result<(), Reason> {
    let mut random = Zeroizing::new([0; RANDOM_BYTES]);
    getrandom::fill(&mut *random).map_err(|_| Reason::Random)?;
    let is_consistent = with_room(|| K::is_consistent(pair, &random));
    if is_consistent { Ok(()) } else { Err(Reason::KeyInconsistent) }
}

impl<K: Kem> PeerKey for KemKey<K> {
    const IS_SET_ONCE: bool = true;

    fn from_encoded(provider: &Provider, encoded: &[u8]) -> Result<Self, Reason> {
        with_room(|| K::read_public(provider, encoded)).map(Self::Public)
    }
}

impl<K: Kem> KemKey<K> {
    pub(crate) fn public_bytes(&self) -> Vec<u8> {
        match self {
            Self::Public(public) => K::public_bytes(public),
            Self::Pair(pair) => K::public_bytes_of_pair(pair),
        }
    }
}

fn octets(param: Param<'_>) -> Result<&[u8], Reason> {
    param.octets().ok_or(Reason::Parameter)
}

pub(crate) fn random(len: usize) -> Result<Zeroizing<Vec<u8>>, Reason> {
    let mut random = Zeroizing::new(vec![0; len]);
    getrandom::fill(&mut random).map_err(|_| Reason::Random)?;
    Ok(random)
}

/// The parameters of a key to generate.
pub(crate) struct KemRequest<K: Kem> {
    provider: Arc<Provider>,
    /// False if the program asks for domain parameters: the new key is empty then, and libssl sets
    /// the peer's key share in it.
    with_key: bool,
    /// The seed of the next key; if `None`, that key is random.
    seed: Option<Zeroizing<Vec<u8>>>,
    of_kem: PhantomData<K>,
}

impl<K: Kem> AsRef<Provider> for KemRequest<K> {
    fn as_ref(&self) -> &Provider {
        &self.provider
    }
}

impl<K: Kem> Request for KemRequest<K> {
    type Key = KemKey<K>;

    const SETTABLE: *const OSSL_PARAM = K::SETTABLE_OF_REQUEST;

    fn new(provider: &Arc<Provider>, with_key: bool) -> Option<Self> {
        let of_kem = PhantomData;
        Some(Self { provider: Arc::clone(provider), with_key, seed: None, of_kem })
    }

    /// Group names are ignored: there is one, and libssl passes several spellings of it.
    fn set(&mut self, params: Params<'_>) -> Result<(), Reason> {
        if let Some(param) = params.find(OSSL_PKEY_PARAM_ML_KEM_SEED).filter(|_| K::HAS_SEED) {
            self.seed = None;
            let seed = octets(param)?;
            if seed.len() != K::SEED_BYTES {
                return Err(Reason::KemSeed);
            }
            self.seed = Some(Zeroizing::new(seed.to_vec()));
        }
        Ok(())
    }

    fn run(&mut self) -> Result<KeySlot<KemKey<K>>, Reason> {
        let mut slot = KeySlot { provider: Arc::clone(&self.provider), key: None };
        if self.with_key {
            // a seed serves once
            let seed = self.seed.take().map_or_else(|| random(K::SEED_BYTES), Ok)?;
            let pair = with_room(|| K::generate(&self.provider, &seed))?;
            self.provider.count(Event::KemGeneration);
            slot.key = Some(Arc::new(KemKey::Pair(pair)));
        }
        Ok(slot)
    }
}
