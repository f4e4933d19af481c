//! The frames of a stream: a header of eight bytes, and a body.

/// The length of a header: two bytes of version, two of the body's length, four of a number.
pub const HEADER_BYTES: usize = 8;

/// A frame is padded to this length, if it is shorter, so that its length reveals little.
pub const PADDED_BYTES: usize = 1024;

/// The version of the protocol, major and minor.
pub(crate) const VERSION: [u8; 2] = [1, 0];

/// A whole frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The number that the client chose. The answer has the same.
    pub id: u32,
    /// The items.
    pub body: &'a [u8],
}

/// The beginning of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split<'a> {
    /// No frame can begin like this, so nothing behind it can be read either.
    Broken {
        /// The number in the header.
        id: u32,
        /// The reason.
        why: Broken,
    },
    /// A frame.
    Frame {
        /// The frame.
        frame: Frame<'a>,
        /// The number of bytes to the next frame.
        len: usize,
    },
    /// The rest of the frame is missing.
    Partial,
}

/// The reason why a header is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The body is longer than allowed.
    Length,
    /// The version is not 1.0.
    Version,
}

/// Returns the first frame of a stream, whose body may have `body_max` bytes.
#[must_use]
pub fn split(stream: &[u8], body_max: usize) -> Split<'_> {
    let Some((header, rest)) = stream.split_first_chunk::<HEADER_BYTES>() else {
        return Split::Partial;
    };
    let [major, minor, length @ .., a, b, c, d] = *header;
    let id = u32::from_be_bytes([a, b, c, d]);
    let length = usize::from(u16::from_be_bytes(length));
    if [major, minor] != VERSION {
        return Split::Broken { id, why: Broken::Version };
    }
    if length > body_max {
        return Split::Broken { id, why: Broken::Length };
    }
    match rest.split_at_checked(length) {
        Some((body, _)) => Split::Frame { frame: Frame { id, body }, len: HEADER_BYTES + length },
        None => Split::Partial,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_found_once_it_is_whole() {
        let stream = [1, 0, 0, 2, 0, 0, 1, 2, 8, 9, 7];
        for end in 0..10 {
            assert_eq!(split(&stream[..end], 2), Split::Partial, "{end} bytes");
        }
        let frame = Frame { id: 0x102, body: &[8, 9] };
        assert_eq!(split(&stream, 2), Split::Frame { frame, len: 10 });
    }

    #[test]
    fn other_headers_are_refused_before_their_body_comes() {
        for (header, why) in [
            ([0, 9, 0, 0, 0, 0, 0, 5], Broken::Version),
            ([1, 1, 0, 0, 0, 0, 0, 5], Broken::Version),
            ([0x16, 3, 1, 2, 0, 0, 0, 5], Broken::Version), // a handshake of TLS
            ([1, 0, 0, 3, 0, 0, 0, 5], Broken::Length),
            ([1, 0, 0xff, 0xff, 0, 0, 0, 5], Broken::Length),
        ] {
            assert_eq!(split(&header, 2), Split::Broken { id: 5, why }, "{header:?}");
        }
    }
}
