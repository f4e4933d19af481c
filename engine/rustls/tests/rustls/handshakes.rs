//! Handshakes of a rustls server that signs through a queue, with the clients of rustls and
//! OpenSSL.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use openssl::ssl::{SslConnector, SslMethod, SslVerifyMode, SslVersion};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, ServerConfig, ServerConnection,
    SignatureScheme, StreamOwned, SupportedProtocolVersion, version,
};
use tollgate_queue::{PrivateJob, Queue};
use tollgate_rustls::{Secp256r1Group, X25519MlKem768Group, provider};

use crate::identity::{EC_P256, RSA_2048, certificate, has_no_curves, key, queue};

fn server(queue: &Queue<PrivateJob>, pem: &str) -> Arc<ServerConfig> {
    server_with(provider(queue), pem)
}

fn server_with(provider: CryptoProvider, pem: &str) -> Arc<ServerConfig> {
    let config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate(pem)], key(pem));
    Arc::new(config.unwrap())
}

/// Accepts any certificate, and only valid signatures of these schemes.
#[derive(Debug)]
struct Signatures(CryptoProvider, Vec<SignatureScheme>);

impl ServerCertVerifier for Signatures {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        assert!(self.1.contains(&signed.scheme));
        verify_tls12_signature(message, leaf, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        assert!(self.1.contains(&signed.scheme));
        verify_tls13_signature(message, leaf, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.1.clone()
    }
}

fn client(
    version: &'static SupportedProtocolVersion,
    schemes: &[SignatureScheme],
) -> ClientConnection {
    let own = aws_lc_rs::default_provider();
    let config = ClientConfig::builder_with_provider(Arc::new(own.clone()))
        .with_protocol_versions(&[version])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Signatures(own, schemes.to_vec())))
        .with_no_client_auth();
    ClientConnection::new(Arc::new(config), ServerName::try_from("host.example").unwrap()).unwrap()
}

/// Gives received bytes to a side.
fn feed<S>(side: &mut rustls::ConnectionCommon<S>, mut bytes: &[u8]) -> Result<(), Error> {
    while !bytes.is_empty() {
        side.read_tls(&mut bytes).unwrap();
        side.process_new_packets()?;
    }
    Ok(())
}

/// Takes the bytes that a side sends.
fn drain<S>(side: &mut rustls::ConnectionCommon<S>) -> Vec<u8> {
    let mut bytes = Vec::new();
    while side.wants_write() {
        side.write_tls(&mut bytes).unwrap();
    }
    bytes
}

/// Passes bytes in both directions until both sides have finished.
fn shake(mut client: ClientConnection, server: &Arc<ServerConfig>) -> Result<(), Error> {
    let mut server = ServerConnection::new(Arc::clone(server)).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        feed(&mut server, &drain(&mut client))?;
        feed(&mut client, &drain(&mut server))?;
    }
    Ok(())
}

#[test]
fn the_rustls_client_accepts_every_scheme_of_both_versions() {
    let queue = queue();
    let server = server(&queue, RSA_2048);
    let pss = [
        SignatureScheme::RSA_PSS_SHA256,
        SignatureScheme::RSA_PSS_SHA384,
        SignatureScheme::RSA_PSS_SHA512,
    ];
    let pkcs1 = [
        SignatureScheme::RSA_PKCS1_SHA256,
        SignatureScheme::RSA_PKCS1_SHA384,
        SignatureScheme::RSA_PKCS1_SHA512,
    ];
    let of_12 = pss.into_iter().chain(pkcs1).map(|scheme| (&version::TLS12, scheme));
    let of_13 = pss.into_iter().map(|scheme| (&version::TLS13, scheme));
    for (done, (version, scheme)) in (1..).zip(of_12.chain(of_13)) {
        shake(client(version, &[scheme]), &server).unwrap();
        assert_eq!(queue.stats().unwrap().done, done, "{scheme:?}");
    }
    // TLS 1.3 has no PKCS#1 signatures
    assert!(shake(client(&version::TLS13, &pkcs1), &server).is_err());
}

#[test]
fn other_keys_sign_without_the_queue() {
    let queue = queue();
    let server = server(&queue, EC_P256);
    let ecdsa = [SignatureScheme::ECDSA_NISTP256_SHA256];
    for version in [&version::TLS12, &version::TLS13] {
        shake(client(version, &ecdsa), &server).unwrap();
    }
    let rsa = [SignatureScheme::RSA_PSS_SHA256];
    assert!(shake(client(&version::TLS13, &rsa), &server).is_err());
    assert_eq!(queue.stats().unwrap().submitted, 0);
}

#[test]
fn clients_agree_on_secp256r1() {
    if has_no_curves() {
        return;
    }
    let own = CryptoProvider { kx_groups: vec![&Secp256r1Group], ..provider(&queue()) };
    let server = server_with(own, EC_P256);
    let ecdsa = [SignatureScheme::ECDSA_NISTP256_SHA256];
    for version in [&version::TLS12, &version::TLS13] {
        shake(client(version, &ecdsa), &server).unwrap();
    }
}

#[test]
fn clients_agree_on_a_hybrid_group() {
    if has_no_curves() {
        return;
    }
    let own = CryptoProvider { kx_groups: vec![&X25519MlKem768Group], ..provider(&queue()) };
    let server = server_with(own, EC_P256);
    let ecdsa = [SignatureScheme::ECDSA_NISTP256_SHA256];
    shake(client(&version::TLS13, &ecdsa), &server).unwrap();
    assert!(shake(client(&version::TLS12, &ecdsa), &server).is_err());
}

#[test]
fn openssl_clients_connect_from_many_threads() {
    const PER_VERSION: usize = 4;
    let queue = queue();
    let server = server(&queue, RSA_2048);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        for _ in 0..2 * PER_VERSION {
            scope.spawn(|| {
                let tls = ServerConnection::new(Arc::clone(&server)).unwrap();
                let mut stream = StreamOwned::new(tls, listener.accept().unwrap().0);
                let mut said = [0; 4];
                stream.read_exact(&mut said).unwrap();
                stream.write_all(&said).unwrap();
                stream.conn.send_close_notify();
                stream.flush().unwrap();
            });
        }
        for version in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
            for _ in 0..PER_VERSION {
                scope.spawn(move || {
                    let mut connector = SslConnector::builder(SslMethod::tls()).unwrap();
                    connector.set_verify(SslVerifyMode::NONE); // applies to the certificate only
                    connector.set_min_proto_version(Some(version)).unwrap();
                    connector.set_max_proto_version(Some(version)).unwrap();
                    let socket = TcpStream::connect(address).unwrap();
                    let mut stream = connector.build().connect("host.example", socket).unwrap();
                    stream.write_all(b"said").unwrap();
                    let mut heard = [0; 4];
                    stream.read_exact(&mut heard).unwrap();
                    assert_eq!(&heard, b"said");
                });
            }
        }
    });
    assert_eq!(queue.stats().unwrap().done, 2 * PER_VERSION as u64);
}
