//! What a server is to be like.

use std::path::PathBuf;

use tollgate_load::Mechanism;
use tollgate_server::Certificate;

/// Settings that mean the same to every product.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Chain and key; the clients of this crate's users do not ask who signed it.
    pub certificate: Certificate,
    /// The provider's module, to sign and decrypt with it; without one OpenSSL does.
    pub module: Option<PathBuf>,
    /// The bodies that there are: `/bytes/N` has N bytes, at most [`Self::BODY_BYTES_MAX`].
    pub bodies: Vec<u64>,
    /// The logical cores that the whole server is held to, with a worker or a thread for each;
    /// none: the system chooses, and there is one worker.
    pub cores: Vec<u32>,
    /// Whether handshakes may be paused while the provider works. HAProxy and `openssl s_server`
    /// can do it; other products refuse to start.
    pub asynchronous: bool,
    /// How sessions are to be resumed, for Apache, HAProxy and nginx; none: no more than the
    /// program comes with, or less.
    pub resumption: Option<Mechanism>,
}

impl Settings {
    /// HAProxy holds a response in one buffer.
    pub const BODY_BYTES_MAX: u64 = 1024 * 1024;

    /// No provider, no bodies, one worker on any core.
    #[must_use]
    pub const fn new(certificate: Certificate) -> Self {
        Self {
            certificate,
            module: None,
            bodies: Vec::new(),
            cores: Vec::new(),
            asynchronous: false,
            resumption: None,
        }
    }

    /// Workers or threads of the server.
    pub(crate) const fn workers(&self) -> usize {
        if self.cores.is_empty() { 1 } else { self.cores.len() }
    }
}
