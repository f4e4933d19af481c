//! Maps the types of the crates `md-5`, `sha1`, `sha2`, `sha3` and others to [`Hash`](enum@Hash).

use digest::{FixedOutput, HashMarker, Update};

use crate::hash::Hash;

/// A hash function as a type, e.g. `sha2::Sha256`: the parameter of signing and verifying keys.
///
/// Implemented for the functions of [`Hash`](enum@Hash), except MD5-SHA1 and MDC-2. To choose the
/// function at run time, use the methods of [`PrivateKey`](crate::PrivateKey) and
/// [`PublicKey`](crate::PublicKey).
pub trait HashFunction: Default + FixedOutput + HashMarker + Update + sealed::Sealed {
    /// The same function as a value.
    const HASH: Hash;
}

mod sealed {
    /// Prevents implementations outside this crate.
    #[expect(unnameable_types, reason = "sealed")]
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
    md4::Md4 => Md4,
    md5::Md5 => Md5,
    ripemd::Ripemd160 => Ripemd160,
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
    sm3::Sm3 => Sm3,
}

/// Returns the digest of the bytes that `fill` writes.
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
    fn each_type_computes_the_function_of_its_value() {
        let types = [
            agrees::<md4::Md4>(),
            agrees::<md5::Md5>(),
            agrees::<ripemd::Ripemd160>(),
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
            agrees::<sm3::Sm3>(),
        ];
        let has_type = |hash: &Hash| !matches!(hash, Hash::Md5Sha1 | Hash::Mdc2);
        assert!(Hash::ALL.into_iter().filter(has_type).eq(types));
    }
}
