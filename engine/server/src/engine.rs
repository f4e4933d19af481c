//! A worker's TLS context and its engine.
//!
//! Each worker has its own library context, which one thread creates, uses and frees. Engines of
//! one process are therefore independent of each other and of the default library context and its
//! configuration file, and workers share no locks in libcrypto.

use core::ffi::CStr;
use std::ffi::CString;

use openssl::error::ErrorStack;
use openssl::lib_ctx::{LibCtx, LibCtxRef};
use openssl::md_ctx::MdCtx;
use openssl::pkey::{PKeyRef, Private};
use openssl::provider::Provider;
use openssl::ssl::{
    AlpnError, ClientHelloResponse, Ssl, SslContext, SslContextBuilder, SslMode, SslOptions,
    SslSessionCacheMode, SslVerifyMode, SslVersion, select_next_proto,
};
use openssl::x509::X509;

use crate::certificate::{self, Credentials};
use crate::config::{Config, Resumption};
use crate::counters::SignerOperations;
use crate::error::{Error, Misuse, Rejected, Unavailable};
use crate::evp::{self, Source};
use crate::ffi::{self, TicketKeys};
use crate::kinds::{Engine, KeyKind};
use crate::suite::{Group, Protocol, Suite};

/// Distinguishes sessions of different servers (RFC 8446 §4.6.1). Any constant works.
const SESSION_CONTEXT: &[u8] = b"tollgate";

/// How handshakes wait for their private-key operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handshakes {
    /// The engine may pause a handshake, until operations of several connections run as one batch.
    MayPause,
    /// The operation runs at once.
    RunAtOnce,
}

/// Accepts TLS connections. Fields are dropped in this order: OpenSSL requires that contexts are
/// freed before providers, and providers before the library context.
pub(crate) struct Acceptor {
    context: SslContext,
    providers: Vec<Provider>,
    library: LibCtx,
    engine: Engine,
    /// The provider's counts after the check at start.
    before: SignerOperations,
}

impl Acceptor {
    /// Creates a context on the thread that will use it. Refuses a key if a provider other than the
    /// engine's would sign or decrypt with it.
    pub(crate) fn new(
        config: &Config,
        credentials: &Credentials,
        tickets: &TicketKeys,
        handshakes: Handshakes,
    ) -> Result<Self, Error> {
        let (library, providers) = library(config.engine)
            .map_err(Unavailable::openssl("loading the engine's provider"))?;
        let query = config.engine.query();
        let mut context =
            ffi::context(&library, query).map_err(Unavailable::openssl("making a TLS context"))?;
        negotiation(&mut context, config, credentials.kind)?;
        field(&mut context, config, credentials.kind, &library)
            .map_err(Unavailable::openssl("setting the prime field of DHE"))?;
        resumption(&mut context, config.resumption, tickets)
            .map_err(Unavailable::openssl("setting up session tickets"))?;
        if handshakes == Handshakes::MayPause && config.engine == Engine::Tollgate {
            ffi::let_handshakes_pause(&mut context)
                .map_err(Unavailable::openssl("setting up pauses of handshakes"))?;
        }
        if let Some(roots) = &config.client_roots {
            require_certificates(&mut context, &certificate::read_roots(roots)?)
                .map_err(Unavailable::openssl("setting the trust anchors of clients"))?;
        }
        let key = ffi::private_key(&library, query, &credentials.key_der)
            .map_err(Unavailable::openssl("reading the key into its library context"))?;
        identity(&mut context, credentials, &key)
            .map_err(Unavailable::openssl("giving TLS the certificate and key"))?;
        let rsa_kx = config.suites_of(Protocol::Tls12, credentials.kind);
        let decrypts = rsa_kx.iter().any(|suite| suite.is_rsa_key_exchange());
        check_engine(config.engine, &library, &key, credentials.kind, decrypts)?;
        let context = context.build();
        let before = SignerOperations::default();
        let mut this = Self { context, providers, library, engine: config.engine, before };
        this.before = this.operations();
        Ok(this)
    }

    pub(crate) fn library(&self) -> &LibCtxRef {
        &self.library
    }

    /// Returns the server's key in the library context.
    pub(crate) fn key(&self) -> &PKeyRef<Private> {
        self.context.private_key().expect("`new` gives the context a key")
    }

    /// Returns the private-key operations for connections so far; zero for an engine that does not
    /// count.
    pub(crate) fn operations(&self) -> SignerOperations {
        match (self.engine, self.providers.last()) {
            (Engine::Tollgate, Some(provider)) => ffi::operations(provider).since(self.before),
            _ => SignerOperations::default(),
        }
    }

    /// Creates another context with OpenSSL's defaults, and with an identity if there are
    /// credentials.
    pub(crate) fn plain_context(
        &self,
        credentials: Option<&Credentials>,
    ) -> Result<SslContextBuilder, ErrorStack> {
        let query = self.engine.query();
        let mut context = ffi::context(&self.library, query)?;
        if let Some(credentials) = credentials {
            let key = ffi::private_key(&self.library, query, &credentials.key_der)?;
            identity(&mut context, credentials, &key)?;
        }
        Ok(context)
    }

    /// Creates a connection, before its handshake.
    pub(crate) fn connection(&self) -> Result<Ssl, ErrorStack> {
        Ssl::new(&self.context)
    }
}

fn library(engine: Engine) -> Result<(LibCtx, Vec<Provider>), ErrorStack> {
    let library = LibCtx::new()?;
    let mut providers = vec![Provider::load(Some(&library), "default")?];
    if engine == Engine::Tollgate {
        ffi::add_builtin(&library, c"tollgate", tollgate_provider::init_function())?;
        providers.push(Provider::load(Some(&library), "tollgate")?);
    }
    Ok((library, providers))
}

/// Sets versions, suites, groups, and modes for reading and writing.
fn negotiation(
    context: &mut SslContextBuilder,
    config: &Config,
    key: KeyKind,
) -> Result<(), Error> {
    let doing = || Unavailable::openssl("setting versions, suites and groups");
    let names = |suites: &[Suite]| -> String {
        suites.iter().map(|suite| suite.openssl_name()).collect::<Vec<_>>().join(":")
    };
    let tls12 = config.suites_of(Protocol::Tls12, key);
    let tls13 = config.suites_of(Protocol::Tls13, key);
    let spoken =
        |protocol, suites: &[Suite]| config.protocols.contains(&protocol) && !suites.is_empty();
    let (least, most) = match (spoken(Protocol::Tls12, &tls12), spoken(Protocol::Tls13, &tls13)) {
        (true, true) => (SslVersion::TLS1_2, SslVersion::TLS1_3),
        (true, false) => (SslVersion::TLS1_2, SslVersion::TLS1_2),
        (false, true) => (SslVersion::TLS1_3, SslVersion::TLS1_3),
        (false, false) => {
            return Err(Misuse::NoSuite { key: key.to_string() }.into());
        }
    };
    context.set_min_proto_version(Some(least)).map_err(doing())?;
    context.set_max_proto_version(Some(most)).map_err(doing())?;
    // Replaces the system's configuration. Level 2 requires 112 bits of security, which AES128-SHA
    // and RSA-2048 have; level 1 requires 80 bits, which RSA-1024 has.
    context.set_security_level(if config.allow_rsa_1024 && key == KeyKind::OF_2001 {
        1
    } else {
        2
    });
    if least == SslVersion::TLS1_2 {
        context.set_cipher_list(&names(&tls12)).map_err(doing())?;
    }
    if most == SslVersion::TLS1_3 {
        context.set_ciphersuites(&names(&tls13)).map_err(doing())?;
    }
    let rsa_kx: Vec<_> =
        tls12.iter().copied().filter(|suite| suite.is_rsa_key_exchange()).collect();
    if !rsa_kx.is_empty() {
        let suites = CString::new(names(&rsa_kx)).expect("names have no NUL");
        // RFC 5246 §7.4.1.4.1: a client without this extension verifies SHA-1 only, and the
        // security level forbids signatures with SHA-1. OpenSSL would then refuse RSA key exchange
        // too, although RSA key exchange needs no signature.
        context.set_client_hello_callback(move |ssl, _| {
            if ffi::lacks_signature_algorithms(ssl) {
                ffi::negotiate_without_signature(ssl, &suites)?;
            }
            Ok(ClientHelloResponse::SUCCESS)
        });
    }
    let groups: Vec<_> = config.groups.iter().map(|group| group.openssl_name()).collect();
    context.set_groups_list(&groups.join(":")).map_err(doing())?;
    context.set_options(
        SslOptions::CIPHER_SERVER_PREFERENCE
            | SslOptions::NO_COMPRESSION
            | SslOptions::NO_RENEGOTIATION,
    );
    context.set_mode(
        SslMode::ENABLE_PARTIAL_WRITE
            | SslMode::ACCEPT_MOVING_WRITE_BUFFER
            | SslMode::RELEASE_BUFFERS,
    );
    // One read(2) returns header and body of a record, and following records.
    context.set_read_ahead(true);
    context.set_alpn_select_callback(|_, client| {
        select_next_proto(b"\x08http/1.1", client).ok_or(AlpnError::NOACK)
    });
    Ok(())
}

/// Sets the prime field for DHE in TLS 1.2: the first field of the configured groups, or ffdhe2048.
fn field(
    context: &mut SslContextBuilder,
    config: &Config,
    key: KeyKind,
    library: &LibCtxRef,
) -> Result<(), ErrorStack> {
    if !config.suites_of(Protocol::Tls12, key).iter().any(|suite| suite.is_dhe()) {
        return Ok(());
    }
    let field = config.groups.iter().copied().find(|group| group.is_field());
    let name = field.unwrap_or(Group::Ffdhe2048).openssl_name();
    let name = CString::new(name).expect("names have no NUL");
    ffi::set_dhe_group(context, library, config.engine.query(), &name)
}

fn resumption(
    context: &mut SslContextBuilder,
    resumption: Resumption,
    tickets: &TicketKeys,
) -> Result<(), ErrorStack> {
    // Workers share ticket keys but no memory, so there is a cache only on request.
    context.set_session_cache_mode(match resumption {
        Resumption::Cache => SslSessionCacheMode::SERVER,
        Resumption::Off | Resumption::Tickets => SslSessionCacheMode::OFF,
    });
    context.set_session_id_context(SESSION_CONTEXT)?;
    match resumption {
        Resumption::Cache | Resumption::Off => {
            context.set_options(SslOptions::NO_TICKET);
            context.set_num_tickets(0)
        }
        Resumption::Tickets => {
            context.set_num_tickets(2)?;
            ffi::set_ticket_keys(context, tickets)
        }
    }
}

/// Lets connections request a certificate, and end if the client has none that these roots issued.
fn require_certificates(context: &mut SslContextBuilder, roots: &[X509]) -> Result<(), ErrorStack> {
    for root in roots {
        context.cert_store_mut().add_cert(root.clone())?;
        context.add_client_ca(root)?;
    }
    context.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
    Ok(())
}

fn identity(
    context: &mut SslContextBuilder,
    credentials: &Credentials,
    key: &PKeyRef<Private>,
) -> Result<(), ErrorStack> {
    let (first, rest) = credentials.chain.split_first().expect("a chain has a first certificate");
    context.set_certificate(first)?;
    for certificate in rest {
        context.add_extra_chain_cert(certificate.clone())?;
    }
    context.set_private_key(key)?;
    context.check_private_key()
}

/// Signs once, and looks up the provider for decryption if a suite needs decryption. The key caches
/// its import, so handshakes use the same provider as this check.
fn check_engine(
    engine: Engine,
    library: &LibCtx,
    key: &PKeyRef<Private>,
    kind: KeyKind,
    decrypts: bool,
) -> Result<(), Error> {
    let source = Source { library, query: engine.query() };
    let doing = || Unavailable::openssl("signing with the key");
    let expect = |provider: String| {
        if provider == engine.provider() {
            return Ok(());
        }
        Err(Error::from(Rejected::Engine { engine, key: kind.to_string(), instead: provider }))
    };
    expect(signer(source, key, kind.digest()).map_err(doing())?)?;
    if decrypts {
        expect(decrypter(source, key).map_err(doing())?)?;
    }
    Ok(())
}

/// Signs once, and returns the name of the provider that did.
fn signer(
    source: Source<'_>,
    key: &PKeyRef<Private>,
    name: Option<&CStr>,
) -> Result<String, ErrorStack> {
    let mut digest = MdCtx::new()?;
    let provider = evp::provider_name(source.begin_signature(&mut digest, key, name)?);
    digest.digest_sign(b"a message", Some(&mut vec![0; key.size()]))?;
    Ok(provider)
}

/// Returns the name of the provider that would decrypt with this key.
fn decrypter(source: Source<'_>, key: &PKeyRef<Private>) -> Result<String, ErrorStack> {
    let mut ctx = source.key_context(key)?;
    ctx.decrypt_init()?;
    Ok(evp::provider_name(&ctx))
}

/// Returns the IANA name of the negotiated group.
pub(crate) fn group_name(ssl: &openssl::ssl::SslRef) -> Option<&'static str> {
    use openssl::nid::Nid;

    /// `NID_X25519` of `openssl/obj_mac.h`.
    const X25519: Nid = Nid::from_raw(1034);

    let nid = ffi::negotiated_group(ssl).map(Nid::from_raw)?;
    Some(match nid {
        Nid::X9_62_PRIME256V1 => Group::P256.name(),
        Nid::SECP384R1 => Group::P384.name(),
        X25519 => Group::X25519.name(),
        other => other.short_name().ok()?,
    })
}
