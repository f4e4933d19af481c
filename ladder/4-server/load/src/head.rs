//! The head of an HTTP/1 response.

/// The head of a response, with the properties needed to read its body.
///
/// ```
/// use tollgate_load::Head;
///
/// let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
/// let head = Head::read(bytes)?.expect("it is complete");
/// assert_eq!((head.status, head.length, &bytes[head.bytes..]), (200, Some(3), &b"abc"[..]));
/// assert_eq!(Head::read(&bytes[..20])?, None, "more has to come");
/// assert!(Head::read(b"SSH-2.0-OpenSSH\r\n").is_err());
/// # Ok::<(), &'static str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// The status code.
    pub status: u16,
    /// Length of the body in bytes, if the head or the status determines it.
    pub length: Option<u64>,
    /// True if the body is chunked or has another transfer coding.
    pub is_chunked: bool,
    /// True if the server closes the connection after the response (RFC 9112 §9.3).
    pub closes: bool,
    /// The value of `Location`: any bytes except line ends.
    pub location: Option<&'a [u8]>,
    /// Length of the head in bytes, including interim responses before it.
    pub bytes: usize,
}

impl<'a> Head<'a> {
    /// Maximum length, in bytes.
    pub const BYTES_MAX: usize = 16 * 1024;

    /// Reads the head at the beginning of `bytes`, after interim responses; `None` while it is
    /// incomplete. The result depends only on the bytes of the stream, not on how they are
    /// split.
    ///
    /// # Errors
    ///
    /// The reason why this is not an HTTP/1 response.
    pub fn read(bytes: &'a [u8]) -> Result<Option<Self>, &'static str> {
        let mut before = 0;
        loop {
            match Self::read_behind(bytes, before)? {
                // RFC 9110 §15.2; 101 changes the protocol
                Some(head) if matches!(head.status, 100 | 102..=199) => before = head.bytes,
                found => return Ok(found),
            }
        }
    }

    /// Returns the head after `before` bytes.
    fn read_behind(bytes: &'a [u8], before: usize) -> Result<Option<Self>, &'static str> {
        let mut fields = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut fields);
        let length_of_head = match response.parse(&bytes[before..bytes.len().min(Self::BYTES_MAX)])
        {
            Ok(httparse::Status::Complete(bytes)) => bytes,
            Ok(httparse::Status::Partial) if bytes.len() < Self::BYTES_MAX => return Ok(None),
            Ok(httparse::Status::Partial) => return Err("a head of more than 16 KiB"),
            Err(_) => return Err("its head is malformed"),
        };
        let mut head = Self {
            status: response.code.ok_or("its head has no status")?,
            length: None,
            is_chunked: false,
            closes: response.version == Some(0),
            location: None,
            bytes: before + length_of_head,
        };
        for field in response.headers.iter() {
            if field.name.eq_ignore_ascii_case("transfer-encoding") {
                head.is_chunked = true;
            } else if field.name.eq_ignore_ascii_case("connection") {
                let has = |option: &[u8]| {
                    let mut options = field.value.split(|&byte| byte == b',');
                    options.any(|found| found.trim_ascii().eq_ignore_ascii_case(option))
                };
                head.closes = has(b"close") || (head.closes && !has(b"keep-alive"));
            } else if field.name.eq_ignore_ascii_case("location") {
                head.location = head.location.or(Some(field.value));
            } else if field.name.eq_ignore_ascii_case("content-length") {
                let length = length(field.value).ok_or("its length is no number")?;
                if head.length.is_some_and(|other| other != length) {
                    return Err("it has two lengths");
                }
                head.length = Some(length);
            }
        }
        // RFC 9112 §6.3: these responses have no body, regardless of their fields
        if matches!(head.status, 204 | 304) {
            (head.length, head.is_chunked) = (Some(0), false);
        }
        Ok(Some(head))
    }
}

/// Parses a length. RFC 9110 §8.6 allows only digits.
fn length(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    let all = digits.iter().all(u8::is_ascii_digit);
    core::str::from_utf8(digits).ok().filter(|_| all)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &str) -> Result<Option<usize>, &'static str> {
        let text = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n");
        Ok(Head::read(text.as_bytes())?.map(|head| head.bytes))
    }

    #[test]
    fn a_length_is_digits_and_unique() {
        let of = |fields: &str| read(fields).map(|_| ());
        for good in ["Content-Length: 20", "content-length:\t20 ", "Content-Length: 020"] {
            assert_eq!(of(good), Ok(()), "{good}");
        }
        for bad in ["+20", "-1", "", "2 0", "0x14", "20, 20", "18446744073709551616"] {
            assert_eq!(of(&format!("Content-Length: {bad}")), Err("its length is no number"));
        }
        let two =
            |other| of(&format!("Content-Length: 20\r\nServer: x\r\nContent-Length: {other}"));
        assert_eq!((two(20), two(21)), (Ok(()), Err("it has two lengths")));
    }

    #[test]
    fn the_length_of_a_head_is_limited() {
        let around = "HTTP/1.1 200 OK\r\nX: \r\n\r\n".len();
        let with = |bytes: usize| read(&format!("X: {}", "x".repeat(bytes - around)));
        assert_eq!(with(Head::BYTES_MAX), Ok(Some(Head::BYTES_MAX)));
        assert_eq!(with(Head::BYTES_MAX + 1), Err("a head of more than 16 KiB"));
    }

    /// RFC 9110 §15.2: a client skips interim responses even if it expects none.
    #[test]
    fn interim_responses_are_skipped() {
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nContent-Length: 7\r\n\r\n";
        let last = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
        let text = format!("HTTP/1.1 100 Continue\r\n\r\n{hints}{last}abc");
        let head = Head::read(text.as_bytes()).unwrap().unwrap();
        assert_eq!((head.status, head.length, head.bytes), (200, Some(3), text.len() - 3));
        for cut in 0..head.bytes {
            assert_eq!(Head::read(&text.as_bytes()[..cut]), Ok(None), "after {cut} bytes");
        }
        let endless = hints.repeat(Head::BYTES_MAX / hints.len() + 1);
        assert_eq!(Head::read(endless.as_bytes()), Err("a head of more than 16 KiB"));
        let switched = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
        let head = Head::read(switched.as_bytes()).unwrap().unwrap();
        assert_eq!(head.status, 101, "what follows is no HTTP");
    }

    /// RFC 9112 §6.3.
    #[test]
    fn responses_204_and_304_have_no_body() {
        for fields in ["204 No\r\n", "304 No\r\nContent-Length: 7\r\n", "304 No\r\n"] {
            let text = format!("HTTP/1.1 {fields}\r\n");
            assert_eq!(Head::read(text.as_bytes()).unwrap().unwrap().length, Some(0), "{fields}");
        }
    }

    #[test]
    fn a_close_is_announced_or_implied_by_version_1_0() {
        for (version, fields, closes) in [
            (1, "", false),
            (1, "Connection: keep-alive\r\n", false),
            (1, "connection: x,\tCLOSE\r\n", true),
            (1, "Connection: closed\r\n", false),
            (0, "", true),
            (0, "Connection: Keep-Alive\r\n", false),
        ] {
            let text = format!("HTTP/1.{version} 200 OK\r\n{fields}\r\n");
            assert_eq!(Head::read(text.as_bytes()).unwrap().unwrap().closes, closes, "{text}");
        }
    }

    #[test]
    fn the_first_location_is_kept_byte_by_byte() {
        let text = b"HTTP/1.1 301 Moved\r\nLocation: /a\xFF\r\nLocation: /b\r\n\r\n";
        let head = Head::read(text).unwrap().unwrap();
        assert_eq!((head.status, head.location), (301, Some(&b"/a\xFF"[..])));
        assert!(!head.is_chunked && head.length.is_none());
    }
}
