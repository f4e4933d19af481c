//! A worker's TLS context and its engine.
//!
//! Each worker has its own library context, which one thread creates, uses and frees. Engines of
//! one process are therefore independent of each other and of the default library context and its
//! configuration file, and workers share no locks in libcrypto.

use core::ffi::CStr;
use std::collections::HashSet;
use std::ffi::CString;
use std::sync::Arc;

use openssl::error::ErrorStack;
use openssl::lib_ctx::{LibCtx, LibCtxRef};
use openssl::md_ctx::MdCtx;
use openssl::pkey::{PKeyRef, Private};
use openssl::sha::sha256;
use openssl::ssl::{
    AlpnError, ClientHelloResponse, NameType, SniError, Ssl, SslAlert, SslContext,
    SslContextBuilder, SslMode, SslOptions, SslRef, SslSessionCacheMode, SslVersion,
    select_next_proto,
};

use crate::certificate::{self, Credentials};
use crate::config::{Config, Resumption};
use crate::counters::SignerOperations;
use crate::error::{Error, Misuse, Rejected, Unavailable, one_line};
use crate::evp::{self, Source};
use crate::ffi;
use crate::identities::Identities;
use crate::key::Key;
use crate::kinds::{Engine, KeyKind};
use crate::library::{Keys, Library};
use crate::sessions::{Store, use_cache};
use crate::suite::{Group, Protocol, Suite};
use crate::tickets::use_tickets;

/// Returns what distinguishes sessions of servers that share ticket keys. OpenSSL asks for no client
/// certificate when a session resumes, and only the client for its suite. So servers with other trust
/// anchors or other suites must not resume it.
fn session_context(config: &Config) -> [u8; 32] {
    let mut suites = config.suites.clone();
    if suites.is_empty() {
        suites = Suite::defaults(config.allow_rsa_kx);
    }
    let mut names: Vec<&str> = suites.iter().map(|suite| suite.name()).collect();
    names.sort_unstable();
    let roots = sha256(config.client_roots.as_deref().unwrap_or_default());
    sha256(&[b"tollgate", &roots[..], names.join(":").as_bytes()].concat())
}

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
    keys: Arc<Keys>,
    library: Arc<Library>,
    engine: Engine,
    handshakes: Handshakes,
    /// The provider's counts after the check at start.
    before: SignerOperations,
}

impl Acceptor {
    /// Creates a context on the thread that will use it. Refuses a default key if a provider other
    /// than the engine's would sign or decrypt with it.
    pub(crate) fn new(
        config: &Config,
        identities: &Arc<Identities>,
        store: &Arc<Store>,
        handshakes: Handshakes,
    ) -> Result<Self, Error> {
        let library = Library::new(config.engine)
            .map_err(Unavailable::openssl("loading the engine's provider"))?;
        let library = Arc::new(library);
        let keys = Arc::new(Keys::new(&library, identities));
        let context = context(&library, &keys, config, identities, store, handshakes)?;
        let key = context.private_key().expect("`context` gives it a key");
        let default = identities.default();
        check_engine(config, library.context(), key, default.key.kind)
            .map_err(|why| default.name(why))?;
        let before = SignerOperations::default();
        let engine = config.engine;
        let mut this = Self { context, keys, library, engine, handshakes, before };
        this.before = this.operations();
        Ok(this)
    }

    /// Uses these certificates for new connections. If this fails, nothing changes.
    pub(crate) fn renew(
        &mut self,
        config: &Config,
        identities: &Arc<Identities>,
        store: &Arc<Store>,
    ) -> Result<(), Error> {
        self.context =
            context(&self.library, &self.keys, config, identities, store, self.handshakes)?;
        self.keys.retain(identities);
        Ok(())
    }

    /// Refuses certificates that TLS does not accept, and keys that a provider other than the
    /// engine's would sign or decrypt with. Each key is tested once, and those of `old` are not.
    pub(crate) fn check_new(
        &self,
        config: &Config,
        identities: &Identities,
        old: Option<&Identities>,
    ) -> Result<(), Error> {
        let mut ssl = self.connection().map_err(Unavailable::openssl("making a connection"))?;
        let mut tested = HashSet::new();
        for credentials in identities.new_since(old) {
            ffi::clear_certificates(&mut ssl);
            let given = credentials.give_chain(&mut ssl);
            let mut checked = given.map_err(|why| Rejected::Certificate(one_line(&why)).into());
            let key = &credentials.key;
            if !old.is_some_and(|old| old.has_key(&key.id)) && tested.insert(key.id) {
                checked = checked.and_then(|()| self.check_key(config, key, &mut ssl));
            }
            checked.map_err(|why| credentials.name(why))?;
        }
        Ok(())
    }

    /// Checks a key with the connection that has its certificate.
    fn check_key(&self, config: &Config, key: &Key, ssl: &mut SslRef) -> Result<(), Error> {
        let decoded = self.library.decode(key);
        let decoded = decoded.map_err(|why| Rejected::Key(one_line(&why)))?;
        ssl.set_private_key(&decoded).map_err(|why| Rejected::Certificate(one_line(&why)))?;
        check_engine(config, self.library.context(), &decoded, key.kind)
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

    /// Creates another context with OpenSSL's defaults, and with an identity if there are
    /// credentials.
    pub(crate) fn plain_context(
        &self,
        credentials: Option<&Credentials>,
    ) -> Result<SslContextBuilder, ErrorStack> {
        let mut context = ffi::context(self.library.context(), self.engine.query())?;
        if let Some(credentials) = credentials {
            let key = self.library.decode(&credentials.key)?;
            identity(&mut context, credentials, &key)?;
            add_chain(&mut context, credentials)?;
        }
        Ok(context)
    }

    /// Lets handshakes of this context pause, if those of [`Self::connection`] may.
    pub(crate) fn let_pause(&self, context: &mut SslContextBuilder) -> Result<(), ErrorStack> {
        let_pause(context, self.engine, self.handshakes)
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

/// Creates a TLS context with these certificates.
fn context(
    library: &Library,
    keys: &Arc<Keys>,
    config: &Config,
    identities: &Arc<Identities>,
    store: &Arc<Store>,
    handshakes: Handshakes,
) -> Result<SslContext, Error> {
    let kinds = identities.kinds();
    let mut context = ffi::context(library.context(), config.engine.query())
        .map_err(Unavailable::openssl("making a TLS context"))?;
    negotiation(&mut context, config, &kinds)?;
    look_at_hellos(&mut context, config, &kinds, store);
    field(&mut context, config, &kinds, library.context())
        .map_err(Unavailable::openssl("setting the prime field of DHE"))?;
    resumption(&mut context, library.context(), config, store)
        .map_err(Unavailable::openssl("setting up the resumption of sessions"))?;
    if config.kernel_tls {
        ffi::let_kernel_encrypt(&mut context);
    }
    let_pause(&mut context, config.engine, handshakes)
        .map_err(Unavailable::openssl("setting up pauses of handshakes"))?;
    if let Some(roots) = &config.client_roots {
        certificate::require(&mut context, &certificate::read_roots(roots)?)
            .map_err(Unavailable::openssl("setting the trust anchors of clients"))?;
    }
    let credentials = identities.default();
    let key = keys
        .decode(&credentials.key)
        .map_err(Unavailable::openssl("reading the key into its library context"))?;
    identity(&mut context, credentials, &key)
        .map_err(Unavailable::openssl("giving TLS the certificate and key"))?;
    staple(&mut context, identities).map_err(Unavailable::openssl("setting OCSP responses"))?;
    if identities.all().len() > 1 {
        serve_names(&mut context, keys, identities);
    } else {
        add_chain(&mut context, credentials)
            .map_err(Unavailable::openssl("giving TLS the chain of the certificate"))?;
    }
    Ok(context.build())
}

/// Gives each connection the certificates with the name that its client asks for, or the default
/// one. The chain of a context would serve all of them, so the context has none.
fn serve_names(context: &mut SslContextBuilder, keys: &Arc<Keys>, identities: &Arc<Identities>) {
    let (keys, identities) = (Arc::clone(keys), Arc::clone(identities));
    let give = move |ssl: &mut SslRef| -> Result<(), ErrorStack> {
        let name = ssl.servername(NameType::HOST_NAME).unwrap_or_default();
        let found = identities.of_name(name);
        ffi::clear_certificates(ssl);
        found.iter().try_for_each(|at| {
            let credentials = &identities.all()[*at];
            let key = keys.decode(&credentials.key)?;
            credentials.give(ssl, &key)
        })
    };
    context.set_servername_callback(move |ssl, alert| {
        give(ssl).map_err(|_| {
            *alert = SslAlert::INTERNAL_ERROR;
            SniError::ALERT_FATAL
        })
    });
}

/// Sends the OCSP response of the certificate that a connection uses, if its client asks for one.
fn staple(context: &mut SslContextBuilder, identities: &Arc<Identities>) -> Result<(), ErrorStack> {
    if identities.all().iter().all(|credentials| credentials.staple().is_none()) {
        return Ok(());
    }
    let identities = Arc::clone(identities);
    context.set_status_callback(move |ssl| {
        let name = ssl.servername(NameType::HOST_NAME).unwrap_or_default();
        let of_name = identities.of_name(name).iter().map(|at| &identities.all()[*at]);
        let mut used =
            of_name.filter(|own| ssl.certificate().is_some_and(|used| *used == **own.first()));
        let staple = used.next().and_then(|credentials| credentials.staple()?.current());
        staple.map(|der| ssl.set_ocsp_status(der)).transpose().map(|sent| sent.is_some())
    })
}

/// Sets versions, suites, groups, and modes for reading and writing.
fn negotiation(
    context: &mut SslContextBuilder,
    config: &Config,
    keys: &[KeyKind],
) -> Result<(), Error> {
    let doing = || Unavailable::openssl("setting versions, suites and groups");
    let tls12 = config.suites_of(Protocol::Tls12, keys);
    let tls13 = config.suites_of(Protocol::Tls13, keys);
    let spoken =
        |protocol, suites: &[Suite]| config.protocols.contains(&protocol) && !suites.is_empty();
    let (least, most) = match (spoken(Protocol::Tls12, &tls12), spoken(Protocol::Tls13, &tls13)) {
        (true, true) => (SslVersion::TLS1_2, SslVersion::TLS1_3),
        (true, false) => (SslVersion::TLS1_2, SslVersion::TLS1_2),
        (false, true) => (SslVersion::TLS1_3, SslVersion::TLS1_3),
        (false, false) => {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            return Err(Misuse::NoSuite { key: keys.join(", ") }.into());
        }
    };
    context.set_min_proto_version(Some(least)).map_err(doing())?;
    context.set_max_proto_version(Some(most)).map_err(doing())?;
    // Replaces the system's configuration. Level 2 requires 112 bits of security, which AES128-SHA
    // and RSA-2048 have; level 1 requires 80 bits, which RSA-1024 has.
    context.set_security_level(if config.allow_rsa_1024 && keys.contains(&KeyKind::OF_2001) {
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
    let offered: &[u8] = if config.http2 { b"\x02h2\x08http/1.1" } else { b"\x08http/1.1" };
    context.set_alpn_select_callback(move |_, client| {
        select_next_proto(offered, client).ok_or(AlpnError::NOACK)
    });
    Ok(())
}

fn names(suites: &[Suite]) -> String {
    suites.iter().map(|suite| suite.openssl_name()).collect::<Vec<_>>().join(":")
}

/// Looks at each `ClientHello` before libssl does: for the session that it offers, and for clients
/// that cannot verify signatures.
fn look_at_hellos(
    context: &mut SslContextBuilder,
    config: &Config,
    keys: &[KeyKind],
    store: &Arc<Store>,
) {
    let mut rsa_kx = config.suites_of(Protocol::Tls12, keys);
    rsa_kx.retain(|suite| suite.is_rsa_key_exchange());
    let suites = CString::new(names(&rsa_kx)).expect("names have no NUL");
    let store = store.remote().is_some().then(|| Arc::clone(store));
    if rsa_kx.is_empty() && store.is_none() {
        return;
    }
    context.set_client_hello_callback(move |ssl, _| {
        if store.as_ref().is_some_and(|store| store.must_wait(ssl)) {
            return Ok(ClientHelloResponse::RETRY);
        }
        // RFC 5246 §7.4.1.4.1: a client without this extension verifies SHA-1 only, and the
        // security level forbids signatures with SHA-1. OpenSSL would then refuse RSA key exchange
        // too, although RSA key exchange needs no signature.
        if !suites.is_empty() && ffi::lacks_signature_algorithms(ssl) {
            ffi::negotiate_without_signature(ssl, &suites)?;
        }
        Ok(ClientHelloResponse::SUCCESS)
    });
}

/// Sets the prime field for DHE in TLS 1.2: the first field of the configured groups, or ffdhe2048.
fn field(
    context: &mut SslContextBuilder,
    config: &Config,
    keys: &[KeyKind],
    library: &LibCtxRef,
) -> Result<(), ErrorStack> {
    if !config.suites_of(Protocol::Tls12, keys).iter().any(|suite| suite.is_dhe()) {
        return Ok(());
    }
    let field = config.groups.iter().copied().find(|group| group.is_field());
    let name = field.unwrap_or(Group::Ffdhe2048).openssl_name();
    let name = CString::new(name).expect("names have no NUL");
    ffi::set_dhe_group(context, library, config.engine.query(), &name)
}

fn resumption(
    context: &mut SslContextBuilder,
    library: &LibCtxRef,
    config: &Config,
    store: &Arc<Store>,
) -> Result<(), ErrorStack> {
    context.set_session_cache_mode(SslSessionCacheMode::OFF);
    context.set_session_id_context(&session_context(config))?;
    match config.resumption {
        Resumption::Cache => {
            context.set_options(SslOptions::NO_TICKET);
            // each would take room in the cache
            context.set_num_tickets(1)?;
            use_cache(context, store)
        }
        Resumption::Off => {
            context.set_options(SslOptions::NO_TICKET);
            context.set_num_tickets(0)
        }
        Resumption::Tickets => {
            context.set_num_tickets(2)?;
            use_tickets(context, library, &store.tickets)
        }
    }
}

fn identity(
    context: &mut SslContextBuilder,
    credentials: &Credentials,
    key: &PKeyRef<Private>,
) -> Result<(), ErrorStack> {
    context.set_certificate(credentials.first())?;
    context.set_private_key(key)?;
    context.check_private_key()
}

fn add_chain(context: &mut SslContextBuilder, credentials: &Credentials) -> Result<(), ErrorStack> {
    let mut rest = credentials.chain.iter().skip(1);
    rest.try_for_each(|certificate| context.add_extra_chain_cert(certificate.clone()))
}

/// Signs once, checks the signature, and looks up the provider for decryption if a suite needs
/// decryption. A key caches its import, so handshakes use the same provider as this check.
fn check_engine(
    config: &Config,
    library: &LibCtx,
    key: &PKeyRef<Private>,
    kind: KeyKind,
) -> Result<(), Error> {
    let engine = config.engine;
    let source = Source { library, query: engine.query() };
    let fails =
        |why: ErrorStack| Rejected::Key(format!("signing with it fails: {}", one_line(&why)));
    let expect = |provider: String| {
        if provider == engine.provider() {
            return Ok(());
        }
        Err(Error::from(Rejected::Engine { engine, key: kind.to_string(), instead: provider }))
    };
    let signed = signer(source, key, kind.digest()).map_err(fails)?;
    let provider = signed.ok_or_else(|| {
        Rejected::Key("its signature is not valid: the private half is damaged".to_owned())
    })?;
    expect(provider)?;
    let rsa_kx = config.suites_of(Protocol::Tls12, &[kind]);
    if rsa_kx.iter().any(|suite| suite.is_rsa_key_exchange()) {
        expect(decrypter(source, key).map_err(fails)?)?;
    }
    Ok(())
}

/// Signs once, and returns the name of the provider that did; `None` if the signature is not valid.
fn signer(
    source: Source<'_>,
    key: &PKeyRef<Private>,
    name: Option<&CStr>,
) -> Result<Option<String>, ErrorStack> {
    const MESSAGE: &[u8] = b"a message";
    let mut digest = MdCtx::new()?;
    let provider = evp::provider_name(source.begin_signature(&mut digest, key, name)?);
    let mut signature = vec![0; key.size()];
    let length = digest.digest_sign(MESSAGE, Some(&mut signature))?;
    let mut digest = MdCtx::new()?;
    source.begin_verification(&mut digest, key, name)?;
    // what is no signature at all is an error of OpenSSL
    let is_valid = digest.digest_verify(MESSAGE, &signature[..length]).unwrap_or(false);
    Ok(is_valid.then_some(provider))
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
