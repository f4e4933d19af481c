//! TLS 1.3 with certificates on both sides.

use core::time::Duration;
use std::time::Instant;

use openssl::asn1::Asn1Time;
use openssl::error::ErrorStack;
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::ssl::{
    Ssl, SslContext, SslContextBuilder, SslMethod, SslMode, SslOptions, SslRef,
    SslSessionCacheMode, SslVerifyMode, SslVersion,
};
use openssl::stack::Stack;
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::{X509, X509Ref};

use crate::config::TlsSettings;
use crate::error::Error;
use crate::identity::Identity;
use crate::keys::read;

/// The context of new connections.
pub(crate) struct Tls {
    context: SslContext,
    /// The file of trust anchors. If it changes, connections that were verified before are closed.
    pub(crate) roots: Vec<u8>,
}

/// A peer whose certificate was verified.
pub(crate) struct Verified {
    pub(crate) identity: Identity,
    /// The end of the certificate's validity.
    pub(crate) until: Instant,
}

impl Tls {
    pub(crate) fn load(settings: &TlsSettings) -> Result<Self, Error> {
        let roots = read(&settings.client_roots)?.to_vec();
        let (chain, key) = (read(&settings.chain)?, read(&settings.key)?);
        let certificates = |pem: &[u8]| {
            X509::stack_from_pem(pem).ok().filter(|certificates| !certificates.is_empty())
        };
        let no = |path, what: &str| Error::file(path, format!("{what} in it: give a file in PEM"));
        let anchors =
            certificates(&roots).ok_or_else(|| no(&settings.client_roots, "no certificate"))?;
        let chain = certificates(&chain).ok_or_else(|| no(&settings.chain, "no certificate"))?;
        let key = PKey::private_key_from_pem_callback(&key, |_| Ok(0))
            .map_err(|_| no(&settings.key, "no unencrypted private key"))?;
        let public = chain[0].public_key().map_err(Error::openssl("reading the certificate"))?;
        if !public.public_eq(&key) {
            return Err(Error::file(
                &settings.key,
                "it does not belong to the certificate: give a matching pair",
            ));
        }
        let build = || -> Result<SslContext, ErrorStack> {
            let mut builder = SslContextBuilder::new(SslMethod::tls_server())?;
            builder.set_min_proto_version(Some(SslVersion::TLS1_3))?;
            // Answers are added to the buffer, which may move, while earlier ones wait in it.
            builder.set_mode(SslMode::ACCEPT_MOVING_WRITE_BUFFER | SslMode::ENABLE_PARTIAL_WRITE);
            builder.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
            let mut store = X509StoreBuilder::new()?;
            let mut names = Stack::new()?;
            for anchor in anchors {
                names.push(anchor.subject_name().to_owned()?)?;
                store.add_cert(anchor)?;
            }
            builder.set_cert_store(store.build());
            builder.set_client_ca_list(names);
            builder.set_certificate(&chain[0])?;
            chain[1..].iter().try_for_each(|one| builder.add_extra_chain_cert(one.clone()))?;
            builder.set_private_key(&key)?;
            // Each connection proves its certificate anew.
            builder.set_session_cache_mode(SslSessionCacheMode::OFF);
            builder.set_num_tickets(0)?;
            builder.set_options(SslOptions::NO_TICKET);
            Ok(builder.build())
        };
        let context = build().map_err(Error::openssl("preparing TLS"))?;
        Ok(Self { context, roots })
    }

    pub(crate) fn connection(&self) -> Result<Ssl, ErrorStack> {
        Ssl::new(&self.context)
    }
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
/// `subjectAltName`. A URI contains `://`, and another name does not: an authority that may issue any
/// URI cannot issue a DNS name.
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
