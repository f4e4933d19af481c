//! Hashing by a function that is chosen at run time, and hash functions as types: those of the
//! crates `md-5`, `sha1`, `sha2`, `sha3` and others.

use sha2::digest::{FixedOutput, Update};

use crate::error::{Error, Rejected};
use crate::hash::{Digest, Hash};
#[cfg(feature = "legacy-hashes")]
use crate::mdc2::Mdc2;

/// The state of a hash function between two pieces of a message, stored inline. Wiped when dropped.
#[derive(Clone)]
pub struct Hasher(State);

impl core::fmt::Debug for Hasher {
    /// Omits the state: it contains the last bytes of the message.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Hasher").finish_non_exhaustive()
    }
}

/// A hash function as a type, e.g. `sha2::Sha256`: the parameter of signing and verifying keys.
///
/// Implemented for the functions of [`Hash`](enum@Hash), except MD5-SHA1 and MDC-2. To choose the
/// function at run time, use the methods of [`PrivateKey`](crate::PrivateKey) and
/// [`PublicKey`](crate::PublicKey).
pub trait HashFunction: sealed::Sealed {
    /// The same function as a value.
    const HASH: Hash;
}

mod sealed {
    /// Prevents implementations outside this crate.
    #[expect(unnameable_types, reason = "sealed")]
    pub trait Sealed {}
}

impl Hash {
    /// Returns the digest of `message`.
    pub fn digest(self, message: &[u8]) -> Digest {
        self.digest_parts(&[message])
    }

    /// Returns the digest of the concatenation of `parts`.
    pub fn digest_parts(self, parts: &[&[u8]]) -> Digest {
        let mut hasher = Hasher::new(self);
        parts.iter().for_each(|part| hasher.update(part));
        hasher.finish()
    }

    /// Checks that it is safe to sign with this function.
    ///
    /// MD4, MD5 and SHA-1 have known collisions, and digests of 128 or 160 bits (MDC-2, RIPEMD-160)
    /// are too short to prevent them: an attacker who chooses part of the message can forge a
    /// signature.
    ///
    /// Encoders do not make this check. To sign for a peer that supports nothing else, encode
    /// ([`pkcs1v15::encode`](crate::pkcs1v15::encode),
    /// [`pss::encode_random`](crate::pss::encode_random)) and call
    /// [`private`](crate::PrivateKey::private).
    ///
    /// # Errors
    ///
    /// [`Rejected::HashBroken`].
    pub fn check_to_sign(self) -> Result<(), Error> {
        // the digests of MD5 and SHA-1 together are longer, but not stronger
        if self.len() < 28 || self.name() == "MD5-SHA1" {
            return Err(Rejected::HashBroken(self).into());
        }
        Ok(())
    }

    /// Checks that `digest` has this function's length.
    ///
    /// # Errors
    ///
    /// [`Rejected::DigestLength`] with both lengths.
    pub fn check(self, digest: &[u8]) -> Result<(), Error> {
        if digest.len() == self.len() {
            return Ok(());
        }
        Err(Rejected::DigestLength { found_bytes: digest.len(), expected_bytes: self.len() }.into())
    }
}

/// Computes both digests.
#[cfg(feature = "legacy-hashes")]
#[derive(Clone, Default)]
struct Md5Sha1(md5::Md5, sha1::Sha1);

#[cfg(feature = "legacy-hashes")]
impl Md5Sha1 {
    fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
        self.1.update(piece);
    }

    fn finalize(self) -> [u8; 36] {
        let mut digests = [0; 36];
        digests[..16].copy_from_slice(&self.0.finalize_fixed());
        digests[16..].copy_from_slice(&self.1.finalize_fixed());
        digests
    }
}

macro_rules! functions {
    ({ $($hash:ident $([$feature:literal])? = $type:ty;)* }
     { $($only_value:ident [$old:literal] = $state:ty;)* }) => {
        #[derive(Clone)]
        enum State {
            $($(#[cfg(feature = $feature)])? $hash($type),)*
            $(#[cfg(feature = $old)] $only_value($state),)*
        }

        impl Hasher {
            /// Returns the state before a message.
            pub fn new(hash: Hash) -> Self {
                Self(match hash {
                    $(
                        $(#[cfg(feature = $feature)])?
                        Hash::$hash => State::$hash(Default::default()),
                    )*
                    $(
                        #[cfg(feature = $old)]
                        Hash::$only_value => State::$only_value(Default::default()),
                    )*
                })
            }

            /// Hashes the next piece of the message.
            pub fn update(&mut self, piece: &[u8]) {
                match &mut self.0 {
                    $($(#[cfg(feature = $feature)])? State::$hash(state) => state.update(piece),)*
                    $(#[cfg(feature = $old)] State::$only_value(state) => state.update(piece),)*
                }
            }

            /// Returns the digest of all pieces.
            pub fn finish(self) -> Digest {
                match self.0 {
                    $(
                        $(#[cfg(feature = $feature)])?
                        State::$hash(state) => Digest::new(&state.finalize_fixed()),
                    )*
                    $(
                        #[cfg(feature = $old)]
                        State::$only_value(state) => Digest::new(&state.finalize()),
                    )*
                }
            }
        }

        $(
            $(#[cfg(feature = $feature)])?
            impl sealed::Sealed for $type {}

            $(#[cfg(feature = $feature)])?
            impl HashFunction for $type {
                const HASH: Hash = Hash::$hash;
            }
        )*
    };
}

functions! {
    {
        Md4 ["legacy-hashes"] = md4::Md4;
        Md5 ["legacy-hashes"] = md5::Md5;
        Ripemd160 ["legacy-hashes"] = ripemd::Ripemd160;
        Sha1 = sha1::Sha1;
        Sha224 = sha2::Sha224;
        Sha256 = sha2::Sha256;
        Sha384 = sha2::Sha384;
        Sha512 = sha2::Sha512;
        Sha512_224 = sha2::Sha512_224;
        Sha512_256 = sha2::Sha512_256;
        Sha3_224 = sha3::Sha3_224;
        Sha3_256 = sha3::Sha3_256;
        Sha3_384 = sha3::Sha3_384;
        Sha3_512 = sha3::Sha3_512;
        Sm3 = sm3::Sm3;
    }
    {
        Md5Sha1 ["legacy-hashes"] = Md5Sha1;
        Mdc2 ["legacy-hashes"] = Mdc2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_without_collision_resistance_are_refused_for_signing() {
        for &hash in Hash::ALL {
            let is_long = hash.len() >= 28 && hash != Hash::Md5Sha1;
            let expected = if is_long { Ok(()) } else { Err(Rejected::HashBroken(hash).into()) };
            assert_eq!(hash.check_to_sign(), expected, "{hash}");
        }
    }
}
