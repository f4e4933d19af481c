//! Parses request heads.

use std::borrow::Cow;

use httparse::{EMPTY_HEADER, Header};

/// The longest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// The maximum number of header fields in a head.
const FIELDS_MAX: usize = 64;

/// The longest target in the access log, in bytes.
const LOGGED_BYTES_MAX: usize = 256;

/// The statuses that this server uses, RFC 9110 §15.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Ok = 200,
    BadRequest = 400,
    NotFound = 404,
    MethodNotAllowed = 405,
    ContentTooLarge = 413,
    FieldsTooLarge = 431,
    InternalError = 500,
}

impl Status {
    pub(crate) const fn code(self) -> u16 {
        self as u16
    }

    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::BadRequest => "Bad Request",
            Self::NotFound => "Not Found",
            Self::MethodNotAllowed => "Method Not Allowed",
            Self::ContentTooLarge => "Content Too Large",
            Self::FieldsTooLarge => "Request Header Fields Too Large",
            Self::InternalError => "Internal Server Error",
        }
    }
}

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
    /// A body follows, which the server does not read.
    pub(crate) has_body: bool,
    /// Length of the head.
    pub(crate) head_bytes: usize,
}

impl Request {
    /// Returns whether the request uses HTTP/1.0, where both sides must ask to keep the connection
    /// open.
    pub(crate) fn is_old(&self) -> bool {
        self.http == "1.0"
    }
}

/// The result of parsing the bytes received so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// An incomplete head.
    Partial,
    /// A complete head.
    Request(Request),
    /// An invalid request; the connection must be closed after the response.
    Refused(Status),
}

/// Parses the head at the start of `bytes`.
pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let mut fields = [EMPTY_HEADER; FIELDS_MAX];
    let mut head = httparse::Request::new(&mut fields);
    match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= HEAD_BYTES_MAX => {
            complete(&head, length).map_or_else(Parsed::Refused, Parsed::Request)
        }
        Ok(httparse::Status::Partial) if bytes.len() <= HEAD_BYTES_MAX => Parsed::Partial,
        Ok(_) | Err(httparse::Error::TooManyHeaders) => Parsed::Refused(Status::FieldsTooLarge),
        Err(_) => Parsed::Refused(Status::BadRequest),
    }
}

fn complete(head: &httparse::Request<'_, '_>, head_bytes: usize) -> Result<Request, Status> {
    let version = head.version.ok_or(Status::BadRequest)?;
    let method = match head.method.ok_or(Status::BadRequest)? {
        "GET" => Cow::Borrowed("GET"),
        "HEAD" => Cow::Borrowed("HEAD"),
        other => Cow::Owned(other.chars().take(16).collect()),
    };
    let target = head.path.filter(|target| is_origin_form(target)).ok_or(Status::BadRequest)?;
    let hosts = head.headers.iter().filter(|field| is(field, "host")).count();
    // RFC 9112 §3.2: exactly one Host field in HTTP/1.1.
    if hosts > 1 || (version == 1 && hosts == 0) {
        return Err(Status::BadRequest);
    }
    let mut keep_alive = version == 1;
    for option in options(head.headers) {
        if option.eq_ignore_ascii_case(b"close") {
            keep_alive = false;
        } else if option.eq_ignore_ascii_case(b"keep-alive") && version == 0 {
            keep_alive = true;
        }
    }
    let has_body = head.headers.iter().any(|field| {
        is(field, "transfer-encoding") || (is(field, "content-length") && field.value != b"0")
    });
    Ok(Request {
        method,
        target: target.to_owned(),
        keep_alive,
        http: if version == 0 { "1.0" } else { "1.1" },
        has_body,
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

    fn refused(text: &str) -> Status {
        match parse(text.as_bytes()) {
            Parsed::Refused(status) => status,
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
    fn open_connections_at_the_stop() {
        let stays = |version, field| {
            request(&format!("GET / HTTP/{version}\r\nHost: a\r\n{field}\r\n")).keep_alive
        };
        assert!(stays("1.1", ""));
        assert!(!stays("1.1", "Connection: x, Close\r\n"));
        assert!(!stays("1.0", ""));
        assert!(stays("1.0", "Connection: keep-alive\r\n"));
    }

    #[test]
    fn bodies_and_targets_in_the_log() {
        let with = |fields| request(&format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
        assert!(!with("").has_body && !with("Content-Length: 0\r\n").has_body);
        assert!(with("Content-Length: 5\r\n").has_body);
        assert!(with("Transfer-Encoding: Chunked\r\n").has_body);
        assert_eq!(loggable_path("/a\x1b[1m"), "/a\u{fffd}[1m");
        assert_eq!(loggable_path(&"x".repeat(300)), "x".repeat(256));
        for text in ["/a", "/a?secret", "/a#part?secret"] {
            assert_eq!(loggable_path(text), "/a");
        }
    }

    #[test]
    fn refused_input() {
        let with = |fields: &str| refused(&format!("POST / HTTP/1.1\r\n{fields}\r\n"));
        assert_eq!(with(""), Status::BadRequest, "no host");
        assert_eq!(with("Host: a\r\nHost: b\r\n"), Status::BadRequest);
        assert_eq!(with(&"X: y\r\n".repeat(65)), Status::FieldsTooLarge);
        assert_eq!(with(&format!("X: {}\r\n", "y".repeat(HEAD_BYTES_MAX))), Status::FieldsTooLarge);
        assert_eq!(refused(&"G".repeat(HEAD_BYTES_MAX + 1)), Status::FieldsTooLarge);
        assert_eq!(refused("\u{16}\u{3}\u{1}\r\n\r\n"), Status::BadRequest);
        assert_eq!(refused("GET / HTTP/3.0\r\n\r\n"), Status::BadRequest);
        for bad in ["bytes", "https://a/b", "/a#b", "/\u{e4}"] {
            let text = format!("GET {bad} HTTP/1.1\r\nHost: a\r\n\r\n");
            assert_eq!(refused(&text), Status::BadRequest, "{bad}");
        }
    }
}
