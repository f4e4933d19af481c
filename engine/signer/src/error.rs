//! Errors of the start and of a reload. Each message is one line: what is wrong, where, and what to
//! do.

use core::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use openssl::error::ErrorStack;

/// The reason why a signer did not start, or did not take new settings.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting is missing or contradicts another one.
    #[error("`{setting}`: {why}")]
    Setting {
        /// The setting, such as `limits.idle`.
        setting: String,
        /// The cause and what to do.
        why: String,
    },
    /// The file of settings, or a file of a key or certificate, is not usable.
    #[error(
        "{}{}: {why}",
        .path.display(),
        .line.map(|line| format!(", line {line}")).unwrap_or_default()
    )]
    File {
        /// The path.
        path: PathBuf,
        /// The line, counted from one, if the error has one.
        line: Option<usize>,
        /// The cause and what to do.
        why: String,
    },
    /// The system or OpenSSL refused a step.
    #[error("{doing}: {why}")]
    Unavailable {
        /// The step.
        doing: String,
        /// The cause and what to do.
        why: String,
    },
}

impl Error {
    pub(crate) fn setting(setting: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Setting { setting: setting.into(), why: why.into() }
    }

    pub(crate) fn file(path: &Path, why: impl fmt::Display) -> Self {
        Self::File { path: path.to_owned(), line: None, why: one_line(&why.to_string()) }
    }

    /// Converts the system's error in a step.
    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |why| Self::Unavailable { doing: doing.into(), why: why.to_string() }
    }

    /// Converts OpenSSL's errors in a step.
    pub(crate) fn openssl(doing: &'static str) -> impl FnOnce(ErrorStack) -> Self {
        move |why| Self::Unavailable { doing: doing.into(), why: one_line(&why.to_string()) }
    }
}

/// Prints a line for the operator.
pub(crate) type Say = Arc<dyn Fn(&str) + Send + Sync>;

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}
