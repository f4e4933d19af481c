//! Reads any bytes as the header of the PROXY protocol. A slow reading by the text of the protocol
//! has the same result, and bytes that arrive later change no result.
#![no_main]

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use libfuzzer_sys::fuzz_target;

// this module is private: compile the source file of the crate
#[path = "../../engine/server/src/connection/proxy_header.rs"]
mod proxy_header;
use proxy_header::{Header, parse};

fuzz_target!(|bytes: &[u8]| {
    let whole = parse(bytes);
    assert_eq!(whole, model(bytes));
    for end in (0..bytes.len()).step_by(1 + bytes.len() / 64) {
        match parse(&bytes[..end]) {
            Header::Partial => {
                if let Header::Complete { bytes, .. } = whole {
                    assert!(end < bytes);
                }
            }
            decided => assert_eq!(decided, whole),
        }
    }
    if let Header::Complete { bytes: length, .. } = whole {
        assert_eq!(parse(&bytes[..length]), whole, "it depends on what follows");
    }
});

/// Sections 2.1 and 2.2, with the limits of the server.
fn model(bytes: &[u8]) -> Header {
    const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
    const LENGTH_MAX: usize = 1024;
    let begins = |with: &[u8]| bytes.iter().zip(with).all(|(one, other)| one == other);
    if begins(b"PROXY ") {
        return match bytes.iter().take(107).position(|byte| *byte == b'\n') {
            None if bytes.len() < 107 => Header::Partial,
            None => Header::Invalid,
            Some(end) => text(&bytes[..end])
                .map_or(Header::Invalid, |client| Header::Complete { client, bytes: end + 1 }),
        };
    }
    if !begins(SIGNATURE) {
        return Header::Invalid;
    }
    let [command, family, high, low, addresses @ ..] = bytes.get(12..).unwrap_or_default() else {
        return Header::Partial;
    };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    let needed = match family >> 4 {
        0 => 0,
        1 => 12,
        2 => 36,
        3 => 216,
        _ => return Header::Invalid,
    };
    if command >> 4 != 2 || command & 15 > 1 || family & 15 > 2 || length < needed {
        return Header::Invalid;
    }
    if addresses.len() < length {
        return if bytes.len() < LENGTH_MAX { Header::Partial } else { Header::Invalid };
    }
    if 16 + length > LENGTH_MAX {
        return Header::Invalid;
    }
    let client = match (command & 15, family >> 4) {
        (1, 1) => Some(Ipv4Addr::from(*addresses.first_chunk::<4>().expect("12 bytes")).into()),
        (1, 2) => Some(Ipv6Addr::from(*addresses.first_chunk::<16>().expect("36 bytes")).into()),
        _ => None,
    };
    Header::Complete { client, bytes: 16 + length }
}

/// Reads a line of version 1, without its line feed.
fn text(line: &[u8]) -> Option<Option<IpAddr>> {
    let line = line.strip_suffix(b"\r").filter(|line| !line.contains(&b'\r'))?;
    let line = String::from_utf8_lossy(line); // the replacement is in no address
    let words: Vec<&str> = line.split(' ').collect();
    let port = |word: &str| {
        let digits = word.bytes().all(|byte| byte.is_ascii_digit());
        digits && (word == "0" || !word.starts_with('0')) && word.parse::<u16>().is_ok()
    };
    match words[..] {
        [_, "UNKNOWN", ..] => Some(None),
        [_, family @ ("TCP4" | "TCP6"), source, destination, from, to] => {
            let addresses: [IpAddr; 2] = [source.parse().ok()?, destination.parse().ok()?];
            let fits = addresses.iter().all(|it| it.is_ipv4() == (family == "TCP4"));
            (fits && port(from) && port(to)).then_some(Some(addresses[0]))
        }
        _ => None,
    }
}
