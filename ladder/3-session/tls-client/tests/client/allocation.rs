//! Once the buffers of a connection have grown, records cause no allocation.

use core::time::Duration;

use allocation_counter::measure;
use openssl::ssl::SslContext;
use tollgate_tls_client::{
    Connection, Event, Group, Resume, SavedSession, Settings, VerifySignature,
};

use crate::peer;
use crate::peer::{Pair, Server, kinds, memory};

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
            let counted = measure(|| {
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
            // the first round grows the buffers
            assert!(round == 0 || counted.count_total == 0, "{suite}: {counted:?}");
        }
    }
}

/// Allocations of the library in a key agreement: the decoded public value of the server, and the
/// secret. The count excludes allocations in C.
const AGREEMENT: u64 = 2;

/// Returns the number of the client's allocations in a session with a request and its response.
/// Stores the server's last session in `saved`, and offers it if `resumes` is set.
fn allocations(
    client: &mut Connection,
    context: &SslContext,
    saved: &mut SavedSession,
    resumes: bool,
) -> u64 {
    let mut server = memory::Server::new(context);
    let age = Duration::from_millis(5);
    let begun = measure(|| match resumes {
        false => client.reset().unwrap(),
        true => client.resume(&Resume { session: saved, age, early_data: b"" }).unwrap(),
    });
    let mut count = begun.count_total;
    let (mut answered, mut wire) = (false, client.outgoing().to_vec());
    while !answered {
        let bytes = server.answer(&wire);
        let counted = measure(|| {
            client.sent(wire.len()).unwrap();
            client.space()[..bytes.len()].copy_from_slice(&bytes);
            client.filled(bytes.len()).unwrap();
            let mut asks = false;
            while let Some(event) = client.poll().unwrap() {
                asks |= event == Event::Established;
                answered |= event == Event::Data(b"response");
            }
            if asks {
                client.send(b"request").unwrap();
            }
        });
        count += counted.count_total;
        wire.clear();
        wire.extend_from_slice(client.outgoing());
    }
    count + measure(|| while client.save(saved) {}).count_total
}

#[test]
fn a_handshake_allocates_only_for_the_key_agreement() {
    let context = memory::context();
    let kinds = [
        (peer::RSA, Group::X25519, 0, 0),
        (peer::ECDHE, Group::X25519, AGREEMENT, 0),
        (peer::ECDHE, Group::P256, AGREEMENT, 0),
        (peer::TLS13, Group::X25519, AGREEMENT, AGREEMENT),
    ];
    for (suite, group, full, resumed) in kinds {
        for verify_signature in [VerifySignature::Never, VerifySignature::Always] {
            let settings = peer::settings(suite, &[group]);
            let settings = Settings { verify_signature, save_sessions: true, ..settings };
            let mut client = peer::client(settings);
            let mut saved = SavedSession::default();
            for round in 0..4 {
                for (resumes, expected) in [(false, full), (true, resumed)] {
                    let count = allocations(&mut client, &context, &mut saved, resumes);
                    assert_eq!(client.facts().resumed, resumes, "{suite}");
                    // the first session parses the certificate and grows the buffers
                    assert!(round < 2 || count == expected, "{suite}, {resumes}: {count}");
                }
            }
        }
    }
}
