//! The parts of a connection's bytes that can be read without keys: records and clear messages.

use tollgate_tls_client::Content;

/// The length of a record's header in bytes.
const HEADER: usize = 5;
/// The length of a handshake message's header in bytes.
const MESSAGE_HEADER: usize = 4;

/// The records of one flight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flight {
    /// The length in bytes of each handshake message in the clear, headers included.
    pub(crate) clear: Vec<usize>,
    /// The length in bytes of the body of each encrypted record.
    pub(crate) encrypted: Vec<usize>,
}

impl Flight {
    /// Parses whole records. In TLS 1.2, every record after a `ChangeCipherSpec` is encrypted. In
    /// TLS 1.3 the content type tells whether a record is encrypted.
    pub(crate) fn read(mut bytes: &[u8], tls13: bool) -> Option<Self> {
        let (mut flight, mut keyed) = (Self::default(), false);
        let mut messages = Vec::new();
        while !bytes.is_empty() {
            let (header, rest) = bytes.split_at_checked(HEADER)?;
            let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
            let (body, rest) = rest.split_at_checked(length)?;
            bytes = rest;
            match Content(header[0]) {
                Content::CHANGE_CIPHER_SPEC => keyed = !tls13,
                Content::HANDSHAKE if !keyed => messages.extend_from_slice(body),
                _ => flight.encrypted.push(length),
            }
        }
        let mut messages = &messages[..];
        while !messages.is_empty() {
            let header = messages.first_chunk::<MESSAGE_HEADER>()?;
            let length = u32::from_be_bytes([0, header[1], header[2], header[3]]);
            let length = MESSAGE_HEADER + usize::try_from(length).ok()?;
            messages = messages.get(length..)?;
            flight.clear.push(length);
        }
        Some(flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(content: Content, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(body.len()).expect("short");
        [&[content.0, 3, 3][..], &length.to_be_bytes(), body].concat()
    }

    #[test]
    fn flights_are_read_and_other_bytes_refused() {
        let message = [2, 0, 0, 2, 7, 7];
        let two = [&message[..], &message].concat();
        let bytes = [
            record(Content::HANDSHAKE, &two[..8]), // a message may continue in the next record
            record(Content::HANDSHAKE, &two[8..]),
            record(Content::CHANGE_CIPHER_SPEC, &[1]),
            record(Content::HANDSHAKE, &[0; 40]),
        ]
        .concat();
        let expected = Flight { clear: vec![6, 6], encrypted: vec![40] };
        assert_eq!(Flight::read(&bytes, false), Some(expected));
        let data = [
            record(Content::CHANGE_CIPHER_SPEC, &[1]),
            record(Content::APPLICATION_DATA, &[0; 53]),
        ]
        .concat();
        let expected = Flight { clear: vec![], encrypted: vec![53] };
        assert_eq!(Flight::read(&data, true), Some(expected));
        for cut in 1..bytes.len() {
            let flight = Flight::read(&bytes[..cut], false);
            assert!(flight.is_none_or(|flight| flight.encrypted.is_empty()), "cut at {cut}");
        }
    }
}
