//! A handshake in memory, between a connection of the server and the minimal client, for the
//! messages that both send.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Instant;

use openssl::ssl::{ErrorCode, SslStream};
use tollgate_server::in_memory::{Worker, end_pauses, is_paused};
use tollgate_tls_client::{
    Config, Connection, Facts, Resume, SavedSession, Settings, VerifySignature,
};

use crate::error::Error;
use crate::handshake::Handshake;
use crate::plan::Session;

/// More than the number of times that the engine pauses a handshake.
const PAUSES_MAX: usize = 1024;

/// The flights of a handshake, and what the client knows about it.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    pub(crate) facts: Facts,
    /// The `ClientHello`.
    pub(crate) hello: Vec<u8>,
    /// The server's first flight.
    pub(crate) answer: Vec<u8>,
    /// The client's last flight.
    pub(crate) finish: Vec<u8>,
    /// The server's answer to it.
    pub(crate) finished: Vec<u8>,
}

impl Recording {
    /// Records a handshake. Before a resumed one, there is a full one.
    pub(crate) fn new(session: &Session, worker: &Worker) -> Result<Self, Error> {
        // This client skips checks that cost the server nothing, like the load generator's client.
        let is_resumed = session.handshake != Handshake::Full;
        let settings = Settings {
            verify_signature: VerifySignature::Never,
            // a server prefers tickets to session IDs
            tickets: session.handshake != Handshake::SessionId,
            save_sessions: is_resumed,
            ..session.settings()?
        };
        let mut client = Connection::new(&Arc::new(Config::new(settings)?))?;
        client.reset()?;
        let mut recording = Self::play(session, &mut client, worker)?;
        if is_resumed {
            let (mut saved, since) = (SavedSession::default(), Instant::now());
            while client.save(&mut saved) {}
            if saved.is_empty() {
                return Err(strange(session, "the server gave no session to resume"));
            }
            let resume = Resume { session: &saved, age: since.elapsed(), early_data: &[] };
            client.resume(&resume)?;
            recording = Self::play(session, &mut client, worker)?;
            if !recording.facts.resumed {
                return Err(strange(session, "the server did not resume the session"));
            }
        }
        Ok(recording)
    }

    fn play(session: &Session, client: &mut Connection, worker: &Worker) -> Result<Self, Error> {
        let connection = worker.connection().and_then(|ssl| SslStream::new(ssl, Pipe::default()));
        let mut server = connection.map_err(Error::openssl("a connection"))?;
        let mut flight = |bytes: &[u8]| {
            server.get_mut().to_server.extend_from_slice(bytes);
            let done = accept(&mut server).map_err(|error| strange(session, &error.to_string()))?;
            Ok::<_, Error>((core::mem::take(&mut server.get_mut().from_server), done))
        };
        let hello = sent(client)?;
        let (answer, _) = flight(&hello)?;
        client.read_tls(&answer, |_| {})?;
        let finish = sent(client)?;
        let (finished, is_done) = flight(&finish)?;
        client.read_tls(&finished, |_| {})?;
        if !is_done || !client.is_established() {
            return Err(strange(session, "the handshake did not end"));
        }
        // Without it, the session could not be resumed.
        let _ = server.shutdown();
        Ok(Self { facts: *client.facts(), hello, answer, finish, finished })
    }
}

/// Takes the bytes that the client wants to send.
fn sent(client: &mut Connection) -> Result<Vec<u8>, Error> {
    let bytes = client.outgoing().to_vec();
    client.sent(bytes.len())?;
    Ok(bytes)
}

/// Continues the handshake until the server waits for the client; returns whether it is complete.
fn accept(server: &mut SslStream<Pipe>) -> Result<bool, openssl::ssl::Error> {
    let mut pauses = 0;
    loop {
        match server.accept() {
            Ok(()) => {
                end_pauses(server.ssl());
                return Ok(true);
            }
            Err(error) if is_paused(&error) && pauses < PAUSES_MAX => pauses += 1,
            Err(error) if error.code() == ErrorCode::WANT_READ => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

fn strange(session: &Session, why: &str) -> Error {
    Error::Session { session: session.to_string(), why: why.to_owned() }
}

/// The server's transport.
#[derive(Debug, Default)]
struct Pipe {
    to_server: Vec<u8>,
    from_server: Vec<u8>,
}

impl Read for Pipe {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.to_server.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let count = self.to_server.len().min(out.len());
        out[..count].copy_from_slice(&self.to_server[..count]);
        self.to_server.drain(..count);
        Ok(count)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.from_server.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
