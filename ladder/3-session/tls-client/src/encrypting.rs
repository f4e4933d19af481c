//! RSA encryption of premaster secrets. It supports the library's key sizes, and smaller keys.
//!
//! aws-lc-rs requires at least 2,048 bits, but servers of 2001 had keys of 1,024 bits. Use smaller
//! keys only for comparisons with papers. The client needs only the public-key operation of these
//! keys.

use aws_lc_rs::rand;
use aws_lc_rs::rsa::{Pkcs1PublicEncryptingKey, PublicEncryptingKey};
use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};
use der::Decode as _;
use pkcs1::RsaPublicKeyRef;
use spki::SubjectPublicKeyInfoRef;
use zeroize::Zeroizing;

/// Minimum size of the modulus, in bits.
const BITS_MIN: u32 = 1024;
/// Maximum length of the public exponent of a small key, in bits. A server must not cause an
/// exponentiation with an exponent of full length.
const EXPONENT_BITS_MAX: u32 = 32;
/// Minimum number of bytes that EME-PKCS1-v1_5 adds to the message (RFC 8017 §7.2).
const OVERHEAD_BYTES: usize = 11;

/// A server's RSA key, ready for encryption.
#[derive(Debug)]
pub(crate) enum EncryptingKey {
    Library(Pkcs1PublicEncryptingKey),
    Small(SmallKey),
}

/// A key of at least 1,024 bits that is smaller than the library supports.
#[derive(Debug)]
pub(crate) struct SmallKey {
    /// The length of the modulus in bytes.
    bytes: usize,
    modulus: BoxedMontyParams,
    exponent: BoxedUint,
}

impl EncryptingKey {
    /// Returns the key of a `SubjectPublicKeyInfo`; `None` if it is not an RSA key of a supported
    /// size.
    pub(crate) fn read(spki: &[u8]) -> Option<Self> {
        let library = PublicEncryptingKey::from_der(spki).ok();
        let library = library.and_then(|key| Pkcs1PublicEncryptingKey::new(key).ok());
        library.map(Self::Library).or_else(|| SmallKey::read(spki).map(Self::Small))
    }

    /// Appends the padded and encrypted secret to `out`; `None` if the secret is too long for the
    /// key.
    pub(crate) fn encrypt(&self, secret: &[u8], out: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Library(key) => {
                let start = out.len();
                out.resize(start + key.ciphertext_size(), 0);
                key.encrypt(secret, &mut out[start..]).ok().map(drop)
            }
            Self::Small(key) => key.encrypt(secret, out),
        }
    }
}

impl SmallKey {
    fn read(spki: &[u8]) -> Option<Self> {
        let info = SubjectPublicKeyInfoRef::from_der(spki).ok()?;
        let key = RsaPublicKeyRef::from_der(info.subject_public_key.as_bytes()?).ok()?;
        let (modulus, exponent) = (key.modulus.as_bytes(), key.public_exponent.as_bytes());
        let bits = 8 * u32::try_from(modulus.len()).ok()? - modulus.first()?.leading_zeros();
        let exponent_bits = 8 * u32::try_from(exponent.len()).ok()?;
        if !(BITS_MIN..2048).contains(&bits) || exponent_bits > EXPONENT_BITS_MAX {
            return None;
        }
        let modulus_odd = Odd::new(BoxedUint::from_be_slice_vartime(modulus)).into_option()?;
        Some(Self {
            bytes: modulus.len(),
            modulus: BoxedMontyParams::new_vartime(modulus_odd),
            exponent: BoxedUint::from_be_slice_vartime(exponent),
        })
    }

    /// Encrypts with RSAES-PKCS1-v1_5 (RFC 8017 §7.2.1).
    fn encrypt(&self, secret: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let padding = self.bytes.checked_sub(secret.len() + 3)?;
        if padding + 3 < OVERHEAD_BYTES {
            return None;
        }
        let mut padded = Zeroizing::new(vec![0; self.bytes]);
        padded[1] = 2;
        rand::fill(&mut padded[2..2 + padding]).ok()?;
        while let Some(zero) = padded[2..2 + padding].iter_mut().find(|byte| **byte == 0) {
            rand::fill(core::slice::from_mut(zero)).ok()?;
        }
        padded[3 + padding..].copy_from_slice(secret);
        let bits = self.modulus.bits_precision();
        let message = Zeroizing::new(BoxedUint::from_be_slice(&padded, bits).ok()?);
        let base = BoxedMontyForm::new((*message).clone(), &self.modulus);
        let power = base.pow_bounded_exp(&self.exponent, EXPONENT_BITS_MAX).retrieve();
        let bytes = power.to_be_bytes();
        out.extend_from_slice(&bytes[bytes.len().checked_sub(self.bytes)?..]);
        Some(())
    }
}

#[cfg(test)]
mod tests {

    use openssl::pkey::PKey;
    use openssl::rsa::{Padding, Rsa};

    use super::*;

    #[test]
    fn openssl_decrypts_for_keys_of_all_sizes() {
        for bits in [1024, 1032, 1536, 2048] {
            let private = Rsa::generate(bits).unwrap();
            let key = PKey::from_rsa(private.clone()).unwrap();
            let spki = key.public_key_to_der().unwrap();
            let encrypting = EncryptingKey::read(&spki).unwrap();
            assert_eq!(matches!(encrypting, EncryptingKey::Small(_)), bits < 2048);
            for secret in [&[7; 48][..], &[0; 1], &vec![3; bits as usize / 8 - 11]] {
                let mut ciphertext = vec![];
                encrypting.encrypt(secret, &mut ciphertext).unwrap();
                assert_eq!(ciphertext.len(), bits as usize / 8);
                let mut found = vec![0; bits as usize / 8];
                let length =
                    private.private_decrypt(&ciphertext, &mut found, Padding::PKCS1).unwrap();
                assert_eq!(&found[..length], secret, "{bits} bits");
            }
            let long = vec![3; bits as usize / 8 - 10];
            assert!(encrypting.encrypt(&long, &mut vec![]).is_none());
        }
    }

    #[test]
    fn keys_that_are_too_small_are_refused() {
        let key = PKey::from_rsa(Rsa::generate(768).unwrap()).unwrap();
        assert!(EncryptingKey::read(&key.public_key_to_der().unwrap()).is_none());
        assert!(EncryptingKey::read(b"").is_none());
    }
}
