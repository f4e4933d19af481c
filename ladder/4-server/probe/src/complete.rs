//! What a complete client gets: rustls, with all that it has on offer.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{default_provider, kx_group};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::SingleCertAndKey;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, HandshakeKind, SignatureScheme, Stream,
    SupportedProtocolVersion,
};

use crate::body::{self, Answer};
use crate::shown::Shown;
use crate::site::Site;
use crate::url::Url;
use crate::wire::Wire;

/// What one version of TLS comes to with a complete client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complete {
    /// The registered name of the suite.
    pub suite: String,
    /// The group, where there is one.
    pub group: Option<String>,
    /// The certificates that came, each in DER, the server's own first.
    pub chain: Vec<Vec<u8>>,
    /// Bytes of the OCSP response that came with them; none came: 0.
    pub ocsp_bytes: usize,
    /// Tickets of TLS 1.3 that came with the first session.
    pub tickets: u32,
    /// Whether a second connection resumed the session of the first.
    pub resumes: bool,
}

/// Looks at a version of TLS: a session, and another one that would resume it.
pub(crate) fn look(
    site: &Site,
    version: &'static SupportedProtocolVersion,
) -> io::Result<Complete> {
    let ocsp = Arc::new(AtomicUsize::new(0));
    let config = config(&[version], site.shown(), Arc::clone(&ocsp))?;
    let (url, address) = (site.url(), site.target().address());
    let mut connection = connection(&config, url)?;
    let mut wire = Wire::connect(&address)?;
    shake_hands(&mut connection, &mut wire)?;
    goodbye(&mut connection, &mut wire);
    let name = |group: &dyn rustls::crypto::SupportedKxGroup| {
        tollgate_tls_client::Group::ALL
            .into_iter()
            .find(|known| known.number() == u16::from(group.name()))
            .map_or_else(|| format!("{:?}", group.name()), |known| known.name().to_owned())
    };
    let suite = connection.negotiated_cipher_suite().map(|suite| suite_name(suite.suite()));
    let chain = connection.peer_certificates().unwrap_or_default();
    Ok(Complete {
        suite: suite.unwrap_or_default(),
        group: connection.negotiated_key_exchange_group().map(name),
        chain: chain.iter().map(|certificate| certificate.to_vec()).collect(),
        ocsp_bytes: ocsp.load(Ordering::Relaxed),
        tickets: connection.tls13_tickets_received(),
        resumes: resumes(&config, site).unwrap_or(false),
    })
}

/// A file over TLS, of whatever version.
pub(crate) fn get(
    wire: &mut Wire,
    url: &Url,
    shown: Option<&Shown>,
    path: &str,
    bytes_max: usize,
) -> io::Result<Answer> {
    let config = config(rustls::ALL_VERSIONS, shown, Arc::default())?;
    let mut connection = connection(&config, url)?;
    shake_hands(&mut connection, wire)?;
    let mut stream = Stream::new(&mut connection, wire);
    let answer = body::get(&mut stream, &url.authority(), path, bytes_max);
    goodbye(&mut connection, wire);
    answer
}

/// As logs and registries write it.
fn suite_name(suite: rustls::CipherSuite) -> String {
    let known =
        tollgate_tls_client::Suite::ALL.into_iter().find(|s| s.number() == u16::from(suite));
    known.map_or_else(|| format!("{suite:?}"), |known| known.name().to_owned())
}

/// Whether a second connection resumes what the first one left.
fn resumes(config: &Arc<ClientConfig>, site: &Site) -> io::Result<bool> {
    let mut wire = Wire::connect(&site.target().address())?;
    let mut connection = connection(config, site.url())?;
    shake_hands(&mut connection, &mut wire)?;
    goodbye(&mut connection, &mut wire);
    Ok(connection.handshake_kind() == Some(HandshakeKind::Resumed))
}

fn config(
    versions: &[&'static SupportedProtocolVersion],
    shown: Option<&Shown>,
    ocsp_bytes: Arc<AtomicUsize>,
) -> io::Result<Arc<ClientConfig>> {
    // the hybrid group first, as browsers have it
    let kx_groups =
        vec![kx_group::X25519MLKEM768, kx_group::X25519, kx_group::SECP256R1, kx_group::SECP384R1];
    let provider = CryptoProvider { kx_groups, ..default_provider() };
    let schemes = provider.signature_verification_algorithms.supported_schemes();
    let config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody { ocsp_bytes, schemes }));
    let one = |shown: &Shown| Arc::new(SingleCertAndKey::from(Arc::clone(&shown.complete)));
    Ok(Arc::new(match shown {
        Some(shown) => config.with_client_cert_resolver(one(shown)),
        None => config.with_no_client_auth(),
    }))
}

fn connection(config: &Arc<ClientConfig>, url: &Url) -> io::Result<ClientConnection> {
    let name = match url.address() {
        Some(ip) => ServerName::from(ip),
        None => ServerName::try_from(url.host()).map_err(io::Error::other)?,
    };
    ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)
}

fn shake_hands(connection: &mut ClientConnection, wire: &mut Wire) -> io::Result<()> {
    while connection.is_handshaking() {
        connection.complete_io(wire)?;
    }
    Ok(())
}

/// Says that it goes, and hears the server out: tickets may be on their way.
fn goodbye(connection: &mut ClientConnection, wire: &mut Wire) {
    connection.send_close_notify();
    let mut rest = [0; 4096];
    let mut stream = Stream::new(connection, wire);
    let _ = stream.flush();
    for _ in 0..64 {
        // its errors are of a server that is gone already
        if stream.read(&mut rest).map_or(true, |count| count == 0) {
            return;
        }
    }
}

/// Takes every chain and every signature: what the server has is looked at and not believed. So
/// keys are told that nobody could verify.
#[derive(Debug)]
struct Anybody {
    ocsp_bytes: Arc<AtomicUsize>,
    schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        ocsp_response: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.ocsp_bytes.store(ocsp_response.len(), Ordering::Relaxed);
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}
