//! Incremental hashing by a function that is chosen at run time.

use digest::Digest as _;

use crate::hash::{Digest, Hash};
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

/// Computes both digests.
#[derive(Clone, Default)]
struct Md5Sha1(md5::Md5, sha1::Sha1);

impl Md5Sha1 {
    fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
        self.1.update(piece);
    }

    fn finalize(self) -> [u8; 36] {
        let mut both = [0; 36];
        both[..16].copy_from_slice(&self.0.finalize());
        both[16..].copy_from_slice(&self.1.finalize());
        both
    }
}

macro_rules! functions {
    ($($hash:ident = $state:ty;)*) => {
        #[derive(Clone)]
        enum State {
            $($hash($state),)*
        }

        impl Hasher {
            /// Returns the state before a message.
            pub fn new(hash: Hash) -> Self {
                Self(match hash {
                    $(Hash::$hash => State::$hash(Default::default()),)*
                })
            }

            /// Hashes the next piece of the message.
            pub fn update(&mut self, piece: &[u8]) {
                match &mut self.0 {
                    $(State::$hash(state) => state.update(piece),)*
                }
            }

            /// Returns the digest of all pieces.
            pub fn finish(self) -> Digest {
                match self.0 {
                    $(State::$hash(state) => Digest::new(&state.finalize()),)*
                }
            }
        }
    };
}

functions! {
    Md4 = md4::Md4;
    Md5 = md5::Md5;
    Md5Sha1 = Md5Sha1;
    Mdc2 = Mdc2;
    Ripemd160 = ripemd::Ripemd160;
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
