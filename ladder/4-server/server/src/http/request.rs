//! Parses request heads.

use std::borrow::Cow;

use httparse::{EMPTY_HEADER, Header};

/// The longest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// The maximum number of header fields in a head.
const FIELDS_MAX: usize = 64;

/// The longest target in the access log, in bytes.
const LOGGED_BYTES_MAX: usize = 256;

/// The fields of a request head that this server uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: Cow<'static, str>,
    /// The target in origin form, with its query.
    pub(crate) target: String,
    /// The client wants to keep the connection open.
    pub(crate) keep_alive: bool,
    /// The version of HTTP: 1.0 or 1.1.
    pub(crate) http: &'static str,
    /// Length of the head.
    pub(crate) head_bytes: usize,
}

/// The result of parsing the bytes received so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// An incomplete head.
    Partial,
    /// A complete head.
    Request(Request),
    /// No request that this server reads; the connection must be closed after the response.
    Refused,
}

/// Parses the head at the start of `bytes`.
pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let mut fields = [EMPTY_HEADER; FIELDS_MAX];
    let mut head = httparse::Request::new(&mut fields);
    match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= HEAD_BYTES_MAX => {
            complete(&head, length).map_or(Parsed::Refused, Parsed::Request)
        }
        Ok(httparse::Status::Partial) if bytes.len() <= HEAD_BYTES_MAX => Parsed::Partial,
        Ok(_) | Err(_) => Parsed::Refused,
    }
}

/// Returns the request; `None` if it has a body, or breaks a rule of HTTP.
fn complete(head: &httparse::Request<'_, '_>, head_bytes: usize) -> Option<Request> {
    let version = head.version?;
    let method = match head.method? {
        "GET" => Cow::Borrowed("GET"),
        other => Cow::Owned(other.chars().take(16).collect()),
    };
    let target = head.path.filter(|target| is_origin_form(target))?;
    let hosts = head.headers.iter().filter(|field| is(field, "host")).count();
    let has_body = head.headers.iter().any(|field| {
        is(field, "transfer-encoding") || (is(field, "content-length") && field.value != b"0")
    });
    // RFC 9112 §3.2: exactly one Host field in HTTP/1.1.
    if has_body || hosts > 1 || (version == 1 && hosts == 0) {
        return None;
    }
    let closes = options(head.headers).any(|option| option.eq_ignore_ascii_case(b"close"));
    Some(Request {
        method,
        target: target.to_owned(),
        keep_alive: version == 1 && !closes,
        http: if version == 0 { "1.0" } else { "1.1" },
        head_bytes,
    })
}

fn is(field: &Header<'_>, name: &str) -> bool {
    field.name.eq_ignore_ascii_case(name)
}

/// Returns the options of the `Connection` fields.
fn options<'a>(fields: &'a [Header<'a>]) -> impl Iterator<Item = &'a [u8]> {
    let lists = fields.iter().filter(|field| is(field, "connection"));
    lists.flat_map(|field| field.value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii))
}

/// Returns a target for the access log, without its query. A target is ASCII; characters that
/// command a terminal are replaced.
pub(crate) fn loggable_path(target: &str) -> String {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    path[..path.len().min(LOGGED_BYTES_MAX)].replace(char::is_control, "\u{fffd}")
}

/// Returns whether a target is a path, or `*`. Some readers end a target at `#`, or decode other
/// characters than ASCII.
fn is_origin_form(target: &str) -> bool {
    (target.starts_with('/') || target == "*") && target.is_ascii() && !target.contains('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Request {
        match parse(text.as_bytes()) {
            Parsed::Request(request) => request,
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn a_request_is_read_from_the_front() {
        let head = "GET /bytes/3?x=1 HTTP/1.1\r\nHost: a\r\n\r\n";
        let found = request(&format!("{head}GET /next"));
        assert_eq!(found.head_bytes, head.len());
        assert_eq!((found.target.as_str(), found.keep_alive), ("/bytes/3?x=1", true));
        for end in 0..head.len() {
            assert_eq!(parse(&head.as_bytes()[..end]), Parsed::Partial, "{end} bytes");
        }
    }

    #[test]
    fn connections_stay_open_in_http_1_1_unless_the_client_closes() {
        for (version, field, stays) in
            [("1.1", "", true), ("1.1", "Connection: x, Close\r\n", false), ("1.0", "", false)]
        {
            let text = format!("GET / HTTP/{version}\r\nHost: a\r\n{field}\r\n");
            assert_eq!(request(&text).keep_alive, stays, "{version} {field}");
        }
    }

    #[test]
    fn targets_in_the_log() {
        assert_eq!(loggable_path("/a\x1b[1m"), "/a\u{fffd}[1m");
        assert_eq!(loggable_path(&"x".repeat(300)), "x".repeat(256));
        for text in ["/a", "/a?secret", "/a#part?secret"] {
            assert_eq!(loggable_path(text), "/a");
        }
    }

    #[test]
    fn refused_input() {
        let with = |fields: &str| format!("POST / HTTP/1.1\r\n{fields}\r\n");
        request(&with("Host: a\r\nContent-Length: 0\r\n"));
        for text in [
            with(""),
            with("Host: a\r\nHost: b\r\n"),
            with("Host: a\r\nContent-Length: 5\r\n"),
            with("Host: a\r\nTransfer-Encoding: Chunked\r\n"),
            with(&"X: y\r\n".repeat(65)),
            with(&format!("X: {}\r\n", "y".repeat(HEAD_BYTES_MAX))),
            "G".repeat(HEAD_BYTES_MAX + 1),
            "\u{16}\u{3}\u{1}\r\n\r\n".to_owned(),
            "GET / HTTP/3.0\r\n\r\n".to_owned(),
        ] {
            assert_eq!(parse(text.as_bytes()), Parsed::Refused, "{text}");
        }
        for bad in ["bytes", "https://a/b", "/a#b", "/\u{e4}"] {
            let text = format!("GET {bad} HTTP/1.1\r\nHost: a\r\n\r\n");
            assert_eq!(parse(text.as_bytes()), Parsed::Refused, "{bad}");
        }
    }
}
