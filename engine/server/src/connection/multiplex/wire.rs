//! The bytes between a TLS connection and the library that speaks HTTP/2.
//!
//! The library reads and writes here; the connection moves the bytes from and to OpenSSL. Each side
//! holds one record at most: if the client accepts nothing, the library stops reading and writing.

use core::cell::{RefCell, RefMut};
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::rc::Rc;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http::RECORD_BYTES_MAX;

#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// Bytes of the client.
    inbox: Vec<u8>,
    /// The number of bytes of `inbox` that were read.
    read: usize,
    /// The client sends no more bytes.
    pub(super) has_ended: bool,
    /// Bytes for the client.
    outbox: Vec<u8>,
    /// The number of bytes of `outbox` that were sent.
    sent: usize,
    /// The library has more bytes than `outbox` could take.
    pub(super) is_full: bool,
}

/// Buffers that the connection shares with the library.
#[derive(Clone, Debug, Default)]
pub(super) struct Wire(Rc<RefCell<Buffers>>);

impl Wire {
    pub(super) fn buffers(&self) -> RefMut<'_, Buffers> {
        self.0.borrow_mut()
    }
}

impl Buffers {
    pub(super) const fn has_read_all(&self) -> bool {
        self.read == self.inbox.len()
    }

    /// Adds bytes of the client.
    pub(super) fn receive(&mut self, bytes: &[u8]) {
        self.inbox.drain(..self.read);
        self.read = 0;
        self.inbox.extend_from_slice(bytes);
    }

    /// Returns the bytes to send.
    pub(super) fn left(&self) -> &[u8] {
        &self.outbox[self.sent..]
    }

    pub(super) fn advance(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.outbox.len() {
            self.outbox.clear();
            self.sent = 0;
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut buffers = self.buffers();
        let count = into.remaining().min(buffers.inbox.len() - buffers.read);
        if count == 0 && !buffers.has_ended {
            return Poll::Pending;
        }
        into.put_slice(&buffers.inbox[buffers.read..][..count]);
        buffers.read += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffers = self.buffers();
        let count = bytes.len().min(RECORD_BYTES_MAX.saturating_sub(buffers.outbox.len()));
        if count == 0 && !bytes.is_empty() {
            buffers.is_full = true;
            return Poll::Pending;
        }
        buffers.outbox.extend_from_slice(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    /// The connection sends the bytes after it has polled the library.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
