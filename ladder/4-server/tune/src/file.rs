//! Files in TOML, with errors of one line.

use serde::de::DeserializeOwned;

/// The reason why a file cannot be used; one line that names the place and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadFile(pub(crate) String);

/// Reads a value; an error names its line.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, BadFile> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start].lines().count().max(1));
        let at = line.map_or_else(String::new, |line| format!("line {line}: "));
        BadFile(format!("{at}{}", error.message().replace('\n', " ")))
    })
}
