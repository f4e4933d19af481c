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
use crate::ffdhe::Field;
use crate::hash::{Hash, Transcript};
use crate::phase::SessionPhase;
use crate::prf::{Master, Side};
use crate::protect::{HEADER, RecordKey, header};
use crate::registry::Group;
use crate::resume::Resume;
use crate::saved::SavedSession;
use crate::schedule::{Early, Handshake};
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
        let verify_signature = VerifySignature::Never;
        Self::new(Settings { verify_signature, ..Settings::new(suite) })
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

/// Encodes a `ServerHello` with these extensions.
fn server_hello(random: &[u8], session_id: &[u8], suite: u16, extensions: &[u8]) -> Vec<u8> {
    let id = vector(1, session_id);
    let suite = suite.to_be_bytes();
    [&[3, 3], random, &id, &suite, &[0], &vector(2, extensions)].concat()
}
