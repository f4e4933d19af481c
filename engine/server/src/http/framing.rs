//! Finds the end of a message's body, RFC 9112 §6.

/// The longest chunk line (size and extensions), and the longest trailer section, in bytes.
const LINE_BYTES_MAX: u32 = 8 * 1024;

/// The end of a chunked body.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// The rest of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Chunks, a trailer section, and an empty line.
    Chunked(Chunks),
    /// This number of bytes; zero if there is no body.
    Length(u64),
    /// All bytes until the connection closes.
    UntilClose,
}

/// The body is not a sequence of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl Framing {
    pub(crate) const fn chunked() -> Self {
        Self::Chunked(Chunks::BEGIN)
    }

    /// Returns how many of the next bytes belong to the body.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        match self {
            Self::Chunked(chunks) => chunks.walk(bytes, |_| {}),
            Self::Length(left) => {
                let here = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= here as u64;
                Ok(here)
            }
            Self::UntilClose => Ok(bytes.len()),
        }
    }

    /// As [`Self::take`]; appends these bytes to `out`, without the fields of a trailer section.
    ///
    /// RFC 9110 §6.5.1 permits this. A receiver that merged the fields into those of the head would
    /// believe a client's `X-Forwarded-For`, or another length.
    pub(crate) fn pass(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<usize, Malformed> {
        if let Self::Chunked(chunks) = self {
            return chunks.walk(bytes, |part| match part {
                Part::Data(bytes) => out.extend_from_slice(bytes),
                Part::Frame(byte) => out.push(byte),
            });
        }
        self.decode(bytes, out)
    }

    /// As [`Self::take`]; appends the data of the body to `data`.
    pub(crate) fn decode(&mut self, bytes: &[u8], data: &mut Vec<u8>) -> Result<usize, Malformed> {
        if let Self::Chunked(chunks) = self {
            return chunks.walk(bytes, |part| {
                if let Part::Data(bytes) = part {
                    data.extend_from_slice(bytes);
                }
            });
        }
        let taken = self.take(bytes)?;
        data.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    /// Returns whether the body has ended.
    pub(crate) fn is_complete(&self) -> bool {
        match self {
            Self::Chunked(chunks) => chunks.at == At::End,
            Self::Length(left) => *left == 0,
            Self::UntilClose => false,
        }
    }
}

/// A position in a chunked body, RFC 9112 §7.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunks {
    at: At,
    /// Length of the line, or of the trailer section, so far.
    line: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In the digits of a chunk's size.
    Size {
        value: u64,
        digits: u8,
    },
    /// In spaces after the size, which some read as the end of the digits and others do not.
    Blank {
        value: u64,
    },
    /// In the extensions of a chunk.
    Extension {
        value: u64,
    },
    /// Before the line feed that ends a chunk's line.
    SizeLf {
        value: u64,
    },
    /// In the data of a chunk.
    Data {
        left: u64,
    },
    DataCr,
    DataLf,
    /// At the start of a line of the trailer section.
    Trailer,
    InName,
    InValue,
    TrailerLf,
    LastLf,
    End,
}

/// A piece of a chunked body without the fields of its trailer section, and without spaces after the
/// sizes of chunks.
enum Part<'a> {
    Data(&'a [u8]),
    /// A byte around the data.
    Frame(u8),
}

impl Chunks {
    const BEGIN: Self = Self { at: At::Size { value: 0, digits: 0 }, line: 0 };

    /// Returns how many of the next bytes belong to the body, and shows them to `part`.
    fn walk(&mut self, bytes: &[u8], mut part: impl FnMut(Part<'_>)) -> Result<usize, Malformed> {
        let mut taken = 0;
        while taken < bytes.len() && self.at != At::End {
            if let At::Data { left } = self.at {
                let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len() - taken);
                part(Part::Data(&bytes[taken..taken + here]));
                taken += here;
                let left = left - here as u64;
                self.at = if left == 0 { At::DataCr } else { At::Data { left } };
                continue;
            }
            // before the body can end: one that is too long has no end
            if self.line == LINE_BYTES_MAX {
                return Err(Malformed);
            }
            let was_in_trailers =
                matches!(self.at, At::Trailer | At::InName | At::InValue | At::TrailerLf);
            self.at = self.after(bytes[taken])?;
            let is_left_out = was_in_trailers && self.at != At::LastLf;
            if !is_left_out && !matches!(self.at, At::Blank { .. }) {
                part(Part::Frame(bytes[taken]));
            }
            taken += 1;
            self.line = if matches!(self.at, At::Data { .. }) { 0 } else { self.line + 1 };
        }
        Ok(taken)
    }

    /// Returns the position after a byte that is not data.
    fn after(&self, byte: u8) -> Result<At, Malformed> {
        Ok(match (self.at, byte) {
            (At::Size { value, digits }, b'\r') if digits > 0 => At::SizeLf { value },
            (At::Size { value, digits }, b';') if digits > 0 => At::Extension { value },
            (At::Size { value, digits }, b' ' | b'\t') if digits > 0 => At::Blank { value },
            // 15 digits: the sum of lengths cannot overflow
            (At::Size { value, digits: digits @ 0..15 }, _) => {
                let digit = char::from(byte).to_digit(16).ok_or(Malformed)?;
                At::Size { value: value * 16 + u64::from(digit), digits: digits + 1 }
            }
            (At::Blank { value }, b' ' | b'\t') => At::Blank { value },
            (At::Blank { value }, b';') => At::Extension { value },
            (At::Blank { value } | At::Extension { value }, b'\r') => At::SizeLf { value },
            (At::Extension { value }, byte) if is_text(byte) => At::Extension { value },
            (At::SizeLf { value: 0 }, b'\n') => At::Trailer,
            (At::SizeLf { value }, b'\n') => At::Data { left: value },
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataLf, b'\n') => At::Size { value: 0, digits: 0 },
            (At::Trailer, b'\r') => At::LastLf,
            (At::Trailer | At::InName, byte) if is_of_token(byte) => At::InName,
            (At::InName, b':') => At::InValue,
            (At::InValue, b'\r') => At::TrailerLf,
            (At::InValue, byte) if is_text(byte) => At::InValue,
            (At::TrailerLf, b'\n') => At::Trailer,
            (At::LastLf, b'\n') => At::End,
            _ => return Err(Malformed),
        })
    }
}

/// Returns whether a byte can be in a field's value, RFC 9110 §5.5.
const fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..)
}

/// Returns whether a byte can be in a field's name, RFC 9110 §5.6.2.
const fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many bytes belong to the body if they arrive in pieces of this length.
    fn taken(text: &[u8], piece: usize) -> Result<(usize, bool), Malformed> {
        let mut framing = Framing::chunked();
        let mut sum = 0;
        for part in text.chunks(piece) {
            let here = framing.take(part)?;
            sum += here;
            if here < part.len() {
                break;
            }
        }
        Ok((sum, framing.is_complete()))
    }

    #[test]
    fn chunked_bodies_end_where_they_end() {
        let bodies: [&[u8]; 4] = [
            b"0\r\n\r\n",
            b"5\r\nhello\r\n0\r\n\r\n",
            b"5;a=\"b\"\r\nhello\r\n00a \r\n0123456789\r\n0\r\nTrailer: x\r\nY: z\r\n\r\n",
            b"F\r\n0\r\n\r\n0123456789\r\n0\r\n\r\n",
        ];
        for body in bodies {
            let with_next = [body, b"GET / HTTP/1.1\r\n"].concat();
            for piece in [1, 2, 3, 7, 1000] {
                assert_eq!(taken(&with_next, piece), Ok((body.len(), true)), "{piece}");
            }
            for end in 0..body.len() {
                assert_eq!(taken(&body[..end], 4), Ok((end, false)), "{end}");
            }
        }
    }

    #[test]
    fn a_body_with_too_long_a_trailer_section_never_ends() {
        let whole = LINE_BYTES_MAX as usize;
        for (length, is_taken) in [(whole - 1, true), (whole, true), (whole + 1, false)] {
            let [begin, end] = ["0\r\nX: ", "\r\n\r\n"];
            let value = "x".repeat(length - begin.len() - end.len());
            let body = format!("{begin}{value}{end}");
            for piece in [1, 7, 100_000] {
                let mut framing = Framing::chunked();
                let all = body.as_bytes().chunks(piece).all(|part| framing.take(part).is_ok());
                assert_eq!((all, framing.is_complete()), (is_taken, is_taken), "{length}");
            }
        }
    }

    #[test]
    fn spaces_after_a_size_are_left_out() {
        let mut passed = Vec::new();
        Framing::chunked().pass(b"5 \t;a=b\r\nhello\r\n0 \r\n\r\n", &mut passed).unwrap();
        assert_eq!(passed, b"5;a=b\r\nhello\r\n0\r\n\r\n");
    }

    #[test]
    fn trailer_sections_are_left_out() {
        let chunks = "5;a=b\r\nhello\r\n2\r\n\r\n\r\n0;x\r\n";
        let body = format!("{chunks}Trailer: x\r\nY: z\r\n\r\nGET");
        for piece in 1..body.len() {
            let (mut decoding, mut passing) = (Framing::chunked(), Framing::chunked());
            let (mut data, mut passed, mut taken) = (Vec::new(), Vec::new(), 0);
            for part in body.as_bytes().chunks(piece) {
                taken += decoding.decode(part, &mut data).unwrap();
                passing.pass(part, &mut passed).unwrap();
                assert_eq!(passing, decoding);
            }
            assert!(decoding.is_complete());
            assert_eq!(taken, body.len() - 3);
            assert_eq!(data, b"hello\r\n");
            assert_eq!(String::from_utf8(passed).unwrap(), format!("{chunks}\r\n"));
        }
        for read in [Framing::decode, Framing::pass] {
            let mut data = Vec::new();
            assert_eq!(read(&mut Framing::Length(3), b"abcd", &mut data), Ok(3));
            assert_eq!(data, b"abc");
        }
    }

    #[test]
    fn malformed_chunks_are_refused() {
        let long = [b"1;", &[b'x'; 9000][..], b"\r\n"].concat();
        let trailers = [b"0\r\n", &b"a: b\r\n".repeat(2000)[..]].concat();
        let bodies: [&[u8]; 18] = [
            b"\r\n",
            b"x\r\n",
            b"-1\r\n",
            b"+1\r\n",
            b"0x1\r\n",
            b"1\n",
            b"1\r\r\n",
            b"1\r\nab\r\n",
            b"1;a\n\r\n",
            b"1;\0\r\n",
            b"1 1\r\n",        // one byte, or 17
            b"0\r\nx\r\n\r\n", // a trailer section without a colon, with an empty name, and folded
            b"0\r\n: x\r\n\r\n",
            b"0\r\na: b\r\n c\r\n\r\n",
            b"0\r\n\n",
            b"1000000000000000\r\n",
            &long,
            &trailers,
        ];
        for body in bodies {
            for piece in [1, 5, 100_000] {
                let text = String::from_utf8_lossy(&body[..body.len().min(20)]);
                assert_eq!(taken(body, piece), Err(Malformed), "{text:?}");
            }
        }
    }

    #[test]
    fn bodies_of_a_known_length() {
        let mut framing = Framing::Length(5);
        assert_eq!(framing.take(b"abc"), Ok(3));
        assert!(!framing.is_complete());
        assert_eq!(framing.take(b"defg"), Ok(2));
        assert!(framing.is_complete());
        let mut framing = Framing::UntilClose;
        assert_eq!(framing.take(b"abc"), Ok(3));
        assert!(!framing.is_complete());
    }
}
