//! Writes response heads and chooses bodies.

use std::io::{self, Write as _};

use super::body::{BODY_BYTES_MAX, Body};
use super::date::Date;
use super::files::Root;
use super::request::{Request, Status};
use super::route::{Route, route};

/// A response: its head and its body.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: Status,
    pub(crate) media_type: &'static str,
    pub(crate) body: Body,
    /// Omits the body, for HEAD; the head still contains its length.
    pub(crate) head_only: bool,
}

/// Further properties of the head.
#[derive(Debug)]
pub(crate) struct Head<'a> {
    pub(crate) date: &'a mut Date,
    pub(crate) keep_alive: bool,
    /// The client uses HTTP/1.0.
    pub(crate) old: bool,
}

impl Response {
    /// Creates an error response with a line of explanation.
    pub(crate) fn refusal(status: Status) -> Self {
        let why = match status {
            Status::BadRequest => "This is not a valid request.",
            Status::NotFound => "There is nothing here.",
            Status::MethodNotAllowed => "Only GET and HEAD are answered.",
            Status::ContentTooLarge => "A request has no body here.",
            Status::FieldsTooLarge => "The request's head is too long.",
            Status::Ok | Status::InternalError => "",
        };
        Self::explained(status, format!("{} {}. {why}\n", status.code(), status.reason()))
    }

    fn explained(status: Status, text: String) -> Self {
        let body = Body::Text { text, at: 0 };
        let media_type = "text/plain; charset=utf-8";
        Self { status, media_type, body, head_only: false }
    }

    /// Returns the response to a request.
    pub(crate) fn to(request: &Request, root: Option<&Root>) -> Self {
        let head_only = request.method == "HEAD";
        if request.method != "GET" && !head_only {
            return Self::refusal(Status::MethodNotAllowed);
        }
        Self { head_only, ..Self::to_target(&request.target, root) }
    }

    fn to_target(target: &str, root: Option<&Root>) -> Self {
        let found =
            |media_type, body| Self { status: Status::Ok, media_type, body, head_only: false };
        match route(target) {
            Route::Bytes(left) => found("application/octet-stream", Body::Pattern { at: 0, left }),
            Route::File(path) => match root.map(|root| root.file(&path)) {
                Some(Ok((file, left))) => {
                    found("application/octet-stream", Body::File { file, at: 0, left })
                }
                Some(Err(why)) if is_our_trouble(&why) => Self::refusal(Status::InternalError),
                Some(Err(_)) | None => Self::refusal(Status::NotFound),
            },
            Route::Nothing => Self::refusal(Status::NotFound),
            Route::Senseless => Self::explained(
                Status::BadRequest,
                format!(
                    "400 Bad Request. Ask for /bytes/N with N from 0 to {BODY_BYTES_MAX}, or \
                     a path with sound escapes.\n"
                ),
            ),
        }
    }

    /// Appends the head to `out`, and drops the body if the response is sent without its body.
    pub(crate) fn write_head(&mut self, out: &mut Vec<u8>, head: Head<'_>) {
        let Self { status, media_type, body, .. } = self;
        let allow = if *status == Status::MethodNotAllowed { "Allow: GET, HEAD\r\n" } else { "" };
        let connection = match (head.keep_alive, head.old) {
            (true, false) => "",
            (true, true) => "Connection: keep-alive\r\n",
            (false, _) => "Connection: close\r\n",
        };
        write!(
            out,
            "HTTP/1.1 {} {}\r\nDate: {}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\
             {allow}{connection}\r\n",
            status.code(),
            status.reason(),
            head.date.now(),
            body.left(),
        )
        .expect("a Vec takes any bytes");
        if self.head_only {
            self.body = Body::None;
        }
    }
}

/// Returns whether the file may exist although the server cannot open it now.
fn is_our_trouble(why: &io::Error) -> bool {
    use rustix::io::Errno;

    matches!(
        Errno::from_io_error(why),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::IO)
    )
}
