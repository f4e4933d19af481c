//! The client's side of a replay: connections in flight like those of the load generator.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, ErrorKind, Read as _, Write as _};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tollgate_load::thread_cpu;

use super::{Exchange, Size};

/// The parameters of all sessions.
struct Peer<'a> {
    server: SocketAddr,
    exchanges: &'a [Exchange],
    /// As many bytes as the longest exchange sends.
    bytes: Vec<u8>,
    poll: Poll,
}

struct Call {
    socket: TcpStream,
    /// True if a session is in progress; otherwise the socket was reset and can be reused.
    live: bool,
    exchange: usize,
    sent: usize,
    received: usize,
}

/// Runs the sessions of a replay, one after another on each connection, unless `over` is set
/// earlier. Returns the thread's CPU time per session, without the warm-up.
///
/// Sockets are reset and reused, as in the load generator.
pub(super) fn visit(
    server: SocketAddr,
    exchanges: &[Exchange],
    size: Size,
    over: &AtomicBool,
) -> io::Result<Duration> {
    let longest = exchanges.iter().map(|exchange| exchange.send).max().unwrap_or(0);
    let mut peer = Peer { server, exchanges, bytes: vec![0; longest], poll: Poll::new()? };
    let mut events = Events::with_capacity(size.connections);
    let mut calls: Vec<Call> = Vec::with_capacity(size.connections);
    let mut scratch = vec![0_u8; 18 * 1024]; // as large as the client's own buffer
    let (mut begun, mut ended, mut cpu) = (0, 0, thread_cpu());
    while !over.load(Ordering::Relaxed) && ended < size.all() {
        for place in 0..size.connections {
            if begun == size.all() || calls.get(place).is_some_and(|call| call.live) {
                continue;
            }
            begun += 1;
            match calls.get_mut(place) {
                Some(call) => call.again(&peer, Token(place))?,
                None => calls.push(Call::open(&peer, Token(place))?),
            }
        }
        match peer.poll.poll(&mut events, Some(Duration::from_millis(50))) {
            Err(why) if why.kind() != ErrorKind::Interrupted => return Err(why),
            _ => {}
        }
        for event in &events {
            let Token(place) = event.token();
            let Some(call) = calls.get_mut(place).filter(|call| call.live) else { continue };
            if call.turn(&peer, &mut scratch)? {
                // The reset discards unsent data and leaves no port in TIME_WAIT.
                rustix::net::connect_unspec(&call.socket)?;
                call.live = false;
                ended += 1;
                if ended == size.settle {
                    cpu = thread_cpu();
                }
            }
        }
    }
    Ok(thread_cpu().saturating_sub(cpu) / size.sessions)
}

/// Starts a connection without waiting.
fn connect(socket: SockRef<'_>, server: SocketAddr) -> io::Result<()> {
    let under_way = rustix::io::Errno::INPROGRESS.raw_os_error();
    match socket.connect(&server.into()) {
        Err(why) if why.raw_os_error() != Some(under_way) => Err(why),
        _ => Ok(()),
    }
}

impl Call {
    fn open(peer: &Peer<'_>, token: Token) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        connect(SockRef::from(&socket), peer.server)?;
        let socket = TcpStream::from_std(socket.into());
        let mut call = Self { socket, live: true, exchange: 0, sent: 0, received: 0 };
        let interest = call.interest(peer)?;
        peer.poll.registry().register(&mut call.socket, token, interest)?;
        Ok(call)
    }

    fn again(&mut self, peer: &Peer<'_>, token: Token) -> io::Result<()> {
        connect(SockRef::from(&self.socket), peer.server)?;
        (self.live, self.exchange, self.sent, self.received) = (true, 0, 0, 0);
        let interest = self.interest(peer)?;
        if interest.is_writable() {
            peer.poll.registry().reregister(&mut self.socket, token, interest)?;
        }
        Ok(())
    }

    /// Sends as much of the first exchange as possible at once. Returns the events to wait for.
    fn interest(&mut self, peer: &Peer<'_>) -> io::Result<Interest> {
        let sent = self.send(peer.exchanges[0], &peer.bytes)?;
        Ok(if sent { Interest::READABLE } else { Interest::READABLE | Interest::WRITABLE })
    }

    /// Sends more of this exchange and returns whether all of it is sent.
    fn send(&mut self, exchange: Exchange, bytes: &[u8]) -> io::Result<bool> {
        while self.sent < exchange.send {
            match self.socket.write(&bytes[self.sent..exchange.send]) {
                Ok(count) => self.sent += count,
                // NotConnected: the answer to the SYN has not arrived yet.
                Err(why)
                    if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) =>
                {
                    return Ok(false);
                }
                Err(why) => return Err(why),
            }
        }
        Ok(true)
    }

    /// Makes all progress that is possible now and returns whether the session is over.
    fn turn(&mut self, peer: &Peer<'_>, scratch: &mut [u8]) -> io::Result<bool> {
        loop {
            let Some(&exchange) = peer.exchanges.get(self.exchange) else { return Ok(true) };
            if !self.send(exchange, &peer.bytes)? {
                return Ok(false);
            }
            while self.received < exchange.expect {
                match self.socket.read(scratch) {
                    Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                    Ok(count) => self.received += count,
                    Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(false),
                    Err(why) => return Err(why),
                }
            }
            self.exchange += 1;
            self.sent = 0;
            self.received -= exchange.expect;
        }
    }
}
