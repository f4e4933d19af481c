//! A stream of bytes in each direction between two peers on NATS.

use core::time::Duration;
use std::io::{self, Read, Write};
use std::time::Instant;

use async_nats::{Client, Subject};
use bytes::Bytes;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{MissedTickBehavior, interval};

use super::line::{HEAD, Kind, Line, Message, TICK};

/// Maximum length of the data of a message. NATS servers accept messages of 1 MiB by default.
const DATA_BYTES_MAX: usize = 256 << 10;

/// Length of the messages that wait for an acknowledgement above which no data is taken.
const KEPT_BYTES_MAX: usize = 8 << 20;

/// Maximum number of messages that wait in each direction, between threads.
const WAITING_MAX: usize = 64;

/// Longest wait for the acknowledgement of the end.
pub(super) const LINGER: Duration = Duration::from_secs(2);

/// The end of a stream that reads.
pub(crate) struct Reader {
    from: Receiver<io::Result<Bytes>>,
    rest: Bytes,
}

impl Read for Reader {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.from.blocking_recv() {
                None => return Ok(0),
                Some(data) => self.rest = data?,
            }
        }
        let count = to.len().min(self.rest.len());
        to[..count].copy_from_slice(&self.rest.split_to(count));
        Ok(count)
    }
}

/// The end of a stream that writes; the stream ends when it is dropped.
pub(crate) struct Writer(Sender<Bytes>);

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Bytes::copy_from_slice(bytes));
        sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The stream with one peer.
pub(super) struct Stream {
    client: Client,
    to: Subject,
    line: Line,
    inbox: Receiver<Message>,
    /// The data to send.
    out: Receiver<Bytes>,
    /// The data that came; `None` after its end.
    into: Option<Sender<io::Result<Bytes>>>,
}

impl Stream {
    /// Returns a stream whose messages go to this subject, its ends, and the inbox for the messages
    /// of the peer. Messages that find it full are asked for again.
    pub(super) fn new(client: Client, to: Subject) -> (Self, Reader, Writer, Sender<Message>) {
        let (mail, inbox) = channel(WAITING_MAX);
        let (writer, out) = channel(WAITING_MAX);
        let (into, from) = channel(WAITING_MAX);
        let line = Line::new(Instant::now());
        let stream = Self { client, to, line, inbox, out, into: Some(into) };
        (stream, Reader { from, rest: Bytes::new() }, Writer(writer), mail)
    }

    /// Carries data until this side has ended and the peer knows it, or the peer is gone.
    pub(super) async fn run(mut self) {
        if let Err(error) = self.carry().await
            && let Some(into) = &self.into
        {
            let _ = into.try_send(Err(error)); // nobody may read any more
        }
    }

    async fn carry(&mut self) -> io::Result<()> {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut ended_at: Option<Instant> = None;
        loop {
            for message in self.line.outbox.drain(..) {
                let sent = self.client.publish(self.to.clone(), message).await;
                sent.map_err(io::Error::other)?;
            }
            // a peer that has ended may not be there any more
            let is_known = self.line.is_acknowledged() || self.line.has_all;
            if ended_at.is_some_and(|at| is_known || at.elapsed() > LINGER) {
                return Ok(());
            }
            let takes_data = ended_at.is_none() && self.line.kept_bytes < KEPT_BYTES_MAX;
            tokio::select! {
                data = self.out.recv(), if takes_data => match data {
                    Some(data) => self.send(data),
                    None => {
                        let now = Instant::now();
                        ended_at = Some(now);
                        self.line.send(Kind::End, Bytes::new(), now);
                    }
                },
                message = self.inbox.recv() => {
                    let into = self.into.as_ref();
                    self.line.take(message.ok_or(io::ErrorKind::NotConnected)?, Instant::now(), |data| {
                        // without a reader it is as good as read
                        let sent = into.map(|into| into.try_send(Ok(data)));
                        !matches!(sent, Some(Err(TrySendError::Full(_))))
                    })?;
                    if self.line.has_all {
                        self.into = None;
                    }
                },
                _ = tick.tick() => self.line.look(Instant::now())?,
            }
        }
    }

    fn send(&mut self, mut data: Bytes) {
        let most = self.client.max_payload().saturating_sub(HEAD).clamp(1, DATA_BYTES_MAX);
        while !data.is_empty() {
            let part = data.split_to(most.min(data.len()));
            self.line.send(Kind::Data, part, Instant::now());
        }
    }
}
