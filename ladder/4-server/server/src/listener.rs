//! Listening sockets: one per worker, all on one address.

use core::net::SocketAddr;
use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

/// Length of the kernel's queue of completed connections (`listen(2)`).
const BACKLOG: i32 = 4096;

/// Creates sockets that listen on the same address, and returns it with its port; the kernel
/// distributes connections among them.
///
/// The first socket is bound without `SO_REUSEPORT`, and shares its port only after it listens. A
/// port in use is therefore an error, even if the other server would share it.
pub(crate) fn listen(address: SocketAddr, count: usize) -> io::Result<(SocketAddr, Vec<OwnedFd>)> {
    let first = socket(address)?;
    rustix::net::bind(&first, &address)?;
    rustix::net::listen(&first, BACKLOG)?;
    let bound = SocketAddr::try_from(rustix::net::getsockname(&first)?)?;
    sockopt::set_socket_reuseport(&first, true)?;
    let mut sockets = vec![first];
    while sockets.len() < count {
        let next = socket(bound)?;
        sockopt::set_socket_reuseport(&next, true)?;
        rustix::net::bind(&next, &bound)?;
        rustix::net::listen(&next, BACKLOG)?;
        sockets.push(next);
    }
    Ok((bound, sockets))
}

fn socket(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    // Lets the server start while connections of an earlier one are in TIME_WAIT.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    // Accepted sockets inherit this option. Responses are written in whole records, so Nagle's
    // algorithm would only delay them.
    sockopt::set_tcp_nodelay(&socket, true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_shared_only_by_the_workers() {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let (address, sockets) = listen(local, 3).unwrap();
        assert_eq!(sockets.len(), 3);
        for count in [1, 2] {
            let found = listen(address, count).map_err(|why| why.kind()).err();
            assert_eq!(found, Some(io::ErrorKind::AddrInUse));
        }
        drop(sockets);
        listen(address, 2).unwrap();
    }
}
