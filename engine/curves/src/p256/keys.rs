//! Keys of P-256.

use core::fmt;

use tollgate_cpu::memcheck;
use tollgate_cpu::wipe::wipe_stack_after;
use zeroize::Zeroize;

use super::point::Affine;
use crate::residue::{Element, Scalar};

/// The length of an uncompressed point in bytes.
pub const POINT_BYTES: usize = 65;

/// The first byte of an uncompressed point (SEC 1, section 2.3.3).
const UNCOMPRESSED: u8 = 4;

/// A secret key of P-256: a number between 1 and n - 1, where n is the number of points. Wiped when
/// dropped.
#[derive(Clone)]
pub struct SecretKey(pub(crate) Scalar);

impl SecretKey {
    /// Reads a number, big end first. For a new key, pass 32 random bytes from a cryptographic
    /// generator, and other ones if they are refused, which happens once in 2^32 times (FIPS 186-5,
    /// section A.2.2).
    ///
    /// # Errors
    ///
    /// [`InvalidSecret`] if the number is 0, or n or above.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, InvalidSecret> {
        wipe_stack_after::<2048, _>(|| {
            let d = Scalar::from_least_bytes(bytes).ok_or(InvalidSecret)?;
            if memcheck::declassified(d.is_zero()) == 0 { Ok(Self(d)) } else { Err(InvalidSecret) }
        })
    }

    /// Returns the number, big end first. The caller wipes it.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 32] {
        wipe_stack_after::<2048, _>(|| self.0.to_bytes())
    }
}

impl Drop for SecretKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

/// A public key of P-256: a point of the curve.
///
/// The order of the curve is the prime n (its cofactor is 1). So every point but the neutral one
/// has order n, and an encoding as coordinates cannot mean the neutral one. The check that a point
/// is on the curve is therefore a full validation; a multiplication by n would show nothing more
/// (SP 800-56A, section 5.6.2.3.3 and its note on cofactor 1).
#[derive(Clone, Copy)]
pub struct PublicKey(pub(crate) Affine);

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.x.is_vartime(&other.0.x) && self.0.y.is_vartime(&other.0.y)
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublicKey(..)")
    }
}

impl PublicKey {
    /// Reads an uncompressed point: 4, x, y (SEC 1, section 2.3.4). TLS 1.3 has no other form (RFC
    /// 8446, section 4.2.8.2).
    ///
    /// # Errors
    ///
    /// [`InvalidPoint`] if the length or the first byte is different, if a coordinate is not below
    /// the prime of the field, or if the point is not on the curve.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidPoint> {
        let bytes: &[u8; POINT_BYTES] = bytes.try_into().map_err(|_| InvalidPoint)?;
        let [x, y] = Self::coordinates(bytes).map(Element::from_least_bytes);
        let point = x.zip(y).filter(|_| bytes[0] == UNCOMPRESSED);
        point.and_then(|(x, y)| Affine::on_curve(x, y)).map(Self).ok_or(InvalidPoint)
    }

    /// Returns x and y of an uncompressed point.
    pub(crate) fn coordinates(point: &[u8; POINT_BYTES]) -> [&[u8; 32]; 2] {
        let [x, y] = point[1..].as_chunks().0 else {
            unreachable!("64 bytes are two coordinates");
        };
        [x, y]
    }

    /// Returns the uncompressed point.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; POINT_BYTES] {
        let mut bytes = [UNCOMPRESSED; POINT_BYTES];
        bytes[1..33].copy_from_slice(&self.0.x.to_bytes());
        bytes[33..].copy_from_slice(&self.0.y.to_bytes());
        bytes
    }
}

/// The bytes of a secret key mean 0, or n or above. Take other random bytes, or correct the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidSecret;

impl fmt::Display for InvalidSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the number is not a secret key of P-256: give one between 1 and n - 1")
    }
}

impl core::error::Error for InvalidSecret {}

/// The bytes of a public key are not an uncompressed point of the curve. End the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidPoint;

impl fmt::Display for InvalidPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the public key is not an uncompressed point of P-256: end the handshake")
    }
}

impl core::error::Error for InvalidPoint {}
