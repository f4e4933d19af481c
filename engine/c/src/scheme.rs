//! Schemes of signatures and encryption, hash functions, and lengths of salts, as numbers.

use core::ffi::c_int;

use tollgate_queue::Work;
use tollgate_rsa::{Hash, Pss, Salt};

use tollgate_hash::*;

use crate::arguments::{Buffer, bytes, object};
use crate::border::enter;
use crate::code::Failure;

/// Hash functions.
#[allow(missing_docs, reason = "their names say which they are")]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum tollgate_hash {
    /// For verification and OAEP only: signatures with SHA-1 can be forged.
    TOLLGATE_SHA1 = 1,
    TOLLGATE_SHA224 = 2,
    TOLLGATE_SHA256 = 3,
    TOLLGATE_SHA384 = 4,
    TOLLGATE_SHA512 = 5,
    TOLLGATE_SHA512_224 = 6,
    TOLLGATE_SHA512_256 = 7,
    TOLLGATE_SHA3_224 = 8,
    TOLLGATE_SHA3_256 = 9,
    TOLLGATE_SHA3_384 = 10,
    TOLLGATE_SHA3_512 = 11,
    TOLLGATE_SM3 = 12,
}

const HASHES: [(tollgate_hash, Hash); 12] = [
    (TOLLGATE_SHA1, Hash::Sha1),
    (TOLLGATE_SHA224, Hash::Sha224),
    (TOLLGATE_SHA256, Hash::Sha256),
    (TOLLGATE_SHA384, Hash::Sha384),
    (TOLLGATE_SHA512, Hash::Sha512),
    (TOLLGATE_SHA512_224, Hash::Sha512_224),
    (TOLLGATE_SHA512_256, Hash::Sha512_256),
    (TOLLGATE_SHA3_224, Hash::Sha3_224),
    (TOLLGATE_SHA3_256, Hash::Sha3_256),
    (TOLLGATE_SHA3_384, Hash::Sha3_384),
    (TOLLGATE_SHA3_512, Hash::Sha3_512),
    (TOLLGATE_SM3, Hash::Sm3),
];

/// The schemes of RFC 8017.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum tollgate_scheme_kind {
    /// Signatures with PKCS#1 v1.5 padding. Uses hash.
    TOLLGATE_RSASSA_PKCS1V15 = 1,
    /// Signatures with PSS padding. Uses hash, mgf_hash, salt and salt_len.
    TOLLGATE_RSASSA_PSS = 2,
    /// Encryption with PKCS#1 v1.5 padding. A ciphertext with bad padding decrypts to a message
    /// that depends on key and ciphertext only (implicit rejection): treat real and such messages
    /// alike, whatever their length.
    TOLLGATE_RSAES_PKCS1V15 = 3,
    /// Encryption with OAEP padding. Uses hash, mgf_hash, label and label_len.
    TOLLGATE_RSAES_OAEP = 4,
}

/// The length of the salt of PSS.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum tollgate_salt {
    /// The length of the digest, as TLS 1.3 requires.
    TOLLGATE_SALT_DIGEST = 0,
    /// salt_len bytes.
    TOLLGATE_SALT_EXACT = 1,
    /// The longest that the key allows.
    TOLLGATE_SALT_MAX = 2,
    /// Any length. For verification only.
    TOLLGATE_SALT_ANY = 3,
}

/// A scheme with its parameters. Set those that you do not use to 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tollgate_scheme {
    /// One of tollgate_scheme_kind.
    pub kind: c_int,
    /// One of tollgate_hash: the function of the digest, or of OAEP's label.
    pub hash: c_int,
    /// One of tollgate_hash: the function of the mask (MGF1). 0 is the same as hash.
    pub mgf_hash: c_int,
    /// One of tollgate_salt.
    pub salt: c_int,
    /// Bytes of salt, for TOLLGATE_SALT_EXACT.
    pub salt_len: usize,
    /// OAEP's label, usually empty: NULL and 0.
    pub label: *const u8,
    /// Bytes of the label.
    pub label_len: usize,
}

/// Writes the digest of a message, of digest_len bytes: the length that the hash function gives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_digest(
    hash: c_int,
    message: *const u8,
    message_len: usize,
    digest: *mut u8,
    digest_len: usize,
) -> c_int {
    enter(|| {
        let hash = hash_of("hash", hash)?;
        // SAFETY: the caller's promise.
        let message = unsafe { bytes("message", message, message_len) }?;
        // SAFETY: the caller's promise.
        let buffer = unsafe { Buffer::new("digest", digest, digest_len) }?;
        let len = hash.len();
        if digest_len != len {
            let text = format!("digest_len is {digest_len}, {hash} gives {len}: pass {len}");
            return Err(Failure::misuse(text));
        }
        buffer.write(hash.digest(message).as_ref());
        Ok(())
    })
}

/// A checked scheme.
#[derive(Clone, Copy)]
pub(crate) enum Scheme<'a> {
    Pkcs1v15Signature { hash: Hash },
    Pss(Pss),
    Pkcs1v15Encryption,
    Oaep { hash: Hash, mgf_hash: Hash, label: &'a [u8] },
}

impl<'a> Scheme<'a> {
    /// Reads a scheme.
    ///
    /// # Safety
    ///
    /// `scheme` is NULL or valid with its label during `'a`.
    pub(crate) unsafe fn read(scheme: *const tollgate_scheme) -> Result<Self, Failure> {
        // SAFETY: the caller's promise.
        let scheme = unsafe { object("scheme", scheme) }?;
        let hash = || hash_of("scheme.hash", scheme.hash);
        let mgf_hash = || match scheme.mgf_hash {
            0 => hash(),
            other => hash_of("scheme.mgf_hash", other),
        };
        Ok(match scheme.kind {
            1 => Self::Pkcs1v15Signature { hash: hash()? },
            2 => {
                let salt = match scheme.salt {
                    0 => Salt::Digest,
                    1 => Salt::Exactly(scheme.salt_len),
                    2 => Salt::Max,
                    3 => Salt::Auto,
                    other => return Err(unknown("scheme.salt", other, "tollgate_salt")),
                };
                Self::Pss(Pss::new(hash()?).with_mgf_hash(mgf_hash()?).with_salt(salt))
            }
            3 => Self::Pkcs1v15Encryption,
            4 => {
                // SAFETY: the caller's promise.
                let label = unsafe { bytes("scheme.label", scheme.label, scheme.label_len) }?;
                Self::Oaep { hash: hash()?, mgf_hash: mgf_hash()?, label }
            }
            other => return Err(unknown("scheme.kind", other, "tollgate_scheme_kind")),
        })
    }

    /// Returns the private operation of the scheme: signature or decryption.
    pub(crate) fn work(self) -> Work {
        match self {
            Self::Pkcs1v15Signature { hash } => Work::SignPkcs1v15 { hash },
            Self::Pss(pss) => Work::SignPss(pss),
            Self::Pkcs1v15Encryption => Work::DecryptPkcs1v15,
            Self::Oaep { hash, mgf_hash, label } => {
                Work::DecryptOaep { label_digest: hash.digest(label), mgf_hash }
            }
        }
    }

    pub(crate) fn is_signature(self) -> bool {
        matches!(self, Self::Pkcs1v15Signature { .. } | Self::Pss(_))
    }

    /// The error of a scheme for encryption where one for signatures is needed.
    pub(crate) fn not_signature() -> Failure {
        let text = "scheme.kind is one for encryption: pass TOLLGATE_RSASSA_PSS or _PKCS1V15";
        Failure::misuse(text)
    }

    /// The error of a scheme for signatures where one for encryption is needed.
    pub(crate) fn not_encryption() -> Failure {
        let text = "scheme.kind is one for signatures: pass TOLLGATE_RSAES_OAEP or _PKCS1V15";
        Failure::misuse(text)
    }
}

fn hash_of(name: &str, number: c_int) -> Result<Hash, Failure> {
    let row = HASHES.iter().find(|(known, _)| *known as c_int == number);
    let hash = row.map(|(_, hash)| *hash);
    hash.ok_or_else(|| unknown(name, number, "tollgate_hash"))
}

fn unknown(name: &str, number: c_int, of: &str) -> Failure {
    Failure::misuse(format!("{name} is {number}, which has no meaning: pass one of {of}"))
}
