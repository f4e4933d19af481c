//! Calls of libcrypto that a session needs and that can be measured alone.

use core::fmt;

use tollgate_record::vocabulary as word;
use tollgate_record::{BadSubject, Subject, Topic};

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
    /// Signs with PKCS#1 v1.5 and SHA-256.
    SignPkcs1,
    /// Signs with PSS and SHA-256.
    SignPss,
}

/// The group of a key agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    P256,
    X25519,
}

/// A call, or the sequence of calls, that libssl makes to libcrypto for one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Primitive {
    /// The private-key operation.
    Rsa(PrivateOperation),
    /// An ephemeral key pair.
    Generate(Group),
    /// The agreement with the client's public key.
    Agree(Group),
    /// The PRF of TLS 1.2 for this many bytes.
    Prf(u32),
    /// HKDF-Extract: one HMAC of a short text. The HMAC of a Finished also counts as one `Extract`.
    Extract,
    /// HKDF-Expand with an output of at most one hash.
    Expand,
    /// SHA-256 of this many bytes.
    Hash(u32),
    /// A context and key for records in one direction.
    RecordKey,
    /// Encryption of a record of this many bytes.
    Seal(u32),
    /// Decryption of a record of this many bytes.
    Open(u32),
}

impl Primitive {
    /// The part of a session that the primitive belongs to.
    pub(crate) const fn part(self) -> &'static str {
        match self {
            Self::Rsa(_) => word::PART_RSA,
            Self::Generate(_) | Self::Agree(_) => word::PART_KEY_EXCHANGE,
            Self::Prf(_) | Self::Extract | Self::Expand | Self::Hash(_) => word::PART_KEY_SCHEDULE,
            Self::RecordKey | Self::Seal(_) | Self::Open(_) => word::PART_RECORDS,
        }
    }

    /// The subject of the primitive's figure. It names the key or the engine only if that affects
    /// the cost.
    pub(crate) fn subject(self, session: &Session) -> Result<Subject, BadSubject> {
        let name = match self {
            Self::Rsa(operation) => format!("{}/{operation}", session.key),
            Self::Generate(group) => format!("{group}/generate"),
            Self::Agree(group) => format!("{group}/agree"),
            Self::Prf(_) => "tls12-prf".to_owned(),
            Self::Extract => "hkdf-extract".to_owned(),
            Self::Expand => "hkdf-expand".to_owned(),
            Self::Hash(_) => "sha-256".to_owned(),
            Self::RecordKey => "aes-128-gcm/key".to_owned(),
            Self::Seal(_) => "aes-128-gcm/seal".to_owned(),
            Self::Open(_) => "aes-128-gcm/open".to_owned(),
        };
        let subject = Subject::new(Topic::Primitive(name))?;
        match self {
            Self::Rsa(_) | Self::Generate(_) | Self::Agree(_) => {
                subject.with(word::BY, session.engine)
            }
            Self::Prf(bytes) | Self::Hash(bytes) | Self::Seal(bytes) | Self::Open(bytes) => {
                subject.with(word::BYTES, bytes)
            }
            Self::Extract | Self::Expand | Self::RecordKey => Ok(subject),
        }
    }
}

impl fmt::Display for PrivateOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Decrypt => "decrypt",
            Self::SignPkcs1 => "sign-pkcs1",
            Self::SignPss => "sign-pss",
        })
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::P256 => "p-256",
            Self::X25519 => "x25519",
        })
    }
}
