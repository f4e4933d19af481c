//! The protocol of Redis (RESP version 2): commands, and the replies to the five that are used.
//!
//! A reply is accepted only in the forms that these commands have, so that none can nest.

use std::io::Write as _;

/// The longest line of a reply, in bytes.
const LINE_BYTES_MAX: usize = 512;

/// A reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply<'a> {
    /// `+OK`.
    Status(&'a [u8]),
    /// `-ERR ...`.
    Error(&'a [u8]),
    /// `:1`.
    Integer,
    /// A value; `None` if there is none under this key.
    Value(Option<&'a [u8]>),
}

/// The start of the received bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed<'a> {
    /// More bytes are needed.
    Partial,
    /// No reply in an accepted form.
    Nonsense,
    /// A reply, and its length.
    Reply(Reply<'a>, usize),
}

/// Parses the reply at the start of `bytes`. A value of more than `value_max` bytes is nonsense.
pub(super) fn parse(bytes: &[u8], value_max: usize) -> Parsed<'_> {
    let Some((kind, rest)) = bytes.split_first() else {
        return Parsed::Partial;
    };
    if !b"+-:$".contains(kind) {
        return Parsed::Nonsense;
    }
    let Some(end) = rest.iter().take(LINE_BYTES_MAX).position(|byte| *byte == b'\r') else {
        return if rest.len() < LINE_BYTES_MAX { Parsed::Partial } else { Parsed::Nonsense };
    };
    let (line, after) = rest.split_at(end);
    let used = 1 + end + 2;
    match after.get(1) {
        None => return Parsed::Partial,
        Some(b'\n') => {}
        Some(_) => return Parsed::Nonsense,
    }
    let number = core::str::from_utf8(line).ok().and_then(|line| line.parse::<i64>().ok());
    match (kind, number) {
        (b'+', _) => Parsed::Reply(Reply::Status(line), used),
        (b'-', _) => Parsed::Reply(Reply::Error(line), used),
        (b':', Some(_)) => Parsed::Reply(Reply::Integer, used),
        (b'$', Some(-1)) => Parsed::Reply(Reply::Value(None), used),
        (b'$', Some(length)) => match usize::try_from(length) {
            Ok(length) if length <= value_max => value(bytes, used, length),
            _ => Parsed::Nonsense,
        },
        _ => Parsed::Nonsense,
    }
}

/// Parses a value of `length` bytes that begins at `start`.
fn value(bytes: &[u8], start: usize, length: usize) -> Parsed<'_> {
    let end = start + length;
    match bytes.get(end..end + 2) {
        None => Parsed::Partial,
        Some(b"\r\n") => Parsed::Reply(Reply::Value(Some(&bytes[start..end])), end + 2),
        Some(_) => Parsed::Nonsense,
    }
}

/// Appends a command with its arguments.
pub(super) fn command(out: &mut Vec<u8>, parts: &[&[u8]]) {
    let write = "a vector takes any bytes";
    write!(out, "*{}\r\n", parts.len()).expect(write);
    for part in parts {
        write!(out, "${}\r\n", part.len()).expect(write);
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_at_any_cut() {
        let cases: [(&[u8], Reply<'_>); 7] = [
            (b"+OK\r\n", Reply::Status(b"OK")),
            (b"-ERR no\r\n", Reply::Error(b"ERR no")),
            (b":12\r\n", Reply::Integer),
            (b"$-1\r\n", Reply::Value(None)),
            (b"$0\r\n\r\n", Reply::Value(Some(b""))),
            (b"$4\r\na\r\nb\r\n", Reply::Value(Some(b"a\r\nb"))),
            (b"$10\r\n0123456789\r\n", Reply::Value(Some(b"0123456789"))),
        ];
        for (bytes, reply) in cases {
            let with_more = [bytes, b"+"].concat();
            assert_eq!(parse(&with_more, 10), Parsed::Reply(reply, bytes.len()));
            for cut in 0..bytes.len() {
                assert_eq!(parse(&bytes[..cut], 10), Parsed::Partial, "{cut} bytes of {bytes:?}");
            }
        }
    }

    #[test]
    fn other_bytes_are_nonsense() {
        let long = [b"+", &[b'x'; LINE_BYTES_MAX][..], b"\r\n"].concat();
        let cases: [&[u8]; 12] = [
            b"HTTP/1.1 400 Bad Request\r\n",
            b"*1\r\n$1\r\na\r\n",
            b"\0",
            b"$11\r\n",
            b"$-2\r\n",
            b"$99999999999999999999\r\n",
            b"$x\r\n",
            b"$1\r\nab\r\n",
            b":x\r\n",
            b"+a\rb",
            b"_\r\n",
            &long,
        ];
        for bytes in cases {
            assert_eq!(parse(bytes, 10), Parsed::Nonsense, "{bytes:?}");
        }
    }

    #[test]
    fn a_command_states_the_length_of_each_part() {
        let mut out = Vec::new();
        command(&mut out, &[b"SET", b"k\r\n", b""]);
        assert_eq!(out, b"*3\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$0\r\n\r\n");
    }

    #[test]
    fn random_bytes_never_panic_and_never_use_more_than_there_is() {
        let mut random = fastrand::Rng::with_seed(1);
        let alphabet = b"+-:$*0123456789\r\n\0a";
        for _ in 0..200_000 {
            let length = random.usize(..24);
            let bytes: Vec<u8> =
                (0..length).map(|_| alphabet[random.usize(..alphabet.len())]).collect();
            if let Parsed::Reply(_, used) = parse(&bytes, 10) {
                assert!(used <= bytes.len(), "{bytes:?}");
            }
        }
    }
}
