//! The operating system's cost of a session: the server's system calls, without TLS.
//!
//! The replay repeats the recorded calls of a session over loopback sockets, with the same event
//! loop, sizes and order. In place of TLS, the serving thread computes a little. Clients therefore
//! wait for the server as they do under load, and the server does not wait for clients. The time of
//! this computation is measured before and after each replay and subtracted. Only the serving
//! thread's CPU time counts. The peer runs on a second core if there is one.

mod peer;
mod serve;

use core::net::{Ipv4Addr, SocketAddr};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io;
use std::thread;

use socket2::{Domain, Protocol, Socket, Type};
use tollgate_calibrate::tsc;

use crate::cores::{Pinned, cores};
use crate::error::Error;
use crate::in_memory::{Recorded, number};
use crate::pipe::{Call, Recording, Step};
use crate::plan::{CONNECTIONS, Session};

/// The fewest sessions in one replay.
const SESSIONS_MIN: u32 = 96;
/// The fewest warm-up sessions before the measured ones, until the caches are as warm as under load.
const SETTLE_MIN: u32 = 24;
/// The length of the listen queue, as in the server.
const BACKLOG: i32 = 4096;
/// Timeout of a replay.
const PATIENCE: Duration = Duration::from_secs(20);
/// The number of short measurements of the core clock before and after a replay.
const CLOCK_WINDOWS: usize = 9;
/// The number of turns of [`spin`] for a session. They take about as long as the session's system
/// calls, and longer than the peer needs for a session.
const TURNS: f64 = 60_000.0;
/// The number of turns of [`spin`] in a timing sample.
const TIMED_TURNS: u64 = 20_000;

/// A call of the server, and the turns of [`spin`] before it.
#[derive(Clone, Copy, Debug)]
struct Move {
    spin: u64,
    call: Call,
}

/// The sessions of one replay: more than there are connections in flight.
#[derive(Clone, Copy, Debug)]
struct Size {
    connections: usize,
    sessions: u32,
    settle: u32,
}

impl Size {
    fn of(connections: u32) -> Self {
        Self {
            connections: connections as usize,
            sessions: SESSIONS_MIN.max(6 * connections),
            settle: SETTLE_MIN.max(3 * connections / 2),
        }
    }

    const fn all(&self) -> u32 {
        self.settle + self.sessions
    }
}

/// The bytes that a client sends, and the number of bytes that it then waits for.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    send: usize,
    expect: usize,
}

/// One kind of session, ready to be replayed.
pub(crate) struct Replay {
    listener: std::net::TcpListener,
    address: SocketAddr,
    moves: Vec<Move>,
    exchanges: Vec<Exchange>,
    /// The number of turns of [`spin`] in a session.
    turns: u64,
    size: Size,
    cores: Option<[usize; 2]>,
}

/// The cost of a session of a replay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Played {
    /// Core cycles of the serving thread, without those of [`spin`].
    pub(crate) server_cycles: f64,
    /// CPU time of the client's thread.
    pub(crate) client: Duration,
    /// The same in core cycles.
    pub(crate) client_cycles: f64,
}

impl Replay {
    /// A replay of a recorded session, with this number of connections in flight.
    pub(crate) fn new(
        recorded: &Recorded,
        session: &Session,
        connections: u32,
    ) -> Result<Self, Error> {
        let recording = &recorded.recording;
        // The client leaves after the response and does not wait for the close_notify.
        let farewell = recording.steps.iter().rev().find_map(|step| match step.call {
            Call::Write(bytes) => Some(bytes),
            _ => None,
        });
        let mut exchanges = exchanges(recording);
        if let Some(last) = exchanges.last_mut() {
            last.expect = last.expect.saturating_sub(farewell.unwrap_or(0));
        }
        let requests = usize::try_from(session.requests).unwrap_or(usize::MAX);
        let is_client_last = session.settings()?.suite.is_tls13() || recorded.facts.resumed;
        if is_client_last && exchanges.len() == requests + 2 {
            // The client sends its request with its Finished, before it has the server's tickets.
            let finish = exchanges.remove(1);
            exchanges[1].send += finish.send;
            exchanges[1].expect += finish.expect;
        }
        let ticks: f64 = recording.steps.iter().map(|step| number(step.ticks)).sum();
        let turns = TURNS * f64::from(session.requests);
        let size = Size::of(connections);
        Self::of(&recording.steps, exchanges, turns / ticks.max(1.0), size)
    }

    /// A replay of the handshake of a recorded TLS 1.2 session, without its data. The server
    /// computes for as long as it did in memory, so the client waits as it does under load.
    pub(crate) fn of_handshake(recorded: &Recorded) -> Result<Self, Error> {
        let recording = &recorded.recording;
        let exchanges: Vec<_> = exchanges(recording).into_iter().take(2).collect();
        let mut left: usize = exchanges.iter().map(|exchange| exchange.expect).sum();
        let until_finished = |step: &&Step| {
            let more = left > 0;
            if let Call::Write(bytes) = step.call {
                left = left.saturating_sub(bytes);
            }
            more
        };
        let steps: Vec<Step> = recording.steps.iter().take_while(until_finished).copied().collect();
        Self::of(&steps, exchanges, turns_per_tick(), Size::of(CONNECTIONS))
    }

    fn of(
        steps: &[Step],
        exchanges: Vec<Exchange>,
        turns_per_tick: f64,
        size: Size,
    ) -> Result<Self, Error> {
        let doing = "a listening socket";
        let listener = listen().map_err(Error::system(doing))?;
        let address = listener.local_addr().map_err(Error::system(doing))?;
        let moves: Vec<Move> = steps
            .iter()
            .map(|step| Move { spin: whole(number(step.ticks) * turns_per_tick), call: step.call })
            .collect();
        let turns = moves.iter().map(|step| step.spin).sum();
        Ok(Self { listener, address, moves, exchanges, turns, size, cores: cores() })
    }

    /// Returns whether server and client run on separate cores.
    pub(crate) const fn has_cores(&self) -> bool {
        self.cores.is_some()
    }

    /// Replays the sessions and returns the cost of one.
    pub(crate) fn play(&self) -> Result<Played, Error> {
        let listener = self.listener.try_clone().map_err(Error::system("a listening socket"))?;
        let over = AtomicBool::new(false);
        let [server, client] = self.cores.map_or([None; 2], |cores| cores.map(Some));
        let (spent, client) = thread::scope(|scope| {
            let peer = scope.spawn(|| {
                let _pinned = Pinned::to(client);
                let result = peer::visit(self.address, &self.exchanges, self.size, &over);
                if result.is_err() {
                    over.store(true, Ordering::Relaxed);
                }
                Ok((result?, serve::core_hz()))
            });
            let serving = scope.spawn(|| {
                let _pinned = Pinned::to(server);
                let result = serve::serve(listener, (&self.moves, self.turns), self.size, &over);
                over.store(true, Ordering::Relaxed);
                result
            });
            (join(serving), join(peer))
        });
        let system = || Error::system("a session over loopback");
        let (client, hz): (Duration, _) = client.map_err(system())?;
        let server_cycles = spent.map_err(system())?.ok_or(Error::NoCycles)?;
        let client_cycles = client.as_secs_f64() * hz.ok_or(Error::NoCycles)?;
        Ok(Played { server_cycles, client, client_cycles })
    }
}

fn join<R>(thread: thread::ScopedJoinHandle<'_, R>) -> R {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Listens like the server: accepted sockets inherit `TCP_NODELAY`.
fn listen() -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_tcp_nodelay(true)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// The bytes that a client sends before each answer of a recorded server, and the number of bytes
/// of the answer.
fn exchanges(recording: &Recording) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for step in &recording.steps {
        match (step.call, exchanges.last_mut()) {
            (Call::Read(bytes), Some(last)) if last.expect == 0 => last.send += bytes,
            (Call::Read(send), _) => exchanges.push(Exchange { send, expect: 0 }),
            (Call::Write(bytes), Some(last)) => last.expect += bytes,
            _ => {}
        }
    }
    exchanges
}

/// The number of turns of [`spin`] in a tick of the time stamp counter; 0 if there is no such
/// counter.
fn turns_per_tick() -> f64 {
    let timed = |turns: u64| {
        let before = tsc::ticks()?;
        spin(turns);
        Some(tsc::ticks()?.saturating_sub(before))
    };
    // Takes the fastest sample, because other processes can only make a sample slower.
    let ticks = (0..9).filter_map(|_| timed(TIMED_TURNS)).min();
    ticks.map_or(0.0, |ticks| number(TIMED_TURNS) / number(ticks.max(1)))
}

/// Computes for `turns` turns, each of which depends on the one before, and writes one word of
/// memory.
fn spin(turns: u64) {
    let mut value = 1_u64;
    for _ in 0..turns {
        value = core::hint::black_box(value.wrapping_mul(3));
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from f64 saturates: what is not a count becomes 0"
)]
const fn whole(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {

    use tollgate_server::in_memory::Worker;
    use tollgate_server::{Config, Engine, KeyKind};

    use super::*;
    use crate::in_memory::Stage;

    #[test]
    fn the_calls_of_every_protocol_can_be_replayed() {
        let config = Config { allow_rsa_kx: true, ..Config::default() };
        let worker = Worker::new(&config).unwrap();
        let (key, engine) = (KeyKind::Rsa { bits: 2048 }, Engine::OpenSsl);
        for protocol in tollgate_load::Protocol::ALL {
            for bytes in [0, 1 << 20] {
                let session = Session::new(key, protocol, engine, bytes);
                let recorded = Stage::new(session, &worker).unwrap().record().unwrap();
                let writes = |step: &&Step| matches!(step.call, Call::Write(_));
                let writes = recorded.recording.steps.iter().filter(writes).count();
                let tls13 = protocol == tollgate_load::Protocol::Tls13;
                // TLS 1.2 has one more write, for the server's Finished. Both versions have a
                // flight, the records of the response, and the alert.
                let records = if bytes == 0 { 1 } else { 65 };
                assert_eq!(writes, if tls13 { 1 } else { 2 } + records + 1, "{session}");
                let connections = if bytes == 0 { CONNECTIONS } else { 1 };
                let replay = Replay::new(&recorded, &session, connections).unwrap();
                assert!(replay.play().unwrap().server_cycles.is_finite());
                if !tls13 {
                    let handshake = Replay::of_handshake(&recorded).unwrap();
                    assert!(handshake.moves.len() < replay.moves.len(), "{session}");
                    assert!(handshake.play().unwrap().client > Duration::ZERO, "{session}");
                }
            }
        }
    }
}
