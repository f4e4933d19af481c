//! Sessions of a complete client: rustls with everything it offers.

use core::net::SocketAddr;
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
use tollgate_tls_client::{Group, Suite};

use crate::body::{self, Answer};
use crate::client_certificate::ClientCertificate;
use crate::url::Url;
use crate::wire::Wire;

/// The session that a complete client gets with one version of TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complete {
    /// The registered name of the suite.
    pub suite: String,
    /// The key-exchange group, if there is one.
    pub group: Option<String>,
    /// The certificate chain, each in DER, the server's own first.
    pub chain: Vec<Vec<u8>>,
    /// The length of the stapled OCSP response in bytes; 0 if there is none.
    pub ocsp_bytes: usize,
    /// TLS 1.3 tickets of the first session.
    pub tickets: u32,
    /// A second connection resumed the session of the first.
    pub resumes: bool,
}

/// Makes one session with this version, and tries to resume it on another connection.
pub(crate) fn look(
    (url, address): (&Url, SocketAddr),
    certificate: Option<&ClientCertificate>,
    version: &'static SupportedProtocolVersion,
) -> io::Result<Complete> {
    let ocsp = Arc::new(AtomicUsize::new(0));
    let config = config(&[version], certificate, Arc::clone(&ocsp))?;
    let connection = session(&config, url, address)?;
    let suite = connection.negotiated_cipher_suite().map(|suite| suite_name(suite.suite()));
    let group = connection.negotiated_key_exchange_group();
    let chain = connection.peer_certificates().unwrap_or_default();
    // on a second connection
    let is_resumed =
        |again: ClientConnection| again.handshake_kind() == Some(HandshakeKind::Resumed);
    Ok(Complete {
        suite: suite.unwrap_or_default(),
        group: group.map(|group| group_name(group.name())),
        chain: chain.iter().map(|certificate| certificate.to_vec()).collect(),
        ocsp_bytes: ocsp.load(Ordering::Relaxed),
        tickets: connection.tls13_tickets_received(),
        resumes: session(&config, url, address).is_ok_and(is_resumed),
    })
}

/// Fetches a file over any version of TLS.
pub(crate) fn get(
    wire: &mut Wire,
    url: &Url,
    certificate: Option<&ClientCertificate>,
    path: &str,
    bytes_max: usize,
) -> io::Result<Answer> {
    let config = config(rustls::ALL_VERSIONS, certificate, Arc::default())?;
    let mut connection = connection(&config, url)?;
    handshake(&mut connection, wire)?;
    let mut stream = Stream::new(&mut connection, wire);
    let answer = body::get(&mut stream, &url.authority(), path, bytes_max);
    close(&mut connection, wire);
    answer
}

/// Returns the registered name.
fn suite_name(suite: rustls::CipherSuite) -> String {
    let known = Suite::ALL.into_iter().find(|known| known.number() == u16::from(suite));
    known.map_or_else(|| format!("{suite:?}"), |known| known.name().to_owned())
}

/// Returns the registered name.
fn group_name(group: rustls::NamedGroup) -> String {
    let known = Group::ALL.into_iter().find(|known| known.number() == u16::from(group));
    known.map_or_else(|| format!("{group:?}"), |known| known.name().to_owned())
}

/// Makes a session on its own connection, and closes it.
fn session(
    config: &Arc<ClientConfig>,
    url: &Url,
    address: SocketAddr,
) -> io::Result<ClientConnection> {
    let mut connection = connection(config, url)?;
    let mut wire = Wire::connect(&address)?;
    handshake(&mut connection, &mut wire)?;
    close(&mut connection, &mut wire);
    Ok(connection)
}

fn config(
    versions: &[&'static SupportedProtocolVersion],
    certificate: Option<&ClientCertificate>,
    ocsp_bytes: Arc<AtomicUsize>,
) -> io::Result<Arc<ClientConfig>> {
    // the hybrid group first, as browsers offer it
    let kx_groups =
        vec![kx_group::X25519MLKEM768, kx_group::X25519, kx_group::SECP256R1, kx_group::SECP384R1];
    let provider = CryptoProvider { kx_groups, ..default_provider() };
    let schemes = provider.signature_verification_algorithms.supported_schemes();
    let config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AcceptAny { ocsp_bytes, schemes }));
    let resolver = |certificate: &ClientCertificate| {
        Arc::new(SingleCertAndKey::from(Arc::clone(&certificate.complete)))
    };
    Ok(Arc::new(match certificate {
        Some(certificate) => config.with_client_cert_resolver(resolver(certificate)),
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

fn handshake(connection: &mut ClientConnection, wire: &mut Wire) -> io::Result<()> {
    while connection.is_handshaking() {
        connection.complete_io(wire)?;
    }
    Ok(())
}

/// Sends `close_notify` and reads until the server closes: tickets may be on their way.
fn close(connection: &mut ClientConnection, wire: &mut Wire) {
    connection.send_close_notify();
    let mut rest = [0; 4096];
    let mut stream = Stream::new(connection, wire);
    let _ = stream.flush();
    for _ in 0..64 {
        // an error means that the server has closed already
        if stream.read(&mut rest).map_or(true, |count| count == 0) {
            return;
        }
    }
}

/// Accepts every chain and every signature. The probe reports the certificates of the server, and
/// trusts none of them.
#[derive(Debug)]
struct AcceptAny {
    ocsp_bytes: Arc<AtomicUsize>,
    schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for AcceptAny {
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
