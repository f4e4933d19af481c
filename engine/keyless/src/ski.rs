//! The name of a key: its Subject Key Identifier.

use core::fmt;

use der::Decode as _;
use sha1::{Digest as _, Sha1};
use spki::SubjectPublicKeyInfoRef;

/// The length of a name.
pub const SKI_BYTES: usize = 20;

/// The name of a key: the SHA-1 of its public key, as in most certificates (RFC 5280, section
/// 4.2.1.2, method 1). It is a name and proves nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ski([u8; SKI_BYTES]);

impl Ski {
    /// Takes the bytes of a name.
    #[must_use]
    pub const fn new(bytes: [u8; SKI_BYTES]) -> Self {
        Self(bytes)
    }

    /// Returns the name of the key in a `SubjectPublicKeyInfo`; `None` if it cannot be read.
    #[must_use]
    pub fn of_public_key(spki: &[u8]) -> Option<Self> {
        let info = SubjectPublicKeyInfoRef::from_der(spki).ok()?;
        Some(Self(Sha1::digest(info.subject_public_key.as_bytes()?).into()))
    }

    /// Returns the bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; SKI_BYTES] {
        &self.0
    }
}

/// Writes hexadecimal digits.
impl fmt::Display for Ski {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In one piece: a signer writes a name for each operation.
        let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
        let mut text = [0; 2 * SKI_BYTES];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        f.pad(str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Ski {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_40_hexadecimal_digits() {
        let mut bytes = [0x0a; SKI_BYTES];
        bytes[1] = 0xf0;
        assert_eq!(Ski::new(bytes).to_string(), format!("0af0{}", "0a".repeat(18)));
    }
}
