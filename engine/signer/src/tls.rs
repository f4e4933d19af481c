//! TLS 1.3 with certificates on both sides.

use core::time::Duration;
use std::path::Path;
use std::time::Instant;

use openssl::asn1::Asn1Time;
use openssl::error::ErrorStack;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{
    Ssl, SslContext, SslContextBuilder, SslMethod, SslMode, SslOptions, SslRef,
    SslSessionCacheMode, SslVerifyMode, SslVersion,
};
use openssl::stack::Stack;
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::{X509, X509Ref};
use zeroize::Zeroizing;

use crate::config::TlsSettings;
use crate::error::Error;
use crate::secret_file::read;

/// The context of new connections.
pub(crate) struct Tls {
    context: SslContext,
    /// The files of the chain, its key, and the trust anchors. If the anchors of clients change,
    /// connections that were verified before are closed.
    pub(crate) files: Files,
}

/// The contents of the files of a context.
#[derive(PartialEq, Eq)]
pub(crate) struct Files {
    chain: Zeroizing<Vec<u8>>,
    key: Zeroizing<Vec<u8>>,
    pub(crate) roots: Zeroizing<Vec<u8>>,
}

/// `SSL_OP_CLEANSE_PLAINTEXT`, which the bindings lack: libssl overwrites the bytes of a record
/// that it has given away, such as the inputs of operations.
const CLEANSE_PLAINTEXT: SslOptions = SslOptions::from_bits_retain(1 << 1);

/// The identity of a connection's peer, as the system or its certificate proves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// The names in a certificate.
    Certificate(Vec<String>),
    /// A user of this machine.
    User(u32),
}

/// A peer whose certificate was verified.
pub(crate) struct Verified {
    pub(crate) identity: Identity,
    /// The end of the certificate's validity.
    pub(crate) until: Instant,
}

impl Tls {
    /// Reads the files.
    pub(crate) fn load(settings: &TlsSettings) -> Result<Self, Error> {
        let TlsSettings { chain, key, client_roots: roots, .. } = settings;
        let files = Files { chain: read(chain)?, key: read(key)?, roots: read(roots)? };
        let no = |path: &Path, what: &str| {
            Error::file(path, format!("{what} in it: give a file in PEM"))
        };
        let certificates = |path: &Path, pem: &[u8]| {
            let found = X509::stack_from_pem(pem).ok().filter(|found| !found.is_empty());
            found.ok_or_else(|| no(path, "no certificate"))
        };
        let anchors = certificates(roots, &files.roots)?;
        let certificates = certificates(chain, &files.chain)?;
        let private = PKey::private_key_from_pem_callback(&files.key, |_| Ok(0))
            .map_err(|_| no(key, "no unencrypted private key"))?;
        let public = certificates[0].public_key();
        let public = public.map_err(Error::openssl("reading the certificate"))?;
        if !public.public_eq(&private) {
            let why = "it does not belong to the certificate: give a matching pair";
            return Err(Error::file(key, why));
        }
        let context = context(&certificates, &private, anchors);
        Ok(Self { context: context.map_err(Error::openssl("preparing TLS"))?, files })
    }

    /// Returns the state of a new connection.
    pub(crate) fn connection(&self) -> Result<Ssl, ErrorStack> {
        let mut ssl = Ssl::new(&self.context)?;
        ssl.set_accept_state();
        Ok(ssl)
    }
}

fn context(
    chain: &[X509],
    key: &PKey<Private>,
    anchors: Vec<X509>,
) -> Result<SslContext, ErrorStack> {
    let mut builder = SslContextBuilder::new(SslMethod::tls_server())?;
    builder.set_min_proto_version(Some(SslVersion::TLS1_3))?;
    // Frames are added to the buffer, which may move, while earlier ones wait in it.
    builder.set_mode(SslMode::ACCEPT_MOVING_WRITE_BUFFER | SslMode::ENABLE_PARTIAL_WRITE);
    builder.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
    let mut store = X509StoreBuilder::new()?;
    let mut names = Stack::new()?;
    for anchor in anchors {
        names.push(anchor.subject_name().to_owned()?)?;
        store.add_cert(anchor)?;
    }
    builder.set_cert_store(store.build());
    builder.set_certificate(&chain[0])?;
    chain[1..]
        .iter()
        .try_for_each(|certificate| builder.add_extra_chain_cert(certificate.clone()))?;
    builder.set_private_key(key)?;
    // Each connection proves its certificate anew.
    builder.set_session_cache_mode(SslSessionCacheMode::OFF);
    builder.set_options(SslOptions::NO_TICKET | CLEANSE_PLAINTEXT);
    builder.set_client_ca_list(names);
    builder.set_num_tickets(0)?;
    Ok(builder.build())
}

/// Returns the identity of the peer after the handshake, which has verified its certificate.
pub(crate) fn verified(ssl: &SslRef) -> Option<Verified> {
    let certificate = ssl.peer_certificate()?;
    let left = Asn1Time::days_from_now(0).and_then(|now| now.diff(certificate.not_after())).ok()?;
    let seconds = i64::from(left.days) * 86_400 + i64::from(left.secs);
    let left = Duration::from_secs(u64::try_from(seconds).ok()?);
    // A century is enough for any connection.
    let until = Instant::now() + left.min(Duration::from_secs(100 * 365 * 86_400));
    Some(Verified { identity: Identity::Certificate(names(&certificate)), until })
}

/// Returns the DNS names and URIs of a certificate, and its common name if it has no
/// `subjectAltName`. A URI contains `://`, and another name does not: an authority that may issue
/// any URI cannot issue a DNS name.
fn names(certificate: &X509Ref) -> Vec<String> {
    let is_uri = |name: &str| name.contains("://");
    match certificate.subject_alt_names() {
        Some(names) => names
            .iter()
            .filter_map(|name| {
                let domain = name.dnsname().filter(|name| !is_uri(name));
                domain.or_else(|| name.uri().filter(|name| is_uri(name)))
            })
            .map(str::to_owned)
            .collect(),
        None => certificate
            .subject_name()
            .entries_by_nid(Nid::COMMONNAME)
            .filter_map(|entry| entry.data().to_string().ok())
            .filter(|name| !is_uri(name))
            .collect(),
    }
}
