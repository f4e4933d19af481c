//! A server that says anything before keys change: a session, more bytes awaited, or an error of
//! one line that stays.
//!
//! The first byte chooses the suite, the second how the rest is said: as it is, or as messages in
//! records of their own, behind a hello that echoes what it must. What stands behind a change of
//! keys is for `client`'s own tests, which hold them.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use tollgate_client::{Config, Connection, Settings, Suite, VerifySignature};

fuzz_target!(|bytes: &[u8]| {
    let [suite, way, said @ ..] = bytes else { return };
    let suite = Suite::ALL[usize::from(*suite) % Suite::ALL.len()];
    let mut settings = Settings {
        verify_signature: VerifySignature::Never,
        server_name: Some("host.example".to_owned()),
        ..Settings::new(suite)
    };
    if way & 4 != 0 {
        settings.groups = Vec::new();
    }
    let Ok(config) = Config::new(settings) else { return };
    let mut client = Connection::new(&Arc::new(config)).expect("random bytes and key pairs");
    let said = match way % 4 {
        0 => said.to_vec(),
        1 => messages(said),
        _ => [hello(&client, suite, way % 4 == 3), messages(said)].concat(),
    };
    let result = client.read_tls(&said, |_| ());
    assert!(!client.is_established(), "nobody has the keys");
    if let Err(error) = result {
        assert!(!error.to_string().contains('\n'), "{error}");
        assert_eq!(client.poll().map(|_| ()), Err(error), "it stays");
        assert_eq!(client.end_of_stream(), Err(error));
    }
    client.reset().expect("random bytes and key pairs");
});

/// Handshake messages, each a type, a length of two bytes and its body, in a record of its own.
fn messages(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let [kind, high, low, rest @ ..] = bytes {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len()).min(16_000);
        let (body, tail) = rest.split_at(length);
        record(&mut out, *kind, body);
        bytes = tail;
    }
    out
}

fn record(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    let length = u16::try_from(body.len()).expect("at most 16000");
    out.extend([22, 3, 3]);
    out.extend((length + 4).to_be_bytes());
    out.extend([kind, 0]);
    out.extend(length.to_be_bytes());
    out.extend_from_slice(body);
}

/// A hello of the suite that was offered; of TLS 1.3, one that asks for another if `retry` says so.
fn hello(client: &Connection, suite: Suite, retry: bool) -> Vec<u8> {
    // behind the record's header, the message's, the version and the random bytes
    let session_id = &client.outgoing()[43..];
    let session_id = &session_id[1..1 + usize::from(session_id[0])];
    let mut body = vec![3, 3];
    let retries: [u8; 32] = [
        0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8,
        0x91, 0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8,
        0x33, 0x9C,
    ];
    body.extend(if retry { retries } else { [7; 32] });
    body.push(u8::try_from(session_id.len()).expect("a session ID has 32 bytes"));
    body.extend_from_slice(session_id);
    body.extend(suite.number().to_be_bytes());
    body.push(0);
    if suite.is_tls13() {
        let cookie = [0, 44, 0, 4, 0, 2, 1, 2];
        let share = [&[0, 51, 0, 36, 0, 29, 0, 32][..], &[9; 32]].concat();
        let last = if retry { &cookie[..] } else { &share };
        let extensions = [&[0, 43, 0, 2, 3, 4], last].concat();
        body.extend(u16::try_from(extensions.len()).expect("few").to_be_bytes());
        body.extend(extensions);
    } else {
        body.extend([0, 4, 0, 23, 0, 0]); // the extended master secret
    }
    let mut out = Vec::new();
    record(&mut out, 2, &body);
    out
}
