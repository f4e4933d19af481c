//! Keys of ML-KEM-768.

use core::fmt;

use zeroize::Zeroizing;

use crate::code::{Private, Public};

/// The length of a public key in bytes (FIPS 203, table 3, as the other lengths).
pub const PUBLIC_BYTES: usize = 1184;
/// The length of a key pair in the expanded form, in bytes.
pub const EXPANDED_BYTES: usize = 2400;
/// The length of the seed of a key pair in bytes.
pub const SEED_BYTES: usize = 64;
/// The length of a ciphertext in bytes.
pub const CIPHERTEXT_BYTES: usize = 1088;
/// The length of a shared secret in bytes.
pub const SECRET_BYTES: usize = 32;
/// The length of the random input of an encapsulation in bytes.
pub const RANDOM_BYTES: usize = 32;

/// The key is not valid: it is not a key of ML-KEM-768, or it was damaged. Refuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidKey;

impl fmt::Display for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this is not a valid key of ML-KEM-768: refuse it")
    }
}

impl core::error::Error for InvalidKey {}

/// A public key, to which its readers encapsulate.
pub struct EncapsulationKey(pub(crate) Public);

impl EncapsulationKey {
    /// Returns the encoded key.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; PUBLIC_BYTES] {
        self.0.to_bytes()
    }

    /// Writes a secret, and its ciphertext for the owner of the key. `random` is fresh random bytes
    /// from a cryptographic generator, used once.
    pub fn encapsulate(
        &self,
        random: &[u8; RANDOM_BYTES],
        ciphertext: &mut [u8; CIPHERTEXT_BYTES],
        secret: &mut [u8; SECRET_BYTES],
    ) {
        self.0.encapsulate(random, ciphertext, secret);
    }
}

impl fmt::Debug for EncapsulationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncapsulationKey(..)")
    }
}

/// A key pair. Wiped when dropped.
pub struct DecapsulationKey {
    public: EncapsulationKey,
    private: Private,
    seed: Option<Box<Zeroizing<[u8; SEED_BYTES]>>>,
}

impl DecapsulationKey {
    pub(crate) fn new(
        public: EncapsulationKey,
        private: Private,
        seed: Option<&[u8; SEED_BYTES]>,
    ) -> Self {
        Self { public, private, seed: seed.map(|seed| Box::new(Zeroizing::new(*seed))) }
    }

    /// Returns the public half.
    #[must_use]
    pub fn encapsulation_key(&self) -> &EncapsulationKey {
        &self.public
    }

    /// Returns the seed, if it is known.
    #[must_use]
    pub fn seed(&self) -> Option<&[u8; SEED_BYTES]> {
        self.seed.as_ref().map(|seed| &***seed)
    }

    /// Writes the expanded form of the key pair.
    pub fn expand(&self, expanded: &mut [u8; EXPANDED_BYTES]) {
        self.private.expand(expanded);
    }

    /// Writes the secret of a ciphertext. If another key or a fault made the ciphertext, the secret
    /// is a random one that depends on both (implicit rejection). Constant time.
    pub fn decapsulate(
        &self,
        ciphertext: &[u8; CIPHERTEXT_BYTES],
        secret: &mut [u8; SECRET_BYTES],
    ) {
        self.private.decapsulate(ciphertext, secret);
    }

    /// Returns whether the halves belong together: a secret that is encapsulated to the public half
    /// comes out of the private half (the pair-wise test of FIPS 203, section 7.1). `random` is as
    /// in [`EncapsulationKey::encapsulate`].
    #[must_use]
    pub fn is_consistent(&self, random: &[u8; RANDOM_BYTES]) -> bool {
        let mut ciphertext = [0; CIPHERTEXT_BYTES];
        let [mut sent, mut received] = [(); 2].map(|()| Zeroizing::new([0; SECRET_BYTES]));
        self.public.encapsulate(random, &mut ciphertext, &mut sent);
        self.decapsulate(&ciphertext, &mut received);
        // both are used for nothing else
        sent == received
    }
}

impl fmt::Debug for DecapsulationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DecapsulationKey(..)")
    }
}
