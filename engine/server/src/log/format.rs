//! The formats of the access log.

use core::str::FromStr;
use std::io::{self, Write as _};

use jiff::Timestamp;

use super::line::{Line, RequestLine};
use crate::unknown_name::UnknownName;

/// The format of the access log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// The "combined" log format of Apache's server and of nginx: a line for each response, and
    /// none for handshakes, lost lines, start and stop. A load generator cannot be checked with it.
    Combined,
    /// JSON Lines.
    Json,
}

impl FromStr for LogFormat {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let all = [(Self::Combined, "combined"), (Self::Json, "json")];
        UnknownName::find("log format", name, &all, |(_, name)| [name]).map(|(value, _)| value)
    }
}

impl LogFormat {
    /// Returns whether the format has lines of this kind.
    pub(super) const fn has(self, line: &Line) -> bool {
        matches!((self, line), (Self::Json, _) | (Self::Combined, Line::Request(_)))
    }

    /// Appends the line, if the format has lines of this kind.
    pub(super) fn append(self, line: &Line, out: &mut Vec<u8>) -> io::Result<()> {
        match (self, line) {
            (Self::Json, line) => {
                serde_json::to_writer(&mut *out, line)?;
                out.push(b'\n');
                Ok(())
            }
            (Self::Combined, Line::Request(request)) => combined(request, out),
            (Self::Combined, _) => Ok(()),
        }
    }
}

/// `192.0.2.1 - - [26/Nov/2026:18:15:52 +0000] "GET / HTTP/1.1" 200 12 "https://a/" "curl/8"`.
fn combined(line: &RequestLine, out: &mut Vec<u8>) -> io::Result<()> {
    let time = i64::try_from(line.time_us).ok();
    let time = time.and_then(|time| Timestamp::from_microsecond(time).ok()).unwrap_or_default();
    write!(out, "{} - - [{}] \"", line.client, time.strftime("%d/%b/%Y:%H:%M:%S +0000"))?;
    escape(&line.method, out)?;
    if let Some(http) = &line.http {
        out.push(b' ');
        escape(&line.target, out)?;
        // as nginx and Apache write it
        let http = if http == "2" { "2.0" } else { http };
        write!(out, " HTTP/{http}")?;
    }
    write!(out, "\" {} {}", line.status, line.bytes)?;
    for field in [&line.referer, &line.user_agent] {
        out.extend_from_slice(b" \"");
        escape(field.as_deref().unwrap_or("-"), out)?;
        out.push(b'"');
    }
    out.push(b'\n');
    Ok(())
}

/// Appends a text of a client. It can neither end its quotes nor its line, nor command a terminal.
fn escape(text: &str, out: &mut Vec<u8>) -> io::Result<()> {
    for byte in text.bytes() {
        if (b' '..=b'~').contains(&byte) && !b"\"\\".contains(&byte) {
            out.push(byte);
        } else {
            write!(out, "\\x{byte:02X}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use core::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::log::LostLine;

    #[test]
    fn a_line_of_the_combined_format() {
        let line = RequestLine {
            time_us: 1_764_180_952_000_000,
            connection: 1,
            client: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
            request: 1,
            protocol: "TLSv1.3".into(),
            suite: "TLS_AES_128_GCM_SHA256".into(),
            group: None,
            resumed: false,
            method: "GET".into(),
            target: "/a\"b".into(),
            http: Some("2".into()),
            referer: None,
            user_agent: Some("x\n\u{1b}[1m\\é".into()),
            status: 200,
            bytes: 12,
            complete: true,
            took_us: 1,
        };
        let text = |line: &Line| {
            let mut out = Vec::new();
            LogFormat::Combined.append(line, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let start = "192.0.2.1 - - [26/Nov/2025:18:15:52 +0000] ";
        let fields = r#"200 12 "-" "x\x0A\x1B[1m\x5C\xC3\xA9""#;
        let expected = format!("{start}\"GET /a\\x22b HTTP/2.0\" {fields}\n");
        assert_eq!(text(&Line::Request(line.clone())), expected);
        let none = RequestLine { method: "-".into(), http: None, user_agent: None, ..line };
        assert_eq!(text(&Line::Request(none)), format!("{start}\"-\" 200 12 \"-\" \"-\"\n"));
        let lost = Line::Lost(LostLine { time_us: 0, lines: 1 });
        assert_eq!(text(&lost), "");
        assert!(!LogFormat::Combined.has(&lost) && LogFormat::Json.has(&lost));
    }
}
