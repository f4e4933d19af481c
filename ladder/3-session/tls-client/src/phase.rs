//! States of a connection: precise for the state machine, coarse for error statistics.

use core::fmt;

/// A phase of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionPhase {
    /// From the `ClientHello` to the `ServerHello`.
    Hello,
    /// The server's flight: extensions, certificate, key exchange, signature.
    KeyExchange,
    /// Up to the server's Finished.
    Finished,
    /// TLS 1.3: both sides have sent Finished. The server has not confirmed the client's Finished
    /// yet.
    Confirm,
    /// Application data, after the server has confirmed the handshake.
    Data,
    /// One side has sent `close_notify`.
    Close,
}

impl SessionPhase {
    /// Returns the name in one or two words, for tables and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::KeyExchange => "key exchange",
            Self::Finished => "finished",
            Self::Confirm => "confirm",
            Self::Data => "data",
            Self::Close => "close",
        }
    }
}

impl fmt::Display for SessionPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The next message expected from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Await {
    ServerHello,
    // TLS 1.2, RFC 5246 §7.3
    Certificate12,
    ServerKeyExchange,
    ServerHelloDone,
    ChangeCipherSpec,
    Finished12,
    // TLS 1.3, RFC 8446 §2
    EncryptedExtensions,
    CertificateOrRequest,
    Certificate13,
    CertificateVerify,
    Finished13,
    /// The server's Finished is verified.
    Established,
    /// The server's `close_notify` was received.
    Closed,
}

impl Await {
    /// Returns the expected message, in words.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ServerHello => "server_hello",
            Self::Certificate12 | Self::Certificate13 => "certificate",
            Self::ServerKeyExchange => "server_key_exchange",
            Self::ServerHelloDone => "certificate_request or server_hello_done",
            Self::ChangeCipherSpec => "new_session_ticket or change_cipher_spec",
            Self::Finished12 | Self::Finished13 => "finished",
            Self::EncryptedExtensions => "encrypted_extensions",
            Self::CertificateOrRequest => "certificate_request or certificate",
            Self::CertificateVerify => "certificate_verify",
            Self::Established => "application_data, new_session_ticket or key_update",
            Self::Closed => "nothing",
        }
    }
}
