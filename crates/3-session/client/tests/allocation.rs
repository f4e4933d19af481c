//! Once a connection has seen its sizes, records cost no allocation.

#![allow(clippy::unwrap_used, reason = "tests")]

mod peer;

use peer::{Pair, Server, kinds};
use tollgate_client::{Event, Group, Settings, VerifySignature};

#[test]
fn data_does_not_allocate() {
    for (suite, group) in kinds() {
        let mut pair = Pair::new(peer::settings(suite, &[group]), &Server::new(suite, &[group]));
        pair.run().unwrap();
        let data = vec![7; 140_000];
        for round in 0..3 {
            pair.say(&data);
            let bytes = pair.server_flight();
            let client = &mut pair.client;
            let mut got = 0;
            let counted = allocation_counter::measure(|| {
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    let space = client.space();
                    let count = space.len().min(rest.len());
                    space[..count].copy_from_slice(&rest[..count]);
                    rest = &rest[count..];
                    client.filled(count).unwrap();
                    while let Some(event) = client.poll().unwrap() {
                        let Event::Data(data) = event else { panic!("{event:?}") };
                        got += data.len();
                    }
                }
                client.send(&data).unwrap();
                client.sent(client.outgoing().len()).unwrap();
            });
            assert_eq!(got, data.len());
            // the first round makes room for what is sent
            assert!(round == 0 || counted.count_total == 0, "{suite}: {counted:?}");
        }
    }
}

/// Those of a handshake in this house's language: key pairs, secrets and messages, and what the
/// library hands over in boxes. Its own in C are not seen here.
const ALLOCATIONS_MAX: u64 = 14;

#[test]
fn a_handshake_allocates_what_the_library_makes_of_keys_and_little_else() {
    let kinds = [(peer::ECDHE, Group::X25519), (peer::TLS13, Group::X25519)];
    for (suite, group) in kinds {
        let settings = Settings {
            verify_signature: VerifySignature::Never,
            ..peer::settings(suite, &[group])
        };
        let server = Server::new(suite, &[group]);
        let mut pair = Pair::new(settings, &server);
        pair.run().unwrap(); // the certificate is read, and buffers have their sizes
        let mut count = 0;
        pair.server = server.start();
        count += allocation_counter::measure(|| pair.client.reset().unwrap()).count_total;
        for _ in 0..3 {
            pair.forward();
            let bytes = pair.server_flight();
            let client = &mut pair.client;
            let take = || client.read_tls(&bytes, |_| ()).unwrap();
            count += allocation_counter::measure(take).count_total;
        }
        assert!(pair.client.is_established());
        assert!(count <= ALLOCATIONS_MAX, "{suite}: {count}");
    }
}
