//! Reads any bytes as frames of the protocol of signers. A frame is the same with any bytes after
//! it, and no part of it is a frame. A message is read again as it was written, padded, and a stub
//! is found again in its file.
//!
//! The first byte is the longest body, in units of 32 bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_keyless::{
    HEADER_BYTES, Message, Operation, REFUSAL, Reply, Split, Stub, ecdsa_der, split,
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
