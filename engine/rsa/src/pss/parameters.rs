//! The parameters of RSASSA-PSS as one value.

use spki::AlgorithmIdentifierOwned;

use super::em_len;
use crate::algorithm;
use crate::error::{Error, Misuse, Rejected};
use crate::hash::Hash;

/// The length of the salt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Salt {
    /// Any length. For verification only.
    Auto,
    /// The length of the digest, as TLS 1.3 requires (RFC 8446 §4.2.3).
    Digest,
    /// This many bytes.
    Exactly(usize),
    /// The longest that the modulus allows.
    Max,
}

/// The parameters of RSASSA-PSS (RFC 8017 appendix A.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pss {
    pub(super) hash: Hash,
    pub(super) mgf_hash: Hash,
    pub(super) salt: Salt,
}

impl Pss {
    /// Uses one hash function for the message and MGF1, and salts with the length of the digest, as
    /// TLS 1.3 and JWT (PS256) require.
    pub const fn new(hash: Hash) -> Self {
        Self { hash, mgf_hash: hash, salt: Salt::Digest }
    }

    /// Uses another hash function for MGF1.
    #[must_use]
    pub const fn with_mgf_hash(self, mgf_hash: Hash) -> Self {
        Self { mgf_hash, ..self }
    }

    /// Uses salts of another length.
    #[must_use]
    pub const fn with_salt(self, salt: Salt) -> Self {
        Self { salt, ..self }
    }

    /// Returns the hash function of the message.
    pub const fn hash(self) -> Hash {
        self.hash
    }

    /// Returns the `AlgorithmIdentifier` of signatures with these parameters under a modulus of
    /// `mod_bits` bits; `None` if a hash function has no identifier.
    ///
    /// # Errors
    ///
    /// As [`salt_len_to_sign`](Self::salt_len_to_sign).
    pub fn algorithm_identifier(
        self,
        mod_bits: usize,
    ) -> Result<Option<AlgorithmIdentifierOwned>, Error> {
        Ok(algorithm::pss(self.hash, self.mgf_hash, self.salt_len_to_sign(mod_bits)?))
    }

    /// Returns the length of the salt in bytes for a signature under a modulus of `mod_bits` bits.
    ///
    /// # Errors
    ///
    /// [`Misuse::SaltAuto`]; [`Rejected::ModulusSmall`] if the salt does not fit.
    pub fn salt_len_to_sign(self, mod_bits: usize) -> Result<usize, Error> {
        // emLen >= hLen + sLen + 2: §9.1.1, step 3.
        let found_bytes = em_len(mod_bits);
        let fixed = self.hash.len() + 2;
        let room = found_bytes
            .checked_sub(fixed)
            .ok_or(Rejected::ModulusSmall { found_bytes, needed_bytes: fixed })?;
        let len = self.salt.len(self.hash, room).ok_or(Misuse::SaltAuto)?;
        if len > room {
            let needed_bytes = fixed.saturating_add(len);
            return Err(Rejected::ModulusSmall { found_bytes, needed_bytes }.into());
        }
        Ok(len)
    }
}

impl Salt {
    /// Returns the length in bytes, if the longest possible salt has `room` bytes. Returns `None`
    /// if any length is allowed.
    pub(super) fn len(self, hash: Hash, room: usize) -> Option<usize> {
        match self {
            Self::Auto => None,
            Self::Digest => Some(hash.len()),
            Self::Exactly(len) => Some(len),
            Self::Max => Some(room),
        }
    }
}
