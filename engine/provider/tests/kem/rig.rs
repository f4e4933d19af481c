//! Keys, encapsulations and decapsulations.

#![allow(dead_code, reason = "each test program uses its part")]

use core::ffi::{CStr, c_int};
use core::ptr;

use crate::host::libcrypto::{self, OSSL_PARAM};
use crate::host::x25519::ANY;
use crate::host::{Host, Key, check};

pub(crate) const ML_KEM: &CStr = c"ML-KEM-768";
pub(crate) const HYBRID: &CStr = c"X25519MLKEM768";

/// A mechanism, with the lengths of a public key, a private one, a ciphertext and a secret.
pub(crate) const MECHANISMS: [(&CStr, [usize; 4]); 2] =
    [(ML_KEM, [1184, 2400, 1088, 32]), (HYBRID, [1216, 2432, 1120, 64])];

/// `EVP_PKEY_KEYPAIR` and `EVP_PKEY_PUBLIC_KEY` without parameters of a domain.
pub(crate) const PAIR: c_int = 0x03;
pub(crate) const PUBLIC: c_int = 0x02;

impl Host {
    /// Loads the provider with the setting on: a processor may have the portable code alone.
    pub(crate) fn with_ml_kem() -> Self {
        Self::configured("ml_kem = on")
    }

    pub(crate) fn new_kem_key(&self, mechanism: &CStr, query: &CStr) -> Key {
        let operation = self.operation_of(mechanism, query).unwrap();
        operation.begin_key().unwrap();
        operation.generate().unwrap()
    }

    /// Creates a key of named byte strings.
    pub(crate) fn kem_key(
        &self,
        mechanism: &CStr,
        query: &CStr,
        selection: c_int,
        values: &[(&CStr, &[u8])],
    ) -> Result<Key, String> {
        let operation = self.operation_of(mechanism, query)?;
        let mut bytes: Vec<_> = values.iter().map(|(_, bytes)| bytes.to_vec()).collect();
        let named = values.iter().zip(&mut bytes);
        let mut params: Vec<_> = named
            .map(|((name, _), bytes)| libcrypto::octets(name, bytes))
            .chain([libcrypto::END])
            .collect();
        operation.key_from_data(selection, params.as_mut_ptr())
    }

    /// Encapsulates to a key as libssl does: the lengths first. Returns the ciphertext and the
    /// secret.
    pub(crate) fn encapsulate(
        &self,
        key: &Key,
        query: &CStr,
        params: &[OSSL_PARAM],
    ) -> Result<(Vec<u8>, Vec<u8>), String> {
        let operation = self.operation(key, query);
        operation.init(libcrypto::EVP_PKEY_encapsulate_init, params)?;
        let (mut sent_len, mut secret_len) = (0, 0);
        let (null, lengths) = (ptr::null_mut(), (&raw mut sent_len, &raw mut secret_len));
        // SAFETY: a context, and variables for the lengths.
        check(unsafe {
            libcrypto::EVP_PKEY_encapsulate(operation.0, null, lengths.0, null, lengths.1)
        })?;
        let (mut sent, mut secret) = (vec![0; sent_len], vec![0; secret_len]);
        let buffers = (sent.as_mut_ptr(), secret.as_mut_ptr());
        // SAFETY: a context, and buffers of these lengths.
        check(unsafe {
            libcrypto::EVP_PKEY_encapsulate(operation.0, buffers.0, lengths.0, buffers.1, lengths.1)
        })?;
        Ok((sent, secret))
    }

    pub(crate) fn decapsulate(
        &self,
        key: &Key,
        query: &CStr,
        sent: &[u8],
    ) -> Result<Vec<u8>, String> {
        let operation = self.operation(key, query);
        operation.init(libcrypto::EVP_PKEY_decapsulate_init, &[])?;
        operation.run(libcrypto::EVP_PKEY_decapsulate, sent)
    }

    /// Returns whether OpenSSL's own provider has the mechanisms.
    pub(crate) fn has_openssl_s(&self) -> bool {
        let has = self.operation_of(HYBRID, crate::host::DEFAULT).is_ok();
        crate::host::errors();
        if !has {
            println!("not compared: OpenSSL has no ML-KEM before version 3.5");
        }
        has
    }

    /// Sets the encoded public key of a new key, as libssl does with a key share.
    pub(crate) fn key_of_share(&self, mechanism: &CStr, share: &[u8]) -> Result<Key, String> {
        let key = self.empty_kem_key(mechanism);
        key.set_share(share).map(|()| key)
    }

    pub(crate) fn empty_kem_key(&self, mechanism: &CStr) -> Key {
        let operation = self.operation_of(mechanism, ANY).unwrap();
        operation.call(libcrypto::EVP_PKEY_paramgen_init).unwrap();
        operation.generate().unwrap()
    }
}

impl Key {
    pub(crate) fn set_share(&self, share: &[u8]) -> Result<(), String> {
        // SAFETY: a key, and bytes with their length.
        check(unsafe {
            libcrypto::EVP_PKEY_set1_encoded_public_key(self.0, share.as_ptr(), share.len())
        })
    }

    /// Returns a byte string of the key.
    pub(crate) fn octets(&self, name: &CStr) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 4096];
        let mut len = 0;
        // SAFETY: a key, a name, and a buffer with its length.
        let got = unsafe {
            libcrypto::EVP_PKEY_get_octet_string_param(
                self.0,
                name.as_ptr(),
                bytes.as_mut_ptr(),
                bytes.len(),
                &mut len,
            )
        };
        crate::host::errors();
        (got == 1).then(|| bytes[..len].to_vec())
    }
}
