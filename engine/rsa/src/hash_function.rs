//! The hash functions of `md-5`, `sha1`, `sha2` and `sha3` as types, and what each is called here.

use digest::{FixedOutput, HashMarker, Update};

use crate::hash::Hash;

/// A hash function as a type, e.g. `sha2::Sha256`: the parameter of signing and verifying keys.
///
/// Implemented for those that [`Hash`](enum@Hash) names. Who has a hash function by value takes the
/// methods of [`PrivateKey`](crate::PrivateKey) and [`PublicKey`](crate::PublicKey).
pub trait HashFunction: Default + FixedOutput + HashMarker + Update + sealed::Sealed {
    /// The same function by value.
    const HASH: Hash;
}

mod sealed {
    /// Keeps a type from claiming to be a function that it is not.
    #[expect(unnameable_types, reason = "that nobody can name it is its purpose")]
    pub trait Sealed {}
}

macro_rules! hash_functions {
    ($($function:ty => $hash:ident,)*) => {$(
        impl sealed::Sealed for $function {}

        impl HashFunction for $function {
            const HASH: Hash = Hash::$hash;
        }
    )*};
}

hash_functions! {
    md5::Md5 => Md5,
    sha1::Sha1 => Sha1,
    sha2::Sha224 => Sha224,
    sha2::Sha256 => Sha256,
    sha2::Sha384 => Sha384,
    sha2::Sha512 => Sha512,
    sha2::Sha512_224 => Sha512_224,
    sha2::Sha512_256 => Sha512_256,
    sha3::Sha3_224 => Sha3_224,
    sha3::Sha3_256 => Sha3_256,
    sha3::Sha3_384 => Sha3_384,
    sha3::Sha3_512 => Sha3_512,
}

/// The digest of what `fill` writes.
pub(crate) fn digest<D: HashFunction>(
    fill: impl FnOnce(&mut D) -> signature::Result<()>,
) -> signature::Result<digest::Output<D>> {
    let mut state = D::default();
    fill(&mut state)?;
    Ok(state.finalize_fixed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees<D: HashFunction>() -> Hash {
        let both = digest::<D>(|state| {
            state.update(b"a");
            state.update(b"bc");
            Ok(())
        });
        assert_eq!(&*both.expect("no error"), D::HASH.digest(b"abc").as_ref(), "{}", D::HASH);
        D::HASH
    }

    #[test]
    fn a_type_is_the_function_that_its_value_names() {
        let types = [
            agrees::<md5::Md5>(),
            agrees::<sha1::Sha1>(),
            agrees::<sha2::Sha224>(),
            agrees::<sha2::Sha256>(),
            agrees::<sha2::Sha384>(),
            agrees::<sha2::Sha512>(),
            agrees::<sha2::Sha512_224>(),
            agrees::<sha2::Sha512_256>(),
            agrees::<sha3::Sha3_224>(),
            agrees::<sha3::Sha3_256>(),
            agrees::<sha3::Sha3_384>(),
            agrees::<sha3::Sha3_512>(),
        ];
        let values = Hash::ALL.into_iter().filter(|&hash| hash != Hash::Md5Sha1); // two in one
        assert!(values.eq(types));
    }
}
