//! Errors that say who must act, and in which phase of the session.

use core::fmt;

use crate::phase::Phase;
use crate::wire::{AlertDescription, AlertLevel, Content, Extension, Message};

/// Why a connection cannot go on. The connection answers every further call with the same error
/// until it is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The server ended the session with an alert. The server's log says why.
    Alert {
        /// When it came.
        phase: Phase,
        /// Its level.
        level: AlertLevel,
        /// What it says.
        description: AlertDescription,
    },
    /// The stream ended before the server's `close_notify`. The server's log says why.
    EndOfStream {
        /// When it ended.
        phase: Phase,
    },
    /// The caller broke the documented contract. Fixed by reading code.
    Misuse(Misuse),
    /// Something outside this crate did not answer. Retry, or repair the system.
    Unavailable(Unavailable),
    /// The server, or something between, broke the protocol or an expectation of the settings.
    Violation {
        /// When it was found.
        phase: Phase,
        /// What was broken.
        violation: Violation,
    },
}

impl Error {
    /// The phase of the session in which it happened; `None` for what is not of a session.
    pub const fn phase(&self) -> Option<Phase> {
        match self {
            Self::Alert { phase, .. }
            | Self::EndOfStream { phase }
            | Self::Violation { phase, .. } => Some(*phase),
            Self::Misuse(_) | Self::Unavailable(_) => None,
        }
    }
}

/// A broken contract between the caller and this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// A protocol name for ALPN has 1 to 255 bytes, and all with their lengths at most 8192.
    Alpn,
    /// More early data than the saved session allows, or some in TLS 1.2, which has none.
    EarlyData,
    /// More bytes were announced as received than the buffer had room for.
    FilledTooMuch,
    /// A group stands twice among the settings.
    GroupTwice,
    /// The suite cannot agree on keys in a group of the settings.
    GroupUnfit,
    /// A client certificate cannot be read, or the key is not the one of the certificate in PKCS#8.
    Identity,
    /// The suite agrees on keys in a group, and the settings name none.
    NoGroup,
    /// The settings name no signature scheme.
    NoScheme,
    /// Application data or a key update before the handshake was over.
    NotEstablished,
    /// The pinned key or certificate is not DER of a certificate or of a key that is known here.
    Pin,
    /// Application data or a key update after `close`.
    SendAfterClose,
    /// More bytes were announced as sent than were waiting.
    SentTooMuch,
    /// The session to be resumed is empty, or of another suite.
    SessionUnfit,
    /// A server name is a DNS name in ASCII, of at most 253 bytes, and no address.
    ServerName,
    /// A key update in TLS 1.2, which has none.
    UpdateUnknown,
}

/// Something outside this crate did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unavailable {
    /// No key pair was generated.
    KeyGeneration,
    /// The system gave no random bytes.
    Random,
    /// The key of the client certificate did not sign.
    Signature,
}

/// What the server broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The server chose an application protocol that was not offered.
    Alpn,
    /// The server's Finished does not match the transcript.
    BadFinished,
    /// A record did not decrypt.
    BadRecordMac,
    /// The signature of the key exchange does not verify against the certificate's key.
    BadSignature,
    /// The leaf certificate or its public key could not be read.
    Certificate,
    /// The certificate holds a key that does not fit the suite, or of a kind not known here.
    CertificateKeyType,
    /// The server chose a suite that was not offered.
    CipherSuite {
        /// Its number.
        found: u16,
    },
    /// A message is malformed.
    Decode {
        /// The message.
        message: Message,
        /// The field at which reading stopped.
        field: &'static str,
    },
    /// A record without content, of a type that must have some.
    EmptyRecord {
        /// Its type.
        content: Content,
    },
    /// TLS 1.2: a session was resumed with the extended master secret and begun without, or the
    /// reverse (RFC 7627 §5.3).
    ExtendedMasterSecret,
    /// The same extension twice in one message.
    ExtensionTwice {
        /// The extension.
        extension: Extension,
    },
    /// An extension that was not offered, or that does not belong into its message.
    ExtensionUnexpected {
        /// The extension.
        extension: Extension,
    },
    /// The server chose a group that was not offered.
    Group {
        /// Its number.
        found: u16,
    },
    /// A field is well-formed and its value is not allowed there.
    IllegalParameter {
        /// The message.
        message: Message,
        /// The field.
        field: &'static str,
    },
    /// Handshake bytes were left over, or a message incomplete, where keys change or where another
    /// type of record came in between.
    Interleaved,
    /// The RSA key of the certificate is to verify a signature or to encrypt, and has a size that
    /// aws-lc-rs does not take: below 2048 or above 8192 bits.
    KeySize {
        /// The size of the modulus, in bits.
        bits: usize,
    },
    /// The server's public key for the agreement is invalid.
    KeyShare,
    /// The server's certificate, or its key, is not the expected one.
    LeafMismatch,
    /// A handshake message, or a cookie to be sent back, is longer than any that is read.
    MessageTooLong {
        /// Its length, in bytes.
        found_bytes: usize,
        /// The longest that is read, in bytes.
        limit_bytes: usize,
    },
    /// The server sent no certificate.
    NoCertificate,
    /// The server chose a prime for the agreement of fewer than 1024 or of more than 4096 bits.
    PrimeSize {
        /// Its length, in bits.
        bits: u32,
    },
    /// The server chose a prime without a name, though groups with names were on offer.
    PrimeUnnamed,
    /// A record is longer than its protocol allows.
    RecordOverflow {
        /// Its length, in bytes.
        found_bytes: usize,
        /// The longest allowed, in bytes.
        limit_bytes: usize,
    },
    /// The record's type is none of TLS: probably this is no TLS at all.
    RecordType {
        /// The type.
        found: Content,
    },
    /// The record's version is none of TLS: probably this is no TLS at all.
    RecordVersion {
        /// The two bytes.
        found: u16,
    },
    /// The signature scheme was not offered, or is not one of this version or of the server's key.
    SignatureScheme {
        /// Its number.
        found: u16,
    },
    /// A message or record came that is not allowed here.
    UnexpectedMessage {
        /// What may come.
        expected: &'static str,
        /// What came.
        found: Found,
    },
    /// A record that must be encrypted is not.
    Unprotected {
        /// Its type.
        content: Content,
    },
    /// The server chose a version that was not offered.
    Version {
        /// The two bytes.
        found: u16,
    },
}

/// What came instead of what may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A handshake message.
    Handshake(Message),
    /// A record of another type.
    Record(Content),
}

impl Violation {
    /// The alert that tells the server (RFC 8446 §6.2).
    pub(crate) const fn alert(self) -> AlertDescription {
        match self {
            Self::Alpn
            | Self::CipherSuite { .. }
            | Self::ExtensionTwice { .. }
            | Self::Group { .. }
            | Self::IllegalParameter { .. }
            | Self::KeyShare
            | Self::PrimeUnnamed
            | Self::SignatureScheme { .. } => AlertDescription::ILLEGAL_PARAMETER,
            Self::BadFinished | Self::BadSignature => AlertDescription::DECRYPT_ERROR,
            Self::BadRecordMac => AlertDescription::BAD_RECORD_MAC,
            Self::Certificate | Self::LeafMismatch => AlertDescription::BAD_CERTIFICATE,
            Self::CertificateKeyType | Self::KeySize { .. } => {
                AlertDescription::UNSUPPORTED_CERTIFICATE
            }
            Self::Decode { .. } | Self::MessageTooLong { .. } | Self::NoCertificate => {
                AlertDescription::DECODE_ERROR
            }
            Self::ExtendedMasterSecret => AlertDescription::HANDSHAKE_FAILURE,
            Self::ExtensionUnexpected { .. } => AlertDescription::UNSUPPORTED_EXTENSION,
            Self::EmptyRecord { .. }
            | Self::Interleaved
            | Self::RecordType { .. }
            | Self::UnexpectedMessage { .. }
            | Self::Unprotected { .. } => AlertDescription::UNEXPECTED_MESSAGE,
            Self::PrimeSize { .. } => AlertDescription::INSUFFICIENT_SECURITY,
            Self::RecordOverflow { .. } => AlertDescription::RECORD_OVERFLOW,
            Self::RecordVersion { .. } | Self::Version { .. } => AlertDescription::PROTOCOL_VERSION,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alert { phase, level, description } => write!(
                f,
                "the server sent a {} alert in phase {phase}: {description}; \
                 its log should say why",
                level.name().unwrap_or("strange")
            ),
            Self::EndOfStream { phase } => write!(
                f,
                "the server closed the stream in phase {phase}, without close_notify; \
                 its log should say why"
            ),
            Self::Misuse(misuse) => write!(f, "{misuse}"),
            Self::Unavailable(Unavailable::KeyGeneration) => {
                f.write_str("no key pair was generated; test the machine")
            }
            Self::Unavailable(Unavailable::Random) => {
                f.write_str("the system gave no random bytes; repair it, or retry")
            }
            Self::Unavailable(Unavailable::Signature) => {
                f.write_str("the key of the client certificate did not sign; test it")
            }
            Self::Violation { phase, violation } => {
                write!(f, "the server broke the protocol in phase {phase}: {violation}")
            }
        }
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alpn => {
                "an application protocol has 1 to 255 bytes; all with their lengths at most 8192"
            }
            Self::EarlyData => {
                "more early data than the saved session allows; send it after the handshake"
            }
            Self::FilledTooMuch => "more bytes announced as received than there was room for",
            Self::GroupTwice => "a group stands twice in the settings; name each once",
            Self::GroupUnfit => "the suite cannot agree on keys in one of the groups; leave it out",
            Self::Identity => {
                "a client certificate is DER of X.509 on RSA, P-256, P-384 or Ed25519, \
                 with its own key in PKCS#8"
            }
            Self::NoScheme => "a hello names signature schemes; name at least one",
            Self::NoGroup => "the suite agrees on keys in a group; name at least one",
            Self::NotEstablished => {
                "application data or a key update before the handshake was over"
            }
            Self::Pin => {
                "the pin is not the DER of an X.509 certificate, or of a public key \
                 on RSA, P-256, P-384 or Ed25519"
            }
            Self::SendAfterClose => "application data or a key update after close",
            Self::SentTooMuch => "more bytes announced as sent than were waiting",
            Self::UpdateUnknown => "keys are updated in TLS 1.3 alone",
            Self::SessionUnfit => "the session to be resumed is empty, or of another suite",
            Self::ServerName => {
                "not a DNS name in ASCII of at most 253 bytes; leave it out for an address"
            }
        })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alpn => f.write_str("it chose an application protocol that was not offered"),
            Self::BadFinished => f.write_str("its Finished does not match the transcript"),
            Self::BadRecordMac => f.write_str("a record did not decrypt"),
            Self::BadSignature => f.write_str("the signature of its key exchange is wrong"),
            Self::Certificate => f.write_str("its certificate could not be read"),
            Self::CertificateKeyType => f.write_str(
                "the key of its certificate does not fit the suite, or is of no known kind",
            ),
            Self::CipherSuite { found } => {
                write!(f, "it chose suite 0x{found:04X}, which was not offered")
            }
            Self::Decode { message, field } => write!(f, "{message} is malformed at: {field}"),
            Self::EmptyRecord { content } => write!(f, "an empty record of type {content}"),
            Self::ExtendedMasterSecret => f.write_str(
                "it resumed a session with the extended master secret that had none, or the \
                 reverse",
            ),
            Self::ExtensionTwice { extension } => write!(f, "extension {extension} came twice"),
            Self::ExtensionUnexpected { extension } => {
                write!(f, "extension {extension} does not belong there, or was not offered")
            }
            Self::Group { found } => write!(f, "it chose group {found}, which was not offered"),
            Self::IllegalParameter { message, field } => {
                write!(f, "{message} has a value that is not allowed in: {field}")
            }
            Self::Interleaved => {
                f.write_str("a handshake message is cut by a change of keys or by another record")
            }
            Self::KeySize { bits } => write!(
                f,
                "the RSA key of its certificate has {bits} bits; to verify or to encrypt \
                 it must have 2048 to 8192"
            ),
            Self::KeyShare => f.write_str("its public key for the agreement is invalid"),
            Self::LeafMismatch => f.write_str("its certificate is not the expected one"),
            Self::MessageTooLong { found_bytes, limit_bytes } => write!(
                f,
                "a handshake message or cookie of {found_bytes} bytes; \
                 at most {limit_bytes} are read"
            ),
            Self::NoCertificate => f.write_str("it sent no certificate"),
            Self::PrimeSize { bits } => write!(
                f,
                "it chose a prime of {bits} bits for the agreement; 1024 to 4096 are taken"
            ),
            Self::PrimeUnnamed => f.write_str(
                "it chose a prime without a name for the agreement; \
                 offer no groups to take any",
            ),
            Self::RecordOverflow { found_bytes, limit_bytes } => {
                write!(f, "a record of {found_bytes} bytes; at most {limit_bytes} are allowed")
            }
            Self::RecordType { found } => {
                write!(f, "a record of type {found}; does the port speak TLS?")
            }
            Self::RecordVersion { found } => {
                write!(f, "a record of version 0x{found:04X}; does the port speak TLS?")
            }
            Self::SignatureScheme { found } => {
                write!(f, "signature scheme 0x{found:04X} was not offered, or not of its key")
            }
            Self::UnexpectedMessage { expected, found } => {
                write!(f, "{found} came where {expected} may come")
            }
            Self::Unprotected { content } => {
                write!(f, "a record of type {content} came unencrypted")
            }
            Self::Version { found } => {
                write!(f, "it chose version 0x{found:04X}, which was not offered")
            }
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handshake(message) => write!(f, "{message}"),
            Self::Record(content) => write!(f, "a record of type {content}"),
        }
    }
}

impl core::error::Error for Error {}

impl From<Misuse> for Error {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}

impl From<Unavailable> for Error {
    fn from(unavailable: Unavailable) -> Self {
        Self::Unavailable(unavailable)
    }
}
