//! Feeds the client any bytes as a server's unencrypted messages, and as records after a TLS 1.3
//! handshake, encrypted with the right keys.
//!
//! Before the handshake ends, the client then has a session, waits for more bytes, or returns a
//! permanent error of one line. Splitting the bytes in two does not change the result. The first
//! byte selects the suite. The second selects a session to resume, and how the rest is sent:
//! unchanged, or as messages in separate records after a valid hello. Encrypted handshake messages
//! need keys; the client's own tests cover them.
//!
//! After the handshake, the client returns the data of the records and resumable sessions, or a
//! permanent error of one line.
#![no_main]

use core::time::Duration;
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::crypto::aws_lc_rs::{Ticketer, default_provider, sign::any_supported_type};
use rustls::crypto::cipher::{MessageEncrypter, OutboundChunks, OutboundPlainMessage};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ConnectionTrafficSecrets, ContentType, ProtocolVersion, ServerConfig};
use rustls::{ServerConnection, SupportedCipherSuite};
use tollgate_tls_client::{
    Config, Connection, Error, Event, Facts, Resume, SavedSession, Settings, Suite, VerifySignature,
};

fuzz_target!(|bytes: &[u8]| {
    before_the_end(bytes);
    after_the_end(bytes);
});

fn before_the_end(bytes: &[u8]) {
    let [suite, way, said @ ..] = bytes else { return };
    let saved = usize::from(way >> 3 & 7).checked_sub(1).and_then(|at| SAVED.get(at));
    let suite = match saved {
        Some((suite, _)) => *suite,
        None => Suite::ALL[usize::from(*suite) % Suite::ALL.len()],
    };
    let mut settings = settings(suite);
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
}

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
    for (content, bytes) in records(bytes) {
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
    record(&mut out, 22, &message(2, &body));
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
    .map(|(suite, tickets)| (suite, saved(suite, &Arc::new(server(tickets)))))
});

const SUITE: Suite = Suite::TLS_AES_128_GCM_SHA256;

fn after_the_end(bytes: &[u8]) {
    let (mut client, mut server) = established();
    let (mut said, mut heard, mut closed) = (Vec::new(), Vec::new(), false);
    let result = records(bytes).try_for_each(|(content, bytes)| {
        // RFC 8446 §5.4: the content type is the last byte that is not zero
        let inner = [&bytes[..], &[content]].concat();
        let end = inner.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        if let [data @ .., 23] = &inner[..end] {
            said.extend_from_slice(data);
        }
        client.read_tls(&server.seal(content, &bytes), |event| match event {
            Event::Data(data) => heard.extend_from_slice(data),
            Event::Closed => closed = true,
            Event::Established => panic!("it stood before"),
        })?;
        client.sent(client.outgoing().len())
    });
    assert!(client.is_established() && said.starts_with(&heard));
    match result {
        Ok(()) => assert!(closed || heard == said),
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            assert_eq!(client.poll().map(|_| ()), Err(error), "it stays");
            assert_eq!(client.send(b"more"), Err(error));
        }
    }
    let mut saved = SavedSession::default();
    while client.save(&mut saved) {
        let resume = Resume { session: &saved, age: Duration::MAX, early_data: &[] };
        Connection::new(&CONFIG).and_then(|mut next| next.resume(&resume)).expect("it fits");
    }
}

/// The server's side of a session: its keys and sequence number.
struct Server {
    key: Box<dyn MessageEncrypter>,
    sequence: u64,
}

impl Server {
    fn seal(&mut self, content: u8, bytes: &[u8]) -> Vec<u8> {
        let record = OutboundPlainMessage {
            typ: ContentType::from(content),
            version: ProtocolVersion::TLSv1_2,
            payload: OutboundChunks::Single(bytes),
        };
        let record = self.key.encrypt(record, self.sequence).expect("at most 16004 bytes");
        self.sequence += 1;
        record.encode()
    }
}

static CONFIG: LazyLock<Arc<Config>> =
    LazyLock::new(|| Arc::new(Config::new(settings(SUITE)).expect("settings of the suite")));

static RESUMING: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| {
    let mut server = server(true);
    server.enable_secret_extraction = true;
    Arc::new(server)
});

/// The session that every input resumes, since resumption needs no signature.
static RESUMED: LazyLock<SavedSession> = LazyLock::new(|| saved(SUITE, &RESUMING));

fn established() -> (Connection, Server) {
    let mut client = Connection::new(&CONFIG).expect("random bytes and key pairs");
    let resume = Resume { session: &RESUMED, age: Duration::ZERO, early_data: &[] };
    client.resume(&resume).expect("it fits");
    let mut server = ServerConnection::new(Arc::clone(&RESUMING)).expect("a server");
    shake_hands(&mut client, &mut server);
    assert!(client.facts().resumed);
    while client.save(&mut SavedSession::default()) {}
    let secrets = server.dangerous_extract_secrets().expect("the session stands");
    let (sequence, ConnectionTrafficSecrets::Aes128Gcm { key, iv }) = secrets.tx else {
        panic!("keys of {SUITE}");
    };
    let SupportedCipherSuite::Tls13(suite) = TLS13_AES_128_GCM_SHA256 else {
        panic!("a suite of TLS 1.3");
    };
    let mut server = Server { key: suite.aead_alg.encrypter(key, iv), sequence: 0 };
    // AWS-LC requires consecutive sequence numbers. The tickets after the handshake used the first
    // `sequence` numbers: skip them.
    (0..sequence).for_each(|_| drop(server.seal(22, b"")));
    (client, server)
}

/// Returns the settings of clients of this server.
fn settings(suite: Suite) -> Settings {
    Settings {
        verify_signature: VerifySignature::Never,
        server_name: Some("host.example".to_owned()),
        save_sessions: true,
        ..Settings::new(suite)
    }
}

/// Returns a server. With `tickets`, its tickets contain the sessions and can be used again;
/// otherwise the server stores sessions itself.
fn server(tickets: bool) -> ServerConfig {
    let pem = include_str!("../../vectors/keys/rsa-2048.pem");
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).expect("a key");
    let key = any_supported_type(&key).expect("a key of RSA");
    // the key need not belong to the certificate: the client verifies no signature
    let certificate = include_bytes!("../seeds/texts/probe/certificate.der");
    let certified = CertifiedKey::new(vec![CertificateDer::from(&certificate[..])], key);
    let mut server = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("both versions")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    server.max_early_data_size = 1000;
    if tickets {
        server.ticketer = Ticketer::new().expect("random bytes");
    }
    server
}

/// Completes a handshake and delivers the server's tickets.
fn shake_hands(client: &mut Connection, server: &mut ServerConnection) {
    while !client.outgoing().is_empty() {
        let mut said = client.outgoing();
        let count = server.read_tls(&mut said).expect("memory");
        client.sent(count).expect("as much as was there");
        server.process_new_packets().expect("an honest client");
        let mut answer = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut answer).expect("memory");
        }
        client.read_tls(&answer, |_| ()).expect("an honest server");
    }
    assert!(client.is_established());
}

/// Returns a session that the server resumes.
fn saved(suite: Suite, server: &Arc<ServerConfig>) -> SavedSession {
    let mut server = ServerConnection::new(Arc::clone(server)).expect("a server");
    let config = Config::new(settings(suite)).expect("settings of the suite");
    let mut client = Connection::new(&Arc::new(config)).expect("random bytes and key pairs");
    shake_hands(&mut client, &mut server);
    let mut saved = SavedSession::default();
    assert!(client.save(&mut saved), "{suite}: a session");
    saved
}

/// Converts the input to records, as content type and bytes. For each record the input has a kind,
/// a length of two bytes, and a body. A kind below 128 is that of a handshake message. Otherwise
/// the record has the content type kind - 128.
fn records(mut bytes: &[u8]) -> impl Iterator<Item = (u8, Vec<u8>)> {
    core::iter::from_fn(move || {
        let [kind, high, low, rest @ ..] = bytes else { return None };
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len()).min(16_000);
        let (body, tail) = rest.split_at(length);
        bytes = tail;
        Some(if *kind < 128 { (22, message(*kind, body)) } else { (kind - 128, body.to_vec()) })
    })
}

/// Returns a handshake message.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).expect("at most 16000");
    [&[kind, 0], &length.to_be_bytes()[..], body].concat()
}
