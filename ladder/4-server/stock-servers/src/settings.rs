//! The settings of a server.

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::path::PathBuf;

use tollgate_load::Mechanism;
use tollgate_server::Certificate;

/// Settings that mean the same to every product.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Chain and key. Clients are not expected to verify the chain.
    pub certificate: Certificate,
    /// The text that servers get in place of the private key: the stub of a key that a signer has.
    pub stub: Option<String>,
    /// The provider's module; without one, OpenSSL signs and decrypts.
    pub module: Option<PathBuf>,
    /// Settings of the provider, such as `x25519`, and their values.
    pub provider: BTreeMap<String, String>,
    /// The lengths of bodies: `/bytes/N` has N bytes, at most [`Self::BODY_BYTES_MAX`].
    pub bodies: Vec<u64>,
    /// The logical cores of the server, with a worker or a thread for each. If empty, there is one
    /// worker, on any core.
    pub cores: Vec<u32>,
    /// The address of an HTTP server that HAProxy and nginx pass all requests on to, instead of
    /// answering them.
    pub backend: Option<SocketAddr>,
    /// The shell command of [`Product::Command`](crate::Product::Command), with `{port}` for the
    /// port on 127.0.0.1, `{log}` for the access log, and `{folder}` for the folder of `chain.pem`,
    /// `key.pem` and the bodies, `www/bytes/N`.
    pub command: Option<String>,
    /// Pauses handshakes while the provider works. Supported by HAProxy and `openssl s_server`;
    /// other products do not start.
    pub asynchronous: bool,
    /// The mechanism of session resumption, for Apache, HAProxy and nginx. With `None` nothing
    /// beyond the default of the program is enabled.
    pub resumption: Option<Mechanism>,
    /// Directives of the configuration file: `CONTEXT.NAME` and value. They take the place of those
    /// with the same name, or are added. `#` and a word after NAME allow several directives of one
    /// name. Contexts are `main`, `events`, `http` and `listen` of nginx; `global`, `defaults`,
    /// `bind` and `server` of HAProxy; `server` and `folder` of Apache; `server` of lighttpd;
    /// `service` of stunnel. In the context `openssl` of each product with OpenSSL they are
    /// defaults of all its TLS contexts, such as `openssl.Groups`: see `SSL_CONF_cmd(3)`.
    pub directives: BTreeMap<String, String>,
    /// The folder in which the server's folder is made, with its files and its log; with `None`
    /// that for temporary files.
    pub parent: Option<PathBuf>,
    /// Variables of the server's environment, such as `OPENSSL_ia32cap`, and their values.
    pub environment: BTreeMap<String, String>,
}

impl Settings {
    /// The limit of HAProxy, which holds a response in one buffer.
    pub const BODY_BYTES_MAX: u64 = 1024 * 1024;

    /// Returns settings without provider and bodies, with one worker on any core.
    #[must_use]
    pub const fn new(certificate: Certificate) -> Self {
        Self {
            certificate,
            stub: None,
            module: None,
            provider: BTreeMap::new(),
            bodies: Vec::new(),
            cores: Vec::new(),
            backend: None,
            command: None,
            asynchronous: false,
            resumption: None,
            directives: BTreeMap::new(),
            parent: None,
            environment: BTreeMap::new(),
        }
    }

    pub(crate) const fn workers(&self) -> usize {
        if self.cores.is_empty() { 1 } else { self.cores.len() }
    }
}
