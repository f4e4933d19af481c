//! Response bodies: the deterministic body of `/bytes/N`, or a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// The longest body of `/bytes/N`: 1 GiB.
pub const BODY_BYTES_MAX: u64 = 1 << 30;

/// Byte i of the body of `/bytes/N` is i modulo this number. It is prime, so a record that is lost,
/// duplicated or out of order is detected.
pub const BODY_PERIOD: u64 = 251;

/// Maximum plaintext length of a TLS record, RFC 8446 §5.1.
pub(crate) const RECORD_BYTES_MAX: usize = 16 * 1024;

const PERIOD: usize = 251;

/// The start of the body, one period longer than a record: a record that begins anywhere in the
/// body equals a slice of this array.
static PATTERN: [u8; RECORD_BYTES_MAX + PERIOD] = pattern();

#[allow(clippy::cast_possible_truncation, reason = "a remainder of 251 is a byte")]
const fn pattern() -> [u8; RECORD_BYTES_MAX + PERIOD] {
    let mut bytes = [0; RECORD_BYTES_MAX + PERIOD];
    let mut i = 0;
    while i < bytes.len() {
        bytes[i] = (i % PERIOD) as u8;
        i += 1;
    }
    bytes
}

/// The part of a body that has not been sent yet.
#[derive(Debug)]
pub(crate) enum Body {
    /// Bytes from a file.
    File { file: File, at: u64, left: u64 },
    /// No bytes.
    None,
    /// Bytes of the deterministic body.
    Pattern { at: u64, left: u64 },
}

impl Body {
    pub(crate) const fn left(&self) -> u64 {
        match self {
            Self::File { left, .. } | Self::Pattern { left, .. } => *left,
            Self::None => 0,
        }
    }

    /// Returns up to `max` of the next bytes, if they can be borrowed.
    pub(crate) fn peek(&self, max: usize) -> Option<&[u8]> {
        match self {
            Self::Pattern { at, left } => {
                let from = usize::try_from(at % BODY_PERIOD).expect("less than 251");
                Some(&PATTERN[from..from + least(*left, max)])
            }
            Self::File { .. } | Self::None => None,
        }
    }

    /// Skips `n` bytes that were returned by [`Self::peek`].
    pub(crate) fn advance(&mut self, n: usize) {
        match self {
            Self::File { at, left, .. } | Self::Pattern { at, left } => {
                *at += n as u64;
                *left -= n as u64;
            }
            Self::None => assert_eq!(n, 0, "there is nothing to skip"),
        }
    }

    /// Moves up to `max` of the next bytes to `out`. Fails if the file cannot be read or has become
    /// shorter. Reading may block on the disk.
    pub(crate) fn append(&mut self, out: &mut Vec<u8>, max: usize) -> io::Result<()> {
        if let Self::File { file, at, left } = self {
            let start = out.len();
            let want = least(*left, max);
            out.resize(start + want, 0);
            file.read_exact_at(&mut out[start..], *at)?;
            *at += want as u64;
            *left -= want as u64;
            return Ok(());
        }
        let n = self.peek(max).map_or(0, |bytes| {
            out.extend_from_slice(bytes);
            bytes.len()
        });
        self.advance(n);
        Ok(())
    }
}

/// Returns the smaller value, limited to the length of a record.
fn least(left: u64, max: usize) -> usize {
    usize::try_from(left).unwrap_or(usize::MAX).min(max).min(RECORD_BYTES_MAX)
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn bytes_do_not_depend_on_chunk_sizes() {
        let length = 100_000;
        let expected: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        for cut in [1, 250, 251, 252, 4096, 16_384, 20_000] {
            let mut body = Body::Pattern { at: 0, left: length };
            let mut found = Vec::new();
            while body.left() > 0 {
                body.append(&mut found, cut).unwrap();
            }
            assert_eq!(found, expected, "in pieces of {cut}");
        }
    }
}
