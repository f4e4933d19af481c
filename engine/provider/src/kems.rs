//! The mechanisms: their code, their lengths and their parameters.
#![forbid(unsafe_code)]

use tollgate_kem::{self as ml_kem, InvalidKey, hybrid};
use zeroize::Zeroizing;

use crate::abi::*;
use crate::kem_key::Kem;
use crate::params::Values;
use crate::provider::Provider;
use crate::reason::Reason;
use crate::table::Table;

/// The rows of a key's properties, which begin [`Kem::GETTABLE`].
const PROPERTIES: usize = 5;

/// ML-KEM-768 alone: for other hybrids of OpenSSL 3.5, and for keys in files.
pub(crate) struct MlKem;

static OF_ML_KEM: Table<[OSSL_PARAM; 9]> = Table::of_keys([
    (OSSL_PKEY_PARAM_BITS, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_SECURITY_BITS, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_SECURITY_CATEGORY, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_MAX_SIZE, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, OSSL_PARAM_OCTET_STRING),
    (OSSL_PKEY_PARAM_ML_KEM_SEED, OSSL_PARAM_OCTET_STRING),
    (OSSL_PKEY_PARAM_PRIV_KEY, OSSL_PARAM_OCTET_STRING),
    (OSSL_PKEY_PARAM_PUB_KEY, OSSL_PARAM_OCTET_STRING),
    (c"", 0),
]);

static OF_HYBRID: Table<[OSSL_PARAM; 8]> = Table::of_keys([
    (OSSL_PKEY_PARAM_BITS, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_SECURITY_BITS, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_SECURITY_CATEGORY, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_MAX_SIZE, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, OSSL_PARAM_OCTET_STRING),
    (OSSL_PKEY_PARAM_PRIV_KEY, OSSL_PARAM_OCTET_STRING),
    (OSSL_PKEY_PARAM_PUB_KEY, OSSL_PARAM_OCTET_STRING),
    (c"", 0),
]);

/// Property queries and the group's name are accepted and ignored.
static OF_REQUEST: Table<[OSSL_PARAM; 4]> = Table::of_keys([
    (OSSL_PKEY_PARAM_ML_KEM_SEED, OSSL_PARAM_OCTET_STRING),
    (OSSL_PKEY_PARAM_PROPERTIES, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_GROUP_NAME, OSSL_PARAM_UTF8_STRING),
    (c"", 0),
]);

static OF_CONTEXT: Table<[OSSL_PARAM; 2]> =
    Table::of_keys([(OSSL_KEM_PARAM_IKME, OSSL_PARAM_OCTET_STRING), (c"", 0)]);

impl Kem for MlKem {
    type Public = ml_kem::EncapsulationKey;
    type Pair = ml_kem::DecapsulationKey;

    const GETTABLE: *const OSSL_PARAM = OF_ML_KEM.first();
    const PAIR_TYPES: *const OSSL_PARAM = OF_ML_KEM.row(PROPERTIES);
    const PUBLIC_TYPES: *const OSSL_PARAM = OF_ML_KEM.row(PROPERTIES + 2);
    const SETTABLE_OF_REQUEST: *const OSSL_PARAM = OF_REQUEST.first();
    const SETTABLE_OF_CONTEXT: *const OSSL_PARAM = OF_CONTEXT.first();

    const CIPHERTEXT_BYTES: usize = ml_kem::CIPHERTEXT_BYTES;
    const SECRET_BYTES: usize = ml_kem::SECRET_BYTES;
    const PRIVATE_BYTES: usize = ml_kem::EXPANDED_BYTES;
    const HAS_SEED: bool = true;
    const SEED_BYTES: usize = ml_kem::SEED_BYTES;
    const RANDOM_BYTES: usize = ml_kem::RANDOM_BYTES;

    fn read_public(provider: &Provider, bytes: &[u8]) -> Result<Self::Public, Reason> {
        Ok(provider.hybrid()?.ml_kem.encapsulation_key(bytes)?)
    }

    fn read_private(provider: &Provider, bytes: &[u8]) -> Result<Self::Pair, Reason> {
        Ok(provider.hybrid()?.ml_kem.expanded_key(bytes)?)
    }

    fn generate(provider: &Provider, seed: &[u8]) -> Result<Self::Pair, Reason> {
        Ok(provider.hybrid()?.ml_kem.decapsulation_key(array(seed)))
    }

    fn public_bytes(public: &Self::Public) -> Vec<u8> {
        public.to_bytes().to_vec()
    }

    fn public_bytes_of_pair(pair: &Self::Pair) -> Vec<u8> {
        Self::public_bytes(pair.encapsulation_key())
    }

    fn write_private(pair: &Self::Pair, bytes: &mut [u8]) {
        pair.expand(array_mut(bytes));
    }

    fn is_consistent(pair: &Self::Pair, random: &[u8; ml_kem::RANDOM_BYTES]) -> bool {
        pair.is_consistent(random)
    }

    fn seed(pair: &Self::Pair) -> Option<&[u8]> {
        pair.seed().map(<[u8; ml_kem::SEED_BYTES]>::as_slice)
    }

    fn encapsulate(
        public: &Self::Public,
        random: &[u8],
        ciphertext: &mut [u8],
        secret: &mut [u8],
    ) -> Result<(), Reason> {
        public.encapsulate(array(random), array_mut(ciphertext), array_mut(secret));
        Ok(())
    }

    fn decapsulate(pair: &Self::Pair, ciphertext: &[u8], secret: &mut [u8]) -> Result<(), Reason> {
        pair.decapsulate(array(ciphertext), array_mut(secret));
        Ok(())
    }
}

/// X25519MLKEM768.
pub(crate) struct Hybrid;

impl Kem for Hybrid {
    type Public = hybrid::EncapsulationKey;
    type Pair = hybrid::DecapsulationKey;

    const GETTABLE: *const OSSL_PARAM = OF_HYBRID.first();
    const PAIR_TYPES: *const OSSL_PARAM = OF_HYBRID.row(PROPERTIES);
    const PUBLIC_TYPES: *const OSSL_PARAM = OF_HYBRID.row(PROPERTIES + 1);
    const SETTABLE_OF_REQUEST: *const OSSL_PARAM = OF_REQUEST.row(1);
    const SETTABLE_OF_CONTEXT: *const OSSL_PARAM = OF_CONTEXT.row(1);

    const CIPHERTEXT_BYTES: usize = hybrid::CIPHERTEXT_BYTES;
    const SECRET_BYTES: usize = hybrid::SECRET_BYTES;
    const PRIVATE_BYTES: usize = hybrid::PRIVATE_BYTES;
    const HAS_SEED: bool = false;
    const SEED_BYTES: usize = hybrid::SEED_BYTES;
    const RANDOM_BYTES: usize = hybrid::RANDOM_BYTES;

    fn read_public(provider: &Provider, bytes: &[u8]) -> Result<Self::Public, Reason> {
        Ok(provider.hybrid()?.encapsulation_key(bytes)?)
    }

    fn read_private(provider: &Provider, bytes: &[u8]) -> Result<Self::Pair, Reason> {
        Ok(provider.hybrid()?.expanded_key(bytes)?)
    }

    fn generate(provider: &Provider, seed: &[u8]) -> Result<Self::Pair, Reason> {
        let mut seed = Zeroizing::new(*array::<{ hybrid::SEED_BYTES }>(seed));
        // as OpenSSL has keys of X25519
        seed[ml_kem::SEED_BYTES] &= 0xf8;
        let last = &mut seed[hybrid::SEED_BYTES - 1];
        *last = *last & 0x7f | 0x40;
        Ok(provider.hybrid()?.decapsulation_key(&seed))
    }

    fn public_bytes(public: &Self::Public) -> Vec<u8> {
        public.to_bytes().to_vec()
    }

    fn public_bytes_of_pair(pair: &Self::Pair) -> Vec<u8> {
        pair.public_bytes().to_vec()
    }

    fn write_private(pair: &Self::Pair, bytes: &mut [u8]) {
        pair.expand(array_mut(bytes));
    }

    fn is_consistent(pair: &Self::Pair, random: &[u8; ml_kem::RANDOM_BYTES]) -> bool {
        pair.is_consistent(random)
    }

    fn seed(_pair: &Self::Pair) -> Option<&[u8]> {
        None
    }

    fn encapsulate(
        public: &Self::Public,
        random: &[u8],
        ciphertext: &mut [u8],
        secret: &mut [u8],
    ) -> Result<(), Reason> {
        let ciphertext = array_mut(ciphertext);
        Ok(public.encapsulate(array(random), ciphertext, array_mut(secret))?)
    }

    fn decapsulate(pair: &Self::Pair, ciphertext: &[u8], secret: &mut [u8]) -> Result<(), Reason> {
        Ok(pair.decapsulate(array(ciphertext), array_mut(secret))?)
    }
}

impl From<InvalidKey> for Reason {
    fn from(_: InvalidKey) -> Self {
        Self::KemKey
    }
}

const LENGTH: &str = "the length that the mechanism states";

fn array<const N: usize>(bytes: &[u8]) -> &[u8; N] {
    bytes.try_into().expect(LENGTH)
}

fn array_mut<const N: usize>(bytes: &mut [u8]) -> &mut [u8; N] {
    bytes.try_into().expect(LENGTH)
}

/// Returns the description of the TLS group X25519MLKEM768, with the values of OpenSSL 3.5's own
/// provider.
pub(crate) fn tls_group() -> Values {
    let mut values = Values::default();
    for key in [
        OSSL_CAPABILITY_TLS_GROUP_NAME,
        OSSL_CAPABILITY_TLS_GROUP_NAME_INTERNAL,
        OSSL_CAPABILITY_TLS_GROUP_ALG,
    ] {
        values.text(key, c"X25519MLKEM768");
    }
    for (key, value) in [
        (OSSL_CAPABILITY_TLS_GROUP_ID, 0x11ec_u32),
        (OSSL_CAPABILITY_TLS_GROUP_SECURITY_BITS, 192),
        (OSSL_CAPABILITY_TLS_GROUP_IS_KEM, 1),
    ] {
        values.number(key, &value.to_be_bytes());
    }
    for (key, value) in [
        (OSSL_CAPABILITY_TLS_GROUP_MIN_TLS, 0x0304_i32), // TLS 1.3
        (OSSL_CAPABILITY_TLS_GROUP_MAX_TLS, 0),          // no limit
        (OSSL_CAPABILITY_TLS_GROUP_MIN_DTLS, -1),        // never
        (OSSL_CAPABILITY_TLS_GROUP_MAX_DTLS, -1),
    ] {
        values.integer(key, value);
    }
    values
}
