//! The file of settings, in TOML, and the values in it.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::config::{Config, TlsSettings};
use crate::error::Error;

const SETTINGS_BYTES_MAX: u64 = 1 << 20;

impl Config {
    /// Reads the settings from a TOML file of at most 1 MiB. Paths in it start from the file's
    /// folder.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a setting is missing, unknown, or out of range. The message has
    /// the line. Keys and certificates are not read yet.
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
            Error::Setting { setting, why } => Error::File {
                path: path.into(),
                line: line_of(&text, &setting),
                why: format!("`{setting}`: {why}"),
            },
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

/// Returns the line of a setting such as `limits.idle`; of several tables, that of the first.
fn line_of(text: &str, setting: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let (table, key) = setting.rsplit_once('.').unwrap_or(("", setting));
    let find = |table: &DeTable<'_>, key| {
        let (key, _) = table.get_key_value(key)?;
        Some(line(text, key.span().start))
    };
    match root.get_ref().get(table).map(|value| value.get_ref()) {
        None => find(root.get_ref(), key),
        Some(DeValue::Table(table)) => find(table, key),
        Some(DeValue::Array(tables)) => {
            tables.iter().find_map(|table| find(table.get_ref().as_table()?, key))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_setting_is_found_in_its_table() {
        let text =
            "unix = 1\n[limits]\nidle = 1\n[tls]\nidle = 2\n[[key]]\na=1\n[[key]]\nraw='/'\n";
        assert_eq!(line_of(text, "unix"), Some(1));
        assert_eq!(line_of(text, "limits.idle"), Some(3));
        assert_eq!(line_of(text, "tls.idle"), Some(5));
        assert_eq!(line_of(text, "key.raw"), Some(9));
        assert_eq!(line_of(text, "idle"), None);
        assert_eq!(line_of(text, ""), None);
    }
}
