//! A connection that is not in use.
//!
//! Meanwhile the program may close all descriptors, with closefrom(3), and open others with the same
//! numbers. So a socket is used or closed only if its number still stands for it.

use core::mem;
use std::os::fd::OwnedFd;

use rustix::fs::fstat;

use super::flight::Link;

#[derive(Debug)]
pub(crate) struct Idle {
    pub(super) link: Option<Link>,
    /// Device and inode of the socket.
    file: Option<(u64, u64)>,
}

impl Idle {
    pub(crate) fn new(link: Link) -> Self {
        Self { file: file(&link.socket), link: Some(link) }
    }

    /// Returns the connection, if it is still there.
    pub(crate) fn take(&mut self) -> Option<Link> {
        let link = self.link.take()?;
        if self.file.is_some() && file(&link.socket) == self.file {
            return Some(link);
        }
        mem::forget(link); // not closed: the numbers are no longer ours
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
