//! Reads HTTP/1 responses.

use crate::head::Head;
use crate::phase::Cause;

/// Reads a response in pieces of any size, without keeping its body.
#[derive(Debug)]
pub(crate) struct Response {
    expected_bytes: u64,
    /// An incomplete head.
    head: Vec<u8>,
    state: State,
    pub(crate) body_bytes: u64,
    pub(crate) closes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    /// The body of a response. If `announced`, the head gives the length; otherwise the body ends
    /// with the stream.
    Body {
        announced: bool,
    },
}

impl Response {
    pub(crate) const fn new(expected_bytes: u64) -> Self {
        let head = Vec::new();
        Self { expected_bytes, head, state: State::Head, body_bytes: 0, closes: false }
    }

    /// Starts the next response, which must have a body of this length.
    pub(crate) fn begin(&mut self, expected_bytes: u64) {
        self.expected_bytes = expected_bytes;
        self.head.clear();
        self.state = State::Head;
        self.body_bytes = 0;
        self.closes = false;
    }

    pub(crate) fn read(&mut self, piece: &[u8]) -> Result<(), Cause> {
        if let State::Body { .. } = self.state {
            return self.body(piece.len());
        }
        // usually the head is complete, and is not copied
        if self.head.is_empty() {
            match self.parse(piece)? {
                Some(length) => return self.body(piece.len() - length),
                None => self.head.extend_from_slice(piece),
            }
            return Ok(());
        }
        let mut head = core::mem::take(&mut self.head);
        head.extend_from_slice(piece);
        let parsed = self.parse(&head);
        let received = head.len();
        self.head = head; // reuse the memory
        parsed?.map_or(Ok(()), |length| self.body(received - length))
    }

    /// Returns the length of the head at the beginning of `bytes`, once it is complete.
    fn parse(&mut self, bytes: &[u8]) -> Result<Option<usize>, Cause> {
        let Some(head) = Head::read(bytes).map_err(|what| Cause::Response(what.into()))? else {
            return Ok(None);
        };
        if head.status != 200 {
            return Err(Cause::Status(head.status));
        }
        if head.is_chunked {
            return Err(Cause::Response("the body is chunked: request a plain file".into()));
        }
        if let Some(found_bytes) = head.length.filter(|&length| length != self.expected_bytes) {
            return Err(Cause::WrongLength { found_bytes });
        }
        self.state = State::Body { announced: head.length.is_some() };
        self.closes = head.closes;
        Ok(Some(head.bytes))
    }

    fn body(&mut self, bytes: usize) -> Result<(), Cause> {
        self.body_bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
        if self.body_bytes > self.expected_bytes {
            return Err(Cause::LongBody);
        }
        Ok(())
    }

    /// Returns whether the body is complete as announced.
    pub(crate) fn is_complete(&self) -> bool {
        self.state == State::Body { announced: true } && self.body_bytes == self.expected_bytes
    }

    /// Handles the end of the stream (`close_notify`) in an incomplete response.
    pub(crate) fn end(&self) -> Result<(), Cause> {
        match self.state {
            State::Body { announced: false } if self.body_bytes == self.expected_bytes => Ok(()),
            State::Body { announced: false } => {
                Err(Cause::WrongLength { found_bytes: self.body_bytes })
            }
            _ => Err(Cause::Closed),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\nServer: x\r\n\r\n";

    fn read(text: &str, expected_bytes: u64) -> Result<Response, Cause> {
        let mut response = Response::new(expected_bytes);
        response.read(text.as_bytes())?;
        Ok(response)
    }

    #[test]
    fn lengths_are_checked_against_the_plan() {
        let body = "x".repeat(20);
        assert!(read(&format!("{HEAD}{body}"), 20).unwrap().is_complete());
        assert!(!read(&format!("{HEAD}{}", &body[1..]), 20).unwrap().is_complete());
        let wrong = |text: &str, expected| read(text, expected).unwrap_err();
        assert_eq!(wrong(HEAD, 21), Cause::WrongLength { found_bytes: 20 });
        assert_eq!(wrong(&format!("{HEAD}{body}y"), 20), Cause::LongBody);
        assert_eq!(read(HEAD, 20).unwrap().end(), Err(Cause::Closed));
    }

    #[test]
    fn the_limit_of_heads_does_not_apply_to_bodies() {
        let mut response = Response::new(16_384);
        let (first, last) = ("HTTP/1.1 200 OK\r\n", "Content-Length: 16384\r\n\r\n");
        response.read(first.as_bytes()).unwrap();
        response.read(format!("{last}{}", "x".repeat(16_384)).as_bytes()).unwrap();
        assert!(response.is_complete());
    }

    #[test]
    fn a_body_without_length_ends_with_the_stream() {
        let text = "HTTP/1.0 200 ok\r\nContent-type: text/plain\r\n\r\nabc";
        let response = read(text, 3).unwrap();
        assert!(!response.is_complete());
        assert_eq!(response.end(), Ok(()));
        assert_eq!(read(text, 4).unwrap().end(), Err(Cause::WrongLength { found_bytes: 3 }));
    }

    #[test]
    fn bad_responses_are_named() {
        let of = |text: &str| read(text, 20).unwrap_err();
        assert_eq!(of("HTTP/1.1 404 Not Found\r\n\r\n"), Cause::Status(404));
        assert!(matches!(of("SSH-2.0-OpenSSH\r\n\r\n"), Cause::Response(_)));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert!(matches!(of(chunked), Cause::Response(_)));
        assert_eq!(Response::new(20).end(), Err(Cause::Closed));
    }

    /// Reads these pieces and the end of the stream. Returns whether the response was complete.
    fn verdict<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<bool, Cause> {
        let mut response = Response::new(20);
        pieces.into_iter().try_for_each(|piece| response.read(piece))?;
        if response.is_complete() { Ok(true) } else { response.end().map(|()| false) }
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            head in prop_oneof![
                Just(HEAD.to_owned()),
                Just("HTTP/1.0 200 OK\r\n\r\n".to_owned()),
                Just("HTTP/1.1 404 No\r\n\r\n".to_owned()),
                // a complete head that is too long, and a head of maximum length
                Just(format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(Head::BYTES_MAX))),
                Just(format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(Head::BYTES_MAX - 24))),
            ],
            body_bytes in 18..30_usize,
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let text = (head + &"x".repeat(body_bytes)).into_bytes();
            let whole = verdict([&text[..]]);
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]);
            prop_assert_eq!(verdict(pieces), whole);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut response = Response::new(3);
            let _ = response.read(&bytes);
            let _ = response.end();
        }
    }
}
