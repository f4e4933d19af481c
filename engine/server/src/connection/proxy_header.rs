//! The header of the PROXY protocol, version 1 or 2
//! (<https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt>).

use core::net::IpAddr;

use ppp::{PartialResult as _, v1, v2};

/// The longest header that is accepted, in bytes. Version 2 has 232 with the longest addresses, and
/// then extensions.
const HEADER_BYTES_MAX: usize = 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Header {
    Complete {
        /// The client's address; `None` if the load balancer speaks for itself.
        client: Option<IpAddr>,
        bytes: usize,
    },
    Invalid,
    Partial,
}

/// The start of a header of version 1, a line of text.
const TEXT: &[u8] = b"PROXY ";
/// The longest header of version 1, with its line feed.
const TEXT_BYTES_MAX: usize = 107;

/// Parses the header at the start of `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Header {
    if bytes.iter().zip(TEXT).all(|(byte, expected)| byte == expected) {
        let limited = &bytes[..bytes.len().min(TEXT_BYTES_MAX)];
        return match limited.iter().position(|byte| *byte == b'\n') {
            Some(end) => line(&limited[..=end]).unwrap_or(Header::Invalid),
            None if limited.len() < TEXT_BYTES_MAX => Header::Partial,
            None => Header::Invalid,
        };
    }
    match v2::Header::try_from(bytes) {
        Ok(header) if header.header.len() <= HEADER_BYTES_MAX => {
            let client = match (header.command, header.addresses) {
                (v2::Command::Proxy, v2::Addresses::IPv4(ip)) => Some(ip.source_address.into()),
                (v2::Command::Proxy, v2::Addresses::IPv6(ip)) => Some(ip.source_address.into()),
                _ => None,
            };
            Header::Complete { client, bytes: header.header.len() }
        }
        Err(why) if why.is_incomplete() && bytes.len() < HEADER_BYTES_MAX => Header::Partial,
        _ => Header::Invalid,
    }
}

/// Parses a whole line of version 1.
fn line(line: &[u8]) -> Option<Header> {
    let text = line.strip_suffix(b"\r\n").filter(|text| !text.contains(&b'\r'))?;
    // The parser of the crate accepts ports with a plus sign, and not all texts after UNKNOWN.
    let client = match text.strip_prefix(b"PROXY UNKNOWN") {
        Some([] | [b' ', ..]) => None,
        _ if text.contains(&b'+') => return None,
        _ => match v1::Header::try_from(line).ok()?.addresses {
            v1::Addresses::Tcp4(ip) => Some(ip.source_address.into()),
            v1::Addresses::Tcp6(ip) => Some(ip.source_address.into()),
            v1::Addresses::Unknown => None,
        },
    };
    Some(Header::Complete { client, bytes: line.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &[u8] = b"PROXY TCP4 192.0.2.7 198.51.100.1 4711 443\r\n";

    /// The signature of version 2.
    const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";

    fn v2(command: u8, family: u8, addresses: &[u8]) -> Vec<u8> {
        let length = u16::try_from(addresses.len()).unwrap().to_be_bytes();
        [&SIGNATURE[..], &[0x20 | command, family], &length, addresses].concat()
    }

    fn complete(client: Option<&str>, bytes: usize) -> Header {
        Header::Complete { client: client.map(|text| text.parse().unwrap()), bytes }
    }

    #[test]
    fn headers_of_both_versions_are_read_at_any_cut() {
        let mut v6 = [0; 36];
        v6[15] = 1;
        let cases = [
            (V1.to_vec(), Some("192.0.2.7")),
            (b"PROXY TCP6 2001:db8::1 ::1 1 2\r\n".to_vec(), Some("2001:db8::1")),
            (b"PROXY UNKNOWN\r\n".to_vec(), None),
            (b"PROXY UNKNOWN 1 2 3 4 5 6 \xff\r\n".to_vec(), None),
            (v2(1, 0x11, &[192, 0, 2, 7, 1, 2, 3, 4, 0, 1, 0, 2]), Some("192.0.2.7")),
            (v2(1, 0x21, &v6), Some("::1")),
            (v2(0, 0, &[]), None),           // LOCAL: a health check
            (v2(1, 0x31, &[0; 216]), None),  // sockets of Unix
            (v2(1, 0, &[3, 0, 1, 9]), None), // an extension only
        ];
        for (header, client) in cases {
            let with_more = [&header[..], &[22, 3, 1]].concat();
            assert_eq!(parse(&with_more), complete(client, header.len()));
            for cut in 0..header.len() {
                assert_eq!(parse(&header[..cut]), Header::Partial, "{cut} bytes of {header:?}");
            }
        }
    }

    #[test]
    fn other_bytes_are_invalid() {
        let long = [&V1[..6], &[b'1'; HEADER_BYTES_MAX]].concat();
        let invalid: [&[u8]; 10] = [
            &[22, 3, 1, 0, 5],
            b"GET / HTTP/1.1\r\n",
            b"PROXY TCP4 999.0.2.7 198.51.100.1 4711 443\r\n",
            b"PROXY TCP4 192.0.2.7 198.51.100.1 +4711 443\r\n",
            b"PROXY UNKNOWN \n \r\n", // a line feed alone, and then other bytes
            b"PROXY UNKNOWN a\rb\r\n",
            b"PROXY TCP4\n",
            &long,
            &v2(2, 0x11, &[0; 12]),
            &v2(1, 0x11, &[0; HEADER_BYTES_MAX]),
        ];
        for bytes in invalid {
            assert_eq!(parse(bytes), Header::Invalid, "{bytes:?}");
        }
    }
}
