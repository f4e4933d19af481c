//! The peer of the tests: a rustls server in this process, and its certificates.

mod certificate;
pub(crate) mod process;
pub(crate) mod socket;

use std::io::{Read, Write};
use std::sync::Arc;

pub(crate) use certificate::{EC_P256, ED25519, RSA_2048, certificate, ec_p384};
pub(crate) use process::Process;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{
    ALL_CIPHER_SUITES, ALL_KX_GROUPS, Ticketer, default_provider, sign,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, SignatureAlgorithm, SignatureScheme,
    SupportedCipherSuite, version,
};
use tollgate_tls_client::{Config, Connection, Error, Event, Group, KeyExchange, Settings, Suite};

pub(crate) const RSA: Suite = Suite::TLS_RSA_WITH_AES_128_GCM_SHA256;
pub(crate) const ECDHE: Suite = Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
pub(crate) const TLS13: Suite = Suite::TLS_AES_128_GCM_SHA256;

/// The properties of a server.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) suite: Suite,
    pub(crate) groups: Vec<Group>,
    pub(crate) key_pem: String,
    /// The signature schemes of the server's key.
    pub(crate) schemes: Vec<SignatureScheme>,
    /// True if the server sends wrong signatures.
    pub(crate) lies: bool,
    /// True if the server requires a certificate of the client.
    pub(crate) demands_certificate: bool,
    pub(crate) fragment_bytes: Option<usize>,
}

impl Server {
    pub(crate) fn new(suite: Suite, groups: &[Group]) -> Self {
        Self {
            suite,
            groups: groups.to_vec(),
            key_pem: key_of(suite).to_owned(),
            schemes: vec![],
            lies: false,
            demands_certificate: false,
            fragment_bytes: None,
        }
    }

    pub(crate) fn config(&self) -> ServerConfig {
        let (certificate, key) = certificate(&self.key_pem);
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key));
        let key = sign::any_supported_type(&key).unwrap();
        let key = Arc::new(Pen { key, schemes: self.schemes.clone(), lies: self.lies });
        let certificate = CertificateDer::from(certificate);
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let certified = CertifiedKey::new(vec![certificate], key);
        let version = if self.suite.is_tls13() { &version::TLS13 } else { &version::TLS12 };
        let verifier = if self.demands_certificate {
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), self.provider())
                .build()
                .unwrap()
        } else {
            WebPkiClientVerifier::no_client_auth()
        };
        let mut config = ServerConfig::builder_with_provider(self.provider())
            .with_protocol_versions(&[version])
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.ticketer = Ticketer::new().unwrap();
        config.max_fragment_size = self.fragment_bytes;
        config
    }

    pub(crate) fn provider(&self) -> Arc<CryptoProvider> {
        let groups = self.groups.iter().map(|group| {
            let mut all = ALL_KX_GROUPS.iter();
            *all.find(|theirs| u16::from(theirs.name()) == group.number()).unwrap()
        });
        Arc::new(CryptoProvider {
            cipher_suites: vec![theirs(self.suite).unwrap_or(theirs(ECDHE).unwrap())],
            kx_groups: groups.collect(),
            ..default_provider()
        })
    }

    pub(crate) fn start(&self) -> ServerConnection {
        ServerConnection::new(Arc::new(self.config())).unwrap()
    }
}

/// Returns a test key for the suite.
pub(crate) fn key_of(suite: Suite) -> &'static str {
    if suite.exchange() == KeyExchange::EcdheEcdsa { EC_P256 } else { RSA_2048 }
}

/// Returns the rustls suite; `None` for RSA key exchange, which rustls does not have.
fn theirs(suite: Suite) -> Option<SupportedCipherSuite> {
    let mut all = ALL_CIPHER_SUITES.iter().copied();
    all.find(|theirs| u16::from(theirs.suite()) == suite.number())
}

/// A key with the given signature schemes, which signs wrongly on request.
#[derive(Debug)]
struct Pen {
    key: Arc<dyn SigningKey>,
    schemes: Vec<SignatureScheme>,
    lies: bool,
}

impl SigningKey for Pen {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let wanted = offered.iter().copied();
        let wanted = wanted.filter(|s| self.schemes.is_empty() || self.schemes.contains(s));
        let signer = self.key.choose_scheme(&wanted.collect::<Vec<_>>())?;
        Some(if self.lies { Box::new(Liar(signer)) } else { signer })
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.key.algorithm()
    }
}

#[derive(Debug)]
struct Liar(Box<dyn Signer>);

impl Signer for Liar {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rustls::Error> {
        self.0.sign(&[message, b"!"].concat())
    }

    fn scheme(&self) -> SignatureScheme {
        self.0.scheme()
    }
}

pub(crate) fn client(settings: Settings) -> Connection {
    Connection::new(&Arc::new(Config::new(settings).unwrap())).unwrap()
}

pub(crate) fn settings(suite: Suite, groups: &[Group]) -> Settings {
    Settings { groups: groups.to_vec(), ..Settings::new(suite) }
}

/// Returns the kinds of handshakes with rustls: each suite, and each group in either version.
pub(crate) fn kinds() -> Vec<(Suite, Group)> {
    let suites = Suite::ALL.into_iter().filter(|&suite| theirs(suite).is_some());
    let suites = suites.map(|suite| (suite, Group::X25519));
    let groups = [Group::P256, Group::P384];
    let groups = groups.into_iter().flat_map(|group| [(ECDHE, group), (TLS13, group)]);
    suites.chain(groups).chain([(TLS13, Group::X25519MlKem768)]).collect()
}

/// The events of a client.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) established: usize,
    pub(crate) data: Vec<u8>,
    pub(crate) closed: usize,
}

impl Seen {
    pub(crate) fn note(&mut self, event: Event<'_>) {
        match event {
            Event::Closed => self.closed += 1,
            Event::Data(data) => self.data.extend(data),
            Event::Established => self.established += 1,
        }
    }
}

/// A client and a server, connected in memory.
pub(crate) struct Pair {
    pub(crate) client: Connection,
    pub(crate) server: ServerConnection,
    pub(crate) seen: Seen,
    /// The data that the server received.
    pub(crate) got: Vec<u8>,
    /// The server's error. The server has already sent its alert.
    pub(crate) server_error: Option<rustls::Error>,
}

impl Pair {
    pub(crate) fn new(settings: Settings, server: &Server) -> Self {
        Self::of_connections(client(settings), server.start())
    }

    pub(crate) fn of_connections(client: Connection, server: ServerConnection) -> Self {
        Self { client, server, seen: Seen::default(), got: vec![], server_error: None }
    }

    /// Passes the client's pending bytes to the server.
    pub(crate) fn forward(&mut self) -> bool {
        let bytes = self.client.outgoing().to_vec();
        self.client.sent(bytes.len()).unwrap();
        let mut rest = &bytes[..];
        while !rest.is_empty() && self.server_error.is_none() {
            self.server.read_tls(&mut rest).unwrap();
            match self.server.process_new_packets() {
                Ok(state) => {
                    let mut plain = vec![0; state.plaintext_bytes_to_read()];
                    self.server.reader().read_exact(&mut plain).unwrap();
                    self.got.extend(plain);
                }
                Err(error) => self.server_error = Some(error),
            }
        }
        !bytes.is_empty()
    }

    /// Returns the server's pending bytes.
    pub(crate) fn server_flight(&mut self) -> Vec<u8> {
        let mut bytes = vec![];
        while self.server.wants_write() {
            self.server.write_tls(&mut bytes).unwrap();
        }
        bytes
    }

    /// Passes bytes in both directions until none are left.
    pub(crate) fn run(&mut self) -> Result<(), Error> {
        loop {
            let forward = self.forward();
            let bytes = self.server_flight();
            if bytes.is_empty() && !forward {
                return Ok(());
            }
            let seen = &mut self.seen;
            self.client.read_tls(&bytes, |event| seen.note(event))?;
        }
    }

    /// Sends data from the server.
    pub(crate) fn say(&mut self, data: &[u8]) {
        self.server.set_buffer_limit(None);
        self.server.writer().write_all(data).unwrap();
    }
}
