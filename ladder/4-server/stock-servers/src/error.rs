//! Why a server does not run; each is one line that says what to do.

use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::product::Product;
use crate::settings::Settings;

/// Why a server was not started, or not reloaded.
#[derive(Debug)]
pub enum Error {
    /// The certificate or its key is refused.
    Certificate(tollgate_server::Error),
    /// The program ended, or did not listen in time.
    Failed {
        /// Whose program.
        product: Product,
        /// The last lines that it wrote.
        said: String,
    },
    /// A file or process of the system's could not be had.
    Io {
        /// What was to be done.
        what: &'static str,
        /// With which file or program.
        path: PathBuf,
        /// Why it was not.
        error: io::Error,
    },
    /// The program is not installed.
    Missing(Product),
    /// The provider's module was not found.
    NoModule(PathBuf),
    /// The product cannot pause handshakes.
    NotAsynchronous(Product),
    /// The product has no way to read its configuration again.
    NotReloadable(Product),
    /// The program runs, and has not loaded the module: libcrypto passes over what it cannot load.
    NotLoaded {
        /// Whose program.
        product: Product,
        /// The module.
        module: PathBuf,
    },
    /// A body is too long for a stock server here.
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
