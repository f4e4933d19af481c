//! A server that has the right keys and violates the protocol. A correct server cannot produce
//! these messages; an attacker without the keys cannot either.

use core::time::Duration;
use std::sync::Arc;

use aws_lc_rs::rsa::{Pkcs1PrivateDecryptingKey, PrivateDecryptingKey};

use crate::config::Config;
use crate::connection::{Connection, Event};
use crate::decode::put_vector;
use crate::error::{Error, Violation};
use crate::exchange::KeyPair;
use crate::hash::{Hash, Transcript};
use crate::phase::SessionPhase;
use crate::prf::{Master, Side};
use crate::protect::{HEADER, RecordKey, header};
use crate::registry::Group;
use crate::resume::Resume;
use crate::saved::SavedSession;
use crate::schedule::{Early, Handshake, Traffic};
use crate::server_hello::illegal;
use crate::settings::{Settings, VerifySignature};
use crate::suite::{KeyExchange, Suite};
use crate::wire::{Content, Message};

mod anything;
#[path = "../tests/client/peer/certificate.rs"]
#[allow(dead_code, reason = "shared with the tests of the whole")]
pub(crate) mod certificate;
mod resumed;
mod tls12;
mod tls13;

use certificate::{RSA_2048, certificate};

const RSA: Suite = Suite::TLS_RSA_WITH_AES_128_GCM_SHA256;
const ECDHE: Suite = Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
const TLS13: Suite = Suite::TLS_AES_128_GCM_SHA256;

/// The random bytes of a TLS 1.2 server.
const SERVER_RANDOM: [u8; 32] = [0x55; 32];

/// Returns the settings of a client that does not verify signatures.
fn quiet(suite: Suite) -> Settings {
    Settings { verify_signature: VerifySignature::Never, ..Settings::new(suite) }
}

/// A client, and the state of the server that it talks to.
struct Rogue {
    client: Connection,
    /// The client's `ClientHello`, without its record header.
    hello: Vec<u8>,
    /// The bytes that the client sent after its `ClientHello`.
    early: Vec<u8>,
    transcript: Transcript,
    sealing: Option<RecordKey>,
    /// Records to be delivered by [`Self::deliver`].
    out: Vec<u8>,
}

impl Rogue {
    fn new(settings: Settings) -> Self {
        let hash = settings.suite.hash();
        let client = Connection::new(&Arc::new(Config::new(settings).unwrap())).unwrap();
        let mut rogue = Self {
            client,
            hello: vec![],
            early: vec![],
            transcript: Transcript::new(hash),
            sealing: None,
            out: vec![],
        };
        rogue.hello = rogue.take()[HEADER..].to_vec();
        rogue.transcript.add(&rogue.hello.clone());
        rogue
    }

    fn quiet(suite: Suite) -> Self {
        Self::new(quiet(suite))
    }

    /// Creates a client that offers to resume a session.
    fn offered(settings: Settings, session: &SavedSession, early_data: &[u8]) -> Self {
        let mut rogue = Self::new(settings);
        let age = Duration::from_millis(1234);
        rogue.client.resume(&Resume { session, age, early_data }).unwrap();
        let said = rogue.take();
        let length = usize::from(u16::from_be_bytes([said[3], said[4]]));
        rogue.hello = said[HEADER..HEADER + length].to_vec();
        rogue.early = said[HEADER + length..].to_vec();
        rogue.transcript = Transcript::new(rogue.client.config().settings().suite.hash());
        rogue.transcript.add(&rogue.hello.clone());
        rogue
    }

    /// Reads the bytes that the client sends.
    fn take(&mut self) -> Vec<u8> {
        let bytes = self.client.outgoing().to_vec();
        self.client.sent(bytes.len()).unwrap();
        bytes
    }

    fn random(&self) -> &[u8; 32] {
        self.hello[6..].first_chunk().unwrap()
    }

    /// Returns the session ID that the client has sent.
    fn session_id(&self) -> &[u8] {
        let id = &self.hello[38..];
        &id[1..1 + usize::from(id[0])]
    }

    /// Sends bytes in a record, sealed if there is a key.
    fn record(&mut self, content: Content, bytes: &[u8]) {
        match &mut self.sealing {
            Some(key) => key.seal(&mut self.out, content, bytes),
            None => {
                for fragment in bytes.chunks(1 << 14) {
                    self.out.extend(header(content, fragment.len()));
                    self.out.extend(fragment);
                }
            }
        }
    }

    /// Sends a handshake message.
    fn say(&mut self, message: Message, body: &[u8]) {
        let bytes = whole(message, body);
        self.transcript.add(&bytes);
        self.record(Content::HANDSHAKE, &bytes);
    }

    /// Changes keys and sends the Finished of TLS 1.2.
    fn finish_tls12(&mut self, master: &Master, key: RecordKey) {
        self.record(Content::CHANGE_CIPHER_SPEC, &[1]);
        self.sealing = Some(key);
        let data = master.verify_data(Side::Server, self.transcript.hash().as_ref());
        self.say(Message::FINISHED, &data);
    }

    /// Sends the `ServerHello` of TLS 1.3, with this key pair, and changes keys.
    fn hello_tls13(&mut self, early: &Early, pair: &KeyPair, extensions: &[u8]) -> Handshake {
        let body = server_hello(&[7; 32], self.session_id(), TLS13.number(), extensions);
        self.say(Message::SERVER_HELLO, &body);
        // type, two lengths, group and length: together too long to match by chance
        let before = [0, 51, 0, 38, 0, 36, 0, 29, 0, 32];
        let at = self.hello.windows(before.len()).position(|bytes| bytes == before).unwrap();
        let public = &self.hello[at + before.len()..][..32];
        let transcript = self.transcript.hash();
        let make = |shared: &[u8]| early.handshake(shared, transcript.as_ref());
        let secrets = pair.agree(public, make).unwrap();
        self.sealing = Some(secrets.server.record_key(TLS13));
        secrets
    }

    /// Sends the Finished of TLS 1.3 and changes keys. Returns the secrets of client and server.
    fn finish_tls13(&mut self, secrets: &Handshake) -> (Traffic, Traffic) {
        let data = secrets.server.verify_data(self.transcript.hash().as_ref());
        self.say(Message::FINISHED, data.as_ref());
        let application = secrets.master().application(self.transcript.hash().as_ref());
        self.sealing = Some(application.1.record_key(TLS13));
        application
    }

    fn deliver(&mut self) -> Result<Vec<String>, Error> {
        let mut events = vec![];
        let out = core::mem::take(&mut self.out);
        self.client.read_tls(&out, |event: Event<'_>| events.push(format!("{event:?}")))?;
        Ok(events)
    }

    /// Delivers the queued records, and returns the violation that the client reports, with its
    /// phase.
    #[track_caller]
    fn refused(&mut self) -> (SessionPhase, Violation) {
        match self.deliver() {
            Err(Error::Violation { phase, violation }) => (phase, violation),
            other => panic!("{other:?}"),
        }
    }
}

fn whole(message: Message, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![message.0];
    put_vector(&mut bytes, 3, |out| out.extend(body));
    bytes
}

/// Encodes a vector with a length of `width` bytes.
fn vector(width: usize, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![];
    put_vector(&mut bytes, width, |out| out.extend(content));
    bytes
}

/// Encodes an extension with its number and content.
fn extension(number: u16, content: &[u8]) -> Vec<u8> {
    [&number.to_be_bytes()[..], &vector(2, content)].concat()
}

/// Encodes the extension for the version of TLS 1.3.
fn version() -> Vec<u8> {
    extension(43, &[3, 4])
}

/// Encodes a key share.
fn share(pair: &KeyPair) -> Vec<u8> {
    extension(51, &[&pair.group.number().to_be_bytes()[..], &vector(2, &pair.public)].concat())
}

/// Encodes a `ServerHello` with these extensions.
fn server_hello(random: &[u8], session_id: &[u8], suite: u16, extensions: &[u8]) -> Vec<u8> {
    let id = vector(1, session_id);
    let suite = suite.to_be_bytes();
    [&[3, 3], random, &id, &suite, &[0], &vector(2, extensions)].concat()
}
