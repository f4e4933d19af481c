//! The state of a handshake, and its results.

use aws_lc_rs::hmac;
use zeroize::Zeroizing;

use crate::config::Config;
use crate::error::{Error, Unavailable};
use crate::exchange::{KeyPair, Public};
use crate::hash::Transcript;
use crate::prf::Master;
use crate::protect::RecordKey;
use crate::registry::{Group, SignatureScheme};
use crate::saved::SessionKind;
use crate::schedule::{Handshake, MasterSecret, Psk, Traffic};
use crate::settings::{Freshness, VerifySignature};

/// The results of a handshake; complete when it is established.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The group; `None` with RSA key exchange.
    pub group: Option<Group>,
    /// The scheme of the server's signature; `None` with RSA key exchange.
    pub signature: Option<SignatureScheme>,
    /// True if the client verified the server's signature.
    pub signature_verified: bool,
    /// True if the extended master secret was negotiated; always false in TLS 1.3.
    pub extended_master_secret: bool,
    /// TLS 1.2: true if encrypt-then-MAC was negotiated (RFC 7366).
    pub encrypt_then_mac: bool,
    /// True if the server requested a second `ClientHello`, which costs a round trip.
    pub hello_retry: bool,
    /// True if the server requested a client certificate, and got an empty one.
    pub client_certificate_asked: bool,
    /// The kind of the offered session; `None` if none was offered.
    pub offered: Option<SessionKind>,
    /// True if the server resumed the offered session; otherwise the handshake is full.
    pub resumed: bool,
    /// The result of early data.
    pub early_data: EarlyData,
    /// Tickets received so far. TLS 1.3 servers send tickets after the handshake, or with its last
    /// flight.
    pub tickets: u32,
    /// The length in bytes of the server's leaf certificate.
    pub leaf_bytes: usize,
}

/// The result of early data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EarlyData {
    /// None was sent.
    #[default]
    None,
    /// The server refused it, or has not accepted it yet; send it again.
    Refused,
    /// The server accepted it.
    Accepted,
}

/// The random bytes of one handshake. One call for all of them is cheaper than four calls.
pub(crate) struct Random {
    pub(crate) client: [u8; 32],
    pub(crate) session_id: [u8; 32],
    pub(crate) premaster: Zeroizing<[u8; 46]>,
}

/// The result of a TLS 1.2 key agreement.
pub(crate) struct Agreed {
    /// The client's public value.
    pub(crate) public: Public,
    /// The premaster secret, as an HMAC key.
    pub(crate) premaster: hmac::Key,
}

/// The state of one handshake.
pub(crate) struct Session {
    pub(crate) random: Random,
    pub(crate) server_random: [u8; 32],
    pub(crate) transcript: Transcript,
    /// True if this handshake verifies the server's signature.
    pub(crate) verify: bool,
    /// The groups of the key shares in the last `ClientHello` of TLS 1.3.
    pub(crate) shares: [Option<Group>; 2],
    /// The key pairs, unless the configuration's key pair is reused.
    pub(crate) fresh: [Option<KeyPair>; 2],
    /// TLS 1.2: true if the server's hello announced a ticket.
    pub(crate) ticket_announced: bool,
    /// TLS 1.2: the result of the key agreement.
    pub(crate) agreed: Option<Agreed>,
    /// TLS 1.2: the master secret.
    pub(crate) master: Option<Master>,
    /// TLS 1.2: the sealing key of a resumed session, until the server's Finished.
    pub(crate) client_key: Option<RecordKey>,
    /// TLS 1.2: the opening key, until the server's `ChangeCipherSpec`.
    pub(crate) server_key: Option<RecordKey>,
    /// TLS 1.3: the pre-shared key of the offered session.
    pub(crate) psk: Option<Psk>,
    pub(crate) obfuscated_age: u32,
    /// TLS 1.3: true if records are sealed with the early-data key.
    pub(crate) early_key: bool,
    pub(crate) change_cipher_spec_said: bool,
    /// TLS 1.3: the secrets of the handshake.
    pub(crate) handshake: Option<Handshake>,
    /// TLS 1.3: the secrets of application data, of client and server.
    pub(crate) application: Option<(Traffic, Traffic)>,
    /// TLS 1.3: the master secret for tickets, if sessions are kept.
    pub(crate) master_secret: Option<MasterSecret>,
}

impl Session {
    /// Creates a session with fresh random bytes. Makes a key pair if the hello needs one.
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
        let shares = settings.shares();
        let mut session = Self {
            random,
            server_random: [0; 32],
            transcript: Transcript::new(settings.suite.hash()),
            verify: match settings.verify_signature {
                VerifySignature::Always => true,
                VerifySignature::Never => false,
                VerifySignature::Sample(n) => draw.is_multiple_of(n.get()),
            },
            shares,
            fresh: [None, None],
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
        session.prepare(config, shares)?;
        Ok(session)
    }

    /// Returns the random bytes of client and server.
    pub(crate) const fn randoms(&self) -> [&[u8; 32]; 2] {
        [&self.random.client, &self.server_random]
    }

    /// Makes sure that [`Self::pair`] has key pairs of these groups.
    pub(crate) fn prepare(
        &mut self,
        config: &Config,
        groups: [Option<Group>; 2],
    ) -> Result<(), Unavailable> {
        if config.settings().key_share == Freshness::Fresh {
            for (fresh, group) in self.fresh.iter_mut().zip(groups) {
                *fresh = group.map(KeyPair::generate).transpose()?;
            }
        }
        Ok(())
    }

    /// Returns the key pair prepared for this group.
    pub(crate) fn pair<'a>(&'a self, config: &'a Config, group: Group) -> &'a KeyPair {
        let pair = self.fresh.iter().flatten().find(|pair| pair.group == group);
        pair.or_else(|| config.pair(group)).expect("`prepare` made a key pair of this group")
    }
}
