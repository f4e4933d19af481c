//! Errors of starting and reloading servers; each is one line that says what to do.

use std::io;
use std::path::{Path, PathBuf};

use crate::product::Product;
use crate::settings::Settings;

tollgate_load::messages! {
    /// The reason why a server was not started, or not reloaded.
    #[derive(Debug)]
    Error {
        Command(place: &'static str) =>
            "the command has no {place}: write it where the server takes its port on 127.0.0.1 \
             ({{port}}) and the file of its access log ({{log}})";
        Certificate(error: tollgate_server::Error) => "{error}";
        Directive { product: Product, name: String } =>
            "{product} has no place for the directive {name}: give CONTEXT.NAME with one of the \
             contexts: {}", product.contexts().join(", ");
        Failed { product: Product, said: String } => "{product} does not start; it says: {said}";
        Io { what: &'static str, path: PathBuf, error: io::Error } =>
            "{what} {}: {error}", path.display();
        LongBody(bytes: u64) =>
            "a body of {bytes} bytes: give at most {} for stock servers", Settings::BODY_BYTES_MAX;
        Missing(product: Product) =>
            "{product} is not installed; on Debian run: apt-get install {}", product.package();
        NoModule(path: PathBuf) =>
            "{} is not there: build the provider with cargo build, or say where it is",
            path.display();
        NotAsynchronous(product: Product) =>
            "{product} cannot pause handshakes: switch asynchronous handshakes off, or take \
             haproxy";
        // libcrypto ignores a module that it cannot load
        NotLoaded { product: Product, module: PathBuf } =>
            "{product} has not loaded {}: see what openssl list -providers says of it",
            module.display();
        NotReloadable(product: Product) =>
            "{product} cannot read its configuration again: start another one";
    }
}

impl Error {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { what, path: path.to_owned(), error }
    }
}

impl core::error::Error for Error {}
