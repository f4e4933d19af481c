//! Calls of libcrypto that a session needs and that can be measured alone.

use core::ffi::CStr;
use core::fmt;

use tollgate_record::vocabulary as word;
use tollgate_record::{BadSubject, Subject, Topic};
use tollgate_tls_client::{Cipher, Group, MacHash};

use crate::plan::Session;

/// The lengths in bytes of the small and the large hash input, from which the cost per byte is
/// computed.
pub(crate) const HASH_BYTES: [u32; 2] = [64, 1088];
/// The lengths in bytes of the small and the large record. The large one is a full record.
pub(crate) const RECORD_BYTES: [u32; 2] = [64, 16_384];

/// An operation with the private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PrivateOperation {
    /// Decrypts a premaster secret.
    Decrypt,
    /// Signs with ECDSA or Ed25519.
    Sign,
    /// Signs with PKCS#1 v1.5 and SHA-256.
    SignPkcs1,
    /// Signs with PSS and SHA-256.
    SignPss,
}

/// A key encapsulation mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kem {
    MlKem768,
    X25519MlKem768,
}

impl Kem {
    /// OpenSSL's name of the algorithm; in lower case, that in subjects.
    pub(crate) const fn algorithm(self) -> &'static CStr {
        match self {
            Self::MlKem768 => c"ML-KEM-768",
            Self::X25519MlKem768 => c"X25519MLKEM768",
        }
    }
}

/// A call, or the sequence of calls, that libssl makes to libcrypto for one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Primitive {
    /// The private-key operation.
    Private(PrivateOperation),
    /// An ephemeral key pair.
    Generate(Group),
    /// The agreement with the client's public key.
    Agree(Group),
    /// The client's public key is read, checked and expanded.
    ReadKey(Kem),
    /// A secret is encapsulated to the client's public key, in place of a key pair and an
    /// agreement. With the hybrid this includes reading the key.
    Encapsulate(Kem),
    /// The PRF of TLS 1.2 for this many bytes.
    Prf(MacHash, u32),
    /// HKDF-Extract: one HMAC of a short text. The HMAC of a Finished also counts as one `Extract`.
    Extract(MacHash),
    /// HKDF-Expand with an output of at most one hash.
    Expand(MacHash),
    /// The hash of this many bytes.
    Hash(MacHash, u32),
    /// A context and key for records in one direction.
    RecordKey(Cipher),
    /// Encryption of a record of this many bytes; with CBC the IV and the padding count.
    Seal(Cipher, u32),
    /// Decryption of a record of this many bytes.
    Open(Cipher, u32),
    /// The HMAC of a record of this many bytes, and of its header.
    Mac(MacHash, u32),
}

impl Primitive {
    /// The part of a session that the primitive belongs to.
    pub(crate) const fn part(self) -> &'static str {
        match self {
            Self::Private(PrivateOperation::Sign) => word::PART_SIGNATURE,
            Self::Private(_) => word::PART_RSA,
            Self::Generate(_) | Self::Agree(_) | Self::ReadKey(_) | Self::Encapsulate(_) => {
                word::PART_KEY_EXCHANGE
            }
            Self::Prf(..) | Self::Extract(_) | Self::Expand(_) | Self::Hash(..) => {
                word::PART_KEY_SCHEDULE
            }
            Self::RecordKey(_) | Self::Seal(..) | Self::Open(..) => word::PART_RECORDS,
            Self::Mac(..) => word::PART_MAC,
        }
    }

    /// The subject of the primitive's figure, if it runs in batches of this size. It names the key
    /// or the engine only if that affects the cost.
    pub(crate) fn subject(self, session: &Session, batch: u32) -> Result<Subject, BadSubject> {
        let cipher_word = |cipher| cipher_name(cipher).to_ascii_lowercase();
        let name = match self {
            Self::Private(operation) => format!("{}/{operation}", session.key),
            Self::Generate(group) => format!("{}/generate", group_word(group)),
            Self::Agree(group) => format!("{}/agree", group_word(group)),
            Self::ReadKey(kem) => format!("{}/read-key", kem_word(kem)),
            Self::Encapsulate(kem) => format!("{}/encapsulate", kem_word(kem)),
            Self::Prf(hash, _) => format!("tls12-prf{}", suffix(hash)),
            Self::Extract(hash) => format!("hkdf-extract{}", suffix(hash)),
            Self::Expand(hash) => format!("hkdf-expand{}", suffix(hash)),
            Self::Hash(hash, _) => hash_word(hash),
            Self::RecordKey(cipher) => format!("{}/key", cipher_word(cipher)),
            Self::Seal(cipher, _) => format!("{}/seal", cipher_word(cipher)),
            Self::Open(cipher, _) => format!("{}/open", cipher_word(cipher)),
            Self::Mac(hash, _) => format!("hmac-{}", hash_word(hash)),
        };
        let subject = Subject::new(Topic::Primitive(name))?;
        match self {
            Self::Private(_)
            | Self::Generate(_)
            | Self::Agree(_)
            | Self::ReadKey(_)
            | Self::Encapsulate(_) => {
                let subject = subject.with(word::BY, session.engine)?;
                if batch > 1 { subject.with(word::BATCH, batch) } else { Ok(subject) }
            }
            Self::Prf(_, bytes)
            | Self::Hash(_, bytes)
            | Self::Seal(_, bytes)
            | Self::Open(_, bytes)
            | Self::Mac(_, bytes) => subject.with(word::BYTES, bytes),
            Self::Extract(_) | Self::Expand(_) | Self::RecordKey(_) => Ok(subject),
        }
    }
}

/// The hash function of a derivation, if it is not SHA-256.
fn suffix(hash: MacHash) -> String {
    match hash {
        MacHash::Sha256 => String::new(),
        other => format!("/{}", hash_word(other)),
    }
}

/// OpenSSL's name of a hash function; in lower case, that in subjects.
pub(crate) const fn hash_name(hash: MacHash) -> &'static CStr {
    match hash {
        MacHash::Sha1 => c"SHA-1",
        MacHash::Sha256 => c"SHA-256",
        MacHash::Sha384 => c"SHA-384",
    }
}

fn hash_word(hash: MacHash) -> String {
    hash_name(hash).to_string_lossy().to_ascii_lowercase()
}

/// OpenSSL's name of a record cipher; in lower case, that in subjects. The HMAC of CBC is another
/// primitive.
pub(crate) const fn cipher_name(cipher: Cipher) -> &'static str {
    match cipher {
        Cipher::Aes128Gcm => "AES-128-GCM",
        Cipher::Aes256Gcm => "AES-256-GCM",
        Cipher::ChaCha20Poly1305 => "ChaCha20-Poly1305",
        Cipher::Aes128Cbc(_) => "AES-128-CBC",
        Cipher::Aes256Cbc(_) => "AES-256-CBC",
        // The server has no suites with these two.
        Cipher::TripleDesCbc(_) => "DES-EDE3-CBC",
        Cipher::Rc4(_) => "RC4",
    }
}

fn group_word(group: Group) -> String {
    match group {
        Group::P256 => "p-256".to_owned(),
        Group::P384 => "p-384".to_owned(),
        other => other.name().to_ascii_lowercase(),
    }
}

fn kem_word(kem: Kem) -> String {
    kem.algorithm().to_string_lossy().to_ascii_lowercase()
}

impl fmt::Display for PrivateOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Decrypt => "decrypt",
            Self::Sign => "sign",
            Self::SignPkcs1 => "sign-pkcs1",
            Self::SignPss => "sign-pss",
        })
    }
}
