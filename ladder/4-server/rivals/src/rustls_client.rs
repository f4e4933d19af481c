//! rustls in blocking threads: an independent, complete client.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use rustix::net::sockopt::set_socket_linger;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, Tls12Resumption};
use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider, kx_group};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, HandshakeKind, SignatureScheme,
};
use tollgate_load::{Close, Head, Plan, Protocol, thread_cpu};

use crate::counted::Tally;
use crate::error::Error;

/// Timeout of each call to the server.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The sessions of a plan, for all threads.
pub(crate) struct Sessions {
    config: Arc<ClientConfig>,
    address: SocketAddr,
    bytes: u64,
    request: String,
    close: Close,
}

impl Sessions {
    pub(crate) fn new(plan: &Plan, address: SocketAddr, bytes: u64) -> Result<Self, Error> {
        let request =
            format!("GET /bytes/{bytes} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        let config = Arc::new(config(plan.protocol)?);
        Ok(Self { config, address, bytes, request, close: plan.close })
    }

    /// Makes sessions until the time `until`. The last session is completed.
    pub(crate) fn work(&self, until: Instant, stop: &AtomicBool) -> Tally {
        let mut tally = Tally::default();
        let begun = thread_cpu();
        while Instant::now() < until && !stop.load(Ordering::Relaxed) && tally.failed == 0 {
            tally.count(self.session().map_err(|error| error.to_string()));
        }
        tally.cpu = thread_cpu().saturating_sub(begun);
        tally
    }

    /// Connects, completes the handshake, sends one request and reads the body.
    fn session(&self) -> io::Result<()> {
        let mut socket = TcpStream::connect_timeout(&self.address, TIMEOUT)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(TIMEOUT))?;
        socket.set_write_timeout(Some(TIMEOUT))?;
        let name = ServerName::from(self.address.ip());
        let mut tls =
            ClientConnection::new(Arc::clone(&self.config), name).map_err(io::Error::other)?;
        let mut stream = rustls::Stream::new(&mut tls, &mut socket);
        stream.write_all(self.request.as_bytes())?;
        response(&mut stream, self.bytes)?;
        if stream.conn.handshake_kind() == Some(HandshakeKind::Resumed) {
            return Err(io::Error::other("a session was resumed"));
        }
        // Errors are ignored: the body is complete, and the server may have closed.
        match self.close {
            Close::RstAfterConfirm => {
                let _ = set_socket_linger(&socket, Some(Duration::ZERO));
            }
            Close::Fin => {
                stream.conn.send_close_notify();
                let _ = stream.flush();
                while stream.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
            }
        }
        Ok(())
    }
}

fn config(protocol: Protocol) -> Result<ClientConfig, Error> {
    let tls12 = (cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, &rustls::version::TLS12);
    let tls13 = (cipher_suite::TLS13_AES_128_GCM_SHA256, &rustls::version::TLS13);
    let ((suite, version), group) = match protocol {
        Protocol::Tls12X25519 => (tls12, kx_group::X25519),
        Protocol::Tls12P256 => (tls12, kx_group::SECP256R1),
        Protocol::Tls13 => (tls13, kx_group::X25519),
        Protocol::Tls12Rsa => {
            let why = "--client rustls: rustls has no RSA key exchange: leave out tls12-rsa";
            return Err(Error::Cannot(why.to_owned()));
        }
    };
    let provider = default_provider();
    let any = Arc::new(AnyChain(provider.signature_verification_algorithms));
    let provider =
        CryptoProvider { cipher_suites: vec![suite], kx_groups: vec![group], ..provider };
    let builder = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[version])
        .map_err(|error| Error::Cannot(error.to_string()))?;
    let mut config =
        builder.dangerous().with_custom_certificate_verifier(any).with_no_client_auth();
    // The client requests tickets, as the load generator does, because making a ticket costs the
    // server CPU time. The client keeps no ticket, so no session is resumed.
    config.resumption =
        Resumption::disabled().tls12_resumption(Tls12Resumption::SessionIdOrTickets);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Reads head and body; the body must have the length of the plan.
fn response(stream: &mut impl io::Read, bytes: u64) -> io::Result<()> {
    let mut received = Vec::new();
    let mut chunk = [0; 16 * 1024];
    let whole = loop {
        match stream.read(&mut chunk)? {
            0 => {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "closed before a response",
                ));
            }
            count => received.extend_from_slice(&chunk[..count]),
        }
        if let Some(head) = head(&received, bytes)? {
            break head as u64 + bytes;
        }
    };
    let mut count = received.len() as u64;
    while count < whole {
        match stream.read(&mut chunk)? {
            0 => {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed within the body"));
            }
            more => count += more as u64,
        }
    }
    if count > whole {
        return Err(io::Error::other("bytes after the body"));
    }
    Ok(())
}

/// Returns the length of the head, once it is complete; it must announce the body of the plan.
fn head(received: &[u8], bytes: u64) -> io::Result<Option<usize>> {
    let Some(head) = Head::read(received).map_err(io::Error::other)? else { return Ok(None) };
    if head.status != 200 {
        return Err(io::Error::other(format!("status {}", head.status)));
    }
    if head.length != Some(bytes) {
        return Err(io::Error::other("the body does not have the requested length"));
    }
    Ok(Some(head.bytes))
}

/// Accepts every chain, because the servers' certificates are made for the run, and verifies every
/// signature.
#[derive(Debug)]
struct AnyChain(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyChain {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
