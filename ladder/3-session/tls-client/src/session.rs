//! What one handshake is made of while it lasts, and what is left to tell of it.

use aws_lc_rs::hmac;
use zeroize::Zeroizing;

use crate::config::{Config, Freshness, VerifySignature};
use crate::error::{Error, Unavailable};
use crate::exchange::{KeyPair, Public};
use crate::group::Group;
use crate::hash::Transcript;
use crate::prf::Master;
use crate::protect::RecordKey;
use crate::resume::EarlyData;
use crate::saved::Mechanism;
use crate::schedule::{Handshake, MasterSecret, Psk, Traffic};
use crate::scheme::SignatureScheme;

/// What a handshake turned out to be; complete when it is established.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The group of the agreement; none with RSA key exchange, and none for a prime field that the
    /// server chose and that has no name.
    pub group: Option<Group>,
    /// The scheme of the server's signature; none with RSA key exchange.
    pub signature: Option<SignatureScheme>,
    /// Whether that signature was verified.
    pub signature_verified: bool,
    /// Whether the extended master secret was agreed on; always false in TLS 1.3, which has it
    /// built in.
    pub extended_master_secret: bool,
    /// TLS 1.2: whether the MAC covers the ciphertext (RFC 7366).
    pub encrypt_then_mac: bool,
    /// Whether the server asked for a second `ClientHello`: one more round trip.
    pub hello_retry: bool,
    /// Whether the server asked for a client certificate.
    pub client_certificate_asked: bool,
    /// The scheme of the signature that came with ours; none: it was asked for none, or got an
    /// empty one.
    pub client_signature: Option<SignatureScheme>,
    /// How the server would find the session that was offered to be resumed; none: none was.
    pub offered: Option<Mechanism>,
    /// Whether the server resumed it. If not, the handshake is a full one.
    pub resumed: bool,
    /// What became of early data.
    pub early_data: EarlyData,
    /// Tickets received so far. In TLS 1.3 they come after the handshake, or with its last flight.
    pub tickets: u32,
    /// Key updates of the server.
    pub key_updates: u32,
    /// Bytes of the server's leaf certificate.
    pub leaf_bytes: usize,
}

/// Random bytes of one handshake, drawn at once: one call is cheaper than four.
pub(crate) struct Random {
    pub(crate) client: [u8; 32],
    pub(crate) session_id: [u8; 32],
    pub(crate) premaster: Zeroizing<[u8; 46]>,
}

/// What came of a key agreement of TLS 1.2.
pub(crate) struct Agreed {
    /// Our public value.
    pub(crate) public: Public,
    /// The premaster secret, as the key that it is used as.
    pub(crate) premaster: hmac::Key,
}

/// The state of one handshake.
pub(crate) struct Session {
    pub(crate) random: Random,
    pub(crate) server_random: [u8; 32],
    pub(crate) transcript: Transcript,
    /// Whether this handshake verifies its signature.
    pub(crate) verify: bool,
    /// The group of the key share in the last `ClientHello` of TLS 1.3.
    pub(crate) share: Option<Group>,
    /// The key pair, where it is not the one of the configuration.
    pub(crate) fresh: Option<KeyPair>,
    /// TLS 1.2: whether the server's hello announced a ticket.
    pub(crate) ticket_announced: bool,
    /// TLS 1.2: what came of a key agreement.
    pub(crate) agreed: Option<Agreed>,
    /// TLS 1.2: the master secret.
    pub(crate) master: Option<Master>,
    /// TLS 1.2: the key of our records, while a resumed session waits for the server's Finished.
    pub(crate) client_key: Option<RecordKey>,
    /// TLS 1.2: the key of the server's records, until its `ChangeCipherSpec`.
    pub(crate) server_key: Option<RecordKey>,
    /// TLS 1.3: of the session that is offered to be resumed.
    pub(crate) psk: Option<Psk>,
    pub(crate) obfuscated_age: u32,
    /// TLS 1.3: whether our records are sealed with the key of early data.
    pub(crate) early_key: bool,
    pub(crate) change_cipher_spec_said: bool,
    /// TLS 1.3: the secrets of the handshake.
    pub(crate) handshake: Option<Handshake>,
    /// TLS 1.3: the secrets of application data, of client and server.
    pub(crate) application: Option<(Traffic, Traffic)>,
    /// TLS 1.3: what the keys of tickets come from, if they are kept.
    pub(crate) master_secret: Option<MasterSecret>,
}

impl Session {
    /// With fresh random bytes and, where one is needed at once, a key pair.
    pub(crate) fn new(config: &Config) -> Result<Self, Error> {
        let mut bytes = Zeroizing::new([0; 32 + 32 + 46 + 4]);
        aws_lc_rs::rand::fill(&mut *bytes).map_err(|_| Unavailable::Random)?;
        let mut random =
            Random { client: [0; 32], session_id: [0; 32], premaster: Zeroizing::new([0; 46]) };
        random.client.copy_from_slice(&bytes[..32]);
        random.session_id.copy_from_slice(&bytes[32..64]);
        random.premaster.copy_from_slice(&bytes[64..110]);
        let draw = u32::from_be_bytes([bytes[110], bytes[111], bytes[112], bytes[113]]);
        let settings = config.settings();
        let share = settings.groups.first().copied().filter(|_| settings.suite.is_tls13());
        let mut session = Self {
            random,
            server_random: [0; 32],
            transcript: match settings.identity {
                // a signature of TLS 1.2 may have another hash function than the suite
                Some(_) if !settings.suite.is_tls13() => Transcript::kept(settings.suite.hash()),
                _ => Transcript::new(settings.suite.hash()),
            },
            verify: match settings.verify_signature {
                VerifySignature::Always => true,
                VerifySignature::Never => false,
                VerifySignature::Sample(n) => draw.is_multiple_of(n.get()),
            },
            share,
            fresh: None,
            ticket_announced: false,
            agreed: None,
            master: None,
            client_key: None,
            server_key: None,
            psk: None,
            obfuscated_age: 0,
            early_key: false,
            change_cipher_spec_said: false,
            handshake: None,
            application: None,
            master_secret: None,
        };
        if let Some(group) = share {
            session.prepare(config, group)?;
        }
        Ok(session)
    }

    /// The random bytes of client and server.
    pub(crate) const fn randoms(&self) -> [&[u8; 32]; 2] {
        [&self.random.client, &self.server_random]
    }

    /// Makes sure that [`Self::pair`] has a key pair of this group.
    pub(crate) fn prepare(&mut self, config: &Config, group: Group) -> Result<(), Unavailable> {
        if config.settings().key_share == Freshness::Fresh {
            self.fresh = Some(KeyPair::generate(group)?);
        }
        Ok(())
    }

    /// The key pair prepared for this group.
    pub(crate) fn pair<'a>(&'a self, config: &'a Config, group: Group) -> &'a KeyPair {
        let pair = self.fresh.as_ref().filter(|pair| pair.group() == group);
        pair.or_else(|| config.pair(group)).expect("`prepare` made a key pair of this group")
    }
}
