//! HTTP/1.1 as the server reads and writes it, and the grammar that judges it.

// these modules are private: compile the source files of the crate
#[path = "../../../engine/server/src/http/fields.rs"]
mod fields;
#[path = "../../../engine/server/src/http/framing.rs"]
mod framing;
pub(crate) mod grammar;
#[path = "../../../engine/server/src/http/heads.rs"]
mod heads;
#[path = "../../../engine/server/src/http/mapping.rs"]
mod mapping;
#[path = "../../../engine/server/src/http/request.rs"]
mod request;

pub(crate) use framing::{Framing, LAST_CHUNK, Malformed};
pub(crate) use heads::{ParsedAnswer, parse_answer, write_answer_head, write_request_head};
pub(crate) use mapping::{map_answer, map_request};
pub(crate) use request::{Parsed, Request, Status, parse};

/// Reads a body at once, and in pieces of this length, with the same result. Returns its data, the
/// bytes that the proxy passes on, and the number of bytes that belong to it; `None` if it is
/// malformed.
pub(crate) fn body(
    framing: &mut Framing,
    bytes: &[u8],
    piece: usize,
) -> Option<(Vec<u8>, Vec<u8>, usize)> {
    let (mut data, mut whole, mut passed, mut taken) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let (mut at_once, mut pieces) = (framing.clone(), framing.clone());
    let decoded = framing.decode(bytes, &mut data);
    assert_eq!(at_once.pass(bytes, &mut whole), decoded);
    for part in bytes.chunks(piece) {
        match pieces.pass(part, &mut passed) {
            Ok(here) => taken += here,
            Err(Malformed) => {
                assert_eq!(decoded, Err(Malformed));
                return None;
            }
        }
    }
    assert_eq!(decoded, Ok(taken));
    assert_eq!((&pieces, &at_once), (&*framing, &*framing));
    assert_eq!(passed, whole);
    Some((data, passed, taken))
}
