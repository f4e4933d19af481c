//! A server that holds the right keys and sends random messages: the client may report an error or
//! wait, but never panics.

use proptest::prelude::*;

use super::*;

/// Returns a record of any type. Its bytes look like a message more often than random bytes do.
fn record() -> impl Strategy<Value = (Content, Vec<u8>)> {
    let content = prop_oneof![
        1 => any::<u8>(),
        1 => Just(Content::ALERT.0),
        1 => Just(Content::CHANGE_CIPHER_SPEC.0),
        2 => Just(Content::APPLICATION_DATA.0),
        6 => Just(Content::HANDSHAKE.0),
    ];
    let bytes = || prop::collection::vec(any::<u8>(), 0..80);
    let kinds = vec![0_u8, 2, 4, 8, 11, 12, 13, 14, 15, 16, 20, 22, 24];
    let message =
        (prop::sample::select(kinds), bytes()).prop_map(|(kind, body)| whole(Message(kind), &body));
    let bytes = prop_oneof![4 => message, 1 => bytes(), 1 => Just(vec![1]), 1 => Just(vec![1, 0])];
    (content.prop_map(Content), bytes)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_messages_under_the_right_keys(
        tls13 in any::<bool>(),
        resumes in any::<bool>(),
        steps in 0..6_usize,
        records in prop::collection::vec(record(), 1..8),
    ) {
        let mut rogue = match (resumes, tls13) {
            (true, _) => resumed::advanced(tls13, steps),
            (false, true) => tls13::advanced(steps),
            (false, false) => tls12::advanced(steps),
        };
        for (content, bytes) in records {
            rogue.record(content, &bytes);
            match rogue.deliver() {
                Ok(_) => drop(rogue.take()),
                Err(error) => {
                    prop_assert_eq!(rogue.client.poll().map(|_| ()), Err(error));
                    prop_assert!(rogue.client.send(b"more").is_err());
                    break;
                }
            }
        }
    }
}
