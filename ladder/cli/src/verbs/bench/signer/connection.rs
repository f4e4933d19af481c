//! A connection to a signer under load.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::rc::Rc;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use tollgate_keyless::{Message, PING, Reply, Split, split};
use tollgate_load::Requester;

use super::cases::Cases;
use super::stream::Stream;
use crate::error::CliError;

/// The longest body of an answer, in bytes: the size of the longest key, and the other items.
const BODY_MAX: usize = 2048;

pub(super) struct Connection {
    stream: Stream,
    cases: Rc<Cases>,
    /// The bytes that have come and are in no answer yet.
    incoming: Vec<u8>,
    /// Requests that were not sent yet.
    output: Vec<u8>,
    /// The cases of the requests without an answer.
    asked: HashMap<u32, usize>,
    /// The cases of answers that were not checked, and the signatures, or why there is none.
    answers: VecDeque<(usize, Result<Vec<u8>, String>)>,
    /// The case of the next request.
    next: usize,
}

impl Connection {
    /// Greets the signer: with TLS 1.3 a client does not learn from the handshake if its
    /// certificate was accepted. Then signs once, and checks the signature.
    pub(super) fn new(stream: Stream, cases: Rc<Cases>, next: usize) -> Result<Self, CliError> {
        let mut connection = Self {
            stream,
            cases,
            incoming: Vec::new(),
            output: Vec::new(),
            asked: HashMap::new(),
            answers: VecDeque::new(),
            next,
        };
        let closed = |error: io::Error| {
            error!(
                "the signer does not take this client ({error}): check [[client]] and [limits] of \
                 its settings"
            )
        };
        Message { id: 0, opcode: PING, ski: None, payload: &[] }.write(&mut connection.output);
        connection.send().map_err(closed)?;
        let greeting = loop {
            match split(&connection.incoming, BODY_MAX) {
                Split::Frame { len, .. } => break len,
                Split::Broken { .. } => bail!("this is no signer"),
                Split::Partial => connection.read().map_err(closed)?,
            }
        };
        connection.incoming.drain(..greeting);
        connection.ask(0).map_err(closed)?;
        while connection.answers.is_empty() {
            connection.read().map_err(closed)?;
            connection.parse(&mut |_| {}).map_err(closed)?;
        }
        connection.check().map_err(|why| error!("the signer: {why}"))?;
        connection.stream.never_block()?;
        Ok(connection)
    }

    /// Returns the process that made the Unix socket.
    pub(super) fn process(&self) -> Option<u32> {
        self.stream.process()
    }

    fn send(&mut self) -> io::Result<()> {
        let mut sent = 0;
        let ended = loop {
            match self.stream.write(&self.output[sent..]) {
                _ if sent == self.output.len() => break Ok(()),
                Ok(0) => break Err(ErrorKind::WriteZero.into()),
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.output.drain(..sent);
        ended
    }

    /// Reads once; an end of the stream is an error.
    fn read(&mut self) -> io::Result<()> {
        let mut bytes = [0; 8 * BODY_MAX];
        match self.stream.read(&mut bytes)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            count => {
                self.incoming.extend_from_slice(&bytes[..count]);
                Ok(())
            }
        }
    }

    /// Parses the answers that are whole.
    fn parse(&mut self, answered: &mut dyn FnMut(u32)) -> io::Result<()> {
        let no_answer = |why: &str| io::Error::new(ErrorKind::InvalidData, why.to_owned());
        let mut parsed = 0;
        loop {
            let (frame, len) = match split(&self.incoming[parsed..], BODY_MAX) {
                Split::Frame { frame, len } => (frame, len),
                Split::Broken { .. } => return Err(no_answer("a frame that cannot be read")),
                Split::Partial => break,
            };
            parsed += len;
            let id = frame.id;
            let reply = Message::read(frame).and_then(Message::reply);
            let signed = match reply.map_err(|_| no_answer("an answer that cannot be read"))? {
                Reply::Pong(_) => return Err(no_answer("an answer to a ping that was not sent")),
                Reply::Refused(why) => Err(format!("it refused: {why}")),
                Reply::Result(signature) => Ok(signature.to_vec()),
            };
            let case = self.asked.remove(&id);
            let case = case.ok_or_else(|| no_answer("an answer to nothing that was asked"))?;
            self.answers.push_back((case, signed));
            answered(id);
        }
        self.incoming.drain(..parsed);
        Ok(())
    }
}

impl Requester for Connection {
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut SourceFd(&self.stream.descriptor()), token, Interest::READABLE)
    }

    fn ask(&mut self, number: u32) -> io::Result<()> {
        let case = self.next;
        self.next = case.wrapping_add(1);
        self.asked.insert(number, case);
        let payload = self.cases.digest(case);
        let (opcode, ski) = (self.cases.operation.code(), Some(self.cases.ski));
        Message { id: number, opcode, ski, payload }.write(&mut self.output);
        self.send()
    }

    fn receive(&mut self, answered: &mut dyn FnMut(u32)) -> io::Result<()> {
        if !self.output.is_empty() {
            self.send()?;
        }
        loop {
            self.parse(answered)?;
            match self.read() {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn check(&mut self) -> Result<(), String> {
        let (case, signed) = self.answers.pop_front().ok_or("there is no answer to check")?;
        self.cases.check(case, &signed?)
    }
}
