//! Nonblocking sockets.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;

use mio::net::TcpStream;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::error::Error;
use crate::phase::Cause;
use crate::plan::Plan;
use crate::ports::Ports;
use crate::target::Target;

/// Spare file descriptors.
const DESCRIPTORS_BESIDE: u64 = 32;

/// Opens connections to one server.
#[derive(Debug)]
pub(crate) struct Opener {
    target: SocketAddr,
    domain: Domain,
    /// The maximum length of a TCP segment in bytes; `None`: that of the link.
    segment_bytes: Option<u32>,
}

/// The reason why a socket was not opened.
#[derive(Debug)]
pub(crate) enum Unopened {
    /// A failure of the server, to be counted.
    Counted(Cause),
    /// A failure of this process; the run ends.
    Ours(Error),
}

impl Opener {
    pub(crate) fn new(target: &Target) -> Self {
        let (target, segment_bytes) = (target.address(), target.segment_bytes);
        Self { target, domain: Domain::for_address(target), segment_bytes }
    }

    pub(crate) fn open(&self) -> Result<TcpStream, Unopened> {
        let ours = |what| move |error| Unopened::Ours(Error::of_socket(what, error));
        let socket = Socket::new(self.domain, Type::STREAM.nonblocking(), Some(Protocol::TCP))
            .map_err(ours("open a socket"))?;
        socket.set_tcp_nodelay(true).map_err(ours("set TCP_NODELAY"))?;
        self.connect(SockRef::from(&socket))?;
        Ok(TcpStream::from_std(socket.into()))
    }

    /// Starts to connect a socket, new or after [`reset`].
    pub(crate) fn connect(&self, socket: SockRef<'_>) -> Result<(), Unopened> {
        if let Some(bytes) = self.segment_bytes {
            // a reset clears it
            let ours = |error| Unopened::Ours(Error::of_socket("set TCP_MAXSEG", error));
            socket.set_tcp_mss(bytes).map_err(ours)?;
        }
        let Err(error) = socket.connect(&self.target.into()) else { return Ok(()) };
        match Errno::from_io_error(&error) {
            Some(Errno::INPROGRESS | Errno::AGAIN) => Ok(()),
            Some(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE) => {
                Err(Unopened::Ours(Error::Ports(Ports::now())))
            }
            _ => Err(Unopened::Counted(Cause::of_io(&error))),
        }
    }
}

/// Resets the connection, as closing does after [`reset_on_close`], but keeps the socket for
/// another connection. The packets are the same, but this takes one system call instead of five.
pub(crate) fn reset(stream: &TcpStream) -> io::Result<()> {
    Ok(rustix::net::connect_unspec(stream)?)
}

/// Makes closing the socket a reset. Fails on a socket that has already ended; such a socket needs
/// no reset.
pub(crate) fn reset_on_close(stream: &TcpStream) {
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

impl Error {
    /// Creates a socket error that is caused by this process, not by the server.
    pub(crate) fn of_socket(what: &'static str, error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(Errno::MFILE | Errno::NFILE) => {
                let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
                Self::FileDescriptors { needed: allowed + 1, allowed }
            }
            Some(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE) => Self::Ports(Ports::now()),
            _ => Self::Io { what, error },
        }
    }
}

/// Reserves file descriptors for the plan's connections; raises the soft limit if allowed.
pub(crate) fn reserve_descriptors(plan: &Plan) -> Result<(), Error> {
    // A server in this process may already have many open descriptors.
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
    let sockets = u64::from(plan.connections) + u64::from(plan.threads); // a poll per thread
    let needed = sockets + open + DESCRIPTORS_BESIDE;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let refused = Error::FileDescriptors { needed, allowed: maximum.unwrap_or(u64::MAX) };
    if maximum.is_some_and(|maximum| maximum < needed) {
        return Err(refused);
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum }).map_err(|_| refused)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_reset_socket_can_be_reused_and_the_server_sees_the_reset() {
        use std::io::{Read as _, Write as _};
        use std::os::fd::AsRawFd as _;

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = Target::new(listener.local_addr().unwrap()).unwrap();
        let opener = Opener::new(&target);
        let mut stream = opener.open().unwrap();
        let descriptor = stream.as_raw_fd();
        let mut ports = Vec::new();
        for _ in 0..3 {
            let (mut theirs, peer) = listener.accept().unwrap();
            stream.write_all(b"hello").unwrap();
            theirs.read_exact(&mut [0; 5]).unwrap();
            reset(&stream).unwrap();
            let error = theirs.read(&mut [0]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
            ports.push(peer.port());
            opener.connect(SockRef::from(&stream)).unwrap();
        }
        assert_eq!(stream.as_raw_fd(), descriptor);
        assert!(ports[0] != ports[1] && ports[1] != ports[2], "{ports:?}: new connections");
    }

    #[test]
    fn both_sides_keep_to_the_length_of_segments_also_after_a_reset() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = Target::new(listener.local_addr().unwrap()).unwrap();
        let lengths = |stream: &TcpStream, opener: &Opener| {
            opener.connect(SockRef::from(stream)).unwrap();
            let (theirs, _) = listener.accept().unwrap();
            let lengths = [SockRef::from(stream).tcp_mss(), SockRef::from(&theirs).tcp_mss()];
            reset(stream).unwrap();
            lengths.map(Result::unwrap)
        };
        let opened = |target: &Target| {
            let opener = Opener::new(target);
            let stream = opener.open().unwrap();
            drop(listener.accept().unwrap());
            reset(&stream).unwrap();
            [lengths(&stream, &opener), lengths(&stream, &opener)].concat()
        };
        // the packets of loopback have 64 KiB
        assert!(opened(&target).iter().all(|&bytes| bytes > 1460));
        // TCP timestamps take 12 bytes of a segment
        let short = opened(&target.with_segment_bytes(1460));
        assert!(short.iter().all(|bytes| (1400..=1460).contains(bytes)), "{short:?}");
    }

    #[test]
    fn errors_of_this_process_are_distinguished_from_the_servers() {
        let of = |errno: Errno| Error::of_socket("open a socket", errno.into());
        assert!(matches!(of(Errno::MFILE), Error::FileDescriptors { .. }));
        assert!(matches!(of(Errno::NFILE), Error::FileDescriptors { .. }));
        assert!(matches!(of(Errno::ADDRNOTAVAIL), Error::Ports(_)));
        assert!(matches!(of(Errno::ACCESS), Error::Io { .. }));
    }
}
