//! Connections that a worker has no time for: it passes them on to another address as they are, or
//! closes them.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::time::Instant;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use slab::Slab;

use crate::addresses::Counted;
use crate::error::Misuse;
use crate::listener::Listen;

/// When a worker takes no new connections of its own, and what becomes of them.
///
/// If one of the limits is reached, a new connection is passed on to [`to`](Self::to) without a look
/// at its bytes, so that another server makes the handshake. Without an address it is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spill {
    /// Where connections are passed on to.
    pub to: Option<SocketAddr>,
    /// The number of handshakes that a worker has begun and not completed.
    pub handshakes: Option<usize>,
    /// The number of open connections of a worker, without those that it passes on.
    pub connections: Option<usize>,
    /// The mean time of the last turns of a worker's event loop: the time that a client waits until
    /// the worker looks at its bytes.
    pub turn: Option<Duration>,
    /// The longest time to connect.
    pub connect: Duration,
    /// The longest time without a byte in either direction.
    pub idle: Duration,
    /// The maximum number of connections that a worker passes on at once; further ones are closed.
    pub spilled_max: usize,
}

impl Default for Spill {
    fn default() -> Self {
        Self {
            to: None,
            handshakes: None,
            connections: None,
            turn: None,
            connect: Duration::from_secs(2),
            idle: Duration::from_secs(60),
            spilled_max: 16 * 1024,
        }
    }
}

impl Spill {
    pub(crate) fn check(&self, own: &Listen) -> Result<(), Misuse> {
        if self.handshakes.is_none() && self.connections.is_none() && self.turn.is_none() {
            return Err(Misuse::SpillWithoutLimit);
        }
        match (own, self.to) {
            // Its workers share sockets: a full one could get connections for which another has room.
            (Listen::Systemd(_), _) => return Err(Misuse::SpillOfSystemd),
            (Listen::At(own), Some(to)) if *own == to => return Err(Misuse::SpillToItself(to)),
            _ => {}
        }
        let numbers = [
            ("spill.handshakes", self.handshakes),
            ("spill.connections", self.connections),
            ("spill.spilled_max", Some(self.spilled_max)),
        ];
        if let Some((name, _)) = numbers.iter().find(|(_, number)| *number == Some(0)) {
            return Err(Misuse::ZeroLimit(name));
        }
        let turn = self.turn.map(|turn| ("spill.turn", turn));
        Misuse::of_times(turn.as_slice())?;
        Misuse::of_times(&[("spill.connect", self.connect), ("spill.idle", self.idle)])
    }

    /// Returns whether a worker with this load takes no more connections.
    pub(crate) fn is_full(&self, load: &Load) -> bool {
        let reached = |limit: Option<usize>, value| limit.is_some_and(|limit| value >= limit);
        reached(self.handshakes, load.handshakes)
            || reached(self.connections, load.connections)
            || self.turn.is_some_and(|limit| load.turns.mean >= limit)
    }
}

/// The load of a worker.
pub(crate) struct Load {
    pub(crate) handshakes: usize,
    pub(crate) connections: usize,
    pub(crate) turns: Turns,
}

/// The mean time of the last turns of an event loop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    mean: Duration,
}

impl Turns {
    /// Adds a turn, and the time that the loop waited for events before it. A loop that waits has
    /// no queue, so earlier turns no longer count.
    pub(crate) fn add(&mut self, waited: Duration, took: Duration) {
        const WAIT: Duration = Duration::from_millis(1);
        /// The weight of earlier turns is 7 eighths.
        const PARTS: u32 = 8;
        self.mean = if waited >= WAIT { took } else { (self.mean * (PARTS - 1) + took) / PARTS };
    }
}

/// The connections that a worker passes on.
pub(crate) struct Spilled {
    pairs: Slab<Pair>,
    /// Pairs that have more to do.
    again: Vec<usize>,
}

struct Pair {
    client: TcpStream,
    target: TcpStream,
    up: Flow,
    down: Flow,
    deadline: Instant,
    _counted: Option<Counted>,
}

/// One direction.
#[derive(Default)]
struct Flow {
    /// Bytes that were received and not yet accepted.
    rest: Vec<u8>,
    has_ended: bool,
}

enum Pumped {
    /// Something moved, and more may follow at once.
    More,
    /// One of the sockets is not ready.
    Blocked { moved: bool },
}

/// Each token names a pair and one of its sockets.
const SIDES: usize = 2;
/// The maximum number of pieces of one direction in a turn.
const PIECES_MAX: usize = 8;

impl Spilled {
    pub(crate) fn new() -> Self {
        Self { pairs: Slab::new(), again: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    pub(crate) fn has_more(&self) -> bool {
        !self.again.is_empty()
    }

    /// Begins to pass a client on. `token` returns the token of a number.
    pub(crate) fn begin(
        &mut self,
        mut client: TcpStream,
        counted: Option<Counted>,
        (to, deadline): (SocketAddr, Instant),
        (registry, token): (&Registry, fn(usize) -> Token),
    ) -> io::Result<()> {
        let mut target = TcpStream::connect(to)?;
        target.set_nodelay(true)?;
        let entry = self.pairs.vacant_entry();
        let both = Interest::READABLE | Interest::WRITABLE;
        registry.register(&mut client, token(entry.key() * SIDES), both)?;
        registry.register(&mut target, token(entry.key() * SIDES + 1), both)?;
        let (up, down) = (Flow::default(), Flow::default());
        entry.insert(Pair { client, target, up, down, deadline, _counted: counted });
        Ok(())
    }

    /// Moves bytes after an event of the token with this number. Returns whether the target could
    /// not be connected.
    pub(crate) fn turn(&mut self, number: usize, (now, idle): (Instant, Duration)) -> bool {
        let key = number / SIDES;
        let Some(pair) = self.pairs.get_mut(key) else {
            return false; // an event of a socket that was closed meanwhile
        };
        match pair.turn() {
            Ok(Pumped::More) => {
                pair.deadline = now + idle;
                self.again.push(key);
            }
            Ok(Pumped::Blocked { moved }) => {
                // Until then, bytes of the client only wait here.
                if moved && pair.target.peer_addr().is_ok() {
                    pair.deadline = now + idle;
                }
                if pair.up.has_ended && pair.down.has_ended {
                    self.pairs.remove(key);
                }
            }
            Err(_) => {
                let is_connected = pair.target.peer_addr().is_ok() || pair.up.has_ended;
                self.pairs.remove(key);
                return !is_connected;
            }
        }
        false
    }

    /// Returns the numbers for further turns.
    pub(crate) fn take_again(&mut self) -> Vec<usize> {
        core::mem::take(&mut self.again).into_iter().map(|key| key * SIDES).collect()
    }

    /// Closes connections without bytes for too long. Returns how many had no target yet.
    pub(crate) fn sweep(&mut self, now: Instant) -> u64 {
        let mut unconnected = 0;
        self.pairs.retain(|_, pair| {
            let is_late = pair.deadline <= now;
            unconnected += u64::from(is_late && pair.target.peer_addr().is_err());
            !is_late
        });
        unconnected
    }
}

impl Pair {
    fn turn(&mut self) -> io::Result<Pumped> {
        if let Some(why) = self.target.take_error()? {
            return Err(why);
        }
        let up = pump(&mut self.client, &mut self.target, &mut self.up)?;
        let down = pump(&mut self.target, &mut self.client, &mut self.down)?;
        Ok(match (up, down) {
            (Pumped::Blocked { moved: up }, Pumped::Blocked { moved: down }) => {
                Pumped::Blocked { moved: up || down }
            }
            _ => Pumped::More,
        })
    }
}

/// Moves bytes from one socket to the other until one would block, or its turn is used up.
fn pump(from: &mut TcpStream, to: &mut TcpStream, flow: &mut Flow) -> io::Result<Pumped> {
    let mut piece = [0; 16 * 1024];
    let mut moved = false;
    for _ in 0..PIECES_MAX {
        while !flow.rest.is_empty() {
            match would_block(to.write(&flow.rest))? {
                Some(count) => drop(flow.rest.drain(..count)),
                None => return Ok(Pumped::Blocked { moved }),
            }
            moved = true;
        }
        if flow.has_ended {
            return Ok(Pumped::Blocked { moved });
        }
        match would_block(from.read(&mut piece))? {
            None => return Ok(Pumped::Blocked { moved }),
            Some(0) => {
                flow.has_ended = true;
                // fails if the other side has closed both directions
                let _ = to.shutdown(Shutdown::Write);
                return Ok(Pumped::Blocked { moved: true });
            }
            Some(count) => {
                moved = true;
                let sent = would_block(to.write(&piece[..count]))?.unwrap_or(0);
                flow.rest.extend_from_slice(&piece[sent..count]);
            }
        }
    }
    Ok(Pumped::More)
}

/// Returns `None` if the socket is not ready.
fn would_block(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(count) => Ok(Some(count)),
        Err(why)
            if matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
        {
            Ok(None)
        }
        // the target is still being connected
        Err(why) if why.kind() == io::ErrorKind::NotConnected => Ok(None),
        Err(why) => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_full_at_any_of_its_limits() {
        let spill = Spill {
            handshakes: Some(3),
            connections: Some(10),
            turn: Some(Duration::from_millis(20)),
            ..Spill::default()
        };
        let load = |handshakes, connections, ms| {
            let mut turns = Turns::default();
            turns.add(Duration::from_secs(1), Duration::from_millis(ms));
            Load { handshakes, connections, turns }
        };
        assert!(!spill.is_full(&load(2, 9, 19)));
        for full in [load(3, 9, 19), load(2, 10, 19), load(2, 9, 20)] {
            assert!(spill.is_full(&full));
        }
    }

    #[test]
    fn a_loop_that_never_waits_gets_slower_by_and_by() {
        let mut turns = Turns::default();
        let (none, long) = (Duration::ZERO, Duration::from_millis(80));
        turns.add(none, long);
        assert_eq!(turns.mean, Duration::from_millis(10));
        for _ in 0..50 {
            turns.add(none, long);
        }
        assert!(turns.mean > Duration::from_millis(79));
        turns.add(Duration::from_millis(5), Duration::from_millis(1));
        assert_eq!(turns.mean, Duration::from_millis(1), "it has waited");
    }
}
