//! JSON Lines: one record per line, each with the version of the schema.
//!
//! In schema 1, the doubts are one condition, joined by ` | `; since schema 2 they are a list.
//!
//! The reader refuses a newer schema, an unknown field and an invalid number; the error names the
//! line and the remedy. The reader never panics and never buffers more than [`LINE_MAX_BYTES`]. It
//! skips empty lines. It refuses a duplicate field; for a duplicate key in a map (versions,
//! conditions) it keeps the last value.

use core::fmt;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _, Write};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Estimate, Kind, Machine, Quantity, Record, Subject, Unit};

/// The version of the schema that this program writes; the program reads this version and all older
/// versions.
pub const SCHEMA: u64 = 2;

/// The end of an error's message.
const REMEDY: &str = "give a file that --json wrote";

/// The longest line read or written, without its line feed.
pub const LINE_MAX_BYTES: usize = 64 * 1024;

/// Writes records as lines.
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
}

impl<W: Write> Writer<W> {
    /// Creates a writer that appends lines to `to`.
    pub const fn new(to: W) -> Self {
        Self { to }
    }

    /// Writes one record as one line, in one call of `write_all`.
    ///
    /// # Errors
    ///
    /// Writing failed, or the record does not fit into a line of [`LINE_MAX_BYTES`]
    /// ([`io::ErrorKind::InvalidInput`]; nothing is written then).
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        let mut line =
            serde_json::to_vec(&Written { schema: SCHEMA, record }).map_err(io::Error::from)?;
        if line.len() > LINE_MAX_BYTES {
            let why = format!("record {} does not fit into {LINE_MAX_BYTES} bytes", record.subject);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        line.push(b'\n');
        self.to.write_all(&line)
    }

    /// Flushes the underlying writer.
    ///
    /// # Errors
    ///
    /// The error of the underlying writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Reads records from lines; ends after the first error.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    line: u64,
    done: bool,
}

impl<R: BufRead> Reader<R> {
    /// Creates a reader of the lines of `from`.
    pub const fn new(from: R) -> Self {
        Self { from, line: 0, done: false }
    }

    /// Returns the next record, `None` at the end.
    fn read(&mut self) -> Result<Option<Record>, Problem> {
        loop {
            let mut line = Vec::new();
            let limit = LINE_MAX_BYTES as u64 + 1; // and the line feed
            self.from.by_ref().take(limit).read_until(b'\n', &mut line).map_err(Problem::Io)?;
            if line.is_empty() {
                return Ok(None);
            }
            self.line += 1;
            if line.len() > LINE_MAX_BYTES && line.last() != Some(&b'\n') {
                return Err(Problem::TooLong);
            }
            if !line.trim_ascii().is_empty() {
                return parse(&line).map(Some);
            }
        }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        match self.read() {
            Ok(Some(record)) => Some(Ok(record)),
            Ok(None) => {
                self.done = true;
                None
            }
            Err(problem) => {
                self.done = true;
                Some(Err(ReadError { line: self.line.max(1), problem }))
            }
        }
    }
}

/// Returns all records of `from`.
///
/// # Errors
///
/// The first line that is not a record.
pub fn read_all(from: impl BufRead) -> Result<Vec<Record>, ReadError> {
    Reader::new(from).collect()
}

/// A line that this program cannot read as a record.
#[derive(Debug)]
pub struct ReadError {
    /// The line's number, from one.
    pub line: u64,
    /// The reason.
    pub problem: Problem,
}

/// The reason why a line is not a record.
#[derive(Debug)]
pub enum Problem {
    /// Reading failed.
    Io(io::Error),
    /// The line is longer than [`LINE_MAX_BYTES`].
    TooLong,
    /// The line does not say which schema it follows.
    NoSchema,
    /// The line follows a schema that this program does not read.
    UnknownSchema(u64),
    /// The line is not JSON, or not a record in the schema that it claims.
    Malformed(serde_json::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match &self.problem {
            Problem::Io(error) => write!(f, "cannot be read: {error}"),
            Problem::TooLong => {
                write!(f, "longer than {LINE_MAX_BYTES} bytes, so not a record: {REMEDY}")
            }
            Problem::NoSchema => {
                write!(f, "no \"schema\" in it, so not a record: {REMEDY}")
            }
            Problem::UnknownSchema(found) if *found > SCHEMA => {
                write!(
                    f,
                    "schema {found} is newer than this program knows ({SCHEMA}): update tollgate"
                )
            }
            Problem::UnknownSchema(found) => {
                write!(
                    f,
                    "schema {found} never existed (this program knows {SCHEMA}): \
                     write the record anew"
                )
            }
            Problem::Malformed(error) => {
                // Each line is a separate document, so only the column of the position is useful.
                let text = error.to_string();
                let column = format!(" at line {} column {}", error.line(), error.column());
                let why = text.strip_suffix(&column).unwrap_or(&text);
                write!(f, "column {}: ", error.column())?;
                // A field's name comes from the file. Escape its control characters: they would
                // break the line of the message, and a terminal would obey them.
                for c in why.chars() {
                    if c.is_control() {
                        write!(f, "{}", c.escape_default())?;
                    } else {
                        write!(f, "{c}")?;
                    }
                }
                write!(f, ": {REMEDY}, or correct the line")
            }
        }
    }
}

impl core::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.problem {
            Problem::Io(error) => Some(error),
            Problem::Malformed(error) => Some(error),
            Problem::TooLong | Problem::NoSchema | Problem::UnknownSchema(_) => None,
        }
    }
}

/// The part of a line that every schema has.
#[derive(Deserialize)]
struct Claim {
    schema: Option<u64>,
}

/// A line to write.
#[derive(Serialize)]
struct Written<'a> {
    schema: u64,
    #[serde(flatten)]
    record: &'a Record,
}

/// A line to read. It repeats the fields of [`Record`], because `flatten` accepts unknown fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    schema: u64,
    subject: Subject,
    quantity: Quantity,
    unit: Unit,
    estimate: Estimate,
    kind: Kind,
    machine: Machine,
    versions: BTreeMap<String, String>,
    commit: Option<String>,
    conditions: BTreeMap<String, String>,
    #[serde(default)]
    doubts: Vec<String>,
    taken_at: Timestamp,
}

/// Parses a line. The schema comes first because a newer one may differ in everything else.
fn parse(line: &[u8]) -> Result<Record, Problem> {
    match serde_json::from_slice::<Claim>(line).map_err(Problem::Malformed)?.schema {
        None => Err(Problem::NoSchema),
        Some(1..=SCHEMA) => {
            Ok(serde_json::from_slice::<Line>(line).map_err(Problem::Malformed)?.into())
        }
        Some(other) => Err(Problem::UnknownSchema(other)),
    }
}

impl From<Line> for Record {
    fn from(line: Line) -> Self {
        let Line { schema, mut conditions, mut doubts, .. } = line;
        if schema == 1
            && let Some(joined) = conditions.remove("doubts")
        {
            doubts.extend(joined.split(" | ").map(str::to_owned));
        }
        Self {
            subject: line.subject,
            quantity: line.quantity,
            unit: line.unit,
            estimate: line.estimate,
            kind: line.kind,
            machine: line.machine,
            versions: line.versions,
            commit: line.commit,
            conditions,
            doubts,
            taken_at: line.taken_at,
        }
    }
}
