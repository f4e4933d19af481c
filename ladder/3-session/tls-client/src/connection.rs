//! A connection: bytes in, bytes out. No socket, no thread, no clock.

use core::fmt;
use std::sync::Arc;

use crate::certificate::Leaf;
use crate::config::Config;
use crate::error::{Error, Misuse};
use crate::input::{Input, Joined};
use crate::output::Output;
use crate::phase::{Await, Phase};
use crate::protect::{HEADER, RecordKey};
use crate::receive::News;
use crate::saved::{Kept, SavedSession};
use crate::session::{Facts, Session};
use crate::wire::{AlertDescription, AlertLevel, Content};

/// News from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The server's `close_notify`: no more data will come.
    Closed,
    /// Application data, as much as a record held; never empty. It lies in the connection's buffer.
    Data(&'a [u8]),
    /// The server's Finished is verified: application data may be sent.
    Established,
}

/// What shows that the server has taken the client's Finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Confirmation {
    /// TLS 1.3, or a session of TLS 1.2 that was resumed: a `close_notify` that came after ours was
    /// sent. One that crossed ours on the way looks the same: whether it answers, only the server's
    /// log can say.
    CloseNotify,
    /// TLS 1.3: application data where early data was taken. It shows that the server has resumed
    /// the session, for it has read that data; it may answer before it reads our Finished.
    EarlyResponse,
    /// TLS 1.2: its own Finished, which in a full handshake comes after the client's.
    Finished,
    /// TLS 1.3, or a session of TLS 1.2 that was resumed: application data that came after ours was
    /// sent. A ticket proves nothing, since a
    /// server may send it before it reads our Finished (RFC 8446 §4.6.1); and so may it send data
    /// that answers nothing.
    Response,
}

/// One TLS session after another, on the client's side.
///
/// The owner moves bytes: what stands in [`outgoing`](Self::outgoing) to the server, and the
/// server's into [`space`](Self::space); then it asks [`poll`](Self::poll) for news until there is
/// none.
///
/// A connection owns 18 KiB for one record, which [`reset`](Self::reset) keeps for the next
/// session.
pub struct Connection {
    pub(crate) config: Arc<Config>,
    pub(crate) input: Input,
    pub(crate) joined: Joined,
    pub(crate) output: Output,
    pub(crate) opening: Option<RecordKey>,
    pub(crate) awaiting: Await,
    pub(crate) session: Session,
    pub(crate) facts: Facts,
    /// The index in the settings of the application protocol.
    pub(crate) alpn: Option<usize>,
    pub(crate) confirmation: Option<Confirmation>,
    /// The session that is offered to be resumed; empty for none.
    pub(crate) offered: SavedSession,
    pub(crate) kept: Kept,
    /// The server's leaf certificate, of this session or the one before.
    pub(crate) leaf: Option<Arc<Leaf>>,
    /// Memory for a message, or for what is signed.
    pub(crate) draft: Vec<u8>,
    pub(crate) error: Option<Error>,
    /// Where in the stream the first application data ends.
    pub(crate) data_mark: Option<u64>,
    /// Where in the stream our `close_notify` ends.
    pub(crate) close_mark: Option<u64>,
    /// Where in the stream the last answer to a request of the server ends.
    pub(crate) answer_mark: u64,
}

/// Where it stands: neither keys nor data.
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
    /// A connection whose `ClientHello` is waiting to be sent.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](crate::Unavailable) without random bytes or a key pair.
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
            alpn: None,
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
        connection.say_hello();
        Ok(connection)
    }

    /// Forgets the session and begins another, in the same memory.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); the connection is then as it was.
    pub fn reset(&mut self) -> Result<(), Error> {
        self.forget()?;
        self.say_hello();
        Ok(())
    }

    /// Forgets the session; what is to be said next is not said yet.
    pub(crate) fn forget(&mut self) -> Result<(), Error> {
        self.session = Session::new(&self.config)?;
        self.input.clear();
        self.joined.clear();
        self.output.clear();
        self.opening = None;
        self.awaiting = Await::ServerHello;
        self.facts = Facts::default();
        self.alpn = None;
        self.confirmation = None;
        self.error = None;
        self.data_mark = None;
        self.close_mark = None;
        self.answer_mark = 0;
        self.offered.clear();
        self.kept.clear();
        Ok(())
    }

    fn say_hello(&mut self) {
        let session = &mut self.session;
        let share = session.share.map(|group| session.pair(&self.config, group).public());
        let (random, template) = (&session.random, &self.config.template);
        let record = self.output.raw(|out| {
            template.write(out, &random.client, &random.session_id, share.unwrap_or_default());
        });
        session.transcript.add(&record[HEADER..]);
    }

    /// What waits to be sent to the server.
    pub fn outgoing(&self) -> &[u8] {
        self.output.waiting()
    }

    /// Says that the first `count` bytes of [`outgoing`](Self::outgoing) were sent.
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

    /// Where to put bytes from the server. Empty only while a whole record waits for
    /// [`poll`](Self::poll).
    pub fn space(&mut self) -> &mut [u8] {
        self.input.space()
    }

    /// Says that the first `count` bytes of [`space`](Self::space) were received.
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

    /// The next news in what was received; `None`: more bytes are needed. What is to be answered is
    /// then in [`outgoing`](Self::outgoing).
    ///
    /// # Errors
    ///
    /// [`Error::Alert`] and [`Error::Violation`], once and at every call after it; an alert that
    /// tells the server of its violation is then in `outgoing`. [`Error::Unavailable`] without a
    /// key pair.
    pub fn poll(&mut self) -> Result<Option<Event<'_>>, Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        match self.news() {
            Ok(None) => Ok(None),
            Ok(Some(News::Closed)) => Ok(Some(Event::Closed)),
            Ok(Some(News::Data(range))) => Ok(Some(Event::Data(self.input.at(range)))),
            Ok(Some(News::Established)) => Ok(Some(Event::Established)),
            Err(stop) => Err(self.stop(stop)),
        }
    }

    /// Takes any number of bytes from the server and hands all news to `on_event`: for who has the
    /// bytes elsewhere already. It copies them once more than [`space`](Self::space) does.
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

    /// Says that the server closed the stream. [`poll`](Self::poll) what came before.
    ///
    /// # Errors
    ///
    /// [`Error::EndOfStream`] if it did so without `close_notify`, or the error that came before.
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
        self.may_send()?;
        self.output.record(Content::APPLICATION_DATA, data);
        if !data.is_empty() && self.data_mark.is_none() {
            self.data_mark = Some(self.output.mark());
        }
        Ok(())
    }

    /// Changes to the next key of TLS 1.3, and asks the server to do the same with its own:
    /// [`Facts::key_updates`] counts what it does.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send), and [`Misuse::UpdateUnknown`] in TLS 1.2.
    pub fn update_keys(&mut self) -> Result<(), Error> {
        if !self.config.settings.suite.is_tls13() {
            return Err(Misuse::UpdateUnknown.into());
        }
        self.may_send()?;
        self.renew_key(true);
        Ok(())
    }

    fn may_send(&self) -> Result<(), Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if !self.is_established() {
            return Err(Misuse::NotEstablished.into());
        }
        if self.close_mark.is_some() {
            return Err(Misuse::SendAfterClose.into());
        }
        Ok(())
    }

    /// Queues a `close_notify`, once. What the server sends after it is still received.
    pub fn close(&mut self) {
        if self.error.is_none() && self.close_mark.is_none() {
            let alert = [AlertLevel::WARNING.0, AlertDescription::CLOSE_NOTIFY.0];
            self.output.record(Content::ALERT, &alert);
            self.close_mark = Some(self.output.mark());
        }
    }

    /// Whether the client is done: the server's Finished is verified and ours is queued. It stays
    /// so after a close.
    pub const fn is_established(&self) -> bool {
        matches!(self.awaiting, Await::Established | Await::Closed)
    }

    /// What shows that the server is done, too; only then does a handshake count. In TLS 1.3 it
    /// comes later than [`is_established`](Self::is_established).
    pub const fn confirmation(&self) -> Option<Confirmation> {
        self.confirmation
    }

    /// Where the session stands.
    pub const fn phase(&self) -> Phase {
        match self.awaiting {
            Await::ServerHello => Phase::Hello,
            Await::Certificate12
            | Await::ServerKeyExchange
            | Await::ServerHelloDone
            | Await::EncryptedExtensions
            | Await::CertificateOrRequest
            | Await::Certificate13
            | Await::CertificateVerify => Phase::KeyExchange,
            Await::ChangeCipherSpec | Await::Finished12 | Await::Finished13 => Phase::Finished,
            Await::Established if self.close_mark.is_some() => Phase::Close,
            Await::Established if self.confirmation.is_some() => Phase::Data,
            Await::Established => Phase::Confirm,
            Await::Closed => Phase::Close,
        }
    }

    /// What the handshake turned out to be.
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The application protocol that the server chose.
    pub fn alpn(&self) -> Option<&[u8]> {
        self.alpn.map(|i| &self.config.settings.alpn[i][..])
    }

    /// The server's leaf certificate, in DER, once it has come.
    pub fn leaf(&self) -> Option<&[u8]> {
        let leaf = self.leaf.as_ref().filter(|_| self.facts.leaf_bytes > 0);
        leaf.map(|leaf| leaf.der())
    }

    /// The configuration.
    pub const fn config(&self) -> &Arc<Config> {
        &self.config
    }
}
