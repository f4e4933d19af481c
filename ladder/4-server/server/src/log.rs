//! The access log: one line of JSON per handshake and per response. Load generators are checked
//! against it.
//!
//! `docs/access-log.md` describes the format. Each worker collects lines and appends them in
//! blocks, as nginx does with `buffer=64k flush=50ms`.

use core::net::IpAddr;
use core::time::Duration;
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::setup::{Setup, warn_once};

/// The version of the format that this program writes.
pub const SCHEMA: u64 = 2;
/// A block of this many bytes is written at once.
const BLOCK_BYTES: usize = 64 * 1024;
/// The longest time before a smaller block is written.
const BLOCK_AGE: Duration = Duration::from_millis(50);

/// One line of the access log; `docs/access-log.md` says what each field means.
///
/// Names of protocols, suites and groups are those of the IANA registries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Line {
    /// A connection's handshake completed or failed: exactly one per accepted connection.
    Handshake(HandshakeLine),
    /// Lines before this one were lost.
    Lost {
        /// The time at which this line was written, in microseconds since 1970.
        time_us: u64,
        /// The number of missing lines.
        lines: u64,
    },
    /// A response was sent, completely or in part: exactly one per response.
    Request(RequestLine),
    /// The server started; the first line of each run.
    Start(StartLine),
    /// The server stopped after everything was written. A run without this line was cut off.
    Stop {
        /// The time, in microseconds since 1970.
        time_us: u64,
        /// The number of handshake and request lines written since the start.
        lines: u64,
        /// The number of handshake and request lines lost since the start.
        lost: u64,
    },
}

/// The outcome of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The handshake failed.
    Failed,
    /// The handshake completed with a private-key operation.
    Full,
    /// The handshake completed by resuming a session.
    Resumed,
}

/// See [`Line::Handshake`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandshakeLine {
    /// The time at which the handshake ended, in microseconds since 1970.
    pub time_us: u64,
    /// The connection's number.
    pub connection: u64,
    /// The client's address.
    pub client: IpAddr,
    /// The outcome of the handshake.
    pub outcome: Outcome,
    /// "TLSv1.2" or "TLSv1.3"; absent if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Cow<'static, str>>,
    /// The cipher suite; absent if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<Cow<'static, str>>,
    /// The group; absent if it failed, and with RSA key exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Cow<'static, str>>,
    /// The reason if it failed, a word of [`crate::Failure`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'static, str>>,
    /// The alert that the client sent, if that is the reason: RFC 8446 §6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert: Option<u8>,
    /// The time from accepting the connection to the end of the handshake, in microseconds.
    pub took_us: u64,
}

/// See [`Line::Request`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestLine {
    /// The time at which the response ended, in microseconds since 1970.
    pub time_us: u64,
    /// The connection's number.
    pub connection: u64,
    /// The client's address.
    pub client: IpAddr,
    /// The request's number within its connection, from one.
    pub request: u64,
    /// The connection's protocol.
    pub protocol: Cow<'static, str>,
    /// The connection's cipher suite.
    pub suite: Cow<'static, str>,
    /// The connection's group; absent with RSA key exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Cow<'static, str>>,
    /// The connection resumed a session.
    pub resumed: bool,
    /// The method; "-" if the input was not a request.
    pub method: Cow<'static, str>,
    /// The target without its query, at most 256 bytes; "-" if the input was not a request.
    pub target: Cow<'static, str>,
    /// The version of HTTP: "1.0" or "1.1"; absent if the input was not a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Cow<'static, str>>,
    /// The status of the response.
    pub status: u16,
    /// The number of bytes of the response's body that were sent.
    pub bytes: u64,
    /// The whole response was sent.
    pub complete: bool,
    /// The time from reading the request's head to the end of the response, in microseconds.
    pub took_us: u64,
}

/// See [`Line::Start`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartLine {
    /// The time, in microseconds since 1970.
    pub time_us: u64,
    /// The version of this format, [`SCHEMA`].
    pub schema: u64,
    /// The address that the server listens on.
    pub address: String,
    /// The configured engine.
    pub engine: String,
    /// The OpenSSL provider that signs with the key.
    pub provider: String,
    /// The kind of the key, "rsa-2048".
    pub key: String,
    /// The number of worker threads.
    pub workers: u64,
    /// The version of OpenSSL.
    pub openssl: String,
}

/// Returns the microseconds since 1970 by the system's clock.
pub(crate) fn now_us() -> u64 {
    // 0 if the clock is before 1970.
    micros(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

pub(crate) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

fn append(line: &Line, text: &mut Vec<u8>) {
    serde_json::to_writer(&mut *text, line).expect("a line is JSON");
    text.push(b'\n');
}

/// The file, which all workers share.
#[derive(Debug)]
pub(crate) struct Log(Mutex<Out>);

#[derive(Debug)]
struct Out {
    file: File,
    /// The numbers of lines written and lost since the start.
    written: u64,
    lost: u64,
    /// The number of lost lines that the log already mentions.
    reported_lost: u64,
    /// The file ends within a line, because a write failed: nothing can follow.
    is_broken: bool,
}

impl Log {
    /// Opens the log for appending, and writes the start line. A pipe without a reader is an error,
    /// and a write to a full pipe fails instead of blocking.
    pub(crate) fn start(path: &Path, start: StartLine) -> Result<Self, Error> {
        let refuse = Error::path("cannot append to the access log", path);
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let open = OpenOptions::new().append(true).create(true).custom_flags(flags).open(path);
        let file = open.map_err(&refuse)?;
        let mut out = Out { file, written: 0, lost: 0, reported_lost: 0, is_broken: false };
        if out.write_line(&Line::Start(start)) {
            Ok(Self(Mutex::new(out)))
        } else {
            Err(refuse(io::ErrorKind::StorageFull.into()))
        }
    }

    fn lock(&self) -> impl core::ops::DerefMut<Target = Out> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the numbers of handshake and request lines that were written and lost.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let out = self.lock();
        (out.written, out.lost)
    }

    /// Writes the stop line. Returns whether the log is complete.
    pub(crate) fn finish(&self) -> bool {
        let mut out = self.lock();
        out.report_lost();
        let (lines, lost) = (out.written, out.lost);
        out.write_line(&Line::Stop { time_us: now_us(), lines, lost }) && lost == 0
    }
}

impl Out {
    /// Writes whole lines, and counts those that could not be written.
    fn write_block(&mut self, text: &[u8], lines: u64) {
        self.report_lost();
        let written = self.write(text);
        self.written += written;
        self.lost += lines - written;
    }

    /// Writes a line with the number of newly lost lines, if there are any.
    fn report_lost(&mut self) {
        let lines = self.lost - self.reported_lost;
        if lines > 0 && self.write_line(&Line::Lost { time_us: now_us(), lines }) {
            self.reported_lost = self.lost;
        }
    }

    fn write_line(&mut self, line: &Line) -> bool {
        let mut text = Vec::new();
        append(line, &mut text);
        self.write(&text) == 1
    }

    /// Returns the number of whole lines that the file accepted: a full disk may accept a part.
    fn write(&mut self, text: &[u8]) -> u64 {
        static FAILED: Once = Once::new();

        let mut done = 0;
        while done < text.len() && !self.is_broken {
            match self.file.write(&text[done..]) {
                Ok(count @ 1..) => done += count,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                refused => {
                    let why = refused.err().unwrap_or_else(|| io::ErrorKind::WriteZero.into());
                    warn_once(&FAILED, || {
                        format!(
                            "lines of the access log could not be written ({why}) and are counted \
                             as lost: free disk space; measurements with this log are invalid"
                        )
                    });
                    self.is_broken = done > 0 && text[done - 1] != b'\n';
                    break;
                }
            }
        }
        text[..done].iter().filter(|byte| **byte == b'\n').count() as u64
    }
}

/// A worker's lines that are not written yet.
pub(crate) struct Journal {
    setup: Arc<Setup>,
    text: Vec<u8>,
    lines: u64,
    since: Option<Instant>,
}

impl Journal {
    pub(crate) const fn new(setup: Arc<Setup>) -> Self {
        Self { setup, text: Vec::new(), lines: 0, since: None }
    }

    /// Adds the line that `make` returns, unless there is no log.
    pub(crate) fn push(&mut self, now: Instant, make: impl FnOnce() -> Line) {
        if self.setup.log.is_none() {
            return;
        }
        append(&make(), &mut self.text);
        self.lines += 1;
        self.since.get_or_insert(now);
        if self.text.len() >= BLOCK_BYTES {
            self.flush();
        }
    }

    /// Writes a block that is old enough.
    pub(crate) fn tick(&mut self, now: Instant) {
        if self.wait(now) == Some(Duration::ZERO) {
            self.flush();
        }
    }

    /// Returns how long the caller can wait before [`Self::tick`]. Returns `None` if there is
    /// nothing to write.
    pub(crate) fn wait(&self, now: Instant) -> Option<Duration> {
        self.since.map(|since| BLOCK_AGE.saturating_sub(now.duration_since(since)))
    }

    pub(crate) fn flush(&mut self) {
        if let Some(log) = &self.setup.log
            && self.lines > 0
        {
            log.lock().write_block(&self.text, self.lines);
        }
        self.text.clear();
        self.lines = 0;
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_example_is_read_and_written() {
        let text = include_str!("../docs/access-log.md");
        let example = text.split("```jsonl\n").nth(1).unwrap().split("```").next().unwrap();
        let mut written = Vec::new();
        for line in example.lines() {
            append(&serde_json::from_str(line).unwrap(), &mut written);
        }
        assert_eq!(String::from_utf8(written).unwrap(), example);
    }

    #[test]
    fn a_full_disk_loses_lines() {
        let file = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let mut out = Out { file, written: 0, lost: 0, reported_lost: 0, is_broken: false };
        out.write_block(b"{}\n{}\n", 2);
        out.write_block(b"{}\n", 1);
        assert_eq!((out.written, out.lost, out.reported_lost), (0, 3, 0));
        assert!(!Log(Mutex::new(out)).finish(), "the stop line is not written");
    }
}
