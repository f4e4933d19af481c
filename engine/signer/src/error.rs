//! Errors of the start and of a reload. Each message is one line: what is wrong, where, and what to
//! do.

use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

use openssl::error::ErrorStack;

/// The reason why a signer did not start, or did not take new settings.
#[derive(Debug)]
pub enum Error {
    /// The file of settings has an error.
    Settings {
        /// The path of the file.
        path: PathBuf,
        /// The line, counted from one, if the error has one.
        line: Option<usize>,
        /// The cause and what to do.
        why: String,
    },
    /// A setting is missing or contradicts another one.
    Setting {
        /// The setting, such as `limits.idle`.
        setting: String,
        /// The cause and what to do.
        why: String,
    },
    /// A file of a key or certificate is not usable.
    File {
        /// The path.
        path: PathBuf,
        /// The cause and what to do.
        why: String,
    },
    /// The system or OpenSSL refused a step.
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
        Self::File { path: path.to_owned(), why: one_line(&why.to_string()) }
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

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings { path, line: Some(line), why } => {
                write!(f, "{}, line {line}: {why}", path.display())
            }
            Self::Settings { path, line: None, why } => write!(f, "{}: {why}", path.display()),
            Self::Setting { setting, why } => write!(f, "`{setting}`: {why}"),
            Self::File { path, why } => write!(f, "{}: {why}", path.display()),
            Self::Unavailable { doing, why } => write!(f, "{doing}: {why}"),
        }
    }
}

impl core::error::Error for Error {}
