//! Lines of access logs: nginx's and Apache's combined format, HAProxy's HTTP log, and Tollgate's.

mod combined;
mod haproxy;
mod own;

use core::fmt;
use core::hash::{Hash as _, Hasher as _};
use std::hash::DefaultHasher;

/// The longest line that is read, in bytes.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// The format of an access log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogFormat {
    /// The JSON Lines of `tollgate serve`.
    Own,
    /// nginx: combined, with further fields.
    Nginx,
    /// Apache: combined, with further fields.
    Apache,
    /// HAProxy: its HTTP log, with further fields.
    Haproxy,
}

/// The content of a line; absent parts are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Time, in microseconds since 1970.
    pub time_us: Option<i64>,
    /// Number of the connection, the same for all its requests.
    pub connection: Option<u64>,
    /// Status and bytes of the response, if the line has one.
    pub request: Option<(u16, Option<u64>)>,
    /// True if the connection resumed a session.
    pub resumed: Option<bool>,
    /// True if a handshake was completed. In logs with one line for each request, the first line of
    /// a connection shows it.
    pub handshake: bool,
    /// True if a handshake failed.
    pub failed_handshake: bool,
    /// Number of the request on its connection, from 1.
    pub number: Option<u64>,
    /// True if the whole response was sent.
    pub complete: Option<bool>,
    /// True if the bytes include the head of the response.
    pub has_head: bool,
    /// An event of the server itself.
    pub event: Option<ServerEvent>,
    /// TLS version, as in logs: `TLSv1.3`.
    pub protocol: Option<String>,
}

/// An event that Tollgate's server logs about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// The server dropped lines.
    Lost {
        /// The number of dropped lines.
        lines: u64,
    },
    /// The server started, with this version of the format.
    Started {
        /// The version.
        schema: Option<u64>,
    },
    /// The server stopped.
    Stopped,
}

/// The reason why a line is not an access-log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine(String);

impl BadLine {
    fn new(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Control characters of the file must not reach a terminal.
        self.0.chars().try_for_each(|c| {
            if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") }
        })
    }
}

impl core::error::Error for BadLine {}

impl Entry {
    /// Reads a line of any format; `None` if it is empty.
    ///
    /// # Errors
    ///
    /// [`BadLine`] names the missing part.
    pub fn read(line: &str) -> Result<Option<Self>, BadLine> {
        let Some(line) = content(line)? else { return Ok(None) };
        if line.starts_with('{') {
            return own::read(line);
        }
        haproxy::read(line).map_or_else(|| combined::read(line), |entry| entry.map(Some))
    }
}

/// Returns the line without white space at its ends; `None` if it is empty.
fn content(line: &str) -> Result<Option<&str>, BadLine> {
    let line = line.trim();
    if line.len() > LINE_BYTES_MAX {
        return Err(BadLine::new("longer than 64 KiB"));
    }
    Ok((!line.is_empty()).then_some(line))
}

impl LogFormat {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Own, Self::Nginx, Self::Apache, Self::Haproxy];

    /// Returns the name in one word, for flags.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Nginx => "nginx",
            Self::Apache => "apache",
            Self::Haproxy => "haproxy",
        }
    }

    /// Reads a line of this format.
    ///
    /// # Errors
    ///
    /// [`BadLine`] names the missing part.
    pub fn read(self, line: &str) -> Result<Option<Entry>, BadLine> {
        let Some(line) = content(line)? else { return Ok(None) };
        match self {
            Self::Own => own::read(line),
            Self::Nginx | Self::Apache => combined::read(line),
            Self::Haproxy => haproxy::read(line)
                .unwrap_or_else(|| Err(BadLine::new("not a line of HAProxy's HTTP log")))
                .map(Some),
        }
    }
}

/// The fields `NAME=VALUE` after the last quote of a line; docs/bench-url.md says how to log them.
#[derive(Clone, Copy)]
struct Tail<'a>(&'a str);

impl<'a> Tail<'a> {
    /// Skips referrer and agent, which are in quotes and may hold anything.
    fn new(line: &'a str) -> Self {
        Self(line.rsplit('"').next().unwrap_or_default())
    }

    fn raw(self, key: &str) -> Option<&'a str> {
        self.0.split_ascii_whitespace().find_map(|word| word.strip_prefix(key))
    }

    fn value(self, key: &str) -> Option<&'a str> {
        self.raw(key).filter(|value| !value.is_empty() && *value != "-")
    }

    /// Adds the fields to the entry.
    fn add_to(self, entry: &mut Entry) {
        entry.connection = self.value("conn=").map(connection).or(entry.connection);
        entry.resumed = self.value("reused=").and_then(resumed);
        entry.protocol = self.value("proto=").map(str::to_owned);
        // nginx and HAProxy count requests from 1, Apache from 0
        let after = self.value("keepalive=").and_then(|count| count.parse::<u64>().ok());
        let number = self.value("request=").and_then(|number| number.parse().ok());
        entry.number = number.or_else(|| after?.checked_add(1));
        entry.complete = self.raw("done=").map(is_whole);
        entry.handshake = entry.number == Some(1) && entry.protocol.is_some();
    }
}

/// Reads whether a session was resumed. nginx writes `r` and `.`, Apache `Resumed` and `Initial`,
/// HAProxy `1` and `0`.
fn resumed(word: &str) -> Option<bool> {
    match word {
        "r" | "Resumed" | "1" => Some(true),
        "." | "Initial" | "0" => Some(false),
        _ => None,
    }
}

/// Returns whether the whole response was sent: `OK` of nginx's `$request_completion`; `+` or `-`
/// of Apache's `%X`; `--` or `LR` of HAProxy's `%ts`.
fn is_whole(word: &str) -> bool {
    matches!(word, "OK" | "+" | "-" | "--" | "LR")
}

/// Hashes the identifier of a connection.
fn connection(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COMBINED: &str = concat!(
        r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a?b=\"c\" HTTP/1.0" 200 2326 "#,
        r#""http://x/y" "Mozilla/4.08 [en] (Win98; I)" conn=7 reused=r proto=TLSv1.3"#,
    );
    const HAPROXY: &str = concat!(
        "Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] ",
        "http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} ",
        "\"GET /index.html HTTP/1.1\"",
    );
    const OWN: &str = concat!(
        r#"{"event":"request","time_us":1790000000000000,"connection":3,"request":1,"#,
        r#""protocol":"TLSv1.3","suite":"x","resumed":false,"method":"GET","target":"/","#,
        r#""status":200,"bytes":14336,"complete":true,"took_us":5}"#,
    );

    fn read(line: &str) -> Entry {
        Entry::read(line).unwrap().unwrap()
    }

    #[test]
    fn each_format_is_recognized() {
        let entry = read(COMBINED);
        assert_eq!(entry.time_us, Some(971_211_336_000_000));
        assert_eq!((entry.request, entry.resumed), (Some((200, Some(2326))), Some(true)));
        assert_eq!(entry.connection, read(&COMBINED.replace("reused=r", "reused=.")).connection);
        assert_ne!(entry.connection, read(&COMBINED.replace("conn=7", "conn=8")).connection);
        assert_eq!(entry.protocol.as_deref(), Some("TLSv1.3"));

        let plain = COMBINED.split(" conn=").next().unwrap();
        assert_eq!((read(plain).connection, read(plain).resumed), (None, None));
        let common = plain.split(" \"http").next().unwrap();
        assert_eq!(read(common).request, Some((200, Some(2326))));
        let no_body = common.replace("200 2326", "304 -");
        assert_eq!(read(&no_body).request, Some((304, Some(0))));

        let entry = read(HAPROXY);
        assert_eq!(entry.time_us, Some(1_233_922_454_655_000));
        assert_eq!(entry.request, Some((200, Some(2750))));
        let same = HAPROXY.replace("200 2750", "404 1");
        assert_eq!(entry.connection, read(&same).connection);
        assert_ne!(entry.connection, read(&HAPROXY.replace("33317", "33318")).connection);

        let entry = read(OWN);
        assert_eq!((entry.time_us, entry.connection), (Some(1_790_000_000_000_000), Some(3)));
        assert_eq!((entry.request, entry.handshake), (Some((200, Some(14_336))), false));
        let hello = r#"{"event":"handshake","time_us":1,"connection":3,"outcome":"resumed"}"#;
        assert_eq!((read(hello).handshake, read(hello).resumed), (true, Some(true)));
        assert_eq!(Entry::read("  "), Ok(None));
    }

    /// With `option abortonclose`, HAProxy logs this line if the client closed before the response.
    #[test]
    fn a_client_that_closed_early_has_no_response() {
        let line =
            HAPROXY.replace("10/0/30/69/109 200 2750 - - ----", "0/0/0/-1/300 -1 0 - - CD--");
        let entry = read(&format!("{line} request=1 done=CD reused=0 proto=TLSv1.3"));
        assert_eq!((entry.request, entry.complete, entry.handshake), (None, Some(false), true));
        assert_eq!(
            (entry.connection, entry.time_us),
            (read(HAPROXY).connection, read(HAPROXY).time_us)
        );
    }

    #[test]
    fn further_fields_are_read_from_every_format() {
        let nginx = COMBINED.replace("conn=7", "conn=7 request=1 done=OK");
        let apache =
            nginx.replace("request=1 done=OK reused=r", "keepalive=0 done=- reused=Resumed");
        let haproxy = format!("{HAPROXY} request=1 done=LR reused=1 proto=TLSv1.3");
        for line in [&nginx, &apache, &haproxy] {
            let entry = read(line);
            assert_eq!((entry.number, entry.handshake), (Some(1), true), "{line}");
            assert_eq!((entry.complete, entry.resumed), (Some(true), Some(true)), "{line}");
        }
        let second = read(&nginx.replace("request=1 done=OK", "request=2 done="));
        assert_eq!(
            (second.number, second.handshake, second.complete),
            (Some(2), false, Some(false))
        );
        assert_eq!(read(&apache.replace("keepalive=0", "keepalive=4")).number, Some(5));
        let plain = read(&nginx.replace("proto=TLSv1.3", "proto=-"));
        assert!(!plain.handshake, "HTTP has none");
        assert_eq!((read(COMBINED).number, read(COMBINED).complete), (None, None));
        assert!(read(&haproxy).has_head && !read(&nginx).has_head);
        let failed = "127.0.0.1:4 [22/Nov/2026:08:00:00.000] tls/1: SSL handshake failure";
        assert!(read(failed).failed_handshake && read(failed).request.is_none());
    }

    #[test]
    fn a_format_reads_only_its_own_lines() {
        for (format, line) in [
            (LogFormat::Own, OWN),
            (LogFormat::Nginx, COMBINED),
            (LogFormat::Apache, COMBINED),
            (LogFormat::Haproxy, HAPROXY),
        ] {
            assert_eq!(format.read(line), Entry::read(line), "{}", format.name());
            assert!(format.read("hello").is_err());
        }
        assert!(LogFormat::Haproxy.read(COMBINED).is_err());
        assert!(LogFormat::Nginx.read(OWN).is_err());
        assert!(LogFormat::Own.read(HAPROXY).is_err());
    }

    #[test]
    fn errors_name_the_missing_part() {
        for (bad, why) in [
            ("hello", "time in brackets"),
            (r#"x - - [yesterday] "GET / HTTP/1.1" 200 1"#, "10/Oct/2000"),
            (r#"x - - [10/Oct/2000:13:55:36 -0700] GET / 200 1"#, "request in quotes"),
            (r#"x - - [10/Oct/2000:13:55:36 -0700] "GET / 200 1"#, "quote"),
            (r#"x - - [10/Oct/2000:13:55:36 -0700] "GET /" abc 1"#, "status"),
            (r#"x - - [10/Oct/2000:13:55:36 -0700] "GET /" 200 many"#, "bytes"),
            (r#"{"event":"request"}"#, "request"),
            ("{\"\x1b[31m", "JSON"),
        ] {
            let message = Entry::read(bad).unwrap_err().to_string();
            assert!(message.contains(why), "{bad}: {message}");
            assert!(!message.chars().any(char::is_control), "{message:?}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_lines_do_not_panic(line in "\\PC{0,200}") {
            let _ = Entry::read(&line);
        }

        #[test]
        fn truncated_or_changed_lines_do_not_panic(
            which in 0..3_usize,
            cut in 0..250_usize,
            change in any::<char>(),
        ) {
            let line: Vec<char> = [COMBINED, HAPROXY, OWN][which].chars().collect();
            let place = cut.min(line.len());
            let cut_line: String = line[..place].iter().collect();
            let _ = Entry::read(&cut_line);
            let mut changed = line;
            if let Some(character) = changed.get_mut(place) {
                *character = change;
            }
            let _ = Entry::read(&changed.into_iter().collect::<String>());
        }
    }
}
