//! A request and its response, read without knowing what will come.

use std::io::{self, ErrorKind, Read, Write};

/// The longest head that is read.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// The longest body that is read, where nobody keeps it.
const BODY_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What a path gives, asked twice on one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Status of the first response.
    pub status: u16,
    /// Where it sends its clients, if it does.
    pub location: Option<String>,
    /// Bytes of the first body; none where it comes in chunks, of which the load generator cannot
    /// tell whether all came.
    pub bytes: Option<u64>,
    /// Bytes of the second body; none if the connection did not stay open for it.
    pub again: Option<u64>,
}

impl Body {
    /// Whether the connection stayed open for a second request.
    #[must_use]
    pub const fn keeps_alive(&self) -> bool {
        self.again.is_some()
    }

    /// Why no load can ask for it, and what to do.
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
    /// The begin of the body, as much as was asked for.
    pub(crate) kept: Vec<u8>,
    /// Whether its end was announced, so that another can follow.
    is_framed: bool,
}

/// Asks once, and keeps the body, which has at most `bytes_max`.
pub(crate) fn get(
    stream: &mut (impl Read + Write),
    host: &str,
    path: &str,
    bytes_max: usize,
) -> io::Result<Answer> {
    let answer = ask(stream, (host, path), true, Some(bytes_max))?;
    match answer.bytes {
        None => Err(strange("it comes in chunks: serve it as a plain file")),
        Some(_) => Ok(answer),
    }
}

/// Asks twice, if the server lets the connection be.
pub(crate) fn look(stream: &mut (impl Read + Write), host: &str, path: &str) -> io::Result<Body> {
    let first = ask(stream, (host, path), false, None)?;
    let again = match first.bytes {
        Some(_) if first.is_framed => ask(stream, (host, path), true, None).ok(),
        _ => None,
    };
    let (status, location, bytes) = (first.status, first.location, first.bytes);
    let again = again.filter(|again| again.status == status).and_then(|again| again.bytes);
    Ok(Body { status, location, bytes, again })
}

/// The same request as the load's. The body is kept if it is to have at most `keep` bytes.
fn ask(
    stream: &mut (impl Read + Write),
    (host, path): (&str, &str),
    is_last: bool,
    keep: Option<usize>,
) -> io::Result<Answer> {
    let close = if is_last { "Connection: close\r\n" } else { "" };
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{close}\r\n");
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let mut received = Vec::new();
    let mut chunk = vec![0; 16 * 1024];
    let (mut answer, announced, head) = loop {
        match read(stream, &mut chunk)? {
            0 => {
                return Err(io::Error::new(ErrorKind::UnexpectedEof, "it closed without response"));
            }
            count => received.extend_from_slice(&chunk[..count]),
        }
        if let Some(head) = head(&received)? {
            break head;
        }
        if received.len() > HEAD_BYTES_MAX {
            return Err(strange("the head of its response has more than 16 KiB"));
        }
    };
    let Some(length) = announced else { return Ok(answer) };
    let mut bytes = (received.len() - head) as u64;
    if keep.is_some() {
        answer.kept.extend(&received[head..]);
    }
    let bytes_max = keep.map_or(BODY_BYTES_MAX, |keep| keep as u64);
    let too_long = || strange(&format!("its body is longer than {bytes_max} bytes"));
    if length.unwrap_or(bytes).max(bytes) > bytes_max {
        return Err(too_long());
    }
    while length.is_none_or(|length| bytes < length) {
        let count = match read(stream, &mut chunk)? {
            0 if length.is_none() => break,
            0 => return Err(io::Error::new(ErrorKind::UnexpectedEof, "it closed within the body")),
            count => count,
        };
        bytes += count as u64;
        if bytes > bytes_max {
            return Err(too_long());
        }
        if keep.is_some() {
            answer.kept.extend(&chunk[..count]);
        }
    }
    if length.is_some_and(|length| bytes > length) {
        return Err(strange("more than the body that it announced came"));
    }
    answer.bytes = Some(bytes);
    Ok(answer)
}

/// The end of a TLS stream without goodbye is an end.
fn read(stream: &mut impl Read, chunk: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(io::Error::new(ErrorKind::TimedOut, "it does not answer for 5 s"));
            }
            other => return other,
        }
    }
}

/// How long the body is: none in chunks, some of none to the end of the stream.
type Announced = Option<Option<u64>>;

/// The head, once it is complete: what it says, how long the body is, how long the head.
fn head(received: &[u8]) -> io::Result<Option<(Answer, Announced, usize)>> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut fields);
    let head = match response.parse(received) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(strange("its answer is no response in HTTP/1")),
    };
    let field = |name: &str| {
        let found = response.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        found.map(|field| String::from_utf8_lossy(field.value).trim().to_owned())
    };
    let status = response.code.unwrap_or_default();
    let length = match field("content-length") {
        Some(length) => {
            let digits = length.bytes().all(|byte| byte.is_ascii_digit());
            let length = length.parse().ok().filter(|_| digits);
            Some(length.ok_or_else(|| strange("the length of its body is no number"))?)
        }
        None => None,
    };
    let is_chunked = field("transfer-encoding").is_some();
    // what goes to a terminal
    let location =
        field("location").map(|to| to.chars().filter(|c| c.is_ascii_graphic()).collect());
    let is_framed = length.is_some() && !is_chunked;
    let answer = Answer { status, location, bytes: None, kept: Vec::new(), is_framed };
    Ok(Some((answer, (!is_chunked).then_some(length), head)))
}

fn strange(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// What a server says, in pieces, and what it was asked.
    struct Wire {
        pieces: Vec<Vec<u8>>,
        asked: Vec<u8>,
    }

    impl Read for Wire {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Some(piece) = self.pieces.first_mut() else { return Ok(0) };
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
        Wire { pieces, asked: Vec::new() }
    }

    const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";

    #[test]
    fn a_path_is_asked_twice() {
        let mut wire = wire(&[OK, OK]);
        let body = look(&mut wire, "h", "/x").unwrap();
        assert_eq!((body.bytes, body.again, body.obstacle()), (Some(3), Some(3), None));
        assert!(body.keeps_alive());
        let asked = String::from_utf8(wire.asked).unwrap();
        let first = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";
        assert_eq!(
            asked,
            format!("{first}{}", first.replace("h\r\n", "h\r\nConnection: close\r\n"))
        );
    }

    #[test]
    fn bodies_without_length_end_with_the_stream() {
        let body = look(&mut wire(&["HTTP/1.0 200 OK\r\n", "\r\nab", "cd"]), "h", "/").unwrap();
        assert_eq!((body.bytes, body.keeps_alive(), body.obstacle()), (Some(4), false, None));
    }

    #[test]
    fn what_no_load_can_ask_for_says_why() {
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
            let obstacle = look(&mut wire(pieces), "h", "/").unwrap().obstacle().unwrap();
            assert!(obstacle.contains(why), "{obstacle}");
        }
    }

    #[test]
    fn strange_answers_are_errors() {
        for (pieces, why) in [
            (&["SSH-2.0-OpenSSH\r\n\r\n"][..], "no response"),
            (&["HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\nabc"], "no number"),
            (&["HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na"], "within the body"),
            (&["HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc"], "announced"),
            (&[""], "without response"),
        ] {
            let error = look(&mut wire(pieces), "h", "/").unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let long = format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}", "x".repeat(5));
        assert_eq!(get(&mut wire(&[&long]), "h", "/", 5).unwrap().kept, b"xxxxx");
        assert!(get(&mut wire(&[&long]), "h", "/", 4).is_err());
    }
}
