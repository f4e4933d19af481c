//! Reads any bytes as replies of Redis. A reply is the same with any bytes after it, and is written
//! again to the same bytes, except for numbers. A command is as long as it says.
//!
//! The first byte is the longest value.
#![no_main]

use libfuzzer_sys::fuzz_target;

// this module is private: compile the source file of the crate
#[path = "../../engine/server/src/sessions/resp.rs"]
mod resp;
use resp::{Parsed, Reply, command, parse};

fuzz_target!(|input: &[u8]| {
    let [value_max, bytes @ ..] = input else { return };
    let value_max = usize::from(*value_max);
    let mut rest = bytes;
    while let Parsed::Reply(reply, used) = parse(rest, value_max) {
        let (own, after) = rest.split_at(used);
        for end in 0..used {
            assert_eq!(parse(&own[..end], value_max), Parsed::Partial, "{end} of {own:?}");
        }
        assert_eq!(parse(own, value_max), Parsed::Reply(reply, used));
        match parse(own, value_max) {
            Parsed::Reply(Reply::Status(text), _) => assert_eq!(line(b'+', text), own),
            Parsed::Reply(Reply::Error(text), _) => assert_eq!(line(b'-', text), own),
            Parsed::Reply(Reply::Value(Some(value)), _) => {
                assert!(value.len() <= value_max);
                assert!(own.ends_with(&[value, b"\r\n"].concat()));
            }
            _ => {}
        }
        rest = after;
    }
    if parse(rest, value_max) == Parsed::Nonsense {
        let more = [rest, b"+OK\r\n"].concat();
        assert_eq!(parse(&more, value_max), Parsed::Nonsense, "{rest:?}");
    }
    // each part of a command is a value of the same protocol
    let parts: Vec<&[u8]> = bytes.split(|byte| *byte == b' ').collect();
    let mut sent = Vec::new();
    command(&mut sent, &parts);
    let head = format!("*{}\r\n", parts.len());
    let mut sent = sent.strip_prefix(head.as_bytes()).expect("the number of parts");
    for part in parts {
        let Parsed::Reply(reply, used) = parse(sent, bytes.len()) else { panic!("{sent:?}") };
        assert_eq!(reply, Reply::Value(Some(part)));
        sent = &sent[used..];
    }
    assert_eq!(sent, b"");
});

fn line(kind: u8, text: &[u8]) -> Vec<u8> {
    [&[kind], text, b"\r\n"].concat()
}
