//! Reads any bytes as a request of a client, and writes it for a back end, as the proxy does.
//!
//! * The sizes of the pieces in which the bytes arrive change nothing.
//! * A strict reader finds exactly one message in the bytes for the back end, with the same body, so
//!   no client can hide a request in another one.
//! * The same request over HTTP/2 has the same properties.
//!
//! The first byte is the length of the pieces.
#![no_main]

use core::net::IpAddr;

use httparse::EMPTY_HEADER;
use libfuzzer_sys::fuzz_target;

#[allow(dead_code, unused_imports, reason = "the other half is for responses")]
mod http1;
use http1::grammar::{Otherwise, read};
use http1::{
    Framing, LAST_CHUNK, Parsed, Request, Status, body, map_request, parse, write_request_head,
};

/// Longer heads are refused; short enough for the fuzzer to reach it.
const HEAD_BYTES_MAX: usize = 700;
const CLIENT: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(192, 0, 2, 1));

fuzz_target!(|input: &[u8]| {
    let [piece, bytes @ ..] = input else { return };
    let piece = usize::from(*piece) + 1;
    let whole = parse(bytes, HEAD_BYTES_MAX);
    for end in (0..bytes.len()).step_by(1 + bytes.len() / 64) {
        let part = parse(&bytes[..end], HEAD_BYTES_MAX);
        match (&part, &whole) {
            (Parsed::Partial, Parsed::Request(request)) => assert!(end < request.head_bytes),
            (Parsed::Request(_), _) => assert_eq!(part, whole),
            (Parsed::Refused(_), _) => assert!(matches!(whole, Parsed::Refused(_))),
            (Parsed::Partial, _) => {}
        }
    }
    let Parsed::Request(request) = whole else { return };
    let (head, after) = bytes.split_at(request.head_bytes);
    let mut out = Vec::new();
    write_request_head(head, &request.target, CLIENT, &mut out);
    check(&request, out, after, piece);
    over_http2(head, after, piece);
});

/// Checks a head for a back end with the body after it.
fn check(request: &Request, mut out: Vec<u8>, after: &[u8], piece: usize) {
    match parse(&out, usize::MAX) {
        Parsed::Request(again) => {
            assert_eq!((&again.method, &again.target), (&request.method, &request.target));
            assert_eq!(again.body, request.body);
            assert_eq!((again.head_bytes, again.upgrades), (out.len(), request.upgrades));
        }
        // the proxy adds fields of its own
        Parsed::Refused(Status::FieldsTooLarge) => {}
        other => panic!("{other:?}: {:?}", String::from_utf8_lossy(&out)),
    }
    let mut framing = request.body.clone();
    let Some((data, passed, taken)) = body(&mut framing, after, piece) else { return };
    out.extend_from_slice(&passed);
    let message = read(&out, false, Otherwise::Empty).expect("one way to read it");
    assert_eq!(message.is_some(), framing.is_complete());
    let Some(message) = message else { return assert_eq!(taken, after.len()) };
    assert_eq!(message.bytes, out.len());
    assert_eq!(message.body, data);
    assert!(message.values("host").len() <= 1);
    assert_eq!(message.values("x-forwarded-for"), [CLIENT.to_string().as_bytes()]);
    for name in ["te", "trailer"] {
        assert_eq!(message.values(name), [b""; 0]);
    }
}

/// Makes the same request over HTTP/2.
fn over_http2(head: &[u8], content: &[u8], piece: usize) {
    let mut fields = [EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut fields);
    let _ = request.parse(head).expect("it was parsed");
    let mut made = http::Request::new(());
    let Ok(method) = request.method.unwrap_or_default().parse() else { return };
    *made.method_mut() = method;
    let Ok(uri) = format!("https://a{}", request.path.unwrap_or_default()).parse() else { return };
    *made.uri_mut() = uri;
    for field in request.headers.iter() {
        let name = http::HeaderName::from_bytes(field.name.as_bytes());
        let value = http::HeaderValue::from_bytes(field.value);
        if let (Ok(name), Ok(value)) = (name, value) {
            made.headers_mut().append(name, value);
        }
    }
    let (parts, ()) = made.into_parts();
    let Ok(mapped) = map_request(&parts, !content.is_empty(), CLIENT, HEAD_BYTES_MAX) else {
        return;
    };
    let sent = match &mapped.request.body {
        Framing::Length(length) => match usize::try_from(*length) {
            Ok(length) if length <= content.len() => content[..length].to_vec(),
            _ => return, // the stream is reset
        },
        _ => {
            let mut sent = format!("{:x}\r\n", content.len()).into_bytes();
            sent.extend_from_slice(content);
            sent.extend_from_slice(b"\r\n");
            sent.extend_from_slice(LAST_CHUNK);
            sent
        }
    };
    check(&mapped.request, mapped.head, &sent, piece);
}
