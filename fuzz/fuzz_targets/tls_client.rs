//! Feeds the client any bytes as a server's unencrypted messages. The client then has a session,
//! waits for more bytes, or returns a permanent error of one line. Splitting the bytes in two does
//! not change the result.
//!
//! The first byte selects the suite. The second selects a session to resume, and how the rest is
//! sent: unchanged, or as messages in separate records after a valid hello. `tls_established`
//! covers data after the handshake. Encrypted handshake messages need keys; the client's own tests
//! cover them.
#![no_main]

mod peer;

use core::time::Duration;
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use tollgate_tls_client::{
    Config, Connection, Error, Facts, Resume, SavedSession, Settings, Suite,
};

fuzz_target!(|bytes: &[u8]| {
    let [suite, way, said @ ..] = bytes else { return };
    let saved = usize::from(way >> 3 & 7).checked_sub(1).and_then(|at| SAVED.get(at));
    let suite = match saved {
        Some((suite, _)) => *suite,
        None => Suite::ALL[usize::from(*suite) % Suite::ALL.len()],
    };
    let mut settings = peer::settings(suite);
    if way & 4 != 0 {
        settings.groups = Vec::new();
    }
    let Ok(config) = Config::new(settings) else { return };
    let mut client = Connection::new(&Arc::new(config)).expect("random bytes and key pairs");
    let mut hear = |pieces| {
        let early_data = if way & 128 != 0 { &b"GET / HTTP/1.1"[..] } else { &[] };
        let age = Duration::from_millis(5);
        let resumed = saved.map(|(_, session)| client.resume(&Resume { session, age, early_data }));
        if resumed.is_none_or(|resumed| resumed.is_err()) {
            client.reset().expect("random bytes and key pairs");
        }
        heard(&mut client, *way, said, pieces)
    };
    assert_eq!(hear(2), hear(1));
});

/// Returns the client's result for the bytes in pieces.
fn heard(
    client: &mut Connection,
    way: u8,
    said: &[u8],
    pieces: usize,
) -> (Facts, Result<(), Error>) {
    let said = match way % 4 {
        0 => said.to_vec(),
        1 => messages(client, said),
        _ => [hello(client, way % 4 == 3), messages(client, said)].concat(),
    };
    let piece = said.len().div_ceil(pieces).max(1);
    let result = said.chunks(piece).try_for_each(|piece| client.read_tls(piece, |_| ()));
    let facts = *client.facts();
    assert!(!client.is_established(), "nobody has the keys");
    assert!(facts.offered.is_some() || !facts.resumed, "nothing was offered");
    let mut saved = SavedSession::default();
    assert!(!client.save(&mut saved) && saved.is_empty(), "nobody has the keys");
    if let Err(error) = result {
        assert!(!error.to_string().contains('\n'), "{error}");
        assert_eq!(client.poll().map(|_| ()), Err(error), "it stays");
        assert_eq!(client.end_of_stream(), Err(error));
    }
    (facts, result)
}

/// Converts input bytes to records. An unknown content type inserts another hello.
fn messages(client: &Connection, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (content, bytes) in peer::records(bytes) {
        match content {
            127 => out.extend(hello(client, false)),
            _ => record(&mut out, content, &bytes),
        }
    }
    out
}

fn record(out: &mut Vec<u8>, content: u8, bytes: &[u8]) {
    let length = u16::try_from(bytes.len()).expect("at most 16004");
    out.extend([content, 3, 3]);
    out.extend(length.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Returns a hello that accepts the client's offer and, if the client offered one, its session. In
/// TLS 1.3 the hello is a HelloRetryRequest if `retry` is set.
fn hello(client: &Connection, retry: bool) -> Vec<u8> {
    let (settings, offered) = (client.config().settings(), client.facts().offered.is_some());
    // after the headers of record and message, the version and the random bytes
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
    body.extend(settings.suite.number().to_be_bytes());
    body.push(0);
    let mut extensions = Vec::new();
    let mut say = |number: u8, content: &[u8]| {
        let length = u8::try_from(content.len()).expect("short");
        extensions.extend([&[0, number, 0, length], content].concat());
    };
    match (settings.suite.is_tls13(), retry) {
        (false, _) => {
            say(23, &[]); // extended_master_secret
            say(35, &[]); // announces a ticket
        }
        (true, true) => {
            say(43, &[3, 4]);
            say(44, &[0, 2, 1, 2]);
        }
        (true, false) => {
            say(43, &[3, 4]);
            if offered {
                say(41, &[0, 0]);
            }
            say(51, &[&[0, 29, 0, 32], &[9; 32][..]].concat());
        }
    }
    body.extend(u16::try_from(extensions.len()).expect("few").to_be_bytes());
    body.extend(extensions);
    let mut out = Vec::new();
    record(&mut out, 22, &peer::message(2, &body));
    out
}

/// Sessions saved from a rustls server: by session ID, by ticket, and of TLS 1.3 with SHA-256 and
/// with SHA-384.
static SAVED: LazyLock<[(Suite, SavedSession); 4]> = LazyLock::new(|| {
    [
        (Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, false),
        (Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, true),
        (Suite::TLS_AES_128_GCM_SHA256, false),
        (Suite::TLS_AES_256_GCM_SHA384, false),
    ]
    .map(|(suite, tickets)| (suite, peer::saved(suite, &Arc::new(peer::server(tickets)))))
});
