//! Operations with a private key and their paddings.

use core::ops::Range;

use tollgate_rsa::{
    Digest, Error, Hash, PrivateKey, Pss, Rejected, TlsVersions, implicit_rejection, oaep,
    pkcs1v15, premaster, pss,
};
use zeroize::Zeroize;

/// An operation with a private key.
///
/// Signatures with MD5, SHA-1 and other hash functions without collision resistance are refused. A
/// program that must make them, as OpenSSL does, pads the digest itself ([`pkcs1v15::encode`],
/// [`pss::encode_random`]) and uses [`Raw`](Self::Raw).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Work {
    /// RSASSA-PKCS1-v1_5 of a digest (RFC 8017 §8.2.1).
    SignPkcs1v15 {
        /// The hash function of the digest.
        hash: Hash,
    },
    /// RSASSA-PSS of a digest (RFC 8017 §8.1.1), with a random salt.
    SignPss(Pss),
    /// RSAES-PKCS1-v1_5 of a ciphertext (RFC 8017 §7.2.2) with implicit rejection: see
    /// [`PrivateKey::decrypt_pkcs1v15`].
    DecryptPkcs1v15,
    /// RSAES-OAEP of a ciphertext (RFC 8017 §7.1.2).
    DecryptOaep {
        /// The digest of the label: `hash.digest(label)`. Its length is OAEP's hash length.
        label_digest: Digest,
        /// The hash function of MGF1.
        mgf_hash: Hash,
    },
    /// The premaster secret of a TLS client (RFC 5246 §7.4.7.1): 48 bytes, random if the ciphertext
    /// is invalid in any way, its length included.
    DecryptTlsPremaster {
        /// The versions that the secret may begin with.
        versions: TlsVersions,
    },
    /// c^d mod n, without padding.
    Raw,
}

impl Work {
    /// Checks the length of `input` and the hash function.
    pub(crate) fn check(self, key: &PrivateKey, input: &[u8]) -> Result<(), Error> {
        match self {
            Self::SignPkcs1v15 { hash } => hash.check_to_sign().and_then(|()| hash.check(input)),
            Self::SignPss(pss) => Self::SignPkcs1v15 { hash: pss.hash() }.check(key, input),
            Self::DecryptPkcs1v15 | Self::DecryptOaep { .. } if input.len() != key.size() => {
                Err(Rejected::DecryptionFailed.into())
            }
            Self::Raw => key.public().check_length(input),
            Self::DecryptPkcs1v15 | Self::DecryptOaep { .. } | Self::DecryptTlsPremaster { .. } => {
                Ok(())
            }
        }
    }

    /// Writes the padded `input` to `em`, which has the key's size.
    pub(crate) fn encode(self, key: &PrivateKey, input: &[u8], em: &mut [u8]) -> Result<(), Error> {
        match self {
            Self::SignPkcs1v15 { hash } => pkcs1v15::encode(em, hash, input),
            Self::SignPss(pss) => pss::encode_random(em, key.bits(), pss, input),
            Self::DecryptTlsPremaster { .. } if input.len() != em.len() => {
                em.fill(0xff); // at least n: rejected like any other invalid ciphertext
                Ok(())
            }
            _ => {
                em.copy_from_slice(input);
                Ok(())
            }
        }
    }

    /// Returns the range of the result in `em`, the output for `input`. Constant time except for
    /// the result's length.
    pub(crate) fn decode(
        self,
        key: &PrivateKey,
        input: &[u8],
        em: &mut [u8],
        outcome: Result<(), Error>,
    ) -> Result<Range<usize>, Error> {
        let size = em.len();
        let at_the_end = |message: &[u8]| size - message.len()..size;
        match (self, outcome) {
            (Self::SignPkcs1v15 { .. } | Self::SignPss(_) | Self::Raw, outcome) => {
                outcome.map(|()| 0..size)
            }
            (Self::DecryptTlsPremaster { versions }, outcome) => {
                let substitute = premaster::substitute()?;
                let secret = match outcome {
                    Ok(()) => premaster::decode(em, versions, substitute),
                    Err(Error::Rejected(_)) => substitute,
                    Err(error) => return Err(error),
                };
                em.zeroize();
                let slot = at_the_end(&*secret);
                em[slot.clone()].copy_from_slice(&*secret);
                Ok(slot)
            }
            (_, Err(Error::Rejected(_))) => Err(Rejected::DecryptionFailed.into()),
            (_, Err(error)) => Err(error),
            (Self::DecryptPkcs1v15, Ok(())) => {
                implicit_rejection::decode(em, &key.rejection_key(input)?).map(at_the_end)
            }
            (Self::DecryptOaep { label_digest, mgf_hash }, Ok(())) => {
                oaep::decode_with_label_digest(em, &label_digest, mgf_hash).map(at_the_end)
            }
        }
    }
}
