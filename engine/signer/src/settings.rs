//! The file of settings, in TOML, and the values in it.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::config::{Config, TlsSettings};
use crate::error::Error;

const SETTINGS_BYTES_MAX: u64 = 1 << 20;

impl Config {
    /// Reads the settings from a TOML file of at most 1 MiB. Paths in it start from the file's
    /// folder.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a setting is missing, unknown, or out of range. Keys and
    /// certificates are not read yet.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let (mut text, most) = (String::new(), SETTINGS_BYTES_MAX + 1);
        let count = File::open(path).and_then(|file| file.take(most).read_to_string(&mut text));
        let count =
            count.map_err(|why| Error::file(path, format!("cannot read the settings: {why}")))?;
        if count as u64 == most {
            return Err(Error::file(path, "it has over 1 MiB: give a file of settings"));
        }
        let mut config: Self = toml::from_str(&text).map_err(|error| {
            let is_missing = error.message().starts_with("missing field");
            // what is missing outside of tables is on no line
            let span = error.span().filter(|span| !(is_missing && span.is_empty()));
            let remedy = if is_missing { "add it" } else { "correct this line" };
            let line = span.map(|span| line(&text, span.start));
            Error::File { path: path.into(), line, why: format!("{}: {remedy}", error.message()) }
        })?;
        config.resolve(path.parent().unwrap_or(Path::new("")));
        config.check().map(|()| config).map_err(|error| match error {
            Error::Setting { .. } => Error::file(path, error),
            error => error,
        })
    }

    /// Lets all paths start from a folder.
    fn resolve(&mut self, folder: &Path) {
        let tls = self
            .tls
            .iter_mut()
            .flat_map(|TlsSettings { chain, key, client_roots, .. }| [chain, key, client_roots]);
        let keys = self.keys.iter_mut().map(|key| &mut key.file);
        let paths = self.unix.iter_mut().chain(&mut self.audit_log).chain(tls).chain(keys);
        paths.for_each(|path| *path = folder.join(&path));
    }
}

/// Returns the line of a byte, counted from one.
fn line(text: &str, at: usize) -> usize {
    1 + text[..at].bytes().filter(|byte| *byte == b'\n').count()
}
