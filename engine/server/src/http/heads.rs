//! Heads that a proxy passes on: requests to a back end, and responses to the client.

use core::net::IpAddr;
use std::io::Write as _;

use httparse::{EMPTY_HEADER, Header};

use super::fields::{FIELDS_MAX, is, options, wants_upgrade};
use super::framing::Framing;

/// Fields that concern one connection only, RFC 9110 §7.6.1. `Transfer-Encoding` stays, because
/// chunks are passed on as they are. An upgrade is written again where it is wanted. `Trailer`
/// announces fields that are not passed on.
pub(super) const OF_THE_CONNECTION: [&str; 7] =
    ["connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "http2-settings"];

/// Fields that stay even if `Connection` lists them: without them, the other side would read the body
/// as another request, or not know the host.
const OF_THE_MESSAGE: [&str; 3] = ["content-length", "host", "transfer-encoding"];

/// Fields that say where a body ends.
const OF_THE_BODY: [&str; 2] = ["content-length", "transfer-encoding"];

/// Fields that this proxy sets; a client's own are removed, because anyone can write them.
pub(super) const OF_THE_PROXY: [&str; 3] = ["x-forwarded-for", "x-forwarded-proto", "x-real-ip"];

/// The head of a back end's response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Framing,
    /// The back end keeps the connection open after this response.
    pub(crate) keep_alive: bool,
    /// Length of the head.
    pub(crate) head_bytes: usize,
}

impl Answer {
    /// Returns whether another head follows, RFC 9110 §15.2.
    pub(crate) const fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }
}

/// The result of parsing the bytes of a response received so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ParsedAnswer {
    Complete(Answer),
    Malformed,
    Partial,
}

/// Writes the head of a request for a back end. `head` is the client's, as parsed by
/// [`parse`](super::parse); `target` is its origin form.
pub(crate) fn write_request_head(head: &[u8], target: &str, client: IpAddr, out: &mut Vec<u8>) {
    let mut fields = [EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    let _ = request.parse(head).expect("the head was parsed before");
    let (method, version) = (request.method.unwrap_or(""), request.version.unwrap_or(1));
    let mut write = |text: core::fmt::Arguments<'_>| {
        out.write_fmt(text).expect("a Vec takes any bytes");
    };
    write(format_args!("{method} {target} HTTP/1.{version}\r\n"));
    write(format_args!("X-Forwarded-For: {client}\r\nX-Forwarded-Proto: https\r\n"));
    write_fields(request.headers, &OF_THE_PROXY, out);
}

/// Writes the fields of a head and the empty line, without the fields of the connection and those
/// in `without`; an upgrade stays.
fn write_fields(fields: &[Header<'_>], without: &[&str], out: &mut Vec<u8>) {
    let listed =
        |name: &str| options(fields).any(|option| option.eq_ignore_ascii_case(name.as_bytes()));
    let upgrades = wants_upgrade(fields);
    for field in fields {
        let of_connection = OF_THE_CONNECTION.iter().any(|name| is(field, name))
            || (listed(field.name) && !OF_THE_MESSAGE.iter().any(|name| is(field, name)))
            || without.iter().any(|name| is(field, name));
        if of_connection && !(upgrades && is(field, "upgrade")) {
            continue;
        }
        out.extend_from_slice(field.name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(field.value);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(if upgrades { b"Connection: upgrade\r\n\r\n" } else { b"\r\n" });
}

/// Parses a back end's head at the start of `bytes`; `head_only` says that the request was HEAD.
pub(crate) fn parse_answer(bytes: &[u8], head_only: bool, head_bytes_max: usize) -> ParsedAnswer {
    let mut fields = [EMPTY_HEADER; FIELDS_MAX];
    let mut head = httparse::Response::new(&mut fields);
    match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= head_bytes_max => {
            complete(&head, head_only, length)
                .map_or(ParsedAnswer::Malformed, ParsedAnswer::Complete)
        }
        Ok(httparse::Status::Partial) if bytes.len() <= head_bytes_max => ParsedAnswer::Partial,
        _ => ParsedAnswer::Malformed,
    }
}

fn complete(
    head: &httparse::Response<'_, '_>,
    head_only: bool,
    head_bytes: usize,
) -> Option<Answer> {
    let (status, version) = (head.code?, head.version?);
    let has = |option: &[u8]| options(head.headers).any(|one| one.eq_ignore_ascii_case(option));
    let body = match status {
        101 => Framing::UntilClose,
        100..200 | 204 | 304 => Framing::Length(0),
        200..600 if head_only => Framing::Length(0),
        200..600 => body(head.headers)?,
        _ => return None,
    };
    if version == 0 && matches!(body, Framing::Chunked(_)) {
        return None; // RFC 9112 §6.1
    }
    let keep_alive = body != Framing::UntilClose
        && if version == 0 { has(b"keep-alive") } else { !has(b"close") };
    Some(Answer { status, body, keep_alive, head_bytes })
}

/// Returns the framing of a response's body, RFC 9112 §6.3; `None` if it is ambiguous.
fn body(fields: &[Header<'_>]) -> Option<Framing> {
    let mut lengths = fields.iter().filter(|field| is(field, "content-length"));
    let mut codings = fields.iter().filter(|field| is(field, "transfer-encoding"));
    match (lengths.next(), codings.next()) {
        (None, None) => Some(Framing::UntilClose),
        (None, Some(coding)) => {
            let last = coding.value.rsplit(|byte| *byte == b',').next()?;
            let is_chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
            (is_chunked && codings.next().is_none()).then(Framing::chunked)
        }
        (Some(length), None) if lengths.next().is_none() => {
            let digits = length.value.trim_ascii();
            let sound = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
            let text = core::str::from_utf8(digits).ok().filter(|_| sound)?;
            text.parse().ok().map(Framing::Length)
        }
        _ => None,
    }
}

/// Writes a back end's head for the client.
pub(crate) fn write_answer_head(head: &[u8], connection: &str, out: &mut Vec<u8>) {
    let mut fields = [EMPTY_HEADER; FIELDS_MAX];
    let mut answer = httparse::Response::new(&mut fields);
    let _ = answer.parse(head).expect("the head was parsed before");
    let (status, reason) = (answer.code.unwrap_or(502), answer.reason.unwrap_or(""));
    write!(out, "HTTP/1.1 {status} {reason}\r\n{connection}").expect("a Vec takes any bytes");
    // RFC 9110 §8.6: some clients would wait for a body.
    let has_no_body = matches!(status, 100..200 | 204);
    write_fields(answer.headers, if has_no_body { &OF_THE_BODY } else { &[] }, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 2000;

    fn answer(text: &str, head_only: bool) -> Option<Answer> {
        match parse_answer(text.as_bytes(), head_only, MAX) {
            ParsedAnswer::Complete(answer) => {
                assert_eq!(answer.head_bytes, text.find("\r\n\r\n").unwrap() + 4);
                Some(answer)
            }
            ParsedAnswer::Malformed => None,
            ParsedAnswer::Partial => panic!("{text:?} is partial"),
        }
    }

    #[test]
    fn requests_lose_what_concerns_the_connection() {
        let head = "POST http://a/x?y HTTP/1.1\r\nHost: a\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\n\
                    Keep-Alive: 5\r\nTE: gzip\r\nTrailer: X-T\r\nX-Forwarded-For: 6.6.6.6\r\nX-Real-IP: 6\r\nUpgrade: h2c\r\n\
                    Transfer-Encoding: chunked\r\nAccept: */*\r\n\r\n";
        let mut out = Vec::new();
        write_request_head(head.as_bytes(), "/x?y", IpAddr::from([192, 0, 2, 1]), &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "POST /x?y HTTP/1.1\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n\
             Host: a\r\nTransfer-Encoding: chunked\r\nAccept: */*\r\n\r\n"
        );
    }

    #[test]
    fn a_client_cannot_remove_what_ends_the_body() {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\
                    Connection: content-length, transfer-encoding, host\r\n\r\n";
        let mut out = Vec::new();
        write_request_head(head.as_bytes(), "/", IpAddr::from([0; 16]), &mut out);
        let out = String::from_utf8(out).unwrap();
        assert!(out.ends_with("Host: a\r\nContent-Length: 3\r\n\r\n"), "{out}");
    }

    #[test]
    fn upgrades_are_passed_on() {
        let head = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        let mut out = Vec::new();
        write_request_head(head.as_bytes(), "/", IpAddr::from([0; 16]), &mut out);
        let out = String::from_utf8(out).unwrap();
        assert!(out.ends_with("Upgrade: websocket\r\nConnection: upgrade\r\n\r\n"), "{out}");
    }

    #[test]
    fn bodies_of_answers() {
        let body = |fields: &str| {
            answer(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n"), false).map(|answer| answer.body)
        };
        assert_eq!(body(""), Some(Framing::UntilClose));
        assert_eq!(body("Content-Length: 17\r\n"), Some(Framing::Length(17)));
        assert_eq!(body("Transfer-Encoding: gzip, Chunked\r\n"), Some(Framing::chunked()));
        let ambiguous = [
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            "Content-Length: -1\r\n",
            "Content-Length: \r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Transfer-Encoding: gzip\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        ];
        for fields in ambiguous {
            assert_eq!(body(fields), None, "{fields:?}");
        }
        for status in ["204 No Content", "304 Not Modified", "100 Continue"] {
            let text = format!("HTTP/1.1 {status}\r\nContent-Length: 9\r\n\r\n");
            assert_eq!(answer(&text, false).unwrap().body, Framing::Length(0));
        }
        let to_head = answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true).unwrap();
        assert_eq!(to_head.body, Framing::Length(0));
        for status in ["000", "099", "600", "999"] {
            for head_only in [false, true] {
                assert_eq!(answer(&format!("HTTP/1.1 {status} X\r\n\r\n"), head_only), None);
            }
        }
    }

    #[test]
    fn connections_that_stay_open() {
        let stays = |version, fields: &str| {
            let text = format!("HTTP/{version} 200 OK\r\n{fields}\r\n");
            answer(&text, false).unwrap().keep_alive
        };
        assert!(stays("1.1", "Content-Length: 1\r\n"));
        assert!(!stays("1.1", "Content-Length: 1\r\nConnection: x, close\r\n"));
        assert!(!stays("1.1", ""));
        assert!(!stays("1.0", "Content-Length: 1\r\n"));
        assert!(stays("1.0", "Content-Length: 1\r\nConnection: keep-alive\r\n"));
    }

    #[test]
    fn answers_are_written_for_the_client() {
        let head = "HTTP/1.0 200 Fine\r\nConnection: keep-alive\r\nKeep-Alive: 5\r\nX: y\r\n\r\n";
        let mut out = Vec::new();
        write_answer_head(head.as_bytes(), "Connection: close\r\n", &mut out);
        assert_eq!(out, b"HTTP/1.1 200 Fine\r\nConnection: close\r\nX: y\r\n\r\n");
    }

    #[test]
    fn heads_that_do_not_end() {
        assert_eq!(parse_answer(b"HTTP/1.1 200", false, MAX), ParsedAnswer::Partial);
        let long = format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(MAX));
        assert_eq!(parse_answer(long.as_bytes(), false, MAX), ParsedAnswer::Malformed);
        assert_eq!(parse_answer(b"SSH-2.0\r\n", false, MAX), ParsedAnswer::Malformed);
    }
}
