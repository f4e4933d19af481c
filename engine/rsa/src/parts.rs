//! The numbers of a private key file: big-endian byte strings, not yet checked.

use core::fmt;

use zeroize::Zeroizing;

/// A private key's numbers, big-endian, with RFC 8017's names; leading zeros are allowed.
///
/// The secret numbers are zeroized on drop. They are checked only by
/// [`PrivateKey::from_parts`](crate::PrivateKey::from_parts).
#[derive(Clone)]
pub struct KeyParts {
    /// The modulus.
    pub n: Vec<u8>,
    /// The public exponent.
    pub e: Vec<u8>,
    /// The private exponent.
    pub d: Zeroizing<Vec<u8>>,
    /// The first prime.
    pub p: Zeroizing<Vec<u8>>,
    /// The second prime.
    pub q: Zeroizing<Vec<u8>>,
    /// The first CRT exponent, d mod (p-1).
    pub d_p: Zeroizing<Vec<u8>>,
    /// The second CRT exponent, d mod (q-1).
    pub d_q: Zeroizing<Vec<u8>>,
    /// The CRT coefficient, 1/q mod p.
    pub q_inv: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for KeyParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyParts").field("n", &self.n).field("e", &self.e).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let secret = || Zeroizing::new(vec![211]); // a value that n and e do not contain
        let parts = KeyParts {
            n: vec![1, 2],
            e: vec![3],
            d: secret(),
            p: secret(),
            q: secret(),
            d_p: secret(),
            d_q: secret(),
            q_inv: secret(),
        };
        let text = format!("{parts:?}");
        assert!(text.contains("n: [1, 2]"), "{text}");
        assert!(!text.contains("211"), "{text}");
    }
}
