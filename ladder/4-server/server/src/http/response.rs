//! Chooses bodies, and writes response heads.

use std::io::Write as _;
use std::path::Path;

use super::body::{BODY_BYTES_MAX, Body};
use super::date::Date;
use super::files::Root;
use super::request::Request;

/// The statuses that this server uses, RFC 9110 §15.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Ok = 200,
    BadRequest = 400,
    NotFound = 404,
    MethodNotAllowed = 405,
}

/// A response: its status and its body.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: Status,
    pub(crate) body: Body,
}

impl Response {
    /// Returns a response without a body.
    pub(crate) const fn refusal(status: Status) -> Self {
        Self { status, body: Body::None }
    }

    /// Returns the response to a request.
    pub(crate) fn to(request: &Request, root: Option<&Root>) -> Self {
        if request.method != "GET" {
            return Self::refusal(Status::MethodNotAllowed);
        }
        let body = find(&request.target, root);
        body.map_or(Self::refusal(Status::NotFound), |body| Self { status: Status::Ok, body })
    }

    /// Appends the head to `out`.
    pub(crate) fn write_head(&self, out: &mut Vec<u8>, date: &mut Date, keep_alive: bool) {
        let (reason, allow) = match self.status {
            Status::Ok => ("OK", ""),
            Status::BadRequest => ("Bad Request", ""),
            Status::NotFound => ("Not Found", ""),
            Status::MethodNotAllowed => ("Method Not Allowed", "Allow: GET\r\n"),
        };
        let connection = if keep_alive { "" } else { "Connection: close\r\n" };
        write!(
            out,
            "HTTP/1.1 {} {reason}\r\nDate: {}\r\nContent-Type: application/octet-stream\r\n\
             Content-Length: {}\r\n{allow}{connection}\r\n",
            self.status as u16,
            date.now(),
            self.body.left(),
        )
        .expect("a Vec takes any bytes");
    }
}

/// Returns the body of a target, without its query: `/bytes/N`, or a file below the root.
fn find(target: &str, root: Option<&Root>) -> Option<Body> {
    let path = target.split('?').next()?;
    if let Some(number) = path.strip_prefix("/bytes/") {
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let left = number.parse().ok().filter(|&bytes| is_number && bytes <= BODY_BYTES_MAX)?;
        return Some(Body::Pattern { at: 0, left });
    }
    let (file, left) = root?.file(Path::new(path.strip_prefix('/')?)).ok()?;
    Some(Body::File { file, at: 0, left })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_sizes_are_parsed() {
        let length = |number: &str| find(&format!("/bytes/{number}"), None).map(|body| body.left());
        for (number, expected) in [("0", 0), ("14336?x", 14_336), ("1073741824", BODY_BYTES_MAX)] {
            assert_eq!(length(number), Some(expected));
        }
        for number in ["1073741825", "", "-1", "+1", "1/", "99999999999999999999", "0x1"] {
            assert_eq!(length(number), None, "{number}");
        }
    }
}
