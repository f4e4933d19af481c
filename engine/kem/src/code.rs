//! The choice between two crates, and the only door to them.

use ml_kem::array::Array;
use ml_kem::kem::KeyExport as _;
#[allow(deprecated, reason = "OpenSSL's keys and files have the expanded form")]
use ml_kem::{Decapsulate as _, ExpandedKeyEncoding as _};
#[cfg(target_arch = "x86_64")]
use tollgate_cpu::HaveAvx512;
use tollgate_cpu::memcheck;
use tollgate_cpu::wipe::wipe_stack_after;
use tollgate_curves::HaveGraviola;

use crate::keys::{
    CIPHERTEXT_BYTES, DecapsulationKey, EXPANDED_BYTES, EncapsulationKey, InvalidKey, PUBLIC_BYTES,
    RANDOM_BYTES, SECRET_BYTES, SEED_BYTES,
};

/// The API of `graviola` takes keys by value, and has neither seeds nor a message of the caller.
/// These functions are hidden in its documentation, so its version is pinned.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use graviola::key_agreement::mlkem768 as fast;

/// At least the stack that an operation uses; tests/stack.rs compares. All of it is wiped, so
/// variables within an operation need not be.
const GENERATE_BYTES: usize = 60 << 10;
const ENCAPSULATE_BYTES: usize = 40 << 10;
const DECAPSULATE_BYTES: usize = 40 << 10;
const EXPAND_BYTES: usize = 12 << 10;

/// ML-KEM-768 with the code of a set of processor features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MlKem768 {
    /// The crate `graviola`.
    Graviola(HaveGraviola),
    /// The crate `ml-kem`, on any processor.
    Portable,
}

/// A public key as one of the crates keeps it.
pub(crate) enum Public {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    Graviola(Box<fast::EncapKey>),
    Portable(ml_kem::EncapsulationKey768),
}

/// A key pair as one of the crates keeps it. Both wipe it when it is dropped.
pub(crate) enum Private {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    Graviola(Box<fast::DecapKey>),
    Portable(Box<ml_kem::DecapsulationKey768>),
}

impl MlKem768 {
    /// Returns the fastest code that this machine can run.
    #[must_use]
    pub fn best() -> Self {
        Self::fast().unwrap_or(Self::Portable)
    }

    /// `graviola` asks the processor itself for AVX-512, so it is not used where the user has
    /// disabled that.
    fn fast() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx512f") && HaveAvx512::check().is_none() {
            return None;
        }
        HaveGraviola::check().map(Self::Graviola)
    }

    /// Returns all code that this machine can run, the portable one last.
    #[must_use]
    pub fn all() -> Vec<Self> {
        Self::fast().into_iter().chain([Self::Portable]).collect()
    }

    /// Reads a public key (FIPS 203, section 7.2).
    ///
    /// # Errors
    ///
    /// [`InvalidKey`] if the length is not [`PUBLIC_BYTES`], or a coefficient is not below the
    /// modulus.
    pub fn encapsulation_key(self, bytes: &[u8]) -> Result<EncapsulationKey, InvalidKey> {
        let bytes: &[u8; PUBLIC_BYTES] = bytes.try_into().map_err(|_| InvalidKey)?;
        Ok(EncapsulationKey(match self {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            Self::Graviola(_) => Public::Graviola(Box::new(
                fast::EncapKey::from_bytes(bytes).map_err(|_| InvalidKey)?,
            )),
            _ => Public::Portable(
                ml_kem::EncapsulationKey768::new(bytes.into()).map_err(|_| InvalidKey)?,
            ),
        }))
    }

    /// Generates the key pair of a seed d || z, which is 64 random bytes from a cryptographic
    /// generator (FIPS 203, algorithm 16).
    #[must_use]
    pub fn decapsulation_key(self, seed: &[u8; SEED_BYTES]) -> DecapsulationKey {
        wipe_stack_after::<GENERATE_BYTES, _>(|| {
            let (public, private) = match self {
                #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
                Self::Graviola(_) => {
                    let key = Box::new(fast::DecapKey::keygen_internal(seed));
                    (Public::Graviola(Box::new(key.encapsulation_key())), Private::Graviola(key))
                }
                _ => {
                    let seed = Array(*seed);
                    portable(Box::new(ml_kem::DecapsulationKey768::from_seed(seed)))
                }
            };
            DecapsulationKey::new(EncapsulationKey(public), private, Some(seed))
        })
    }

    /// Reads a key pair in the expanded form, whose seed is not known (FIPS 203, section 7.3). The
    /// portable code computes with it.
    ///
    /// # Errors
    ///
    /// [`InvalidKey`] if the length is not [`EXPANDED_BYTES`], a coefficient of either half is not
    /// below the modulus, or the hash is not that of the public half. It does not test that the
    /// halves belong together: [`DecapsulationKey::is_consistent`] does.
    pub fn expanded_key(self, bytes: &[u8]) -> Result<DecapsulationKey, InvalidKey> {
        let bytes: &[u8; EXPANDED_BYTES] = bytes.try_into().map_err(|_| InvalidKey)?;
        wipe_stack_after::<GENERATE_BYTES, _>(|| {
            if !are_below_modulus(bytes) {
                return Err(InvalidKey);
            }
            #[allow(deprecated, reason = "the form of OpenSSL's files")]
            let key = ml_kem::DecapsulationKey768::from_expanded_bytes(bytes.into());
            let (_, private) = portable(Box::new(key.map_err(|_| InvalidKey)?));
            let public = &bytes[SECRET_VECTOR_BYTES..][..PUBLIC_BYTES];
            Ok(DecapsulationKey::new(self.encapsulation_key(public)?, private, None))
        })
    }
}

fn portable(key: Box<ml_kem::DecapsulationKey768>) -> (Public, Private) {
    (Public::Portable(key.encapsulation_key().clone()), Private::Portable(key))
}

/// The bytes of the secret vector, with which the expanded form begins.
const SECRET_VECTOR_BYTES: usize = 3 * 256 * 12 / 8;

/// Returns whether each coefficient of the secret vector is below the modulus 3329. The outcome is
/// public, the coefficients are not.
fn are_below_modulus(expanded: &[u8; EXPANDED_BYTES]) -> bool {
    let pairs = expanded[..SECRET_VECTOR_BYTES].as_chunks::<3>().0;
    let above = pairs.iter().fold(0, |above, &[a, b, c]| {
        let (a, b, c) = (u16::from(a), u16::from(b), u16::from(c));
        let (x, y) = (a | (b & 15) << 8, b >> 4 | c << 4);
        // the top bit is 1 if the coefficient is 3329 or more
        above | (3328_u16.wrapping_sub(x) | 3328_u16.wrapping_sub(y))
    });
    memcheck::declassified((above >> 15).into()) == 0
}

impl Public {
    pub(crate) fn to_bytes(&self) -> [u8; PUBLIC_BYTES] {
        match self {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            Self::Graviola(key) => key.as_bytes(),
            Self::Portable(key) => key.to_bytes().into(),
        }
    }

    /// FIPS 203, algorithm 17.
    pub(crate) fn encapsulate(
        &self,
        random: &[u8; RANDOM_BYTES],
        ciphertext: &mut [u8; CIPHERTEXT_BYTES],
        secret: &mut [u8; SECRET_BYTES],
    ) {
        wipe_stack_after::<ENCAPSULATE_BYTES, _>(|| match self {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            Self::Graviola(key) => {
                let key = fast::EncapKey::clone(key);
                let (shared, sent) = key.encaps_internal(fast::Message(*random));
                ciphertext.copy_from_slice(sent.as_ref());
                secret.copy_from_slice(shared.as_ref());
            }
            Self::Portable(key) => {
                let (sent, shared) = key.encapsulate_deterministic(&Array(*random));
                ciphertext.copy_from_slice(&sent);
                secret.copy_from_slice(&shared);
            }
        });
    }
}

impl Private {
    /// FIPS 203, algorithm 18.
    pub(crate) fn decapsulate(
        &self,
        ciphertext: &[u8; CIPHERTEXT_BYTES],
        secret: &mut [u8; SECRET_BYTES],
    ) {
        wipe_stack_after::<DECAPSULATE_BYTES, _>(|| match self {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            Self::Graviola(key) => {
                let ciphertext = fast::Ciphertext::from(*ciphertext);
                secret.copy_from_slice(key.decaps_internal(&ciphertext).as_ref());
            }
            Self::Portable(key) => secret.copy_from_slice(&key.decapsulate(ciphertext.into())),
        });
    }

    /// Writes the expanded form.
    pub(crate) fn expand(&self, expanded: &mut [u8; EXPANDED_BYTES]) {
        wipe_stack_after::<EXPAND_BYTES, _>(|| match self {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            Self::Graviola(key) => expanded.copy_from_slice(&key.as_bytes()),
            #[allow(deprecated, reason = "the form of OpenSSL's files")]
            Self::Portable(key) => expanded.copy_from_slice(&key.to_expanded_bytes()),
        });
    }
}
