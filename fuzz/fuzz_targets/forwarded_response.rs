//! Reads any bytes as the response of a back end, and writes it for a client, as the proxy does.
//!
//! * The sizes of the pieces in which the bytes arrive change nothing.
//! * A strict reader finds exactly one message in the bytes for the client, with the same body.
//!
//! The first byte is the length of the pieces; its lowest bit says that the request was HEAD.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, unused_imports, reason = "the other half is for requests")]
mod http1;
use http1::grammar::{Otherwise, read};
use http1::{Framing, ParsedAnswer, body, map_answer, parse_answer, write_answer_head};

/// Longer heads are refused; short enough for the fuzzer to reach it.
const HEAD_BYTES_MAX: usize = 700;

fuzz_target!(|input: &[u8]| {
    let [first, bytes @ ..] = input else { return };
    let (piece, head_only) = (usize::from(*first) + 1, first & 1 == 1);
    let parse = |bytes| parse_answer(bytes, head_only, HEAD_BYTES_MAX);
    let whole = parse(bytes);
    for end in (0..bytes.len()).step_by(1 + bytes.len() / 64) {
        let part = parse(&bytes[..end]);
        match (&part, &whole) {
            (ParsedAnswer::Partial, ParsedAnswer::Complete(it)) => assert!(end < it.head_bytes),
            (ParsedAnswer::Partial, _) => {}
            _ => assert_eq!(part, whole),
        }
    }
    let ParsedAnswer::Complete(answer) = whole else { return };
    let (head, after) = bytes.split_at(answer.head_bytes);

    let mut framing = answer.body.clone();
    let Some((data, passed, _)) = body(&mut framing, after, piece) else { return };

    let mut out = Vec::new();
    write_answer_head(head, "", &mut out);
    let ParsedAnswer::Complete(again) = parse_answer(&out, head_only, usize::MAX) else {
        panic!("{:?}", String::from_utf8_lossy(&out))
    };
    assert_eq!((again.status, &again.body), (answer.status, &answer.body));
    assert_eq!(again.head_bytes, out.len());
    out.extend_from_slice(&passed);
    let is_empty = answer.body == Framing::Length(0);
    let message = read(&out, is_empty, Otherwise::All).expect("one way to read it");
    assert_eq!(message.is_some(), framing.is_complete() || framing == Framing::UntilClose);
    if let Some(message) = message {
        assert_eq!(message.bytes, out.len());
        assert_eq!(message.body, data);
        assert_eq!(message.start[1], answer.status.to_string().as_bytes());
    }

    // towards a client with HTTP/2
    if let Some(mapped) = map_answer(head) {
        assert_eq!(mapped.status().as_u16(), answer.status);
        for name in ["connection", "transfer-encoding", "keep-alive", "trailer", "upgrade"] {
            assert!(!mapped.headers().contains_key(name), "{name}");
        }
    }
});
