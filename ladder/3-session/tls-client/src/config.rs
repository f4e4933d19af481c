//! What a client offers and checks, said once and shared by its connections.

use core::net::IpAddr;
use core::num::NonZeroU32;
use std::sync::{Arc, OnceLock};

use crate::certificate::{Leaf, PublicKey};
use crate::error::{Error, Misuse, Violation};
use crate::exchange::KeyPair;
use crate::group::Group;
use crate::hello::Template;
use crate::identity::Identity;
use crate::schedule::Early;
use crate::scheme::SignatureScheme;
use crate::suite::{KeyExchange, Suite};

/// The most bytes of application protocols with their lengths: a `ClientHello` is to fit a record.
const ALPN_BYTES_MAX: usize = 8192;

/// Which handshakes verify the signature that binds the key exchange to the certificate's key.
///
/// The server's Finished is verified in all of them. TLS 1.2 with RSA key exchange has no
/// signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifySignature {
    /// All.
    #[default]
    Always,
    /// None: whoever sits between can answer in the server's place, with a key of its own.
    Never,
    /// One in so many, chosen at random.
    Sample(NonZeroU32),
}

/// Whether a secret is made for each handshake or once for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// Made for each handshake, as the protocol means it.
    #[default]
    Fresh,
    /// Made once: cheaper for the client, visible to the server. Say so beside every result.
    Reuse,
}

/// Whose certificate is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pin {
    /// This leaf certificate, in DER.
    Leaf(Vec<u8>),
    /// Any leaf with this `SubjectPublicKeyInfo`, in DER.
    Spki(Vec<u8>),
}

/// What a client offers and checks.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The one suite on offer, and with it the version.
    pub suite: Suite,
    /// The groups on offer, most wanted first; TLS 1.3 sends a key share for the first, and for
    /// another if the server asks for it (`HelloRetryRequest`). TLS 1.2 in prime fields without any
    /// takes what the server has, of 1024 to 4096 bits. With ECDSA, TLS 1.2 means by them the curve
    /// of the certificate's key, too (RFC 8422 §5.1.1).
    pub groups: Vec<Group>,
    /// The signature schemes on offer, most wanted first. With TLS 1.3 they say which key the
    /// server's certificate holds.
    pub schemes: Vec<SignatureScheme>,
    /// The DNS name for SNI; none for an address.
    pub server_name: Option<String>,
    /// The application protocols on offer, most wanted first; none: no ALPN.
    pub alpn: Vec<Vec<u8>>,
    /// Whether tickets are asked for, as most clients do.
    pub tickets: bool,
    /// Whether sessions are kept for [`Connection::save`](crate::Connection::save); if not, tickets
    /// are counted and dropped.
    pub save_sessions: bool,
    /// Whether TLS 1.3 resumes with the pre-shared key alone (`psk_ke`), without a new agreement:
    /// who learns the key can read such a session later.
    pub psk_alone: bool,
    /// Whether TLS 1.2 with a block cipher offers to cover the ciphertext by the MAC (RFC 7366).
    pub encrypt_then_mac: bool,
    /// Which handshakes verify the signature.
    pub verify_signature: VerifySignature,
    /// The key pair for the agreement.
    pub key_share: Freshness,
    /// The premaster secret of RSA key exchange: reused, every handshake with a certificate sends
    /// the same ciphertext.
    pub premaster: Freshness,
    /// The certificate for servers that ask for one; without it, or if none of its signatures
    /// serves, they get an empty one.
    pub identity: Option<Arc<Identity>>,
    /// The certificate that is expected; none: any with a key that fits the suite.
    pub pin: Option<Pin>,
}

impl Settings {
    /// X25519 (with P-256 for certificates on it) or, in prime fields, ffdhe2048; the signature
    /// schemes of RSA or, if the suite says so, of curves; `http/1.1`, tickets asked for and not
    /// kept, a new agreement with each, the MAC over the ciphertext, signatures verified, all
    /// secrets fresh, any certificate.
    pub fn new(suite: Suite) -> Self {
        Self {
            suite,
            groups: match suite.exchange() {
                KeyExchange::DheRsa => vec![Group::Ffdhe2048],
                KeyExchange::EcdheEcdsa => vec![Group::X25519, Group::P256],
                _ => vec![Group::X25519],
            },
            schemes: match suite.exchange() {
                KeyExchange::EcdheEcdsa => SignatureScheme::CURVES.to_vec(),
                _ => SignatureScheme::RSA.to_vec(),
            },
            server_name: None,
            alpn: vec![b"http/1.1".to_vec()],
            tickets: true,
            save_sessions: false,
            psk_alone: false,
            encrypt_then_mac: true,
            verify_signature: VerifySignature::Always,
            key_share: Freshness::Fresh,
            premaster: Freshness::Fresh,
            identity: None,
            pin: None,
        }
    }
}

impl Settings {
    pub(crate) const fn offers_encrypt_then_mac(&self) -> bool {
        self.encrypt_then_mac && self.suite.cipher().is_cbc()
    }
}

/// Settings that were checked, with all that connections share prepared.
#[derive(Debug)]
pub struct Config {
    pub(crate) settings: Settings,
    pub(crate) template: Template,
    pub(crate) early: Early,
    /// One per group if key shares are reused, else none.
    pairs: Vec<KeyPair>,
    /// The first leaf that any connection met: most often the only one.
    leaf: OnceLock<Arc<Leaf>>,
}

impl Config {
    /// Checks the settings and prepares what connections share.
    ///
    /// # Errors
    ///
    /// The [`Misuse`] that says what is wrong with the settings; `Unavailable` without a key pair.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        check(&settings)?;
        let pairs = match settings.key_share {
            Freshness::Fresh => Vec::new(),
            Freshness::Reuse => {
                let pairs = settings.groups.iter().map(|&group| KeyPair::generate(group));
                pairs.collect::<Result<_, _>>()?
            }
        };
        Ok(Self {
            template: Template::new(&settings),
            early: Early::new(settings.suite.hash()),
            pairs,
            leaf: OnceLock::new(),
            settings,
        })
    }

    /// The settings.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The key pair that is reused in a group, if they are.
    pub(crate) fn pair(&self, group: Group) -> Option<&KeyPair> {
        self.pairs.iter().find(|pair| pair.group() == group)
    }

    /// The leaf for these bytes: the first one ever met is read once, others each time.
    pub(crate) fn leaf(&self, certificate: &[u8]) -> Result<Arc<Leaf>, Violation> {
        if let Some(leaf) = self.leaf.get().filter(|leaf| leaf.der() == certificate) {
            return Ok(Arc::clone(leaf));
        }
        let leaf = Arc::new(Leaf::read(certificate)?);
        let expected = match &self.settings.pin {
            None => true,
            Some(Pin::Leaf(der)) => *der == leaf.der(),
            Some(Pin::Spki(der)) => *der == leaf.spki(),
        };
        if !expected {
            return Err(Violation::LeafMismatch);
        }
        let _ = self.leaf.set(Arc::clone(&leaf)); // taken by another connection: as good
        Ok(leaf)
    }
}

fn check(settings: &Settings) -> Result<(), Misuse> {
    let exchange = settings.suite.exchange();
    let any = matches!(exchange, KeyExchange::Rsa | KeyExchange::DheRsa);
    if !any && settings.groups.is_empty() {
        return Err(Misuse::NoGroup);
    }
    if (1..settings.groups.len()).any(|i| settings.groups[..i].contains(&settings.groups[i])) {
        return Err(Misuse::GroupTwice);
    }
    if settings.suite.has_group() && settings.groups.iter().any(|g| !g.serves(settings.suite)) {
        return Err(Misuse::GroupUnfit);
    }
    if settings.schemes.is_empty() {
        return Err(Misuse::NoScheme);
    }
    let lengths = || settings.alpn.iter().map(Vec::len);
    if lengths().any(|length| !(1..=255).contains(&length))
        || lengths().map(|length| 1 + length).sum::<usize>() > ALPN_BYTES_MAX
    {
        return Err(Misuse::Alpn);
    }
    if settings.server_name.as_deref().is_some_and(|name| !is_dns_name(name)) {
        return Err(Misuse::ServerName);
    }
    let pin = match &settings.pin {
        None => true,
        Some(Pin::Leaf(der)) => Leaf::read(der).is_ok(),
        Some(Pin::Spki(der)) => PublicKey::read(der).is_ok(),
    };
    if pin { Ok(()) } else { Err(Misuse::Pin) }
}

/// RFC 6066 §3: a name of labels, without a dot at the end, and no address.
fn is_dns_name(name: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    name.len() <= 253 && name.split('.').all(label) && name.parse::<IpAddr>().is_err()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn misuse(change: impl FnOnce(&mut Settings)) -> Error {
        let mut settings = Settings::new(Suite::TLS_AES_128_GCM_SHA256);
        change(&mut settings);
        Config::new(settings).unwrap_err()
    }

    #[test]
    fn bad_settings_are_named() {
        assert_eq!(misuse(|s| s.groups.clear()), Misuse::NoGroup.into());
        assert_eq!(misuse(|s| s.groups = vec![Group::P256; 2]), Misuse::GroupTwice.into());
        let old = Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
        let hybrid = Settings { groups: vec![Group::X25519MlKem768], ..Settings::new(old) };
        assert_eq!(Config::new(hybrid).unwrap_err(), Misuse::GroupUnfit.into());
        assert_eq!(misuse(|s| s.schemes.clear()), Misuse::NoScheme.into());
        assert_eq!(misuse(|s| s.alpn = vec![vec![]]), Misuse::Alpn.into());
        assert_eq!(misuse(|s| s.alpn = vec![vec![1; 256]]), Misuse::Alpn.into());
        assert_eq!(misuse(|s| s.alpn = vec![vec![1; 255]; 255]), Misuse::Alpn.into());
        // their lengths count, too: with these, the ClientHello would not fit a record
        assert_eq!(misuse(|s| s.alpn = vec![vec![1]; 8192]), Misuse::Alpn.into());
        assert_eq!(misuse(|s| s.pin = Some(Pin::Leaf(vec![48, 0]))), Misuse::Pin.into());
        assert_eq!(misuse(|s| s.pin = Some(Pin::Spki(vec![]))), Misuse::Pin.into());
        for name in ["", "127.0.0.1", "::1", "a..b", "host.", "ä.example", &"a.".repeat(127)] {
            assert_eq!(misuse(|s| s.server_name = Some(name.into())), Misuse::ServerName.into());
        }
    }

    #[test]
    fn what_is_shared_between_threads_can_be() {
        fn shared<T: Send + Sync>() {}
        fn moved<T: Send>() {}
        shared::<Config>();
        moved::<crate::Connection>();
    }

    #[test]
    fn rsa_key_exchange_needs_no_group() {
        let settings =
            Settings { groups: vec![], ..Settings::new(Suite::TLS_RSA_WITH_AES_128_GCM_SHA256) };
        Config::new(settings).unwrap();
    }
}
