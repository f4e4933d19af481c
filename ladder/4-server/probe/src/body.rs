//! HTTP/1 requests for a path whose response is not known in advance.

use std::io::{self, ErrorKind, Read, Write};

use tollgate_load::{Head, RequestForm};

/// The longest body that is read and discarded.
const BODY_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The responses to two requests for a path on one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Status of the first response.
    pub status: u16,
    /// The `Location` of a redirection.
    pub location: Option<String>,
    /// The length of the first body in bytes; `None` if it is chunked: the load generator does not
    /// read chunks.
    pub bytes: Option<u64>,
    /// The length of the second body in bytes; `None` if there is no second response with the same
    /// status and a known length.
    pub again: Option<u64>,
}

impl Body {
    /// Returns the reason why the load generator cannot request this path, with a remedy.
    #[must_use]
    pub fn obstacle(&self) -> Option<String> {
        match (self.status, &self.location) {
            (300..=399, Some(to)) => {
                return Some(format!(
                    "it redirects ({}) to {to}, and redirections are not followed: give that URL",
                    self.status
                ));
            }
            (200, _) => {}
            (status, _) => {
                return Some(format!("its status is {status}, not 200: give another path"));
            }
        }
        let Some(bytes) = self.bytes else {
            return Some("its body comes in chunks: give the path of a plain file".to_owned());
        };
        let again = self.again.filter(|&again| again != bytes)?;
        Some(format!(
            "its body has {bytes} bytes, and {again} when asked again: give the path of a file \
             that stays the same"
        ))
    }
}

/// One response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) bytes: Option<u64>,
    /// The body, if the caller keeps it.
    pub(crate) kept: Vec<u8>,
    /// The head gave the length, so another response can follow.
    is_framed: bool,
}

/// Sends one request and keeps the body of at most `bytes_max` bytes.
pub(crate) fn get(
    stream: &mut (impl Read + Write),
    host: &str,
    path: &str,
    bytes_max: usize,
) -> io::Result<Answer> {
    let usual = RequestForm::default();
    let answer = ask(stream, &mut Vec::new(), (host, path, &usual), true, Some(bytes_max))?;
    match answer.bytes {
        None => Err(invalid("it comes in chunks: serve it as a plain file")),
        Some(_) => Ok(answer),
    }
}

/// Sends two requests if the server keeps the connection open.
pub(crate) fn look(
    stream: &mut (impl Read + Write),
    host: &str,
    path: &str,
    form: &RequestForm,
) -> io::Result<Body> {
    let mut received = Vec::new();
    let first = ask(stream, &mut received, (host, path, form), false, None)?;
    let mut again = None;
    if first.is_framed {
        match ask(stream, &mut received, (host, path, form), true, None) {
            Ok(second) if second.status == first.status => again = second.bytes,
            // the bytes are not a response
            Err(error) if error.kind() == ErrorKind::InvalidData => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    let (status, location, bytes) = (first.status, first.location, first.bytes);
    Ok(Body { status, location, bytes, again })
}

/// Sends the request that the load generator sends. If `keep` is set, keeps the body; a body that
/// is longer than `keep` bytes is an error. Bytes after the body stay in `received`, because they
/// belong to the next response.
fn ask(
    stream: &mut (impl Read + Write),
    received: &mut Vec<u8>,
    (host, path, form): (&str, &str, &RequestForm),
    is_last: bool,
    keep: Option<usize>,
) -> io::Result<Answer> {
    let mut request = Vec::new();
    form.write(&mut request, format_args!("{path}"), host, is_last);
    stream.write_all(&request)?;
    stream.flush()?;
    let mut chunk = vec![0; 16 * 1024];
    let (mut answer, length, is_chunked, head_bytes) = loop {
        let no_response = |why| invalid(&format!("its answer is not an HTTP/1 response: {why}"));
        if let Some(head) = Head::read(received).map_err(no_response)? {
            break (Answer::new(&head), head.length, head.is_chunked, head.bytes);
        }
        match read(stream, &mut chunk)? {
            0 => {
                let why = "it closed without response: check scheme and port, and its log";
                return Err(io::Error::new(ErrorKind::UnexpectedEof, why));
            }
            count => received.extend_from_slice(&chunk[..count]),
        }
    };
    if is_chunked {
        return Ok(answer);
    }
    received.drain(..head_bytes);
    let bytes_max = keep.map_or(BODY_BYTES_MAX, |keep| keep as u64);
    let mut bytes = 0;
    loop {
        let left = length.map_or(u64::MAX, |length| length - bytes);
        let count = received.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        bytes += count as u64;
        if length.unwrap_or(bytes) > bytes_max {
            return Err(invalid(&format!("its body is longer than {bytes_max} bytes")));
        }
        if keep.is_some() {
            answer.kept.extend_from_slice(&received[..count]);
        }
        received.drain(..count);
        if length == Some(bytes) {
            break;
        }
        match read(stream, &mut chunk)? {
            0 if length.is_none() => break,
            0 => return Err(io::Error::new(ErrorKind::UnexpectedEof, "it closed within the body")),
            count => received.extend_from_slice(&chunk[..count]),
        }
    }
    answer.bytes = Some(bytes);
    Ok(answer)
}

impl Answer {
    /// Creates a response without its body.
    fn new(head: &Head<'_>) -> Self {
        let location = head.location.map(String::from_utf8_lossy);
        // Terminals print this text: keep visible ASCII only.
        let location = location.map(|to| to.chars().filter(char::is_ascii_graphic).collect());
        let is_framed = head.length.is_some() && !head.is_chunked;
        Self { status: head.status, location, bytes: None, kept: Vec::new(), is_framed }
    }
}

/// Reads bytes. The end of a TLS stream without `close_notify` is not an error.
fn read(stream: &mut impl Read, chunk: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(io::Error::new(ErrorKind::TimedOut, "no answer for 5 s"));
            }
            other => return other,
        }
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual() -> RequestForm {
        RequestForm::default()
    }

    /// A stream that returns these pieces and records written bytes.
    #[derive(Default)]
    struct Wire {
        pieces: Vec<Vec<u8>>,
        asked: Vec<u8>,
        /// Stays open after the last piece.
        stays_open: bool,
    }

    impl Read for Wire {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Some(piece) = self.pieces.first_mut() else {
                let blocked = || Err(ErrorKind::WouldBlock.into());
                return if self.stays_open { blocked() } else { Ok(0) };
            };
            let count = piece.len().min(into.len());
            into[..count].copy_from_slice(&piece[..count]);
            piece.drain(..count);
            if piece.is_empty() {
                self.pieces.remove(0);
            }
            Ok(count)
        }
    }

    impl Write for Wire {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.asked.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn wire(pieces: &[&str]) -> Wire {
        let pieces = pieces.iter().map(|piece| piece.as_bytes().to_vec()).collect();
        Wire { pieces, ..Wire::default() }
    }

    const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";

    #[test]
    fn a_path_is_requested_twice() {
        let mut wire = wire(&[OK, OK]);
        let body = look(&mut wire, "h", "/x", &usual()).unwrap();
        assert_eq!((body.bytes, body.again, body.obstacle()), (Some(3), Some(3), None));
        let asked = String::from_utf8(wire.asked).unwrap();
        let first = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";
        assert_eq!(
            asked,
            format!("{first}{}", first.replace("h\r\n", "h\r\nConnection: close\r\n"))
        );
    }

    #[test]
    fn bodies_without_length_end_with_the_stream() {
        let body =
            look(&mut wire(&["HTTP/1.0 200 OK\r\n", "\r\nab", "cd"]), "h", "/", &usual()).unwrap();
        assert_eq!((body.bytes, body.again, body.obstacle()), (Some(4), None, None));
    }

    #[test]
    fn unusable_responses_have_an_obstacle() {
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
        let moved =
            "HTTP/1.1 301 Moved\r\nLocation: https://h/\u{e4}a\r\nContent-Length: 0\r\n\r\n";
        let other = OK.replace('3', "4") + "d";
        for (pieces, why) in [
            (&[moved][..], "to https://h/a, and"),
            (&["HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"], "status is 404"),
            (&[chunks], "in chunks"),
            (&[OK, &other], "has 3 bytes, and 4 when asked again"),
        ] {
            let obstacle = look(&mut wire(pieces), "h", "/", &usual()).unwrap().obstacle().unwrap();
            assert!(obstacle.contains(why), "{obstacle}");
        }
    }

    #[test]
    fn responses_without_body_end_with_the_head() {
        for status in ["204 No Content\r\n", "304 Not Modified\r\nContent-Length: 3\r\n"] {
            let answer = format!("HTTP/1.1 {status}\r\n");
            let mut open = Wire { stays_open: true, ..wire(&[&answer]) };
            let body = look(&mut open, "h", "/", &usual()).unwrap();
            let obstacle = body.obstacle().unwrap();
            assert!(obstacle.contains("not 200"), "{obstacle}");
        }
    }

    /// Returns the result for these bytes, read in pieces of this length.
    fn looked(text: &str, length: usize) -> Result<Body, String> {
        let pieces = text.as_bytes().chunks(length).map(<[u8]>::to_vec).collect();
        let mut wire = Wire { pieces, ..Wire::default() };
        look(&mut wire, "h", "/", &usual()).map_err(|error| error.to_string())
    }

    #[test]
    fn pieces_make_no_difference() {
        let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(17_000));
        let (two, late) = (OK.repeat(2), OK.to_owned() + "HTTP/1.1 404 No\r\n\r\n");
        let garbage = OK.to_owned() + "defg";
        for text in [OK, &long, &two, &late, &garbage, "HTTP/1.0 200 OK\r\n\r\nabc", "SSH-2.0\r\n"]
        {
            let whole = looked(text, text.len());
            for length in [1, 2, 7, 100, 16_000] {
                assert_eq!(looked(text, length), whole, "in pieces of {length}");
            }
        }
        assert_eq!(looked(&two, 1).unwrap().again, Some(3), "bytes that arrive early are kept");
    }

    #[test]
    fn malformed_responses_are_errors() {
        for (pieces, why) in [
            (&["SSH-2.0-OpenSSH\r\n\r\n"][..], "not an HTTP/1 response"),
            (&["HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\nabc"], "no number"),
            (
                &["HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc"],
                "two lengths",
            ),
            (&["HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na"], "within the body"),
            (&["HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc"], "malformed"),
            (&[""], "without response"),
        ] {
            let error = look(&mut wire(pieces), "h", "/", &usual()).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let long = format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}", "x".repeat(5));
        assert_eq!(get(&mut wire(&[&long]), "h", "/", 5).unwrap().kept, b"xxxxx");
        assert!(get(&mut wire(&[&long]), "h", "/", 4).is_err());
    }
}
