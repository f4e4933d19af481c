//! X25519MLKEM768: ML-KEM-768 and X25519 side by side (draft-ietf-tls-ecdhe-mlkem, section 4). In
//! keys, ciphertexts and secrets the part of ML-KEM comes first.

use core::fmt;

use tollgate_cpu::wipe::wipe_stack_after;
use tollgate_curves::{KEY_BYTES, LowOrder, PublicKey, SecretKey, X25519};

use crate::{DecapsulationKey as MlKemPair, EncapsulationKey as MlKemPublic, InvalidKey, MlKem768};

/// The length of a public key, a client's key share, in bytes.
pub const PUBLIC_BYTES: usize = crate::PUBLIC_BYTES + KEY_BYTES;
/// The length of a ciphertext, a server's key share, in bytes.
pub const CIPHERTEXT_BYTES: usize = crate::CIPHERTEXT_BYTES + KEY_BYTES;
/// The length of a shared secret in bytes.
pub const SECRET_BYTES: usize = crate::SECRET_BYTES + KEY_BYTES;
/// The length of the seed of a key pair in bytes.
pub const SEED_BYTES: usize = crate::SEED_BYTES + KEY_BYTES;
/// The length of the random input of an encapsulation in bytes.
pub const RANDOM_BYTES: usize = crate::RANDOM_BYTES + KEY_BYTES;
/// The length of the private halves in bytes, that of ML-KEM in the expanded form.
pub const PRIVATE_BYTES: usize = crate::EXPANDED_BYTES + KEY_BYTES;

/// At least the stack that the code of this module uses above that of its parts, which wipe their
/// own: secrets that are moved leave copies there.
const JOINING_BYTES: usize = 2 << 10;

/// The group with the code of a set of processor features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct X25519MlKem768 {
    /// The code of its first half.
    pub ml_kem: MlKem768,
    /// The code of its second half.
    pub x25519: X25519,
}

impl X25519MlKem768 {
    /// Returns the fastest code that this machine can run.
    #[must_use]
    pub fn best() -> Self {
        Self { ml_kem: MlKem768::best(), x25519: X25519::best() }
    }

    /// Reads a public key.
    ///
    /// # Errors
    ///
    /// [`InvalidKey`] if the length is not [`PUBLIC_BYTES`], or the first half is not valid.
    pub fn encapsulation_key(self, bytes: &[u8]) -> Result<EncapsulationKey, InvalidKey> {
        let (ml_kem, x25519) = bytes.split_last_chunk().ok_or(InvalidKey)?;
        let ml_kem = self.ml_kem.encapsulation_key(ml_kem)?;
        Ok(EncapsulationKey { ml_kem, x25519: PublicKey(*x25519), curve: self.x25519 })
    }

    /// Generates the key pair of a seed, random bytes from a cryptographic generator.
    #[must_use]
    pub fn decapsulation_key(self, seed: &[u8; SEED_BYTES]) -> DecapsulationKey {
        let (ml_kem, x25519) = halves(seed);
        self.pair(self.ml_kem.decapsulation_key(ml_kem), x25519)
    }

    /// Reads the private halves of a key pair.
    ///
    /// # Errors
    ///
    /// [`InvalidKey`] if the length is not [`PRIVATE_BYTES`], or the first half is not valid:
    /// [`MlKem768::expanded_key`].
    pub fn expanded_key(self, bytes: &[u8]) -> Result<DecapsulationKey, InvalidKey> {
        let (ml_kem, x25519) = bytes.split_last_chunk().ok_or(InvalidKey)?;
        Ok(self.pair(self.ml_kem.expanded_key(ml_kem)?, x25519))
    }

    fn pair(self, ml_kem: MlKemPair, x25519: &[u8; KEY_BYTES]) -> DecapsulationKey {
        let (x25519, public) = wipe_stack_after::<JOINING_BYTES, _>(|| {
            let x25519 = Box::new(SecretKey::from_bytes(x25519));
            let public = self.x25519.public_key(&x25519);
            (x25519, public)
        });
        DecapsulationKey { ml_kem, x25519, public, curve: self.x25519 }
    }
}

/// A public key: the key share of a client.
#[derive(Debug)]
pub struct EncapsulationKey {
    ml_kem: MlKemPublic,
    x25519: PublicKey,
    curve: X25519,
}

impl EncapsulationKey {
    /// Returns the encoded key.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; PUBLIC_BYTES] {
        joined(&self.ml_kem, self.x25519)
    }

    /// Writes a secret, and its ciphertext: the key share of a server. `random` is fresh random
    /// bytes from a cryptographic generator, used once.
    ///
    /// # Errors
    ///
    /// [`LowOrder`] if the second half of the key has a low order. The secret is then of no use.
    pub fn encapsulate(
        &self,
        random: &[u8; RANDOM_BYTES],
        ciphertext: &mut [u8; CIPHERTEXT_BYTES],
        secret: &mut [u8; SECRET_BYTES],
    ) -> Result<(), LowOrder> {
        let (of_ml_kem, of_x25519) = halves(random);
        let (sent, public) = halves_mut(ciphertext);
        let (first, second) = halves_mut(secret);
        self.ml_kem.encapsulate(of_ml_kem, sent, first);
        wipe_stack_after::<JOINING_BYTES, _>(|| {
            let key = SecretKey::from_bytes(of_x25519);
            let (ours, shared) = self.curve.exchange(&key, &self.x25519)?;
            *public = ours.0;
            second.copy_from_slice(shared.as_bytes());
            Ok(())
        })
    }
}

/// A key pair of a client. Wiped when dropped.
pub struct DecapsulationKey {
    ml_kem: MlKemPair,
    /// On the heap, so that the key pair can be moved without leaving copies.
    x25519: Box<SecretKey>,
    public: PublicKey,
    curve: X25519,
}

impl DecapsulationKey {
    /// Returns the encoded public key.
    #[must_use]
    pub fn public_bytes(&self) -> [u8; PUBLIC_BYTES] {
        joined(self.ml_kem.encapsulation_key(), self.public)
    }

    /// Writes the private halves, that of ML-KEM in the expanded form.
    pub fn expand(&self, private: &mut [u8; PRIVATE_BYTES]) {
        let (ml_kem, x25519) = halves_mut(private);
        self.ml_kem.expand(ml_kem);
        x25519.copy_from_slice(self.x25519.as_bytes());
    }

    /// Writes the secret of a ciphertext. If another key or a fault made its first half, the secret
    /// is one that nobody else has.
    ///
    /// # Errors
    ///
    /// [`LowOrder`] if the second half has a low order: end the handshake.
    pub fn decapsulate(
        &self,
        ciphertext: &[u8; CIPHERTEXT_BYTES],
        secret: &mut [u8; SECRET_BYTES],
    ) -> Result<(), LowOrder> {
        let (sent, public) = halves(ciphertext);
        let (first, second) = halves_mut(secret);
        self.ml_kem.decapsulate(sent, first);
        self.agree(public, second)
    }

    /// Agrees with a server that chose X25519 alone, for which the second half of the public key is
    /// a key share too.
    ///
    /// # Errors
    ///
    /// [`LowOrder`] if the server's key has a low order: end the handshake.
    pub fn agree(
        &self,
        peer: &[u8; KEY_BYTES],
        secret: &mut [u8; KEY_BYTES],
    ) -> Result<(), LowOrder> {
        wipe_stack_after::<JOINING_BYTES, _>(|| {
            secret.copy_from_slice(self.curve.agree(&self.x25519, &PublicKey(*peer))?.as_bytes());
            Ok(())
        })
    }

    /// Returns whether the halves belong together, as [`crate::DecapsulationKey::is_consistent`]
    /// does. Those of X25519 always do: the public one is computed.
    #[must_use]
    pub fn is_consistent(&self, random: &[u8; crate::RANDOM_BYTES]) -> bool {
        self.ml_kem.is_consistent(random)
    }
}

impl fmt::Debug for DecapsulationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DecapsulationKey(..)")
    }
}

fn joined(ml_kem: &MlKemPublic, x25519: PublicKey) -> [u8; PUBLIC_BYTES] {
    let mut bytes = [0; PUBLIC_BYTES];
    let (first, second) = halves_mut(&mut bytes);
    (*first, *second) = (ml_kem.to_bytes(), x25519.0);
    bytes
}

/// Splits bytes into the half of ML-KEM and that of X25519.
fn halves<const N: usize, const BOTH: usize>(bytes: &[u8; BOTH]) -> (&[u8; N], &[u8; KEY_BYTES]) {
    let (first, second) = bytes.split_at(N);
    let fits = "the lengths are constants of this module";
    (first.try_into().expect(fits), second.try_into().expect(fits))
}

/// Splits bytes as [`halves`] does.
fn halves_mut<const N: usize, const BOTH: usize>(
    bytes: &mut [u8; BOTH],
) -> (&mut [u8; N], &mut [u8; KEY_BYTES]) {
    let (first, second) = bytes.split_at_mut(N);
    let fits = "the lengths are constants of this module";
    (first.try_into().expect(fits), second.try_into().expect(fits))
}
