//! Errors of starting and reloading servers; each is one line that says what to do.

use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::product::Product;
use crate::settings::Settings;

/// The reason why a server was not started, or not reloaded.
#[derive(Debug)]
pub enum Error {
    /// The certificate or its key is refused.
    Certificate(tollgate_server::Error),
    /// The program ended, or did not listen in time.
    Failed {
        /// The product.
        product: Product,
        /// The last lines that it wrote.
        said: String,
    },
    /// A system call on a file or process failed.
    Io {
        /// The action.
        what: &'static str,
        /// The file or program.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The program is not installed.
    Missing(Product),
    /// The provider's module was not found.
    NoModule(PathBuf),
    /// The product cannot pause handshakes.
    NotAsynchronous(Product),
    /// The product cannot reload its configuration.
    NotReloadable(Product),
    /// The program runs without the module: libcrypto ignores a module that it cannot load.
    NotLoaded {
        /// The product.
        product: Product,
        /// The module.
        module: PathBuf,
    },
    /// A body is longer than the servers support.
    LongBody(u64),
}

impl Error {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { what, path: path.to_owned(), error }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(error) => error.fmt(f),
            Self::Failed { product, said } => {
                write!(f, "{product} does not start; it says: {said}")
            }
            Self::Io { what, path, error } => write!(f, "{what} {}: {error}", path.display()),
            Self::Missing(product) => write!(
                f,
                "{product} is not installed; on Debian run: apt-get install {}",
                product.package()
            ),
            Self::NoModule(path) => write!(
                f,
                "{} is not there: build the provider with cargo build, or say where it is",
                path.display()
            ),
            Self::NotAsynchronous(product) => write!(
                f,
                "{product} cannot pause handshakes: switch asynchronous handshakes off, or take \
                 haproxy"
            ),
            Self::NotReloadable(product) => {
                write!(f, "{product} cannot read its configuration again: start another one")
            }
            Self::NotLoaded { product, module } => write!(
                f,
                "{product} has not loaded {}: see what openssl list -providers says of it",
                module.display()
            ),
            Self::LongBody(bytes) => write!(
                f,
                "a body of {bytes} bytes: give at most {} for stock servers",
                Settings::BODY_BYTES_MAX
            ),
        }
    }
}

impl core::error::Error for Error {}
