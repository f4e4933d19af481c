//! The blocks of a PEM file, as OpenSSL finds them.
//!
//! [`blocks`] skips what `openssl pkey -in` skips: text before and after blocks, a byte-order mark
//! of UTF-8, and BEGIN and END lines with other text in the same line. Line ends are LF or CRLF,
//! and lines of base64 have any length. The content of a block decides nothing here: see
//! [`Block::der`].

use der::pem::Base64Decoder;
use zeroize::Zeroizing;

use crate::error::Rejected;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// The length of a line of base64 after a header (RFC 1421 §4.3.2.4).
const LINE_BYTES: usize = 64;

/// Returns the blocks of a file, damaged ones included.
pub fn blocks(file: &[u8]) -> impl Iterator<Item = Block<'_>> {
    let mut rest = file.strip_prefix(UTF8_MARK).unwrap_or(file);
    core::iter::from_fn(move || {
        loop {
            let line = next_line(&mut rest)?;
            let label = line.strip_prefix(BEGIN).and_then(|label| label.strip_suffix(DASHES));
            if let Some(label) = label.filter(|label| !has(label, DASHES)) {
                return Some(Block { label, body: body(&mut rest, label) });
            }
        }
    })
}

/// A block of a PEM file.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    /// The label in the BEGIN line.
    pub label: &'a [u8],
    /// The text between the BEGIN and END lines; `None` if the END line is missing.
    body: Option<&'a [u8]>,
}

/// Omits the contents, which may be a secret.
impl core::fmt::Debug for Block<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Block({})", self.printable_label())
    }
}

impl Block<'_> {
    /// Decodes the contents.
    ///
    /// # Errors
    ///
    /// [`Rejected::PemTruncated`], [`Rejected::PemBase64`], [`Rejected::PemHeader`], or
    /// [`Rejected::Encrypted`] if the header says so (RFC 1421 §4.6.1.1).
    pub fn der(&self) -> Result<Zeroizing<Vec<u8>>, Rejected> {
        let label = || self.printable_label();
        let body = self.body.ok_or_else(|| Rejected::PemTruncated { label: label() })?;
        let text = match split_header(body) {
            None => body,
            Some((header, _)) if has(header, b"Proc-Type:") && has(header, b"ENCRYPTED") => {
                return Err(Rejected::Encrypted);
            }
            Some((header, text)) if header.is_empty() && is_in_full_lines(text) => text,
            Some(_) => return Err(Rejected::PemHeader { label: label() }),
        };
        // Allocated at full size: growing would leave copies of the key in memory.
        let mut base64 = Zeroizing::new(Vec::with_capacity(text.len()));
        for line in lines(text) {
            base64.extend(line.iter().filter(|byte| !b" \t\r".contains(byte)));
        }
        let wrong = |_| Rejected::PemBase64 { label: label() };
        let mut decoder = Base64Decoder::new(&base64).map_err(wrong)?;
        let mut der = Zeroizing::new(vec![0; decoder.remaining_len()]);
        decoder.decode(&mut der).map_err(wrong)?;
        Ok(der)
    }

    /// Returns the label for a message of one line.
    pub(crate) fn printable_label(&self) -> String {
        const SHOWN: usize = 40; // twice the longest label in use
        let show = |&byte: &u8| {
            if matches!(byte, b' '..=b'~') { char::from(byte) } else { '?' }
        };
        self.label.iter().take(SHOWN).map(show).collect()
    }
}

/// Returns the reason why a file has no blocks, if it looks like PEM.
pub(crate) fn why_no_blocks(file: &[u8]) -> Option<Rejected> {
    if UTF16_MARKS.iter().any(|mark| file.starts_with(mark)) {
        return Some(Rejected::PemUtf16);
    }
    has(file, BEGIN).then_some(Rejected::PemLine)
}

/// Returns the text up to the END line, and skips that line; `None` if the block does not end, or
/// contains the beginning of another one.
fn body<'a>(rest: &mut &'a [u8], label: &[u8]) -> Option<&'a [u8]> {
    let text = *rest;
    let mut is_nested = false;
    loop {
        let len = text.len() - rest.len();
        let line = next_line(rest)?;
        is_nested |= line.starts_with(BEGIN);
        if let Some(end) = line.strip_prefix(END) {
            let is_own = end.strip_suffix(DASHES) == Some(label);
            return (is_own && !is_nested).then_some(&text[..len]);
        }
    }
}

/// Returns the text before and after the first blank line.
fn split_header(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut rest = body;
    loop {
        let len = body.len() - rest.len();
        if next_line(&mut rest)?.is_empty() {
            return Some((&body[..len], rest));
        }
    }
}

/// Returns whether all lines but the last one have 64 bytes. OpenSSL requires this after a header,
/// even if the header is empty.
fn is_in_full_lines(text: &[u8]) -> bool {
    let mut lines = lines(text).map(<[u8]>::len).peekable();
    while let Some(len) = lines.next() {
        if len != LINE_BYTES && (lines.peek().is_some() || !(1..LINE_BYTES).contains(&len)) {
            return false;
        }
    }
    true
}

fn lines(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || next_line(&mut text))
}

/// Returns the next line without the bytes at its end that OpenSSL removes: blanks, control
/// characters and all that is not ASCII.
fn next_line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let mut parts = rest.splitn(2, |&byte| byte == b'\n');
    let line = parts.next().filter(|_| !rest.is_empty())?;
    *rest = parts.next().unwrap_or_default();
    let len = line.iter().rposition(|byte| matches!(byte, b'!'..=b'\x7f')).map_or(0, |at| at + 1);
    Some(&line[..len])
}

fn has(text: &[u8], pattern: &[u8]) -> bool {
    text.windows(pattern.len()).any(|window| window == pattern)
}
