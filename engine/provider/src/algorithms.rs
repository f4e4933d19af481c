//! The algorithms of the provider, and their properties.
//!
//! `SIGNATURE` and `ASYM_CIPHER` have the property `tollgate.operations=yes`, which the query of a
//! configuration prefers. `KEYMGMT` does not: the query also decides which provider creates keys,
//! and libcrypto does not fall back to another provider if the preferred one refuses. So the
//! default provider creates and holds keys, libcrypto exports a key to this provider when an
//! operation starts, and if this provider refuses the key, the default provider serves it.
//! [`crate::keymgmt_cache`] sees to the order of key management.
//!
//! `provider=tollgate` is a property too, but a program's own query that names `provider`, such as
//! stunnel's `provider!=fips`, replaces a clause `?provider=tollgate` of the configuration. The
//! query `tollgate.rsa=yes`, without `?`, selects this provider for keys and operations of RSA, or
//! fails.
//!
//! RSA has kernels for x86-64 alone. Elsewhere its operations lack `tollgate.operations=yes`, so
//! the default provider serves them, except those of keys on a signer.
//!
//! One `KEYMGMT` of EC serves the keys of all curves; this provider's imports keys of P-256 with a
//! private half and refuses all others. Without it, libcrypto would not use this provider's ECDSA.
//!
//! For X25519, `KEYMGMT` has the properties of operations too: half of the work of a key exchange
//! is the new key, and there are no keys to refuse.
//! The same holds for ML-KEM-768 and X25519MLKEM768.
#![forbid(unsafe_code)]

use core::ffi::{CStr, c_int};
use core::ptr;

use crate::abi::*;
use crate::table::{Algorithm, Table};
use crate::{asym_cipher, decoder, kem, key_exchange, keymgmt, signature};

const RSA: &CStr = c"RSA:rsaEncryption:1.2.840.113549.1.1.1";
const EC: &CStr = c"EC:id-ecPublicKey:1.2.840.10045.2.1";
const ECDSA: &CStr = c"ECDSA";
const X25519: &CStr = c"X25519:1.3.101.110";
const ML_KEM: &CStr = c"ML-KEM-768:MLKEM768:id-alg-ml-kem-768:2.16.840.1.101.3.4.4.2";
/// OpenSSL 3.0 to 3.4 compare the case.
const HYBRID: &CStr = c"X25519MLKEM768";

/// The properties of keys. The query `?tollgate.operations=yes` does not match them.
const OF_RSA_KEYS: &CStr = c"tollgate.rsa=yes";
const OF_EC_KEYS: &CStr = c"tollgate.ecdsa=yes";
/// The properties of operations: `?tollgate.operations=yes` prefers them.
const OF_RSA: &CStr = if cfg!(target_arch = "x86_64") {
    c"provider=tollgate,tollgate.operations=yes,tollgate.rsa=yes"
} else {
    c"provider=tollgate,tollgate.rsa=yes" // only the portable kernel runs: OpenSSL's own is faster
};
const OF_ECDSA: &CStr = c"provider=tollgate,tollgate.operations=yes,tollgate.ecdsa=yes";
/// The properties of algorithms whose keys and operations this provider serves both.
const BOTH: &CStr = c"provider=tollgate,tollgate.operations=yes";
/// The properties of decoders: a stub is in PEM.
const OF_STUBS: &CStr = c"provider=tollgate,input=pem";

/// The algorithms that a provider offers beside RSA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offers {
    pub(crate) x25519: bool,
    pub(crate) ecdsa: bool,
    pub(crate) ml_kem: bool,
    /// Keys on a signer.
    pub(crate) stubs: bool,
}

/// The algorithms of a provider: a table for each operation that it has.
pub(crate) struct Algorithms(Vec<(c_int, Table<Vec<OSSL_ALGORITHM>>)>);

impl Algorithms {
    pub(crate) fn new(offers: Offers) -> Self {
        let Offers { x25519, ecdsa, ml_kem, stubs } = offers;
        let exchange = key_exchange::FUNCTIONS.first();
        let cipher = asym_cipher::FUNCTIONS.first();
        let rows = [
            (OSSL_OP_KEYMGMT, x25519, X25519, BOTH, keymgmt::X25519.first(), c"X25519 keys"),
            (OSSL_OP_KEYMGMT, ml_kem, HYBRID, BOTH, keymgmt::HYBRID.first(), c"hybrid keys"),
            (OSSL_OP_KEYMGMT, ml_kem, ML_KEM, BOTH, keymgmt::ML_KEM.first(), c"ML-KEM-768 keys"),
            (OSSL_OP_KEYMGMT, ecdsa, EC, OF_EC_KEYS, keymgmt::EC.first(), c"P-256 keys"),
            (OSSL_OP_KEYMGMT, true, RSA, OF_RSA_KEYS, keymgmt::RSA.first(), c"RSA keys"),
            (OSSL_OP_KEYEXCH, x25519, X25519, BOTH, exchange, c"X25519 key exchange"),
            (OSSL_OP_KEM, ml_kem, HYBRID, BOTH, kem::HYBRID.first(), c"X25519MLKEM768"),
            (OSSL_OP_KEM, ml_kem, ML_KEM, BOTH, kem::ML_KEM.first(), c"ML-KEM-768"),
            (OSSL_OP_SIGNATURE, ecdsa, ECDSA, OF_ECDSA, signature::ECDSA.first(), c"ECDSA, P-256"),
            (OSSL_OP_SIGNATURE, true, RSA, OF_RSA, signature::RSA.first(), c"RSA signatures"),
            (OSSL_OP_ASYM_CIPHER, true, RSA, OF_RSA, cipher, c"RSA encryption and decryption"),
            (OSSL_OP_DECODER, stubs && ecdsa, c"EC", OF_STUBS, decoder::EC.first(), c"P-256 stubs"),
            (OSSL_OP_DECODER, stubs, c"RSA", OF_STUBS, decoder::RSA.first(), c"RSA stubs"),
        ];
        let mut tables: Vec<(c_int, Vec<Algorithm>)> = Vec::new();
        for (operation, _, names, properties, functions, description) in
            rows.into_iter().filter(|row| row.1)
        {
            let algorithm = Algorithm { names, properties, functions, description };
            match tables.iter_mut().find(|(other, _)| *other == operation) {
                Some((_, table)) => table.push(algorithm),
                None => tables.push((operation, vec![algorithm])),
            }
        }
        let table =
            |(operation, rows): (c_int, Vec<Algorithm>)| (operation, Table::of_algorithms(&rows));
        Self(tables.into_iter().map(table).collect())
    }

    /// Returns the table of an operation, or NULL if there is none.
    pub(crate) fn table(&self, operation: c_int) -> *const OSSL_ALGORITHM {
        let table = self.0.iter().find(|(other, _)| *other == operation);
        table.map_or(ptr::null(), |(_, table)| table.as_ptr())
    }
}
