//! Errors, with the phase of the session.

use core::fmt;

use crate::phase::SessionPhase;
use crate::wire::{AlertDescription, AlertLevel, Content, Extension, Message};

/// The reason why a connection failed. Every further call returns the same error until the
/// connection is reset.
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
    /// The caller violated the documented contract. Correct the calling code.
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
    /// Returns the phase of the session; `None` for errors outside a session.
    pub const fn phase(&self) -> Option<SessionPhase> {
        match self {
            Self::Alert { phase, .. }
            | Self::EndOfStream { phase }
            | Self::Violation { phase, .. } => Some(*phase),
            Self::Misuse(_) | Self::Unavailable(_) => None,
        }
    }
}

/// Declares an enumeration of errors. Each row is an error with its data and its text.
macro_rules! errors {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$note:meta])* $kind:ident $({ $($field:ident: $type:ty),+ })? = $text:literal;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the text of an error names its fields")]
        pub enum $name {
            $(
                #[doc = concat!("`", $text, "`")]
                $(#[$note])*
                $kind $({ $($field: $type),+ })?,
            )*
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$kind $({ $($field),+ })? => write!(f, $text),)*
                }
            }
        }
    };
}

errors! {
    /// A violation of the documented contract by the caller.
    Misuse {
        EarlyData = "more early data than the saved session allows; send it after the handshake";
        FilledTooMuch = "more bytes announced as received than there was space for";
        GroupTwice = "a group occurs twice in the settings; give each once";
        GroupUnfit = "a group does not fit the suite; leave it out";
        NoGroup = "the suite needs a group; give at least one";
        NoScheme = "no signature scheme; give at least one";
        NotEstablished = "application data before the end of the handshake";
        SendAfterClose = "application data after close";
        SentTooMuch = "more bytes announced as sent than were waiting";
        SessionUnfit = "the session to resume is empty, or of another suite";
        ServerName = "not a DNS name in ASCII of at most 253 bytes, without a dot at its end; \
            leave it out for an address";
    }
}

errors! {
    /// The system did not provide a resource.
    Unavailable {
        KeyGeneration = "generating a key pair failed; test the machine";
        Random = "the system gave no random bytes; repair it, or retry";
    }
}

errors! {
    /// A violation by the server.
    Violation {
        Alpn = "it chose an application protocol that was not offered";
        BadFinished = "its Finished does not match the transcript";
        BadRecordMac = "a record did not decrypt";
        BadSignature = "the signature of its key exchange is wrong";
        Certificate = "its certificate could not be read";
        CertificateKeyType =
            "the key of its certificate does not fit the suite, or is of no known kind";
        CipherSuite { found: u16 } = "it chose suite 0x{found:04X}, which was not offered";
        Decode { message: Message, field: &'static str } = "{message} is malformed at: {field}";
        EmptyRecord { content: Content } = "an empty record of type {content}";
        /// RFC 7627 §5.3.
        ExtendedMasterSecret =
            "it resumed a session with the extended master secret that had none, or the reverse";
        ExtensionTwice { extension: Extension } = "extension {extension} occurs twice";
        ExtensionUnexpected { extension: Extension } =
            "extension {extension} does not belong there, or was not offered";
        Group { found: u16 } = "it chose group {found}, which was not offered";
        IllegalParameter { message: Message, field: &'static str } =
            "{message} has a value that is not allowed in: {field}";
        Interleaved = "a handshake message crosses a change of keys or another record";
        /// The sizes that aws-lc-rs supports.
        KeySize { bits: usize } = "the RSA key of its certificate has {bits} bits; to verify or to \
            encrypt it must have 2048 to 8192";
        KeyShare = "its public key for the agreement is invalid";
        MessageTooLong { found_bytes: usize, limit_bytes: usize } =
            "a handshake message or cookie of {found_bytes} bytes; at most {limit_bytes} are read";
        NoCertificate = "it sent no certificate";
        RecordOverflow { found_bytes: usize, limit_bytes: usize } =
            "a record of {found_bytes} bytes; at most {limit_bytes} are allowed";
        RecordType { found: Content } = "a record of type {found}; does the port speak TLS?";
        RecordVersion { found: u16 } =
            "a record of version 0x{found:04X}; does the port speak TLS?";
        /// RFC 8446 §4.1.4.
        RetryTwice = "it sent a second HelloRetryRequest";
        /// It names the group of the key share, or neither a group nor a cookie (RFC 8446 §4.1.4).
        RetryVain = "its HelloRetryRequest changes nothing in the ClientHello";
        SignatureScheme { found: u16 } =
            "signature scheme 0x{found:04X} was not offered, or does not fit its key";
        UnexpectedMessage { expected: &'static str, found: Found } =
            "{found} came where {expected} may come";
        Unprotected { content: Content } = "a record of type {content} is not encrypted";
        Version { found: u16 } = "it chose version 0x{found:04X}, which was not offered";
    }
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
    /// Returns the alert for the server (RFC 8446 §6.2).
    pub(crate) const fn alert(self) -> AlertDescription {
        match self {
            Self::Alpn
            | Self::CipherSuite { .. }
            | Self::ExtensionTwice { .. }
            | Self::Group { .. }
            | Self::IllegalParameter { .. }
            | Self::KeyShare
            | Self::RetryVain
            | Self::SignatureScheme { .. } => AlertDescription::ILLEGAL_PARAMETER,
            Self::BadFinished | Self::BadSignature => AlertDescription::DECRYPT_ERROR,
            Self::BadRecordMac => AlertDescription::BAD_RECORD_MAC,
            Self::Certificate => AlertDescription::BAD_CERTIFICATE,
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
            | Self::RetryTwice
            | Self::UnexpectedMessage { .. }
            | Self::Unprotected { .. } => AlertDescription::UNEXPECTED_MESSAGE,
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
            Self::Misuse(misuse) => misuse.fmt(f),
            Self::Unavailable(unavailable) => unavailable.fmt(f),
            Self::Violation { phase, violation } => {
                write!(f, "the server broke the protocol in phase {phase}: {violation}")
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
