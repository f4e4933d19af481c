//! Reading an access log back.

use std::io::{self, BufRead, Read as _};

use thiserror::Error;

use super::line::{Line, SCHEMA};

/// The longest line that is read, in bytes. Every line that a server writes is far shorter.
const LINE_BYTES_MAX: u64 = 16 * 1024;

/// Reads lines one by one; ends after the first error. Empty lines are skipped.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    line: u64,
    done: bool,
}

/// Reads all lines of `from`.
///
/// # Errors
///
/// The first line that is not of this format, such as an incomplete last line of a killed server.
pub fn read(from: impl BufRead) -> Result<Vec<Line>, ReadError> {
    Reader::new(from).collect()
}

impl<R: BufRead> Reader<R> {
    /// Creates a reader of the lines of `from`.
    pub const fn new(from: R) -> Self {
        Self { from, line: 0, done: false }
    }

    fn read(&mut self) -> Result<Option<Line>, Problem> {
        loop {
            let mut text = Vec::new();
            let mut limited = self.from.by_ref().take(LINE_BYTES_MAX);
            limited.read_until(b'\n', &mut text).map_err(Problem::Io)?;
            if text.is_empty() {
                return Ok(None);
            }
            self.line += 1;
            if text.last() != Some(&b'\n') {
                return Err(Problem::CutShort);
            }
            if text.trim_ascii().is_empty() {
                continue;
            }
            let line = serde_json::from_slice(&text).map_err(Problem::NotALine)?;
            return match line {
                Line::Start(start) if start.schema != SCHEMA => Err(Problem::Schema(start.schema)),
                line => Ok(Some(line)),
            };
        }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Line, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let read = self.read();
        self.done = !matches!(read, Ok(Some(_)));
        read.map_err(|problem| ReadError { line: self.line.max(1), problem }).transpose()
    }
}

/// A line that is not of this format.
#[derive(Debug, Error)]
#[error("line {line} of the access log: {problem}")]
pub struct ReadError {
    /// The line's number, from one.
    pub line: u64,
    /// The problem.
    pub problem: Problem,
}

/// A problem of a line.
#[derive(Debug, Error)]
pub enum Problem {
    /// The line has no end, or is too long.
    #[error("cut short: was the server killed, or is it still running?")]
    CutShort,
    /// The file could not be read.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// The line is not JSON, or has other fields.
    #[error("not a line of this format: {}: was the file written by another program?", printable(.0))]
    NotALine(serde_json::Error),
    /// The line was written in another version of the format.
    #[error(
        "version {0} of the format, and this program reads {SCHEMA}: use the program that wrote it"
    )]
    Schema(u64),
}

/// A name in the file may contain control characters.
fn printable(why: &serde_json::Error) -> String {
    why.to_string().replace(char::is_control, "?")
}

#[cfg(test)]
mod tests {
    use core::net::Ipv6Addr;

    use super::*;
    use crate::log::{HandshakeLine, LostLine, Outcome, StopLine};

    fn lines() -> Vec<Line> {
        let failed = HandshakeLine {
            time_us: 1,
            connection: u64::MAX, // numbers keep all 64 bits
            client: Ipv6Addr::LOCALHOST.into(),
            outcome: Outcome::Failed,
            protocol: None,
            suite: None,
            group: None,
            reason: Some("alert".into()),
            alert: Some(48),
            took_us: 7,
        };
        vec![
            Line::Handshake(failed),
            Line::Lost(LostLine { time_us: 2, lines: 3 }),
            Line::Stop(StopLine { time_us: 4, lines: 1, lost: 3 }),
        ]
    }

    fn text() -> String {
        lines().iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect()
    }

    #[test]
    fn lines_round_trip() {
        assert_eq!(read(text().as_bytes()).unwrap(), lines());
    }

    #[test]
    fn a_cut_line_a_stranger_and_a_newer_format_are_refused() {
        let text = text();
        let cut = read(&text.as_bytes()[..text.len() - 2]).unwrap_err();
        assert!(matches!(cut.problem, Problem::CutShort) && cut.line == 3, "{cut}");
        let field = text.replace("\"alert\":48", "\"alert\":48,\"mood\":\"fine\"");
        assert!(matches!(read(field.as_bytes()).unwrap_err().problem, Problem::NotALine(_)));
        let newer = concat!(
            r#"{"event":"start","time_us":1,"schema":3,"address":"a","engine":"e","#,
            r#""provider":"p","key":"k","workers":1,"openssl":"o"}"#,
        );
        let newer = read(format!("{newer}\n").as_bytes()).unwrap_err();
        assert!(matches!(newer.problem, Problem::Schema(3)), "{newer}");
        let control =
            read(&b"{\"event\":\"lost\",\"\x1b[2J\x7f\":1}\n"[..]).unwrap_err().to_string();
        assert!(!control.contains(char::is_control), "{control:?}");
        let long = "x".repeat(40_000) + "\n";
        assert!(matches!(read(long.as_bytes()).unwrap_err().problem, Problem::CutShort));
    }

    #[test]
    fn the_documented_example_is_read_and_written() {
        let text = include_str!("../../docs/access-log.md");
        let example = text.split("```jsonl\n").nth(1).unwrap().split("```").next().unwrap();
        let lines = read(example.as_bytes()).unwrap();
        let written = lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n");
        assert_eq!(written.collect::<String>(), example);
    }
}
