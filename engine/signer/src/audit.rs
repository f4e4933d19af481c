//! The audit log: one line of JSON for each connection and each operation, without secrets.
//!
//! The lines of a turn are written before its answers leave. If that fails, the answers are errors:
//! no result leaves that is not in the log.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tollgate_keyless::{Operation, Ski};

use crate::error::Error;

/// The file, which all workers append to.
#[derive(Debug)]
pub(crate) struct Audit {
    path: PathBuf,
    out: Mutex<Out>,
}

#[derive(Debug)]
struct Out {
    file: File,
    /// The last write ended within a line.
    is_torn: bool,
}

/// A line of the log.
#[derive(Serialize)]
struct Line<'a> {
    time_us: u64,
    event: &'a str,
    peer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ski: Option<String>,
    outcome: &'a str,
}

/// The lines of a turn.
#[derive(Default)]
pub(crate) struct Lines(Vec<u8>);

impl Lines {
    /// Adds a line about a connection, such as "accepted" or the reason of its end.
    pub(crate) fn connection(&mut self, peer: &str, client: Option<&str>, outcome: &str) {
        self.push(&Line {
            time_us: now_us(),
            event: "connection",
            peer,
            client,
            operation: None,
            ski: None,
            outcome,
        });
    }

    /// Adds a line about an operation.
    pub(crate) fn operation(
        &mut self,
        (peer, client): (&str, &str),
        (operation, ski): (Operation, Option<Ski>),
        outcome: &str,
    ) {
        self.push(&Line {
            time_us: now_us(),
            event: "operation",
            peer,
            client: Some(client),
            operation: Some(operation.name()),
            ski: ski.map(|ski| ski.to_string()),
            outcome,
        });
    }

    fn push(&mut self, line: &Line<'_>) {
        serde_json::to_writer(&mut self.0, line).expect("a vector takes any text");
        self.0.push(b'\n');
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Audit {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = open(path).map_err(|why| {
            Error::file(path, format!("{why}: let the user of the signer append to the audit log"))
        })?;
        Ok(Self { path: path.to_owned(), out: Mutex::new(Out { file, is_torn: false }) })
    }

    /// Appends lines.
    pub(crate) fn write(&self, Lines(text): &Lines) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if out.is_torn {
            out.file.write_all(b"\n")?;
        }
        out.is_torn = true;
        out.file.write_all(text)?;
        out.is_torn = false;
        Ok(())
    }

    /// Opens the file again, after another program has moved it. If that fails, the old one stays
    /// in use.
    pub(crate) fn reopen(&self) -> Result<(), Error> {
        let new = Self::open(&self.path)?;
        let new = new.out.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.out.lock().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o640).open(path)
}

pub(crate) fn now_us() -> u64 {
    // 0 if the clock is before 1970.
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
