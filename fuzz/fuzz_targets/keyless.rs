//! Reads any bytes as frames of the protocol of signers. A frame is the same with any bytes after it,
//! and no part of it is a frame. A message is read again as it was written, padded, and a stub is
//! found again in its file. Frames that come in pieces are those that come at once.
//!
//! The first byte is the longest body, in units of 32 bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_keyless::{
    Broken, HEADER_BYTES, Incoming, Message, Operation, REFUSAL, Reply, Split, Stub, ecdsa_der,
    split,
};

fuzz_target!(|input: &[u8]| {
    let [body_max, bytes @ ..] = input else { return };
    let body_max = 32 * usize::from(*body_max);
    let mut rest = bytes;
    while let Split::Frame { frame, len } = split(rest, body_max) {
        assert!(frame.body.len() <= body_max && len == HEADER_BYTES + frame.body.len());
        let (own, after) = rest.split_at(len);
        for end in 0..len {
            assert_eq!(split(&own[..end], body_max), Split::Partial, "{end} of {own:?}");
        }
        assert_eq!(split(own, body_max), Split::Frame { frame, len });
        if let Ok(message) = Message::read(frame) {
            assert_eq!(message.id, frame.id);
            if let Ok(operation) = Operation::from_code(message.opcode) {
                assert_eq!(operation.code(), message.opcode);
            }
            let mut written = Vec::new();
            message.write(&mut written);
            let again = split(&written, usize::from(u16::MAX));
            let Split::Frame { frame, len } = again else { panic!("{message:?}") };
            assert!(len == written.len() && len >= 1024);
            assert_eq!(Message::read(frame), Ok(message));
            if let Ok(Reply::Refused(why)) = message.reply() {
                assert_eq!((message.opcode, message.payload), (REFUSAL, &[why as u8][..]));
            }
        }
        rest = after;
    }
    let mut ids = Vec::new();
    let mut stream = bytes;
    while let Split::Frame { frame, len } = split(stream, body_max) {
        ids.push(frame.id);
        stream = &stream[len..];
    }
    for piece in [1, 7, bytes.len().max(1)] {
        let broken = match split(stream, body_max) {
            Split::Broken { why, .. } => Some(why),
            _ => None,
        };
        assert_eq!(in_pieces(bytes, piece, body_max), (ids.clone(), broken), "{piece}");
    }
    if let Split::Broken { id, why } = split(rest, body_max) {
        let more = [rest, bytes].concat();
        assert_eq!(split(&more, body_max), Split::Broken { id, why });
    }
    if let Some(numbers) = ecdsa_der::decode(bytes) {
        assert_eq!(ecdsa_der::encode(&numbers), bytes);
    }
    for file in [Stub::from_pem(bytes), Stub::new(bytes.to_vec()).map(Some)] {
        if let Ok(Some(stub)) = file {
            assert_eq!(Stub::from_pem(stub.to_pem().as_bytes()), Ok(Some(stub)));
        }
    }
});

/// Returns the numbers of the frames that come in pieces, and why the stream broke.
fn in_pieces(mut stream: &[u8], piece: usize, body_max: usize) -> (Vec<u32>, Option<Broken>) {
    let (mut incoming, mut ids) = (Incoming::new(body_max), Vec::new());
    loop {
        loop {
            match incoming.next_frame() {
                Ok(Some(frame)) => ids.push(frame.id),
                Ok(None) => break,
                Err(why) => return (ids, Some(why)),
            }
        }
        let room = incoming.room();
        let count = piece.min(room.len()).min(stream.len());
        if count == 0 {
            assert!(stream.is_empty(), "there is room");
            return (ids, None);
        }
        room[..count].copy_from_slice(&stream[..count]);
        stream = &stream[count..];
        incoming.add(count);
    }
}
