//! A connection: frames in both directions, without blocking its owner.

use core::time::Duration;
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::frame::{self, Frame, FrameError};

/// Maximum number of frames that wait in each direction.
const WAITING_MAX: usize = 64;

/// A connection that sends `S` and receives `R`. One thread reads and one writes, so that a peer
/// that does not read blocks only the writer.
pub(crate) struct Link<S, R> {
    outbox: SyncSender<S>,
    inbox: Receiver<(Instant, Result<R, FrameError>)>,
    writer: JoinHandle<()>,
}

/// The result of a wait.
pub(crate) enum News<R> {
    /// A frame, and the time at which it came.
    Frame(R, Instant),
    None,
    /// The connection is over; with the reason if it did not end between two frames.
    Over(Option<FrameError>),
}

impl<R> News<R> {
    fn of((at, found): (Instant, Result<R, FrameError>)) -> Self {
        match found {
            Ok(frame) => Self::Frame(frame, at),
            Err(error) => Self::Over(Some(error)),
        }
    }
}

impl<S: Frame, R: Frame> Link<S, R> {
    pub(crate) fn new(
        mut from: impl Read + Send + 'static,
        mut to: impl Write + Send + 'static,
    ) -> Self {
        let (outbox, waiting) = sync_channel::<S>(WAITING_MAX);
        let writer = thread::spawn(move || {
            for frame in waiting {
                if frame::write(&mut to, &frame).is_err() {
                    return;
                }
            }
        });
        let (tell, inbox) = sync_channel(WAITING_MAX);
        thread::spawn(move || {
            loop {
                match frame::read(&mut from) {
                    Ok(None) => return,
                    Ok(Some(frame)) => {
                        if tell.send((Instant::now(), Ok(frame))).is_err() {
                            return;
                        }
                    }
                    Err(error) => {
                        let _ = tell.send((Instant::now(), Err(error))); // nobody may listen any more
                        return;
                    }
                }
            }
        });
        Self { outbox, inbox, writer }
    }

    /// Sends a frame. `false` if the connection is over, or too many frames wait.
    pub(crate) fn send(&self, frame: S) -> bool {
        self.outbox.try_send(frame).is_ok()
    }

    /// Sends a frame, and waits while too many others wait.
    pub(crate) fn send_last(&self, frame: S) {
        let _ = self.outbox.send(frame); // the end of the connection is found when reading
    }

    pub(crate) fn news(&self) -> News<R> {
        match self.inbox.try_recv() {
            Ok(found) => News::of(found),
            Err(TryRecvError::Empty) => News::None,
            Err(TryRecvError::Disconnected) => News::Over(None),
        }
    }

    pub(crate) fn wait(&self, timeout: Duration) -> News<R> {
        match self.inbox.recv_timeout(timeout) {
            Ok(found) => News::of(found),
            Err(RecvTimeoutError::Timeout) => News::None,
            Err(RecvTimeoutError::Disconnected) => News::Over(None),
        }
    }

    /// Ends the connection when all frames are written.
    pub(crate) fn close(self) {
        drop(self.outbox);
        let _ = self.writer.join(); // it does not panic
    }
}
