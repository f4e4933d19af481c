//! Files of settings in TOML, and the values in them.

use core::fmt::Display;
use core::str::FromStr;
use core::time::Duration;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

use crate::error::Error;

const SETTINGS_BYTES_MAX: u64 = 1 << 20;

/// The settings of a file, and its text, for messages.
#[derive(Debug)]
pub(crate) struct SettingsFile<T> {
    /// The settings.
    pub(crate) settings: T,
    /// The text.
    pub(crate) text: SettingsText,
}

/// The text of a file of settings.
#[derive(Debug)]
pub(crate) struct SettingsText {
    path: PathBuf,
    text: String,
}

/// Reads a file of at most 1 MiB. If a setting is missing, unknown, or of another type, the error has
/// its line.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<SettingsFile<T>, Error> {
    let mut text = String::new();
    let most = SETTINGS_BYTES_MAX + 1;
    let count = File::open(path).and_then(|file| file.take(most).read_to_string(&mut text));
    let count =
        count.map_err(|why| Error::file(path, format!("cannot read the settings: {why}")))?;
    let text = SettingsText { path: path.to_owned(), text };
    if count as u64 == most {
        return Err(text.refusal(None, "it has over 1 MiB: give a file of settings".into()));
    }
    let settings = toml::from_str(&text.text).map_err(|error| {
        let is_missing = error.message().starts_with("missing field");
        // what is missing outside of tables is on no line
        let span = error.span().filter(|span| !(is_missing && span.is_empty()));
        let remedy = if is_missing { "add it" } else { "correct this line" };
        let line = span.map(|span| 1 + lines(&text.text[..span.start]));
        text.refusal(line, format!("{}: {remedy}", error.message()))
    })?;
    Ok(SettingsFile { settings, text })
}

impl SettingsText {
    /// Returns an error about a setting, such as `limits.idle`, with its line.
    pub(crate) fn refuse(&self, setting: &str, why: String) -> Error {
        self.refusal(line_of(&self.text, setting), why)
    }

    fn refusal(&self, line: Option<usize>, why: String) -> Error {
        Error::Settings { path: self.path.clone(), line, why }
    }
}

fn lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Returns the line of a setting, counted from one.
fn line_of(text: &str, setting: &str) -> Option<usize> {
    let mut table = String::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[') {
            table = name.trim_matches(['[', ']', ' ']).to_owned() + ".";
        }
        let key = line.split_once('=').map(|(key, _)| key.trim());
        if key.is_some() && setting.strip_prefix(&table) == key {
            return Some(at + 1);
        }
    }
    None
}

/// Finds the value with this name; the error lists the names.
pub(crate) fn find<T: Copy>(what: &str, name: &str, all: &[(T, &str)]) -> Result<T, String> {
    all.iter().find(|(_, known)| *known == name).map(|(value, _)| *value).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|(_, known)| *known).collect();
        format!("no {what} {name:?} here: choose from {}", known.join(", "))
    })
}

/// A value with a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<T>(pub(crate) T);

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map(Self).map_err(D::Error::custom)
    }
}

/// A time in seconds, which may have decimals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds(pub(crate) Duration);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(from)?;
        Duration::try_from_secs_f64(seconds).map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_setting_is_found_in_its_table() {
        let text = "unix = 1\n[limits]\nidle = 1\n[tls]\nidle = 2\n[tls.more]\nkey='/'\n";
        assert_eq!(line_of(text, "unix"), Some(1));
        assert_eq!(line_of(text, "limits.idle"), Some(3));
        assert_eq!(line_of(text, "tls.idle"), Some(5));
        assert_eq!(line_of(text, "tls.more.key"), Some(7));
        assert_eq!(line_of(text, "idle"), None);
        assert_eq!(line_of(text, ""), None);
    }
}
