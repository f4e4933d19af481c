//! A message on its way through a hash function, piece by piece.

use digest::Digest as _;

use crate::hash::{Digest, Hash};

/// A message on its way through a hash function; on the stack. The crates of the functions wipe it
/// where it is dropped.
#[derive(Clone)]
pub struct Hasher(State);

impl core::fmt::Debug for Hasher {
    /// Shows no state: it holds the end of the message.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Hasher").finish_non_exhaustive()
    }
}

/// Both digests side by side.
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
            /// The start of a message.
            pub fn new(hash: Hash) -> Self {
                Self(match hash {
                    $(Hash::$hash => State::$hash(Default::default()),)*
                })
            }

            /// The next piece of it.
            pub fn update(&mut self, piece: &[u8]) {
                match &mut self.0 {
                    $(State::$hash(state) => state.update(piece),)*
                }
            }

            /// The digest of all pieces.
            pub fn finish(self) -> Digest {
                match self.0 {
                    $(State::$hash(state) => Digest::new(&state.finalize()),)*
                }
            }
        }
    };
}

functions! {
    Md5 = md5::Md5;
    Md5Sha1 = Md5Sha1;
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
}
