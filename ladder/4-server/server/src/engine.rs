//! A worker's TLS context and its engine.
//!
//! Each worker has its own library context, which one thread creates, uses and frees. Engines of
//! one process are therefore independent of each other and of the default library context and its
//! configuration file, and workers share no locks in libcrypto.

use core::ffi::CStr;

use openssl::error::ErrorStack;
use openssl::lib_ctx::{LibCtx, LibCtxRef};
use openssl::md_ctx::MdCtx;
use openssl::pkey::{PKeyRef, Private};
use openssl::ssl::{
    AlpnError, Ssl, SslContext, SslContextBuilder, SslMode, SslOptions, SslRef,
    SslSessionCacheMode, SslVersion, select_next_proto,
};

use crate::certificate::{Credentials, unusable_key};
use crate::config::{Config, Resumption};
use crate::counters::SignerOperations;
use crate::error::{Error, one_line};
use crate::evp::{self, Source};
use crate::ffi;
use crate::kinds::{Engine, KeyKind};
use crate::library::Library;
use crate::sessions::use_cache;
use crate::setup::Setup;
use crate::suite::{Group, Protocol, Suite};

/// How handshakes wait for their private-key operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handshakes {
    /// The engine may pause a handshake, until operations of several connections run as one batch.
    MayPause,
    /// The operation runs at once.
    RunAtOnce,
}

/// Accepts TLS connections. Fields are dropped in this order: OpenSSL requires that TLS contexts
/// are freed before their library context.
pub(crate) struct Acceptor {
    context: SslContext,
    library: Library,
    handshakes: Handshakes,
    /// The provider's counts after the check at start.
    before: SignerOperations,
}

impl Acceptor {
    /// Creates a context on the thread that will use it. Refuses a key if a provider other than the
    /// engine's would sign or decrypt with it.
    pub(crate) fn new(setup: &Setup, handshakes: Handshakes) -> Result<Self, Error> {
        let Setup { config, credentials, .. } = setup;
        let library =
            Library::new(config.engine).map_err(Error::openssl("loading the engine's provider"))?;
        let context = context(&library, setup, handshakes)?;
        let key = context.private_key().expect("`context` gives it a key");
        check_engine(config, library.context(), key, credentials.kind)?;
        let before = library.operations();
        Ok(Self { context, library, handshakes, before })
    }

    pub(crate) fn library(&self) -> &LibCtxRef {
        self.library.context()
    }

    /// Returns the server's key in the library context.
    pub(crate) fn key(&self) -> &PKeyRef<Private> {
        self.context.private_key().expect("`context` gives it a key")
    }

    /// Returns the private-key operations for connections so far; zero for an engine that does not
    /// count.
    pub(crate) fn operations(&self) -> SignerOperations {
        self.library.operations().since(self.before)
    }

    /// Creates another context with the server's certificate, key and pauses, and OpenSSL's
    /// defaults.
    pub(crate) fn plain_context(&self, setup: &Setup) -> Result<SslContextBuilder, ErrorStack> {
        let (library, query) = (self.library.context(), setup.config.engine.query());
        let mut context = ffi::context(library, query)?;
        identity(&mut context, library, query, &setup.credentials)?;
        let_pause(&mut context, setup.config.engine, self.handshakes)?;
        Ok(context)
    }

    /// Creates a connection, before its handshake.
    pub(crate) fn connection(&self) -> Result<Ssl, ErrorStack> {
        Ssl::new(&self.context)
    }
}

fn let_pause(
    context: &mut SslContextBuilder,
    engine: Engine,
    handshakes: Handshakes,
) -> Result<(), ErrorStack> {
    match (handshakes, engine) {
        (Handshakes::MayPause, Engine::Tollgate) => ffi::let_handshakes_pause(context),
        _ => Ok(()),
    }
}

/// Creates a TLS context.
fn context(library: &Library, setup: &Setup, handshakes: Handshakes) -> Result<SslContext, Error> {
    let Setup { config, credentials, .. } = setup;
    let (key, query) = (credentials.kind, config.engine.query());
    let mut context =
        ffi::context(library.context(), query).map_err(Error::openssl("making a TLS context"))?;
    negotiation(&mut context, config, key)?;
    resumption(&mut context, setup)
        .map_err(Error::openssl("setting up the resumption of sessions"))?;
    let_pause(&mut context, config.engine, handshakes)
        .map_err(Error::openssl("setting up pauses of handshakes"))?;
    identity(&mut context, library.context(), query, credentials)
        .map_err(Error::openssl("giving TLS the certificate and key"))?;
    Ok(context.build())
}

/// Sets versions, suites, groups, and modes for reading and writing.
fn negotiation(
    context: &mut SslContextBuilder,
    config: &Config,
    key: KeyKind,
) -> Result<(), Error> {
    let doing = || Error::openssl("setting versions, suites and groups");
    let tls12 = config.suites_of(Protocol::Tls12, key);
    let tls13 = config.suites_of(Protocol::Tls13, key);
    let spoken =
        |protocol, suites: &[Suite]| config.protocols.contains(&protocol) && !suites.is_empty();
    let (least, most) = match (spoken(Protocol::Tls12, &tls12), spoken(Protocol::Tls13, &tls13)) {
        (true, true) => (SslVersion::TLS1_2, SslVersion::TLS1_3),
        (true, false) => (SslVersion::TLS1_2, SslVersion::TLS1_2),
        (false, true) => (SslVersion::TLS1_3, SslVersion::TLS1_3),
        (false, false) => {
            return Err(Error::new(format!(
                "none of the suites fits the {key} key and a configured TLS version: give other \
                 suites, or none for the defaults"
            )));
        }
    };
    context.set_min_proto_version(Some(least)).map_err(doing())?;
    context.set_max_proto_version(Some(most)).map_err(doing())?;
    // Replaces the system's configuration. Level 2 requires 112 bits of security, which AES128-SHA
    // and RSA-2048 have; level 1 requires 80 bits, which RSA-1024 has.
    context.set_security_level(if key == KeyKind::OF_2001 { 1 } else { 2 });
    if least == SslVersion::TLS1_2 {
        context.set_cipher_list(&names(&tls12)).map_err(doing())?;
    }
    if most == SslVersion::TLS1_3 {
        context.set_ciphersuites(&names(&tls13)).map_err(doing())?;
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
            | SslMode::NO_AUTO_CHAIN
            | SslMode::RELEASE_BUFFERS,
    );
    // One read(2) returns header and body of a record, and following records.
    context.set_read_ahead(true);
    context.set_alpn_select_callback(|_, client| {
        select_next_proto(b"\x08http/1.1", client).ok_or(AlpnError::NOACK)
    });
    Ok(())
}

fn names(suites: &[Suite]) -> String {
    suites.iter().map(|suite| suite.openssl_name()).collect::<Vec<_>>().join(":")
}

fn resumption(context: &mut SslContextBuilder, setup: &Setup) -> Result<(), ErrorStack> {
    context.set_session_cache_mode(SslSessionCacheMode::OFF);
    context.set_session_id_context(b"tollgate")?;
    match setup.config.resumption {
        Resumption::Cache => {
            context.set_options(SslOptions::NO_TICKET);
            // each would take room in the cache
            context.set_num_tickets(1)?;
            use_cache(context, &setup.sessions);
            Ok(())
        }
        Resumption::Off => {
            context.set_options(SslOptions::NO_TICKET);
            context.set_num_tickets(0)
        }
        Resumption::Tickets => {
            context.set_num_tickets(2)?;
            ffi::set_ticket_key(context, &setup.ticket_key)
        }
    }
}

/// Gives a context a chain and its key, decoded into its library context.
fn identity(
    context: &mut SslContextBuilder,
    library: &LibCtxRef,
    query: &CStr,
    credentials: &Credentials,
) -> Result<(), ErrorStack> {
    let (first, rest) = credentials.chain.split_first().expect("a chain has a first certificate");
    context.set_certificate(first)?;
    let key = ffi::private_key(library, query, credentials.kind.id(), &credentials.key)?;
    context.set_private_key(&key)?;
    context.check_private_key()?;
    rest.iter().try_for_each(|certificate| context.add_extra_chain_cert(certificate.clone()))
}

/// Signs once, and looks up the provider for decryption if a suite needs decryption. A key caches
/// its import, so handshakes use the same provider as this check.
fn check_engine(
    config: &Config,
    library: &LibCtx,
    key: &PKeyRef<Private>,
    kind: KeyKind,
) -> Result<(), Error> {
    let engine = config.engine;
    let source = Source { library, query: engine.query() };
    let fails =
        |why: ErrorStack| unusable_key(&format!("signing with it fails: {}", one_line(&why)));
    let expect = |provider: String| {
        if provider == engine.provider() {
            return Ok(());
        }
        Err(Error::new(format!(
            "engine {engine} does not support this {kind} key (provider {provider} would sign): \
             give an RSA key of two primes and 1024 to 8192 bits, or, if the processor has AVX-512 \
             IFMA or AVX2, BMI2 and ADX, a key on P-256; or choose engine openssl"
        )))
    };
    expect(signer(source, key, kind.digest()).map_err(fails)?)?;
    let rsa_kx = config.suites_of(Protocol::Tls12, kind);
    if rsa_kx.iter().any(|suite| suite.is_rsa_key_exchange()) {
        expect(decrypter(source, key).map_err(fails)?)?;
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
pub(crate) fn group_name(ssl: &SslRef) -> Option<&'static str> {
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
