//! Maps requests of HTTP/2 to heads of HTTP/1.1, and responses of HTTP/1.1 to HTTP/2 (RFC 9113 §8).
//!
//! A name or value that passes here cannot end a line of HTTP/1.1, so a client cannot hide a request
//! in another one. The library that decodes HTTP/2 refuses most such fields; this file does not rely
//! on it.

use core::net::IpAddr;
use std::borrow::Cow;
use std::io::Write as _;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Response as Head, StatusCode};
use httparse::{EMPTY_HEADER, Header};

use super::fields::{FIELDS_MAX, loggable, loggable_path, options};
use super::framing::Framing;
use super::heads::{OF_THE_CONNECTION, OF_THE_PROXY};
use super::request::{Request, Status};

/// Fields that this file writes itself.
const OURS: [&str; 4] = ["content-length", "cookie", "host", "transfer-encoding"];

/// A request of HTTP/2.
#[derive(Debug)]
pub(crate) struct Mapped {
    pub(crate) request: Request,
    /// The same as a head of HTTP/1.1 for a back end.
    pub(crate) head: Vec<u8>,
}

/// Maps a request. `has_body` says that its stream has not ended with its head.
pub(crate) fn map_request(
    parts: &Parts,
    has_body: bool,
    client: IpAddr,
    head_bytes_max: usize,
) -> Result<Mapped, Status> {
    let method = parts.method.as_str();
    let target = target(parts).ok_or(Status::BadRequest)?;
    let host = host(parts).ok_or(Status::BadRequest)?;
    let body = body(&parts.headers, has_body).ok_or(Status::BadRequest)?;
    let mut head = Vec::with_capacity(512);
    let mut write = |text: core::fmt::Arguments<'_>| {
        head.write_fmt(text).expect("a Vec takes any bytes");
    };
    write(format_args!("{method} {target} HTTP/1.1\r\n"));
    write(format_args!("X-Forwarded-For: {client}\r\nX-Forwarded-Proto: https\r\n"));
    write(format_args!("Host: {host}\r\n"));
    match body {
        Framing::Chunked(_) => write(format_args!("Transfer-Encoding: chunked\r\n")),
        Framing::Length(0) if !matches!(method, "POST" | "PUT" | "PATCH") => {}
        Framing::Length(bytes) => write(format_args!("Content-Length: {bytes}\r\n")),
        Framing::UntilClose => {}
    }
    // a client may split its cookies into many fields
    let cookies = parts.headers.get_all(header::COOKIE).iter().count();
    if parts.headers.len() - cookies > FIELDS_MAX {
        return Err(Status::FieldsTooLarge);
    }
    write_fields(&parts.headers, &mut head).ok_or(Status::BadRequest)?;
    write_cookies(&parts.headers, &mut head).ok_or(Status::BadRequest)?;
    head.extend_from_slice(b"\r\n");
    if head.len() > head_bytes_max {
        return Err(Status::FieldsTooLarge);
    }
    let value = |name: &HeaderName| parts.headers.get(name).map(HeaderValue::as_bytes);
    let request = Request {
        method: match method {
            "GET" => Cow::Borrowed("GET"),
            "HEAD" => Cow::Borrowed("HEAD"),
            other => Cow::Owned(other.chars().take(16).collect()),
        },
        target: target.to_owned(),
        keep_alive: true,
        http: "2",
        referer: value(&header::REFERER).map(loggable_path),
        user_agent: value(&header::USER_AGENT).map(loggable),
        body,
        expects: false,
        upgrades: false,
        head_bytes: 0,
    };
    Ok(Mapped { request, head })
}

/// Returns the target in origin form, or `*`.
fn target(parts: &Parts) -> Option<&str> {
    let target = parts.uri.path_and_query()?.as_str();
    let is_whole_server = target == "*" && parts.method == Method::OPTIONS;
    let sound = target.bytes().all(|byte| byte.is_ascii_graphic());
    (parts.method != Method::CONNECT && sound && (target.starts_with('/') || is_whole_server))
        .then_some(target)
}

/// Returns the host, which `:authority` or `host` gives; both must agree.
fn host(parts: &Parts) -> Option<&str> {
    let mut fields = parts.headers.get_all(header::HOST).iter();
    let field = fields.next().map(|value| value.to_str().ok());
    let authority = parts.uri.authority().map(http::uri::Authority::as_str);
    let host = match (authority, field) {
        (Some(authority), None) => authority,
        (None, Some(field)) => field?,
        (Some(authority), Some(field)) if field?.eq_ignore_ascii_case(authority) => authority,
        _ => return None,
    };
    // RFC 3986 §3.2.2, without user information
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(&byte);
    (fields.next().is_none() && !host.is_empty() && host.bytes().all(sound)).then_some(host)
}

/// Returns the framing of the request's body towards a back end.
fn body(fields: &HeaderMap, has_body: bool) -> Option<Framing> {
    let mut lengths = fields.get_all(header::CONTENT_LENGTH).iter();
    let Some(length) = lengths.next() else {
        return Some(if has_body { Framing::chunked() } else { Framing::Length(0) });
    };
    let digits = length.to_str().ok()?;
    let sound = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let length = digits.parse().ok().filter(|_| sound && lengths.next().is_none())?;
    (length == 0 || has_body).then_some(Framing::Length(length))
}

/// Writes the fields that concern the back end.
fn write_fields(fields: &HeaderMap, out: &mut Vec<u8>) -> Option<()> {
    for (name, value) in fields {
        let name = name.as_str();
        let left_out = [&OF_THE_CONNECTION[..], &OF_THE_PROXY, &OURS];
        if left_out.iter().any(|names| names.contains(&name)) {
            continue;
        }
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(line(value)?);
        out.extend_from_slice(b"\r\n");
    }
    Some(())
}

/// Writes the fields `cookie`, which HTTP/2 may split, as one (RFC 9113 §8.2.3).
fn write_cookies(fields: &HeaderMap, out: &mut Vec<u8>) -> Option<()> {
    let mut before: &[u8] = b"cookie: ";
    for value in fields.get_all(header::COOKIE) {
        out.extend_from_slice(before);
        out.extend_from_slice(line(value)?);
        before = b"; ";
    }
    if before == b"; " {
        out.extend_from_slice(b"\r\n");
    }
    Some(())
}

/// Returns a value without spaces around it, if it cannot end a line.
fn line(value: &HeaderValue) -> Option<&[u8]> {
    let bytes = value.as_bytes();
    let ends = |byte: &u8| matches!(byte, b'\r' | b'\n' | b'\0');
    (!bytes.iter().any(ends)).then_some(bytes.trim_ascii())
}

/// Maps a back end's head. Returns `None` if it is no head of HTTP/2.
pub(crate) fn map_answer(head: &[u8]) -> Option<Head<()>> {
    let mut fields = [EMPTY_HEADER; FIELDS_MAX];
    let mut answer = httparse::Response::new(&mut fields);
    let _ = answer.parse(head).ok()?;
    let fields = &*answer.headers;
    let mut mapped = Head::new(());
    *mapped.status_mut() = StatusCode::from_u16(answer.code?).ok()?;
    let listed = |name: &HeaderName| {
        let is_length = *name == header::CONTENT_LENGTH;
        !is_length && options(fields).any(|one| one.eq_ignore_ascii_case(name.as_str().as_bytes()))
    };
    for field in fields {
        let (name, value) = map_field(field)?;
        let of_connection =
            OF_THE_CONNECTION.contains(&name.as_str()) || name == header::TRANSFER_ENCODING;
        if !of_connection && !listed(&name) {
            mapped.headers_mut().try_append(name, value).ok()?;
        }
    }
    Some(mapped)
}

fn map_field(field: &Header<'_>) -> Option<(HeaderName, HeaderValue)> {
    let name = HeaderName::from_bytes(field.name.as_bytes()).ok()?;
    Some((name, HeaderValue::from_bytes(field.value).ok()?))
}
