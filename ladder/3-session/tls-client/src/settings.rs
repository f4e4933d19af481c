//! The offers and checks of a client.

use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::registry::{Group, SignatureScheme};
use crate::suite::{KeyExchange, Suite};

/// Selects the handshakes that verify the server's signature, which binds the key exchange to the
/// certificate's key.
///
/// Every handshake verifies the server's Finished. TLS 1.2 with RSA key exchange has no signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifySignature {
    /// All handshakes.
    #[default]
    Always,
    /// No handshake. An attacker in between can then impersonate the server with another key.
    Never,
    /// One handshake in this number, chosen at random.
    Sample(NonZeroU32),
}

/// The lifetime of a secret: one handshake, or the whole configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Freshness {
    /// A new secret for each handshake, as the protocol intends.
    #[default]
    Fresh,
    /// One secret for all handshakes. Reuse is cheaper for the client, and the server can notice
    /// it. State the reuse with every result.
    Reuse,
}

impl Freshness {
    /// Returns the word for the setting in conditions of records.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Reuse => "reuse",
        }
    }
}

/// The offers and checks of a client.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The offered suite, which determines the version.
    pub suite: Suite,
    /// The offered groups in order of preference. TLS 1.3 sends a key share for the first group,
    /// as browsers do also for X25519 if the first group has a KEM and X25519 is offered, and for
    /// another group after a `HelloRetryRequest`. In TLS 1.2 with ECDSA, the groups also restrict
    /// the curve of the certificate's key (RFC 8422 §5.1.1).
    pub groups: Vec<Group>,
    /// The offered signature schemes in order of preference. In TLS 1.3 they select the kind of the
    /// certificate's key.
    pub schemes: Vec<SignatureScheme>,
    /// The DNS name for SNI; `None` for an address.
    pub server_name: Option<String>,
    /// Requests tickets, as most clients do.
    pub tickets: bool,
    /// Keeps sessions for [`Connection::save`](crate::Connection::save); otherwise tickets are
    /// counted and dropped.
    pub save_sessions: bool,
    /// Offers encrypt-then-MAC in TLS 1.2 with a block cipher (RFC 7366).
    pub encrypt_then_mac: bool,
    /// The handshakes that verify the signature.
    pub verify_signature: VerifySignature,
    /// Key pairs of the key agreement.
    pub key_share: Freshness,
    /// Premaster secrets of RSA key exchange. If they are reused, all handshakes with the same
    /// certificate send the same ciphertext.
    pub premaster: Freshness,
}

impl Settings {
    /// Returns the default settings for a suite:
    ///
    /// * Groups: X25519 (and P-256 for ECDSA certificates).
    /// * Signature schemes: the schemes of elliptic curves if the suite requires them, otherwise
    ///   the schemes of RSA.
    /// * Tickets are requested and not kept. A resumption makes a new key agreement.
    /// * Encrypt-then-MAC is offered.
    /// * Signatures are verified, secrets are fresh, and any certificate is accepted.
    pub fn new(suite: Suite) -> Self {
        Self {
            suite,
            groups: match suite.exchange() {
                KeyExchange::EcdheEcdsa => vec![Group::X25519, Group::P256],
                _ => vec![Group::X25519],
            },
            schemes: match suite.exchange() {
                KeyExchange::EcdheEcdsa => SignatureScheme::CURVES.to_vec(),
                _ => SignatureScheme::RSA.to_vec(),
            },
            server_name: None,
            tickets: true,
            save_sessions: false,
            encrypt_then_mac: true,
            verify_signature: VerifySignature::Always,
            key_share: Freshness::Fresh,
            premaster: Freshness::Fresh,
        }
    }

    /// Returns the groups of the key shares in the first `ClientHello`; none in TLS 1.2.
    pub(crate) fn shares(&self) -> [Option<Group>; 2] {
        let first = self.groups.first().copied().filter(|_| self.suite.is_tls13());
        let has_kem = first.is_some_and(Group::is_kem);
        let second = has_kem && self.groups.contains(&Group::X25519);
        [first, second.then_some(Group::X25519)]
    }

    pub(crate) const fn offers_encrypt_then_mac(&self) -> bool {
        self.encrypt_then_mac && self.suite.cipher().is_cbc()
    }
}
