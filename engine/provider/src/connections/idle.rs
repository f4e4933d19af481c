//! A connection that is not in use.
//!
//! Meanwhile the program may close all descriptors, with closefrom(3), and open others with the
//! same numbers. So a socket is used or closed only if its number still stands for it.

use core::mem;
use std::os::fd::OwnedFd;

use rustix::fs::fstat;

#[derive(Debug)]
pub(crate) struct Idle {
    pub(super) socket: Option<OwnedFd>,
    /// Device and inode of the socket.
    file: Option<(u64, u64)>,
}

impl Idle {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { file: file(&socket), socket: Some(socket) }
    }

    /// Returns the connection, if it is still there.
    pub(crate) fn take(&mut self) -> Option<OwnedFd> {
        let socket = self.socket.take()?;
        if self.file.is_some() && file(&socket) == self.file {
            return Some(socket);
        }
        mem::forget(socket); // not closed: the number is no longer ours
        None
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        drop(self.take());
    }
}

fn file(socket: &OwnedFd) -> Option<(u64, u64)> {
    fstat(socket).ok().map(|file| (file.st_dev, file.st_ino))
}
