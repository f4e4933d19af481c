//! PEM (RFC 7468): finds the key's block in a file.

use der::pem::Base64Decoder;
use zeroize::Zeroizing;

use crate::error::{Error, Expected, Found, Rejected};

pub(super) const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";

/// Returns the DER of the first PEM block with an expected label; `None` if there is no block.
pub(super) fn block(file: &[u8], expected: Expected) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    let labels = match expected {
        Expected::PrivateKey => ["PRIVATE KEY", "RSA PRIVATE KEY"],
        Expected::PublicKey => ["PUBLIC KEY", "RSA PUBLIC KEY"],
    };
    let mut refused = None;
    let mut rest = file;
    while let Some(begin) = find(rest, BEGIN) {
        let block = Block::read(&rest[begin + BEGIN.len()..])?;
        let is_key = labels.iter().any(|label| label.as_bytes() == block.label);
        if expected == Expected::PrivateKey && (is_key && block.has_encryption_header())
            || block.label == b"ENCRYPTED PRIVATE KEY"
        {
            return Err(Rejected::Encrypted.into());
        }
        if is_key {
            return block.decode().map(Some);
        }
        refused = Some(block.refusal(expected));
        rest = block.rest;
    }
    refused.map_or(Ok(None), |refusal| Err(refusal.into()))
}

/// The text between a BEGIN line and its END line.
pub(super) struct Block<'a> {
    label: &'a [u8],
    body: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Block<'a> {
    /// Reads a block; `text` begins after `-----BEGIN `.
    pub(super) fn read(text: &'a [u8]) -> Result<Self, Error> {
        let Some(label_len) = find(text, DASHES) else {
            let end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
            return Err(Rejected::PemTruncated { label: printable(&text[..end]) }.into());
        };
        let label = &text[..label_len];
        let text = &text[label_len + DASHES.len()..];
        // The next dashes must belong to an END line with the same label.
        let matching = |body_len: usize| {
            let rest = text[body_len..].strip_prefix(END)?.strip_prefix(label)?;
            Some(Self { label, body: &text[..body_len], rest: rest.strip_prefix(DASHES)? })
        };
        find(text, DASHES)
            .and_then(matching)
            .ok_or_else(|| Rejected::PemTruncated { label: printable(label) }.into())
    }

    /// Returns whether the block has the header of an encrypted key in OpenSSL's traditional format
    /// (RFC 1421 §4.6.1.1).
    fn has_encryption_header(&self) -> bool {
        find(self.body, b"Proc-Type:").is_some() && find(self.body, b"ENCRYPTED").is_some()
    }

    pub(super) fn decode(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let wrong = |_| Rejected::PemBase64 { label: printable(self.label) };
        // Allocated at full size: growing would leave copies of the key in memory.
        let mut base64 = Zeroizing::new(Vec::with_capacity(self.body.len()));
        base64.extend(self.body.iter().copied().filter(|byte| !byte.is_ascii_whitespace()));
        let mut decoder = Base64Decoder::new(&base64).map_err(wrong)?;
        let mut der = Zeroizing::new(vec![0; decoder.remaining_len()]);
        decoder.decode(&mut der).map_err(wrong)?;
        Ok(der)
    }

    fn refusal(&self, expected: Expected) -> Rejected {
        let found = match self.label {
            b"CERTIFICATE"
            | b"X509 CERTIFICATE"
            | b"TRUSTED CERTIFICATE"
            | b"CERTIFICATE REQUEST"
            | b"NEW CERTIFICATE REQUEST" => Found::Certificate,
            b"EC PRIVATE KEY" => Found::EcPrivateKey,
            b"PRIVATE KEY" | b"RSA PRIVATE KEY" => Found::PrivateKey,
            b"PUBLIC KEY" | b"RSA PUBLIC KEY" => Found::PublicKey,
            label => {
                return Rejected::PemLabel { label: printable(label), expected };
            }
        };
        Rejected::Unexpected { found, expected }
    }
}

/// Makes a label printable in a message of one line.
fn printable(label: &[u8]) -> String {
    const SHOWN: usize = 40; // twice the longest label in use
    let show = |&byte: &u8| {
        if matches!(byte, b' '..=b'~') { char::from(byte) } else { '?' }
    };
    label.iter().take(SHOWN).map(show).collect()
}

fn find(text: &[u8], pattern: &[u8]) -> Option<usize> {
    text.windows(pattern.len()).position(|window| window == pattern)
}
