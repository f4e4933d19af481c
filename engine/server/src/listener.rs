//! Listening sockets: one per worker, all on one address, or those that systemd has opened.

use core::fmt;
use core::net::SocketAddr;
use core::str::FromStr;
use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::ffi;

/// Length of the kernel's queue of completed connections (`listen(2)`).
const BACKLOG: i32 = 4096;

/// Prefix of a name of systemd's sockets.
const SYSTEMD: &str = "systemd:";

/// The place of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// An address; port 0 chooses a free port.
    At(SocketAddr),
    /// The sockets that systemd has passed to this process under this name
    /// (`FileDescriptorName=` of its unit for sockets): at most one for each worker. If there are
    /// fewer, workers share them. Connections that come while the server restarts wait in them.
    Systemd(String),
}

impl From<SocketAddr> for Listen {
    fn from(address: SocketAddr) -> Self {
        Self::At(address)
    }
}

impl FromStr for Listen {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(name) = text.strip_prefix(SYSTEMD) {
            return Ok(Self::Systemd(name.to_owned()));
        }
        text.parse().map(Self::At).map_err(|_| "this is no address: give IP:PORT or systemd:NAME")
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(address) => address.fmt(f),
            Self::Systemd(name) => write!(f, "{SYSTEMD}{name}"),
        }
    }
}

impl Listen {
    /// Returns listening sockets, and their address. Unless other processes of this user may share
    /// the port, a port in use is an error.
    pub(crate) fn open(
        &self,
        count: usize,
        shares_port: bool,
    ) -> io::Result<(SocketAddr, Vec<OwnedFd>)> {
        match self {
            Self::At(address) => listen(*address, count, shares_port),
            Self::Systemd(name) => inherited(name, count),
        }
    }
}

/// Creates sockets that listen on the same address; the kernel distributes connections among them.
///
/// Unless the port is shared, the first socket is bound without `SO_REUSEPORT`, and shares its port
/// only after it listens. A port in use is therefore an error, even if the other server would share
/// it.
fn listen(
    address: SocketAddr,
    count: usize,
    shares_port: bool,
) -> io::Result<(SocketAddr, Vec<OwnedFd>)> {
    let first = socket(address)?;
    sockopt::set_socket_reuseport(&first, shares_port)?;
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

/// Returns the sockets that systemd has passed under this name, as many as `count`: another number
/// is shared, as duplicates.
fn inherited(name: &str, count: usize) -> io::Result<(SocketAddr, Vec<OwnedFd>)> {
    let passed: Vec<_> =
        sd_notify::listen_fds_with_names()?.filter(|(_, its)| its == name).collect();
    if passed.is_empty() {
        return Err(io::Error::other(
            "systemd has passed no socket of this name: start its unit for sockets, with this \
             name as FileDescriptorName",
        ));
    }
    if passed.len() > count {
        return Err(io::Error::other(format!(
            "systemd has passed {} sockets of this name for {count} workers: pass at most one for \
             each",
            passed.len()
        )));
    }
    let mut sockets = Vec::with_capacity(count);
    let mut addresses = Vec::new();
    for (fd, _) in passed.iter().cycle().take(count) {
        let socket = ffi::duplicate(*fd)?;
        let address = rustix::net::getsockname(&socket).ok();
        let Some(address) = address.and_then(|address| SocketAddr::try_from(address).ok()) else {
            return Err(io::Error::other("systemd's socket is not TCP: use ListenStream=PORT"));
        };
        if !sockopt::socket_acceptconn(&socket)? {
            return Err(io::Error::other("systemd's socket does not listen: set Accept=no"));
        }
        rustix::io::ioctl_fionbio(&socket, true)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        sockets.push(socket);
        addresses.push(address);
    }
    if addresses.iter().any(|address| *address != addresses[0]) {
        return Err(io::Error::other(
            "systemd's sockets of this name have several addresses: give each its own name",
        ));
    }
    Ok((addresses[0], sockets))
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
        let (address, sockets) = listen(local, 3, false).unwrap();
        assert_eq!(sockets.len(), 3);
        for count in [1, 2] {
            for shares_port in [false, true] {
                let found = listen(address, count, shares_port).map(|(address, _)| address);
                let found = found.map_err(|why| why.kind());
                let expected =
                    if shares_port { Ok(address) } else { Err(io::ErrorKind::AddrInUse) };
                assert_eq!(found, expected);
            }
        }
        drop(sockets);
        listen(address, 2, false).unwrap();
    }
}
