//! Feeds the client any records after a TLS 1.3 handshake, encrypted with the right keys. The
//! client returns the data of the records and resumable sessions, or a permanent error of one line.
//!
//! `peer` describes the conversion of input bytes to records.
#![no_main]

mod peer;

use core::time::Duration;
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::crypto::cipher::{MessageEncrypter, OutboundChunks, OutboundPlainMessage};
use rustls::{ConnectionTrafficSecrets, ContentType, ProtocolVersion, ServerConfig};
use rustls::{ServerConnection, SupportedCipherSuite};
use tollgate_tls_client::{Config, Connection, Event, Resume, SavedSession, Suite};

const SUITE: Suite = Suite::TLS_AES_128_GCM_SHA256;

fuzz_target!(|bytes: &[u8]| {
    let (mut client, mut server) = established();
    let (mut said, mut heard, mut closed) = (Vec::new(), Vec::new(), false);
    let result = peer::records(bytes).try_for_each(|(content, bytes)| {
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
});

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
    LazyLock::new(|| Arc::new(Config::new(peer::settings(SUITE)).expect("settings of the suite")));

static SERVER: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| {
    let mut server = peer::server(true);
    server.enable_secret_extraction = true;
    Arc::new(server)
});

/// The session that every input resumes, since resumption needs no signature.
static SAVED: LazyLock<SavedSession> = LazyLock::new(|| peer::saved(SUITE, &SERVER));

fn established() -> (Connection, Server) {
    let mut client = Connection::new(&CONFIG).expect("random bytes and key pairs");
    let resume = Resume { session: &SAVED, age: Duration::ZERO, early_data: &[] };
    client.resume(&resume).expect("it fits");
    let mut server = ServerConnection::new(Arc::clone(&SERVER)).expect("a server");
    peer::shake_hands(&mut client, &mut server);
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
