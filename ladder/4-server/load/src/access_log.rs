//! Reads the access log of a server as a referee. The server is Tollgate's embedded server, nginx,
//! Apache, lighttpd or HAProxy.
//!
//! `tollgate_workload` parses the lines, not the server's own code. A referee that shared code with
//! the server would share its mistakes. The other servers log one line for each request. In their
//! logs, the first request of a TLS connection counts as its handshake; a handshake without a
//! request is therefore missing. docs/bench-url.md lists the fields that these logs need.

use core::time::Duration;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use tollgate_workload::{Entry, LogFormat, ServerEvent};

use crate::referee::{Referee, Seen};

const LINE_BYTES_MAX: usize = 64 * 1024;

/// The version of Tollgate's log format.
const SCHEMA: u64 = 2;

/// The counts of a log without lines.
const NOTHING: Seen =
    Seen { handshakes: 0, resumed: 0, failed: 0, requests: 0, body_bytes: Some(0) };

/// Reads an access log while the server writes it.
#[derive(Debug)]
pub struct AccessLog {
    path: PathBuf,
    file: BufReader<File>,
    /// The format of all lines. With `None` the format of each line is detected.
    format: Option<LogFormat>,
    /// The number of bytes of the file that were read so far.
    position: u64,
    /// An incomplete line.
    rest: Vec<u8>,
    seen: Seen,
}

impl AccessLog {
    /// Opens the log at `path`, which must exist.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let file = File::open(&path).and_then(|file| match file.metadata()?.is_dir() {
            true => Err(ErrorKind::IsADirectory.into()),
            false => Ok(file),
        });
        let file = file.map_err(|error| of_file(&path, &error))?;
        let file = BufReader::with_capacity(256 * 1024, file);
        Ok(Self { path, file, format: None, position: 0, rest: Vec::new(), seen: NOTHING })
    }

    /// Sets the format of all lines. A line of another format is an error.
    #[must_use]
    pub fn written_as(self, format: LogFormat) -> Self {
        Self { format: Some(format), ..self }
    }

    fn catch_up(&mut self) -> io::Result<()> {
        if self.file.get_ref().metadata()?.len() < self.position {
            return Err(invalid("the file became shorter: was it rotated or truncated?"));
        }
        loop {
            // one byte more for the line end
            let left = (LINE_BYTES_MAX + 1).saturating_sub(self.rest.len()) as u64;
            let count = self.file.by_ref().take(left).read_until(b'\n', &mut self.rest)?;
            self.position += count as u64;
            if self.rest.ends_with(b"\n") {
                let line = core::mem::take(&mut self.rest);
                self.line(&line)?;
            } else if self.rest.len() > LINE_BYTES_MAX {
                return Err(invalid("a line is longer than 64 KiB: is the file an access log?"));
            } else if count == 0 {
                return Ok(());
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(line);
        let entry = match self.format {
            Some(format) => format.read(&text),
            None => Entry::read(&text),
        };
        let entry =
            entry.map_err(|bad| invalid(&format!("a line is not an access-log line: {bad}")))?;
        let Some(entry) = entry else { return Ok(()) };
        match entry.event {
            Some(ServerEvent::Lost { lines }) => {
                return Err(invalid(&format!(
                    "the server dropped {lines} lines: its disk is too slow for this load"
                )));
            }
            Some(ServerEvent::Started { schema }) if schema != Some(SCHEMA) => {
                let schema = schema.map_or_else(|| "none".to_owned(), |schema| schema.to_string());
                return Err(invalid(&format!(
                    "the log has format version {schema}; this program reads {SCHEMA}"
                )));
            }
            Some(ServerEvent::Started { .. }) => {
                return Err(invalid("the server was restarted during the run"));
            }
            Some(ServerEvent::Stopped) | None => {}
        }
        self.seen.failed += u64::from(entry.failed_handshake);
        if entry.handshake {
            self.seen.handshakes += 1;
            self.seen.resumed += u64::from(entry.resumed == Some(true));
        }
        if let Some((status, bytes)) = entry.request {
            self.request(&entry, status, bytes)?;
        }
        Ok(())
    }

    fn request(&mut self, entry: &Entry, status: u16, bytes: Option<u64>) -> io::Result<()> {
        let (Some(complete), Some(_)) = (entry.complete, entry.number) else {
            if status != 200 {
                return Ok(()); // an error before any request
            }
            return Err(invalid(
                "a line lacks the number of its request (request=) or the completion of its \
                 response (done=): configure the log as in docs/bench-url.md",
            ));
        };
        if entry.handshake && entry.resumed.is_none() {
            return Err(invalid(
                "a line lacks whether its session was resumed (reused=): configure the log as in \
                 docs/bench-url.md",
            ));
        }
        if complete && status == 200 {
            self.seen.requests += 1;
            let sum = self.seen.body_bytes.zip(bytes.filter(|_| !entry.has_head));
            self.seen.body_bytes = sum.and_then(|(sum, bytes)| sum.checked_add(bytes));
        }
        Ok(())
    }
}

impl Referee for AccessLog {
    fn mark(&mut self) -> io::Result<()> {
        // lines logged before the mark may not be written yet
        std::thread::sleep(self.lag());
        let end = self.file.seek(SeekFrom::End(0));
        self.position = end.map_err(|error| of_file(&self.path, &error))?;
        self.seen = NOTHING;
        self.rest.clear();
        Ok(())
    }

    fn seen(&mut self) -> io::Result<Seen> {
        self.catch_up().map_err(|error| of_file(&self.path, &error))?;
        Ok(self.seen)
    }

    fn lag(&self) -> Duration {
        // The embedded server writes a line within 50 ms. Other servers write each line at once if
        // they are configured as documented.
        Duration::from_millis(200)
    }
}

fn of_file(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use tempfile::NamedTempFile;

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

    /// Returns a new log, and a referee of its lines from now on.
    fn marked() -> (NamedTempFile, AccessLog) {
        let log = NamedTempFile::new().unwrap();
        let mut referee = AccessLog::open(log.path()).unwrap();
        referee.mark().unwrap();
        (log, referee)
    }

    fn write(log: &mut NamedTempFile, text: &str) {
        log.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn only_complete_lines_after_the_mark_count() {
        let mut log = NamedTempFile::new().unwrap();
        write(&mut log, "{\"event\":\"start\",\"schema\":2}\n");
        write(&mut log, &format!("{HANDSHAKE}\n{REQUEST}\n"));
        let mut referee = AccessLog::open(log.path()).unwrap();
        referee.mark().unwrap();
        assert_eq!(referee.seen().unwrap(), NOTHING);
        let resumed = HANDSHAKE.replace("full", "resumed");
        let failed = HANDSHAKE.replace("full", "failed");
        let cut = REQUEST.replace("true", "false");
        let missing = REQUEST.replace("200", "404");
        write(
            &mut log,
            &format!("{HANDSHAKE}\n{resumed}\n{failed}\n\n{REQUEST}\n{cut}\n{missing}\n"),
        );
        write(&mut log, &HANDSHAKE[..50]);
        let body_bytes = Some(14_336);
        let expected = Seen { handshakes: 2, resumed: 1, failed: 1, requests: 1, body_bytes };
        assert_eq!(referee.seen().unwrap(), expected);
        write(&mut log, &HANDSHAKE[50..]);
        assert_eq!(referee.seen().unwrap(), expected);
        write(&mut log, "\n{\"event\":\"stop\",\"lines\":9,\"lost\":0}\n");
        assert_eq!(referee.seen().unwrap().handshakes, 3);
    }

    const FOREIGN: &str = concat!(
        r#"127.0.0.1 - - [22/Nov/2026:08:00:00 +0000] "GET / HTTP/1.1" 200 14336 "-" "-" "#,
        "request=1 done=OK reused=. proto=TLSv1.3\n",
    );

    #[test]
    fn in_logs_of_other_servers_the_first_request_counts_the_handshake() {
        let (mut log, mut referee) = marked();
        let change = |from: &str, to: &str| FOREIGN.replace(from, to);
        write(&mut log, FOREIGN);
        write(&mut log, &change("request=1", "request=2"));
        write(&mut log, &change("reused=.", "reused=r"));
        write(&mut log, &change("done=OK", "done="));
        write(&mut log, &change("proto=TLSv1.3", "proto=-"));
        let body_bytes = Some(4 * 14_336);
        let expected = Seen { handshakes: 3, resumed: 1, failed: 0, requests: 4, body_bytes };
        assert_eq!(referee.seen().unwrap(), expected);
        let haproxy = concat!(
            "127.0.0.1:5 [22/Nov/2026:08:00:00.000] tls tls/<NOSRV> 0/-1/-1/-1/0 200 14400 - - ",
            "LR-- 1/1/0/0/0 0/0 \"GET / HTTP/1.1\" request=1 done=LR reused=0 proto=TLSv1.2\n",
            "127.0.0.1:6 [22/Nov/2026:08:00:00.000] tls/1: SSL handshake failure\n",
        );
        write(&mut log, haproxy);
        let seen = referee.seen().unwrap();
        assert_eq!((seen.handshakes, seen.failed, seen.requests), (4, 1, 5));
        assert_eq!(seen.body_bytes, None, "HAProxy counts heads too");
    }

    #[test]
    fn a_log_without_the_fields_is_an_error() {
        for (field, why) in
            [("request=1 ", "request="), ("done=OK ", "done="), ("reused=. ", "reused=")]
        {
            let (mut log, mut referee) = marked();
            write(&mut log, &FOREIGN.replace(field, ""));
            let error = referee.seen().unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("docs/bench-url.md"), "{error}");
        }
        let (mut log, referee) = marked();
        let mut referee = referee.written_as(LogFormat::Haproxy);
        write(&mut log, FOREIGN);
        assert!(referee.seen().unwrap_err().to_string().contains("HAProxy"));
    }

    #[test]
    fn unusable_logs_are_errors() {
        for (name, text, why) in [
            ("lost", r#"{"event":"lost","time_us":1,"lines":7}"#, "dropped 7 lines"),
            ("start", r#"{"event":"start","schema":2}"#, "restarted"),
            ("newer", r#"{"event":"start","schema":3}"#, "version 3"),
            ("other", "127.0.0.1 - - GET / 200", "not an access-log line"),
            ("long", &"x".repeat(LINE_BYTES_MAX + 1), "64 KiB"),
        ] {
            let (mut log, mut referee) = marked();
            write(&mut log, text);
            write(&mut log, "\n");
            let error = referee.seen().unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
        let mut log = NamedTempFile::new().unwrap();
        write(&mut log, &format!("{HANDSHAKE}\n"));
        let mut referee = AccessLog::open(log.path()).unwrap();
        referee.mark().unwrap();
        log.as_file().set_len(0).unwrap();
        assert!(referee.seen().unwrap_err().to_string().contains("shorter"));
        assert!(AccessLog::open("/nonexistent/access.log").is_err());
    }
}
