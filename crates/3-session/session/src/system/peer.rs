//! The client's side of a replay: connections in flight like those of the load generator.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, ErrorKind, Read as _, Write as _};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use socket2::SockRef;

use super::{CONNECTIONS, Exchange, SESSIONS, SETTLE};

struct Call {
    socket: TcpStream,
    exchange: usize,
    sent: usize,
    received: usize,
}

/// Makes [`SETTLE`] and [`SESSIONS`] sessions, one after another in each place, unless it is `over`
/// before.
pub(super) fn visit(
    server: SocketAddr,
    exchanges: &[Exchange],
    over: &AtomicBool,
) -> io::Result<()> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(CONNECTIONS);
    let mut calls: Vec<Option<Call>> = (0..CONNECTIONS).map(|_| None).collect();
    let longest = exchanges.iter().map(|exchange| exchange.send).max().unwrap_or(0);
    let bytes = vec![0_u8; longest];
    let mut scratch = vec![0_u8; 18 * 1024]; // as the client's own buffer
    let mut left = SETTLE + SESSIONS;
    loop {
        for (place, slot) in calls.iter_mut().enumerate() {
            if slot.is_none() && left > 0 {
                left -= 1;
                *slot = Some(Call::open(server, &poll, Token(place), exchanges, &bytes)?);
            }
        }
        if over.load(Ordering::Relaxed) || (left == 0 && calls.iter().all(Option::is_none)) {
            return Ok(());
        }
        match poll.poll(&mut events, Some(Duration::from_millis(50))) {
            Err(why) if why.kind() != ErrorKind::Interrupted => return Err(why),
            _ => {}
        }
        for event in &events {
            let Token(place) = event.token();
            let Some(call) = &mut calls[place] else { continue };
            if call.turn(exchanges, &bytes, &mut scratch)? {
                // Nothing is owed, and no port waits.
                SockRef::from(&call.socket).set_linger(Some(Duration::ZERO))?;
                calls[place] = None;
            }
        }
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
        let socket = TcpStream::connect(server)?;
        socket.set_nodelay(true)?;
        let mut call = Self { socket, exchange: 0, sent: 0, received: 0 };
        let sent = call.send(exchanges[0], bytes)?;
        let both = Interest::READABLE | Interest::WRITABLE;
        let interest = if sent { Interest::READABLE } else { both };
        poll.registry().register(&mut call.socket, token, interest)?;
        Ok(call)
    }

    /// Whether everything of this exchange is sent.
    fn send(&mut self, exchange: Exchange, bytes: &[u8]) -> io::Result<bool> {
        while self.sent < exchange.send {
            match self.socket.write(&bytes[self.sent..exchange.send]) {
                Ok(count) => self.sent += count,
                // NotConnected: the answer to the SYN has not come yet.
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

    /// Does what can be done now; whether the session is over.
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
