//! The common part of the signing and verifying keys of both paddings: the `Signature` type of each
//! padding, the encodings of keys, and the traits that follow from signing and verifying a digest.

/// Declares a `Signature` type.
macro_rules! signature {
    ($(#[$doc:meta])*) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Signature {
            bytes: Box<[u8]>,
        }

        impl Signature {
            /// Length of the longest signature in bytes.
            pub const MAX_LEN: usize = $crate::MODULUS_BYTES_MAX;

            /// Returns the signature that `write` writes to a buffer of the key's size.
            fn write(
                key: &$crate::PrivateKey,
                write: impl FnOnce(&mut $crate::Workspace, &mut [u8]) -> Result<(), $crate::Error>,
            ) -> Result<Self, $crate::Error> {
                Ok(Self { bytes: key.public().fill(write)?.into_boxed_slice() })
            }
        }

        impl signature::SignatureEncoding for Signature {
            type Repr = Box<[u8]>;
        }

        impl TryFrom<&[u8]> for Signature {
            type Error = signature::Error;

            /// Fails if there are more than [`MAX_LEN`](Self::MAX_LEN) bytes.
            fn try_from(bytes: &[u8]) -> signature::Result<Self> {
                if bytes.len() > Self::MAX_LEN {
                    return Err(signature::Error::new());
                }
                Ok(Self { bytes: bytes.into() })
            }
        }

        impl From<Signature> for Box<[u8]> {
            fn from(signature: Signature) -> Self {
                signature.bytes
            }
        }

        impl AsRef<[u8]> for Signature {
            fn as_ref(&self) -> &[u8] {
                &self.bytes
            }
        }
    };
}

/// Implements `Clone`, `Debug`, `AsRef` and `From` for a key with `inner` and the given fields.
macro_rules! key_traits {
    ($name:ident, $key:ty $(, $field:ident)?) => {
        impl<D> Clone for $name<D> {
            fn clone(&self) -> Self {
                Self { key: Arc::clone(&self.key), $($field: self.$field,)? hash: PhantomData }
            }
        }

        impl<D> AsRef<$key> for $name<D> {
            fn as_ref(&self) -> &$key {
                &self.key
            }
        }

        impl<D: HashFunction> From<$key> for $name<D> {
            fn from(key: $key) -> Self {
                Self::new(key)
            }
        }

        impl<D: HashFunction> core::fmt::Debug for $name<D> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("key", &self.key)
                    .field("hash", &D::HASH)
                    $(.field(stringify!($field), &self.$field))?
                    .finish()
            }
        }
    };
}

/// Implements the traits of a `SigningKey` that follow from `PrehashSigner`. Also implements
/// PKCS#8, which contains the private key but no padding.
macro_rules! signing_key {
    ($($field:ident)?) => {
        $crate::encoded::key_traits!(SigningKey, $crate::PrivateKey $(, $field)?);

        impl<D: HashFunction> signature::Signer<Signature> for SigningKey<D> {
            fn try_sign(&self, msg: &[u8]) -> signature::Result<Signature> {
                self.sign_prehash(D::HASH.digest(msg).as_ref())
            }
        }

        impl<D: HashFunction> TryFrom<pkcs8::PrivateKeyInfoRef<'_>> for SigningKey<D> {
            type Error = pkcs8::Error;

            fn try_from(info: pkcs8::PrivateKeyInfoRef<'_>) -> pkcs8::Result<Self> {
                $crate::PrivateKey::try_from(info).map(Self::new)
            }
        }

        impl<D: HashFunction> pkcs8::EncodePrivateKey for SigningKey<D> {
            fn to_pkcs8_der(&self) -> pkcs8::Result<der::SecretDocument> {
                self.key.to_pkcs8_der()
            }
        }
    };
}

/// Implements the traits of a `VerifyingKey` that follow from `PrehashVerifier`. Also implements
/// SPKI, which contains the public key but no padding.
macro_rules! verifying_key {
    ($($field:ident)?) => {
        $crate::encoded::key_traits!(VerifyingKey, $crate::PublicKey $(, $field)?);

        impl<D: HashFunction> signature::Verifier<Signature> for VerifyingKey<D> {
            fn verify(&self, msg: &[u8], signature: &Signature) -> signature::Result<()> {
                self.verify_prehash(D::HASH.digest(msg).as_ref(), signature)
            }
        }

        impl<D: HashFunction> TryFrom<spki::SubjectPublicKeyInfoRef<'_>> for VerifyingKey<D> {
            type Error = spki::Error;

            fn try_from(info: spki::SubjectPublicKeyInfoRef<'_>) -> spki::Result<Self> {
                $crate::PublicKey::try_from(info).map(Self::new)
            }
        }

        impl<D: HashFunction> spki::EncodePublicKey for VerifyingKey<D> {
            fn to_public_key_der(&self) -> spki::Result<der::Document> {
                self.key.to_public_key_der()
            }
        }
    };
}

pub(crate) use {key_traits, signature, signing_key, verifying_key};
