//! Changes the bytes that a rustls server sends. The client never panics, and never establishes a
//! session that the server does not share.

use proptest::prelude::*;
use proptest::sample::Index;
use tollgate_tls_client::{Error, Settings, VerifySignature};

use crate::peer;
use crate::peer::{Pair, Server, kinds};

/// Returns the offsets of the records in `bytes`.
fn records(bytes: &[u8]) -> Vec<core::ops::Range<usize>> {
    let (mut found, mut at) = (vec![], 0);
    while let Some([_, _, _, high, low]) = bytes.get(at..at + 5) {
        let end = at + 5 + usize::from(u16::from_be_bytes([*high, *low]));
        found.push(at..end.min(bytes.len()));
        at = end;
    }
    found
}

#[derive(Clone, Debug)]
enum Change {
    Cut(Index),
    Drop(Index),
    Flip(Index),
    Insert(Index, Vec<u8>),
    Repeat(Index),
    Swap(Index, Index),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let all = records(bytes);
        if all.is_empty() {
            return; // the previous change left no whole record
        }
        let record = |index: &Index| all[index.index(all.len())].clone();
        match self {
            Self::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Self::Drop(at) => drop(bytes.drain(record(at))),
            Self::Flip(at) => {
                let bit = at.index(8 * bytes.len());
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            Self::Insert(at, more) => {
                let at = record(at).start;
                bytes.splice(at..at, more.iter().copied());
            }
            Self::Repeat(at) => {
                let again = bytes[record(at)].to_vec();
                bytes.extend(again);
            }
            Self::Swap(a, b) => {
                let (a, b) = (a.index(all.len()), b.index(all.len()));
                let mut pieces: Vec<_> = all.iter().map(|r| bytes[r.clone()].to_vec()).collect();
                pieces.swap(a, b);
                *bytes = pieces.concat();
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    let bytes = prop::collection::vec(any::<u8>(), 1..40);
    // each is a whole record: a warning, a change_cipher_spec, an empty record, a handshake message
    let record = prop_oneof![
        Just(vec![21, 3, 3, 0, 2, 1, 0]),
        Just(vec![20, 3, 3, 0, 1, 1]),
        Just(vec![23, 3, 3, 0, 0]),
        Just(vec![22, 3, 3, 0, 4, 0, 0, 0, 0]),
    ];
    prop_oneof![
        1 => at().prop_map(Change::Cut),
        1 => at().prop_map(Change::Drop),
        4 => at().prop_map(Change::Flip),
        1 => (at(), bytes).prop_map(|(at, more)| Change::Insert(at, more)),
        2 => (at(), record).prop_map(|(at, more)| Change::Insert(at, more)),
        1 => at().prop_map(Change::Repeat),
        1 => (at(), at()).prop_map(|(a, b)| Change::Swap(a, b)),
    ]
}

fn many() -> ProptestConfig {
    ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(many())]

    #[test]
    fn a_changed_flight_fails_or_waits_or_is_harmless(
        kind in any::<Index>(),
        verify in any::<bool>(),
        which in 0..2_usize,
        changes in prop::collection::vec(change(), 1..3),
        piece in 1..2000_usize,
    ) {
        let (suite, group) = *kind.get(&kinds());
        let verify_signature =
            if verify { VerifySignature::Always } else { VerifySignature::Never };
        let settings = Settings { verify_signature, ..peer::settings(suite, &[group]) };
        let mut pair = Pair::new(settings, &Server::new(suite, &[group]));
        let (mut flights, mut failed) = (0, None);
        'wire: loop {
            let forward = pair.forward();
            let mut bytes = pair.server_flight();
            if bytes.is_empty() && !forward {
                break;
            }
            if !bytes.is_empty() {
                if flights == which {
                    for change in changes.iter() {
                        if !bytes.is_empty() {
                            change.apply(&mut bytes);
                        }
                    }
                }
                flights += 1;
            }
            for bytes in bytes.chunks(piece) {
                let seen = &mut pair.seen;
                if let Err(error) = pair.client.read_tls(bytes, |event| seen.note(event)) {
                    failed = Some(error);
                    break 'wire;
                }
            }
        }
        match failed {
            Some(error) => {
                prop_assert!(error.phase().is_some(), "{error:?}");
                prop_assert!(!error.to_string().is_empty());
                prop_assert_eq!(pair.client.poll().map(|_| ()), Err(error));
                prop_assert_eq!(pair.client.end_of_stream(), Err(error));
                pair.forward(); // the client's alert, which the server reads without a panic
            }
            // the remaining changes (the version of a record, a dropped or repeated
            // change_cipher_spec) are harmless: both sides share the session
            None if pair.client.is_established() => {
                prop_assert!(!pair.server.is_handshaking());
                pair.client.send(b"request").unwrap();
                pair.forward();
                prop_assert_eq!(&pair.got, b"request");
            }
            None => {
                let phase = pair.client.phase();
                prop_assert_eq!(pair.client.end_of_stream(), Err(Error::EndOfStream { phase }));
            }
        }
    }
}
