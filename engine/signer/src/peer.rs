//! The user at the other end of a Unix socket.
#![allow(
    unsafe_code,
    reason = "getsockopt(2): rustix has no value for a peer without a process number"
)]

use core::mem::size_of;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

/// The peer of a Unix socket, when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The number of its user.
    pub uid: u32,
    /// The number of its process; 0 if the process is in a PID namespace that is not visible here.
    pub process: i32,
}

impl Peer {
    /// Asks the kernel.
    ///
    /// # Errors
    ///
    /// The socket has no peer, or is no Unix socket.
    pub fn new(socket: impl AsFd) -> io::Result<Self> {
        let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
        let mut length =
            libc::socklen_t::try_from(size_of::<libc::ucred>()).map_err(io::Error::other)?;
        // SAFETY: the pointers are valid for `length` bytes, and any bytes are a valid `ucred`.
        let result = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut peer).cast(),
                &raw mut length,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { uid: peer.uid, process: peer.pid })
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_peer_is_this_process() {
        let (socket, _other) = UnixStream::pair().unwrap();
        let uid = rustix::process::getuid().as_raw();
        let process = i32::try_from(std::process::id()).unwrap();
        assert_eq!(Peer::new(&socket).unwrap(), Peer { uid, process });
        assert!(
            Peer::new(UdpSocket::bind("127.0.0.1:0").unwrap()).is_ok_and(|peer| peer.process == 0)
        );
    }
}
