//! Errors, with the phase of the session.

use core::fmt;

use crate::phase::SessionPhase;
use crate::wire::{AlertDescription, AlertLevel, Content, Extension, Message};

/// Why a connection failed. Every further call returns the same error
/// until it is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The server ended the session with an alert. The server's log says why.
    Alert {
        /// The phase.
        phase: SessionPhase,
        /// The level.
        level: AlertLevel,
        /// The description.
        description: AlertDescription,
    },
    /// The stream ended before the server's `close_notify`. The server's log says why.
    EndOfStream {
        /// The phase.
        phase: SessionPhase,
    },
    /// The caller broke the documented contract. Fixed by reading code.
    Misuse(Misuse),
    /// The system did not provide a resource. Retry, or repair the system.
    Unavailable(Unavailable),
    /// The server, or an attacker in between, violated the protocol or the settings.
    Violation {
        /// The phase.
        phase: SessionPhase,
        /// The violation.
        violation: Violation,
    },
}

impl Error {
    /// The phase of the session; `None` for errors outside a session.
    pub const fn phase(&self) -> Option<SessionPhase> {
        match self {
            Self::Alert { phase, .. }
            | Self::EndOfStream { phase }
            | Self::Violation { phase, .. } => Some(*phase),
            Self::Misuse(_) | Self::Unavailable(_) => None,
        }
    }
}

/// A violation of the documented contract by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// ALPN protocol names must have 1 to 255 bytes, all with their lengths at most 8192.
    Alpn,
    /// More early data than the saved session allows, or early data in TLS 1.2.
    EarlyData,
    /// `filled` with more bytes than the buffer has space.
    FilledTooMuch,
    /// A group occurs twice in the settings.
    GroupTwice,
    /// A group of the settings does not fit the suite.
    GroupUnfit,
    /// The client certificate or its PKCS#8 key is invalid, or they do not belong together.
    Identity,
    /// The suite needs a group, and the settings have none.
    NoGroup,
    /// The settings have no signature scheme.
    NoScheme,
    /// Application data or a key update before the end of the handshake.
    NotEstablished,
    /// The pinned key or certificate is not valid DER, or of an unknown kind.
    Pin,
    /// Application data or a key update after `close`.
    SendAfterClose,
    /// `sent` with more bytes than were queued.
    SentTooMuch,
    /// The session to resume is empty, or of another suite.
    SessionUnfit,
    /// The server name is not an ASCII DNS name of at most 253 bytes.
    ServerName,
    /// A key update in TLS 1.2.
    UpdateUnknown,
}

/// The system did not provide a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unavailable {
    /// No key pair was generated.
    KeyGeneration,
    /// The system gave no random bytes.
    Random,
    /// Signing with the key of the client certificate failed.
    Signature,
}

/// A violation by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The server chose an application protocol that was not offered.
    Alpn,
    /// The server's Finished does not match the transcript.
    BadFinished,
    /// A record did not decrypt.
    BadRecordMac,
    /// The signature of the key exchange is invalid.
    BadSignature,
    /// The leaf certificate or its public key could not be read.
    Certificate,
    /// The certificate's key does not fit the suite, or is of an unknown kind.
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
    /// An empty record of a type that must have content.
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
    /// An extension that was not offered, or does not belong in its message.
    ExtensionUnexpected {
        /// The extension.
        extension: Extension,
    },
    /// The server chose a group that was not offered.
    Group {
        /// Its number.
        found: u16,
    },
    /// A well-formed field has an illegal value.
    IllegalParameter {
        /// The message.
        message: Message,
        /// The field.
        field: &'static str,
    },
    /// A handshake message crosses a change of keys or another type of record.
    Interleaved,
    /// The size of the certificate's RSA key is not supported by aws-lc-rs: below 2048 or above
    /// 8192 bits.
    KeySize {
        /// The size of the modulus, in bits.
        bits: usize,
    },
    /// The server's public key for the agreement is invalid.
    KeyShare,
    /// The server's certificate, or its key, is not the expected one.
    LeafMismatch,
    /// A handshake message or a cookie is too long.
    MessageTooLong {
        /// Its length, in bytes.
        found_bytes: usize,
        /// The maximum, in bytes.
        limit_bytes: usize,
    },
    /// The server sent no certificate.
    NoCertificate,
    /// The server chose a prime of fewer than 1024 or more than 4096 bits.
    PrimeSize {
        /// Its length, in bits.
        bits: u32,
    },
    /// The server chose an unnamed prime although named groups were offered.
    PrimeUnnamed,
    /// A record is longer than its protocol allows.
    RecordOverflow {
        /// Its length, in bytes.
        found_bytes: usize,
        /// The maximum, in bytes.
        limit_bytes: usize,
    },
    /// The record type is unknown; probably the peer does not speak TLS.
    RecordType {
        /// The type.
        found: Content,
    },
    /// The record version is unknown; probably the peer does not speak TLS.
    RecordVersion {
        /// The two bytes.
        found: u16,
    },
    /// The signature scheme was not offered, or does not fit the version or the server's key.
    SignatureScheme {
        /// Its number.
        found: u16,
    },
    /// An unexpected message or record.
    UnexpectedMessage {
        /// The expected message.
        expected: &'static str,
        /// The received message.
        found: Found,
    },
    /// A record that must be encrypted is in plaintext.
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

/// An unexpected message or record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A handshake message.
    Handshake(Message),
    /// A record of another type.
    Record(Content),
}

impl Violation {
    /// The alert for the server (RFC 8446 §6.2).
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
                f.write_str("generating a key pair failed; test the machine")
            }
            Self::Unavailable(Unavailable::Random) => {
                f.write_str("the system gave no random bytes; repair it, or retry")
            }
            Self::Unavailable(Unavailable::Signature) => {
                f.write_str("signing with the client certificate's key failed; test the key")
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
            Self::FilledTooMuch => "more bytes announced as received than there was space for",
            Self::GroupTwice => "a group occurs twice in the settings; give each once",
            Self::GroupUnfit => "a group does not fit the suite; leave it out",
            Self::Identity => {
                "a client certificate is DER of X.509 on RSA, P-256, P-384 or Ed25519, \
                 with its own key in PKCS#8"
            }
            Self::NoScheme => "no signature scheme; give at least one",
            Self::NoGroup => "the suite needs a group; give at least one",
            Self::NotEstablished => {
                "application data or a key update before the end of the handshake"
            }
            Self::Pin => {
                "the pin is not the DER of an X.509 certificate, or of a public key \
                 on RSA, P-256, P-384 or Ed25519"
            }
            Self::SendAfterClose => "application data or a key update after close",
            Self::SentTooMuch => "more bytes announced as sent than were waiting",
            Self::UpdateUnknown => "key updates need TLS 1.3",
            Self::SessionUnfit => "the session to resume is empty, or of another suite",
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
            Self::ExtensionTwice { extension } => write!(f, "extension {extension} occurs twice"),
            Self::ExtensionUnexpected { extension } => {
                write!(f, "extension {extension} does not belong there, or was not offered")
            }
            Self::Group { found } => write!(f, "it chose group {found}, which was not offered"),
            Self::IllegalParameter { message, field } => {
                write!(f, "{message} has a value that is not allowed in: {field}")
            }
            Self::Interleaved => {
                f.write_str("a handshake message crosses a change of keys or another record")
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
            Self::PrimeSize { bits } => {
                write!(f, "it chose a prime of {bits} bits; 1024 to 4096 are supported")
            }
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
                write!(f, "signature scheme 0x{found:04X} was not offered, or does not fit its key")
            }
            Self::UnexpectedMessage { expected, found } => {
                write!(f, "{found} came where {expected} may come")
            }
            Self::Unprotected { content } => {
                write!(f, "a record of type {content} is not encrypted")
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
