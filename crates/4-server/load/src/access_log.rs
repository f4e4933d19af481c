//! The access log of Tollgate's embedded server, read as a referee; and of others that are told to
//! write such lines.
//!
//! One line of JSON per handshake and per request. Only the fields that decide are read here, by a
//! reader of its own: a referee that shared code with the server would share its mistakes. nginx,
//! Apache and HAProxy can be given formats that say a handshake and a request for each connection;
//! whether a response was complete they say in words of their own, and bytes not all of them.

use core::time::Duration;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::referee::{Referee, Seen};

/// The longest line; written ones are far shorter.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// The version of the format that is read here.
const SCHEMA: u64 = 1;

/// A log without lines; this log tells of bytes.
const NOTHING: Seen =
    Seen { handshakes: 0, resumed: 0, failed: 0, requests: 0, body_bytes: Some(0) };

/// Reads an access log while the server writes it.
#[derive(Debug)]
pub struct AccessLog {
    path: PathBuf,
    file: File,
    /// Bytes of the file that were read.
    position: u64,
    /// The line that is not complete yet.
    rest: Vec<u8>,
    seen: Seen,
}

impl AccessLog {
    /// The log at `path`; the server has made it when it is ready.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let file = File::open(&path).map_err(|error| of_file(&path, &error))?;
        Ok(Self { path, file, position: 0, rest: Vec::new(), seen: NOTHING })
    }

    /// Reads what was written meanwhile.
    fn catch_up(&mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if length < self.position {
            return Err(invalid("it became shorter: was it rotated or emptied?"));
        }
        self.file.seek(SeekFrom::Start(self.position))?;
        let mut chunk = vec![0; 256 * 1024];
        loop {
            let count = match self.file.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.position += u64::try_from(count).unwrap_or(u64::MAX);
            self.rest.extend_from_slice(&chunk[..count]);
            let rest = core::mem::take(&mut self.rest);
            let mut lines = rest.split_inclusive(|&byte| byte == b'\n').peekable();
            while let Some(line) = lines.next_if(|line| line.ends_with(b"\n")) {
                self.line(line)?;
            }
            self.rest = lines.next().unwrap_or_default().to_vec();
            if self.rest.len() > LINE_BYTES_MAX {
                return Err(invalid("a line is longer than 64 KiB: is it an access log?"));
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let line: Line = serde_json::from_slice(line)
            .map_err(|error| invalid(&format!("a line is none of an access log: {error}")))?;
        match line {
            Line::Handshake { outcome: Outcome::Failed } => self.seen.failed += 1,
            Line::Handshake { outcome } => {
                self.seen.handshakes += 1;
                self.seen.resumed += u64::from(outcome == Outcome::Resumed);
            }
            Line::Request { complete: Complete::Yes, status: 200, bytes } => {
                self.seen.requests += 1;
                let sum = self.seen.body_bytes.zip(bytes);
                self.seen.body_bytes = sum.and_then(|(sum, bytes)| sum.checked_add(bytes));
            }
            Line::Request { .. } => {}
            Line::Lost { lines } => {
                return Err(invalid(&format!(
                    "the server threw {lines} lines away: its disk is too slow for this load"
                )));
            }
            Line::Start { schema } if schema != SCHEMA => {
                return Err(invalid(&format!(
                    "version {schema} of the format; this program reads {SCHEMA}"
                )));
            }
            Line::Start { .. } => {
                return Err(invalid("the server was started again during the run"));
            }
            Line::Stop {} => {}
        }
        Ok(())
    }
}

impl Referee for AccessLog {
    fn mark(&mut self) -> io::Result<()> {
        // what was logged before, and not yet written, belongs to nobody's run
        std::thread::sleep(self.lag());
        let length = self.file.metadata().map_err(|error| of_file(&self.path, &error))?.len();
        (self.position, self.seen) = (length, NOTHING);
        self.rest.clear();
        Ok(())
    }

    fn seen(&mut self) -> io::Result<Seen> {
        self.catch_up().map_err(|error| of_file(&self.path, &error))?;
        Ok(self.seen)
    }

    fn lag(&self) -> Duration {
        // the server hands over after 50 ms, and writes at once
        Duration::from_millis(200)
    }
}

fn of_file(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why.to_owned())
}

/// What decides; other fields are not looked at.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Handshake { outcome: Outcome },
    Lost { lines: u64 },
    Request { complete: Complete, status: u16, bytes: Option<u64> },
    Start { schema: u64 },
    Stop {},
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Failed,
    Full,
    Resumed,
}

/// Whether a response went out whole: as our server says it, or in a stock server's own word.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(from = "HowItEnded")]
enum Complete {
    No,
    Yes,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum HowItEnded {
    Told(bool),
    Word(String),
}

impl From<HowItEnded> for Complete {
    fn from(end: HowItEnded) -> Self {
        let whole = match end {
            HowItEnded::Told(whole) => whole,
            // nginx's $request_completion; Apache's %X, after which the connection is kept or
            // closed; HAProxy's %ts, of a response of a server's or of its own.
            HowItEnded::Word(word) => matches!(word.as_str(), "OK" | "+" | "-" | "--" | "LR"),
        };
        if whole { Self::Yes } else { Self::No }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use super::*;

    const HANDSHAKE: &str = concat!(
        r#"{"event":"handshake","time_us":1,"connection":1,"outcome":"full","protocol":"TLSv1.3","#,
        r#""suite":"TLS_AES_128_GCM_SHA256","group":"x25519","took_us":700}"#
    );
    const REQUEST: &str = concat!(
        r#"{"event":"request","time_us":2,"connection":1,"request":1,"protocol":"TLSv1.3","#,
        r#""suite":"TLS_AES_128_GCM_SHA256","resumed":false,"method":"GET","#,
        r#""target":"/bytes/14336","status":200,"bytes":14336,"complete":true,"took_us":90}"#
    );

    struct Log {
        path: PathBuf,
        file: File,
    }

    impl Log {
        fn new(name: &str) -> Self {
            let name = format!("tollgate-load-{name}-{}.log", std::process::id());
            let path = std::env::temp_dir().join(name);
            let file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
            Self { path, file }
        }

        fn write(&mut self, text: &str) {
            self.file.write_all(text.as_bytes()).unwrap();
        }
    }

    impl Drop for Log {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    #[test]
    fn lines_after_the_mark_count_and_half_lines_wait() {
        let mut log = Log::new("lines");
        log.write("{\"event\":\"start\",\"schema\":1}\n");
        log.write(&format!("{HANDSHAKE}\n{REQUEST}\n"));
        let mut referee = AccessLog::open(&log.path).unwrap();
        referee.mark().unwrap();
        assert_eq!(referee.seen().unwrap(), NOTHING);
        let resumed = HANDSHAKE.replace("full", "resumed");
        let failed = HANDSHAKE.replace("full", "failed");
        let cut = REQUEST.replace("true", "false");
        let missing = REQUEST.replace("200", "404");
        log.write(&format!("{HANDSHAKE}\n{resumed}\n{failed}\n\n{REQUEST}\n{cut}\n{missing}\n"));
        log.write(&HANDSHAKE[..50]);
        let body_bytes = Some(14_336);
        let expected = Seen { handshakes: 2, resumed: 1, failed: 1, requests: 1, body_bytes };
        assert_eq!(referee.seen().unwrap(), expected);
        log.write(&HANDSHAKE[50..]);
        assert_eq!(referee.seen().unwrap(), expected);
        log.write("\n{\"event\":\"stop\",\"lines\":9,\"lost\":0}\n");
        assert_eq!(referee.seen().unwrap().handshakes, 3);
    }

    #[test]
    fn other_servers_say_in_their_words_whether_a_response_was_complete() {
        let mut log = Log::new("words");
        let mut referee = AccessLog::open(&log.path).unwrap();
        referee.mark().unwrap();
        for word in ["OK", "-", "+", "LR", "--", "", "X", "CD", "SC"] {
            log.write(&REQUEST.replace("true", &format!("\"{word}\"")));
            log.write("\n");
        }
        let body_bytes = Some(5 * 14_336);
        let seen = referee.seen().unwrap();
        assert_eq!(seen, Seen { requests: 5, body_bytes, ..Seen::default() });
        log.write(&REQUEST.replace(r#""bytes":14336,"#, ""));
        log.write("\n");
        let seen = referee.seen().unwrap();
        assert_eq!(seen, Seen { requests: 6, body_bytes: None, ..Seen::default() });
    }

    #[test]
    fn a_log_that_cannot_judge_says_so() {
        let found = |name: &str, text: &str| {
            let mut log = Log::new(name);
            let mut referee = AccessLog::open(&log.path).unwrap();
            referee.mark().unwrap();
            log.write(text);
            referee.seen().unwrap_err().to_string()
        };
        let lost = found("lost", "{\"event\":\"lost\",\"time_us\":1,\"lines\":7}\n");
        assert!(lost.contains("threw 7 lines away"), "{lost}");
        let start = found("start", "{\"event\":\"start\",\"schema\":1}\n");
        assert!(start.contains("started again"), "{start}");
        let newer = found("newer", "{\"event\":\"start\",\"schema\":2}\n");
        assert!(newer.contains("version 2"), "{newer}");
        let other = found("other", "127.0.0.1 - - GET / 200\n");
        assert!(other.contains("none of an access log"), "{other}");
        let long = found("long", &"x".repeat(LINE_BYTES_MAX + 1));
        assert!(long.contains("64 KiB"), "{long}");

        let mut log = Log::new("short");
        log.write(&format!("{HANDSHAKE}\n"));
        let mut referee = AccessLog::open(&log.path).unwrap();
        referee.mark().unwrap();
        log.file.set_len(0).unwrap();
        assert!(referee.seen().unwrap_err().to_string().contains("shorter"));
        assert!(AccessLog::open("/nonexistent/access.log").is_err());
    }
}
