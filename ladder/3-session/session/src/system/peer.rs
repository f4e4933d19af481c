//! The client's side of a replay: connections in flight like those of the load generator.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, ErrorKind, Read as _, Write as _};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tollgate_load::thread_cpu;

use super::{CONNECTIONS, Exchange, SESSIONS, SETTLE};

struct Call {
    socket: TcpStream,
    /// True if a session is in progress; otherwise the socket was reset and can be reused.
    live: bool,
    exchange: usize,
    sent: usize,
    received: usize,
}

/// Runs [`SETTLE`] and then [`SESSIONS`] sessions, one after another on each connection, unless
/// `over` is set earlier. Returns the thread's CPU time per session, without the warm-up.
///
/// Sockets are reset and reused, as in the load generator.
pub(super) fn visit(
    server: SocketAddr,
    exchanges: &[Exchange],
    over: &AtomicBool,
) -> io::Result<Duration> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(CONNECTIONS);
    let mut calls: Vec<Call> = Vec::with_capacity(CONNECTIONS);
    let longest = exchanges.iter().map(|exchange| exchange.send).max().unwrap_or(0);
    let bytes = vec![0_u8; longest];
    let mut scratch = vec![0_u8; 18 * 1024]; // as large as the client's own buffer
    let (mut begun, mut ended, mut cpu) = (0, 0, thread_cpu());
    while !over.load(Ordering::Relaxed) && ended < SETTLE + SESSIONS {
        for place in 0..CONNECTIONS {
            if begun == SETTLE + SESSIONS || calls.get(place).is_some_and(|call| call.live) {
                continue;
            }
            begun += 1;
            match calls.get_mut(place) {
                Some(call) => call.again(server, &poll, Token(place), exchanges, &bytes)?,
                None => calls.push(Call::open(server, &poll, Token(place), exchanges, &bytes)?),
            }
        }
        match poll.poll(&mut events, Some(Duration::from_millis(50))) {
            Err(why) if why.kind() != ErrorKind::Interrupted => return Err(why),
            _ => {}
        }
        for event in &events {
            let Token(place) = event.token();
            let Some(call) = calls.get_mut(place).filter(|call| call.live) else { continue };
            if call.turn(exchanges, &bytes, &mut scratch)? {
                // The reset discards unsent data and leaves no port in TIME_WAIT.
                rustix::net::connect_unspec(&call.socket)?;
                call.live = false;
                ended += 1;
                if ended == SETTLE {
                    cpu = thread_cpu();
                }
            }
        }
    }
    Ok(thread_cpu().saturating_sub(cpu) / SESSIONS)
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
    fn open(
        server: SocketAddr,
        poll: &Poll,
        token: Token,
        exchanges: &[Exchange],
        bytes: &[u8],
    ) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        connect(SockRef::from(&socket), server)?;
        let socket = TcpStream::from_std(socket.into());
        let mut call = Self { socket, live: true, exchange: 0, sent: 0, received: 0 };
        let interest = call.interest(exchanges[0], bytes)?;
        poll.registry().register(&mut call.socket, token, interest)?;
        Ok(call)
    }

    fn again(
        &mut self,
        server: SocketAddr,
        poll: &Poll,
        token: Token,
        exchanges: &[Exchange],
        bytes: &[u8],
    ) -> io::Result<()> {
        connect(SockRef::from(&self.socket), server)?;
        (self.live, self.exchange, self.sent, self.received) = (true, 0, 0, 0);
        let interest = self.interest(exchanges[0], bytes)?;
        if interest.is_writable() {
            poll.registry().reregister(&mut self.socket, token, interest)?;
        }
        Ok(())
    }

    /// Sends as much as possible at once. Returns the events to wait for.
    fn interest(&mut self, exchange: Exchange, bytes: &[u8]) -> io::Result<Interest> {
        let sent = self.send(exchange, bytes)?;
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
    fn turn(
        &mut self,
        exchanges: &[Exchange],
        bytes: &[u8],
        scratch: &mut [u8],
    ) -> io::Result<bool> {
        loop {
            let Some(&exchange) = exchanges.get(self.exchange) else { return Ok(true) };
            if !self.send(exchange, bytes)? {
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
