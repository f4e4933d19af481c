//! Keys and secrets of X25519.

use core::fmt;

use zeroize::Zeroize;

/// The length of keys and secrets in bytes.
pub const KEY_BYTES: usize = 32;

/// A secret key of X25519: 32 bytes, clamped when used (RFC 7748, section 5). Wiped when dropped.
#[derive(Clone)]
pub struct SecretKey([u8; KEY_BYTES]);

impl SecretKey {
    /// Takes any 32 bytes; a new key is 32 random bytes from a cryptographic generator.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; KEY_BYTES]) -> Self {
        Self(*bytes)
    }

    /// Returns the bytes that the key was made from.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// Returns the scalar: a multiple of 8 between 2^254 and 2^255.
    pub(crate) fn scalar(&self) -> Scalar {
        let mut k = Scalar(self.0);
        k.0[0] &= 0xf8;
        k.0[31] = k.0[31] & 0x7f | 0x40;
        k
    }
}

/// A clamped secret key, only within operations.
#[derive(Clone)]
pub(crate) struct Scalar(pub(crate) [u8; KEY_BYTES]);

/// A secret that both sides of an agreement compute. Wiped when dropped.
#[derive(Clone)]
pub struct SharedSecret(pub(crate) [u8; KEY_BYTES]);

impl SharedSecret {
    /// Returns the secret: input of a key derivation, never a key itself.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

/// Wipes the bytes on drop, and prints none of them.
macro_rules! secret {
    ($($name:ident)*) => {$(
        impl Drop for $name {
            fn drop(&mut self) {
                self.0.zeroize();
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }
    )*};
}

secret! { SecretKey SharedSecret }

/// A public key of X25519: the x-coordinate of a point. Any 32 bytes are accepted; the top bit
/// counts as 0 (RFC 7748, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PublicKey(pub [u8; KEY_BYTES]);

/// The peer's public key is a point of low order, so the shared secret would be zero for every
/// secret key (RFC 7748, section 6.1). End the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowOrder;

impl fmt::Display for LowOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the peer's public key has a low order: end the handshake")
    }
}

impl core::error::Error for LowOrder {}
