//! A connection: bytes in, bytes out. No socket, no thread, no clock.

use core::fmt;
use std::sync::Arc;

use crate::certificate::Leaf;
use crate::config::Config;
use crate::error::{Error, Misuse};
use crate::input::{Input, Joined, Received};
use crate::output::Output;
use crate::phase::{Await, SessionPhase};
use crate::protect::RecordKey;
use crate::public_key::PublicKey;
use crate::saved::{Kept, SavedSession};
use crate::session::{Facts, Session};
use crate::wire::{AlertDescription, AlertLevel, Content};

/// An event from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The server's `close_notify`: no more data follows.
    Closed,
    /// The application data of a record, never empty, in the connection's buffer.
    Data(&'a [u8]),
    /// The server's Finished is verified: application data may be sent.
    Established,
}

/// The confirmation of the handshake by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Confirmation {
    /// TLS 1.3, or a resumed TLS 1.2 session: a `close_notify` of the server that arrived after the
    /// client's `close_notify` was sent. A `close_notify` that the server sent earlier looks the
    /// same; only the server's log shows the difference.
    CloseNotify,
    /// TLS 1.3: application data after accepted early data. The server has resumed the session,
    /// because it has read the early data. It may answer before it reads the client's Finished.
    EarlyResponse,
    /// TLS 1.2: the server's Finished. In a full handshake it follows the client's Finished.
    Finished,
    /// TLS 1.3, or a resumed TLS 1.2 session: application data that arrived after the client had
    /// sent application data. A ticket is no confirmation, because a server may send it before it
    /// reads the client's Finished (RFC 8446 §4.6.1).
    Response,
}

/// A TLS client connection, reusable for one session after another.
///
/// The owner moves bytes from [`outgoing`](Self::outgoing) to the server, and from the server into
/// [`space`](Self::space). Then the owner calls [`poll`](Self::poll) until it returns no event.
///
/// A connection owns a buffer of 18 KiB, which [`reset`](Self::reset) keeps.
pub struct Connection {
    pub(crate) config: Arc<Config>,
    pub(crate) input: Input,
    pub(crate) joined: Joined,
    pub(crate) output: Output,
    pub(crate) opening: Option<RecordKey>,
    pub(crate) awaiting: Await,
    pub(crate) session: Session,
    pub(crate) facts: Facts,
    pub(crate) confirmation: Option<Confirmation>,
    /// The offered session; empty if there is none.
    pub(crate) offered: SavedSession,
    pub(crate) kept: Kept,
    /// The server's leaf certificate, of this session or of an earlier one.
    pub(crate) leaf: Option<Arc<Leaf>>,
    /// Memory for a message, or for signed bytes.
    pub(crate) draft: Vec<u8>,
    pub(crate) error: Option<Error>,
    /// Position in the stream after the first application data.
    pub(crate) data_mark: Option<u64>,
    /// Position in the stream after the client's `close_notify`.
    pub(crate) close_mark: Option<u64>,
    /// Position in the stream after the last response to a request of the server.
    pub(crate) answer_mark: u64,
}

/// Prints the state without keys and data.
impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("suite", &self.config.settings.suite)
            .field("awaiting", &self.awaiting)
            .field("facts", &self.facts)
            .field("confirmation", &self.confirmation)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Creates a connection with a queued `ClientHello`.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](crate::Unavailable) if no random bytes or no key pair can be generated.
    pub fn new(config: &Arc<Config>) -> Result<Self, Error> {
        let mut connection = Self {
            config: Arc::clone(config),
            input: Input::new(),
            joined: Joined::default(),
            output: Output::default(),
            opening: None,
            awaiting: Await::ServerHello,
            session: Session::new(config)?,
            facts: Facts::default(),
            confirmation: None,
            offered: SavedSession::default(),
            kept: Kept::default(),
            leaf: None,
            draft: Vec::new(),
            error: None,
            data_mark: None,
            close_mark: None,
            answer_mark: 0,
        };
        connection.say_hello(&[], false);
        Ok(connection)
    }

    /// Starts a new session in the same memory.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); the connection is then unchanged.
    pub fn reset(&mut self) -> Result<(), Error> {
        self.forget()?;
        self.say_hello(&[], false);
        Ok(())
    }

    /// Clears the session, without queuing a `ClientHello`.
    pub(crate) fn forget(&mut self) -> Result<(), Error> {
        self.session = Session::new(&self.config)?;
        self.input.clear();
        self.joined.clear();
        self.output.clear();
        self.opening = None;
        self.awaiting = Await::ServerHello;
        self.facts = Facts::default();
        self.confirmation = None;
        self.error = None;
        self.data_mark = None;
        self.close_mark = None;
        self.answer_mark = 0;
        self.offered.clear();
        self.kept.clear();
        Ok(())
    }

    /// Returns the queued bytes for the server.
    pub fn outgoing(&self) -> &[u8] {
        self.output.waiting()
    }

    /// Marks the first `count` bytes of [`outgoing`](Self::outgoing) as sent.
    ///
    /// # Errors
    ///
    /// [`Misuse::SentTooMuch`].
    pub fn sent(&mut self, count: usize) -> Result<(), Error> {
        if count > self.outgoing().len() {
            return Err(Misuse::SentTooMuch.into());
        }
        self.output.advance(count);
        Ok(())
    }

    /// Returns space for bytes from the server. The space is empty only while a complete record
    /// waits for [`poll`](Self::poll).
    pub fn space(&mut self) -> &mut [u8] {
        self.input.space()
    }

    /// Marks the first `count` bytes of [`space`](Self::space) as received.
    ///
    /// # Errors
    ///
    /// [`Misuse::FilledTooMuch`].
    pub fn filled(&mut self, count: usize) -> Result<(), Error> {
        if count > self.input.room() {
            return Err(Misuse::FilledTooMuch.into());
        }
        self.input.filled(count);
        Ok(())
    }

    /// Returns the next event; `None` if more bytes are needed. Responses are then in
    /// [`outgoing`](Self::outgoing).
    ///
    /// # Errors
    /// [`Error::Alert`] and [`Error::Violation`], also at every later call. After a violation,
    /// `outgoing` has an alert for the server. [`Error::Unavailable`] if no key pair can be
    /// generated.
    pub fn poll(&mut self) -> Result<Option<Event<'_>>, Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        match self.next_event() {
            Ok(None) => Ok(None),
            Ok(Some(Received::Closed)) => Ok(Some(Event::Closed)),
            Ok(Some(Received::Data(range))) => Ok(Some(Event::Data(self.input.at(range)))),
            Ok(Some(Received::Established)) => Ok(Some(Event::Established)),
            Err(stop) => Err(self.stop(stop)),
        }
    }

    /// Processes any number of bytes from the server, and passes all events to `on_event`. This
    /// function copies the bytes once more than [`space`](Self::space) does.
    ///
    /// # Errors
    ///
    /// As [`poll`](Self::poll).
    pub fn read_tls(
        &mut self,
        mut bytes: &[u8],
        mut on_event: impl FnMut(Event<'_>),
    ) -> Result<(), Error> {
        while !bytes.is_empty() {
            let space = self.space();
            let (head, tail) = bytes.split_at(bytes.len().min(space.len()));
            space[..head.len()].copy_from_slice(head);
            self.filled(head.len())?;
            bytes = tail;
            while let Some(event) = self.poll()? {
                on_event(event);
            }
        }
        Ok(())
    }

    /// Handles the end of the stream. Call [`poll`](Self::poll) for earlier bytes first.
    ///
    /// # Errors
    ///
    /// [`Error::EndOfStream`] if the stream ended without `close_notify`, or an earlier error.
    pub fn end_of_stream(&mut self) -> Result<(), Error> {
        if self.error.is_none() && self.awaiting != Await::Closed {
            self.error = Some(Error::EndOfStream { phase: self.phase() });
        }
        self.error.map_or(Ok(()), Err)
    }

    /// Queues application data, in records of at most 2^14 bytes.
    ///
    /// # Errors
    ///
    /// [`Misuse::NotEstablished`], [`Misuse::SendAfterClose`], or the error that ended the session.
    pub fn send(&mut self, data: &[u8]) -> Result<(), Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if !self.is_established() {
            return Err(Misuse::NotEstablished.into());
        }
        if self.close_mark.is_some() {
            return Err(Misuse::SendAfterClose.into());
        }
        self.output.record(Content::APPLICATION_DATA, data);
        if !data.is_empty() && self.data_mark.is_none() {
            self.data_mark = Some(self.output.mark());
        }
        Ok(())
    }

    /// Queues a `close_notify`, once. The connection still receives later data of the server.
    pub fn close(&mut self) {
        if self.error.is_none() && self.close_mark.is_none() {
            let alert = [AlertLevel::WARNING.0, AlertDescription::CLOSE_NOTIFY.0];
            self.output.record(Content::ALERT, &alert);
            self.close_mark = Some(self.output.mark());
        }
    }

    /// Returns whether the client has finished the handshake: it has verified the server's
    /// Finished, and has queued its own. Remains true after a close.
    pub const fn is_established(&self) -> bool {
        matches!(self.awaiting, Await::Established | Await::Closed)
    }

    /// Returns the confirmation of the handshake by the server. Count a handshake only when it is
    /// confirmed. In TLS 1.3, the confirmation is later than
    /// [`is_established`](Self::is_established).
    pub const fn confirmation(&self) -> Option<Confirmation> {
        self.confirmation
    }

    /// Returns the current phase.
    pub const fn phase(&self) -> SessionPhase {
        match self.awaiting {
            Await::ServerHello => SessionPhase::Hello,
            Await::Certificate12
            | Await::ServerKeyExchange
            | Await::ServerHelloDone
            | Await::EncryptedExtensions
            | Await::CertificateOrRequest
            | Await::Certificate13
            | Await::CertificateVerify => SessionPhase::KeyExchange,
            Await::ChangeCipherSpec | Await::Finished12 | Await::Finished13 => {
                SessionPhase::Finished
            }
            Await::Established if self.close_mark.is_some() => SessionPhase::Close,
            Await::Established if self.confirmation.is_some() => SessionPhase::Data,
            Await::Established => SessionPhase::Confirm,
            Await::Closed => SessionPhase::Close,
        }
    }

    /// Returns the results of the handshake.
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns the kind of the key in the server's certificate, if the server has sent one.
    pub fn key(&self) -> Option<PublicKey> {
        self.leaf.as_ref().filter(|_| self.facts.leaf_bytes > 0).map(|leaf| leaf.key)
    }

    /// Returns the configuration.
    pub const fn config(&self) -> &Arc<Config> {
        &self.config
    }
}
