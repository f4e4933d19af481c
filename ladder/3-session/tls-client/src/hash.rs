//! Hash functions, transcripts, and secrets of a hash's length.

use core::ops::Deref;

use aws_lc_rs::digest::{self, Context, Digest};
use aws_lc_rs::hmac;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::wire::Message;

/// The longest output, in bytes.
const BYTES_MAX: usize = 48;

const ZEROS: &[u8] = &[0; BYTES_MAX];

/// A hash function: of a suite's transcript and key derivation, or of a record's HMAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hash {
    /// SHA-1, in HMACs only.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
}

impl Hash {
    /// Returns the length in bytes of the output, and of the key of an HMAC.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
        }
    }

    const fn algorithm(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha256 => &digest::SHA256,
            Self::Sha384 => &digest::SHA384,
        }
    }

    pub(crate) fn hmac_key(self, key: &[u8]) -> hmac::Key {
        let algorithm = match self {
            Self::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha384 => hmac::HMAC_SHA384,
        };
        hmac::Key::new(algorithm, key)
    }

    /// Returns the hash of the empty string.
    pub(crate) fn of_nothing(self) -> Digest {
        digest::digest(self.algorithm(), &[])
    }

    /// Returns zeros of the output's length.
    pub(crate) fn zeros(self) -> &'static [u8] {
        &ZEROS[..self.bytes()]
    }
}

/// A secret of at most 48 bytes, wiped when it is dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Secret {
    bytes: [u8; BYTES_MAX],
    length: usize,
}

impl Secret {
    /// Creates a copy of these bytes.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut secret = Self { bytes: [0; BYTES_MAX], length: bytes.len() };
        secret.bytes[..bytes.len()].copy_from_slice(bytes);
        secret
    }
}

/// An empty secret.
impl Default for Secret {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl Deref for Secret {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The transcript hash.
#[derive(Clone)]
pub(crate) struct Transcript(Context);

impl Transcript {
    pub(crate) fn new(hash: Hash) -> Self {
        Self(Context::new(hash.algorithm()))
    }

    pub(crate) fn add(&mut self, message: &[u8]) {
        self.0.update(message);
    }

    /// Returns the hash of all messages so far.
    pub(crate) fn hash(&self) -> Digest {
        self.0.clone().finish()
    }

    /// Returns the length of the hash, in bytes.
    pub(crate) fn hash_bytes(&self) -> usize {
        self.0.algorithm().output_len()
    }

    /// Replaces the first `ClientHello` by its hash (RFC 8446 §4.4.1).
    pub(crate) fn retry(&mut self) {
        let hash = self.hash();
        self.0 = Context::new(self.0.algorithm());
        let length = u8::try_from(hash.as_ref().len()).expect("a hash is short");
        self.add(&[Message::MESSAGE_HASH.0, 0, 0, length]);
        self.add(hash.as_ref());
    }
}
