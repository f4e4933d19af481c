//! The event loop of a replica.

use core::time::Duration;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use rustix::time::Timespec;
use tollgate_load::thread_cpu;

use super::Size;
use super::connection::{Connection, Shared, Turn};
use super::sequence::{Call, Watch, Worker};

const LISTENER: u64 = u64::MAX;
/// Timeout of a replay.
const PATIENCE: Duration = Duration::from_secs(20);
/// More than the number of times that the engine pauses a handshake.
const PAUSES_MAX: usize = 32;
/// The interval of looking whether the client has given up.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The cost of the measured sessions to the serving thread.
#[derive(Clone, Debug)]
pub(super) struct Served {
    /// CPU time of the thread for one session.
    pub(super) cpu: Duration,
    /// Ticks of the time stamp counter in the library, for each session.
    pub(super) library_ticks: Vec<u64>,
}

/// The event loop of one worker.
pub(super) struct Loop<'a> {
    pub(super) listener: &'a TcpListener,
    pub(super) worker: &'a Worker,
    pub(super) shared: Shared<'a>,
    pub(super) size: Size,
    pub(super) log: &'a File,
    pub(super) log_line: &'a [u8],
}

impl Loop<'_> {
    /// Serves the sessions before the measured ones and these, and then the rest until `is_over`.
    pub(super) fn serve(&self, is_over: &dyn Fn() -> bool) -> io::Result<Served> {
        let poll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&poll, self.listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        let mut events: Vec<Event> = Vec::with_capacity(self.worker.events_max);
        let mut connections = Connections { poll, places: Vec::new(), free: Vec::new() };
        let (mut due, mut paused) = (VecDeque::new(), Vec::new());
        let mut log = Log { file: self.log, lines: Vec::new(), written: Instant::now() };
        let mut count = Count {
            size: self.size,
            ended: 0,
            library_ticks: Vec::new(),
            cpu: [Duration::ZERO; 2],
        };
        let begun = Instant::now();
        while !is_over() {
            if begun.elapsed() > PATIENCE {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "its client waits"));
            }
            self.around_wait()?;
            events.clear();
            let waits = due.is_empty() && paused.is_empty();
            let wait = if waits { &LOOK } else { &Timespec::default() };
            let room = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&connections.poll, room, Some(wait)) {
                Err(Errno::INTR) => {}
                result => _ = result?,
            }
            self.around_wait()?;
            let mut is_called = false;
            for event in &events {
                match event.data.u64() {
                    LISTENER if self.worker.accepts_last => is_called = true,
                    LISTENER => due.extend(self.accept(&mut connections)?),
                    token => {
                        let place = usize::try_from(token).unwrap_or(usize::MAX);
                        if self.worker.watch == Watch::WhileWaiting {
                            connections.forget(place)?;
                        }
                        due.push_back(place);
                    }
                }
            }
            let turns = due.len().min(self.worker.turns_per_wait);
            paused.extend(self.turns(
                &mut connections,
                due.drain(..turns),
                &mut count,
                &mut log,
            )?);
            // As in the embedded server, paused handshakes have their next turn after all others.
            paused = self.turns(&mut connections, paused.into_iter(), &mut count, &mut log)?;
            if is_called {
                due.extend(self.accept(&mut connections)?);
            }
        }
        // libcrypto leaks the stack of a handshake that is dropped while it is paused.
        for _ in 0..PAUSES_MAX {
            paused = self.turns(&mut connections, paused.into_iter(), &mut count, &mut log)?;
        }
        count.served().ok_or_else(|| io::Error::other("its client ended early"))
    }

    fn around_wait(&self) -> io::Result<()> {
        for call in &self.worker.around_wait {
            match call {
                Call::ThreadClock => _ = thread_cpu(),
                other => return Err(io::Error::other(format!("{other:?} beside epoll_wait"))),
            }
        }
        Ok(())
    }

    /// Accepts connections. Returns those whose first turn comes without an event.
    fn accept(&self, connections: &mut Connections) -> io::Result<Vec<usize>> {
        let mut due = Vec::new();
        for _ in 0..self.worker.accepts_per_event {
            let socket = match rustix::net::accept_with(self.listener, SocketFlags::NONBLOCK) {
                Err(Errno::AGAIN) => break,
                socket => socket?,
            };
            let place = connections.insert(Connection::new(socket, self.shared.calls));
            match self.worker.watch {
                Watch::Always => connections.watch(place, EDGES)?,
                Watch::WhileWaiting => due.push(place),
            }
        }
        Ok(due)
    }

    /// Gives these connections their turns. Returns those that have paused.
    fn turns(
        &self,
        connections: &mut Connections,
        places: impl Iterator<Item = usize>,
        count: &mut Count,
        log: &mut Log<'_>,
    ) -> io::Result<Vec<usize>> {
        let mut paused = Vec::new();
        for place in places {
            match self.turn(connections, place, count)? {
                Some(Turn::Again) => paused.push(place),
                Some(Turn::Over(ticks)) => {
                    log.lines.extend_from_slice(self.log_line);
                    count.add(ticks);
                }
                _ => {}
            }
            log.flush(Duration::from_millis(self.worker.log_flush_ms))?;
        }
        Ok(paused)
    }

    /// Gives a connection its turn. `None` if it is gone.
    fn turn(
        &self,
        connections: &mut Connections,
        place: usize,
        count: &Count,
    ) -> io::Result<Option<Turn>> {
        let Some(Some(connection)) = connections.places.get_mut(place) else { return Ok(None) };
        let turn = match connection.turn(&self.shared) {
            // The client resets what is in flight when it has made all its sessions.
            Err(_) if count.is_full() => {
                connections.remove(place);
                return Ok(None);
            }
            turn => turn?,
        };
        match (turn, self.worker.watch) {
            (Turn::Over(_), _) => connections.remove(place),
            (Turn::Readable, Watch::WhileWaiting) => connections.watch(place, LEVELS)?,
            (Turn::Writable, Watch::WhileWaiting) => {
                connections.watch(place, EventFlags::OUT)?;
            }
            (Turn::Writable, Watch::Always) => {
                connections.watch_again(place, EDGES | EventFlags::OUT)?;
            }
            (Turn::Readable, Watch::Always) | (Turn::Again, _) => {}
        }
        Ok(Some(turn))
    }
}

/// As most servers register connections: edge-triggered.
const EDGES: EventFlags = LEVELS.union(EventFlags::ET);
const LEVELS: EventFlags = EventFlags::IN.union(EventFlags::RDHUP);

/// The connections of a worker, each in its place.
struct Connections {
    poll: OwnedFd,
    places: Vec<Option<Connection>>,
    free: Vec<usize>,
}

impl Connections {
    fn insert(&mut self, connection: Connection) -> usize {
        let place = self.free.pop().unwrap_or(self.places.len());
        if place == self.places.len() {
            self.places.push(None);
        }
        self.places[place] = Some(connection);
        place
    }

    /// Closes the socket, too.
    fn remove(&mut self, place: usize) {
        self.places[place] = None;
        self.free.push(place);
    }

    fn watch(&self, place: usize, events: EventFlags) -> io::Result<()> {
        let Some(Some(connection)) = self.places.get(place) else { return Ok(()) };
        Ok(epoll::add(&self.poll, connection.socket(), data(place), events)?)
    }

    fn watch_again(&self, place: usize, events: EventFlags) -> io::Result<()> {
        let Some(Some(connection)) = self.places.get(place) else { return Ok(()) };
        Ok(epoll::modify(&self.poll, connection.socket(), data(place), events)?)
    }

    fn forget(&self, place: usize) -> io::Result<()> {
        let Some(Some(connection)) = self.places.get(place) else { return Ok(()) };
        Ok(epoll::delete(&self.poll, connection.socket())?)
    }
}

fn data(place: usize) -> EventData {
    EventData::new_u64(u64::try_from(place).unwrap_or(LISTENER))
}

/// The sessions that have ended, and the cost of the measured ones.
#[derive(Debug)]
struct Count {
    size: Size,
    ended: u32,
    library_ticks: Vec<u64>,
    cpu: [Duration; 2],
}

impl Count {
    fn add(&mut self, ticks: u64) {
        self.ended += 1;
        if self.ended == self.size.settle {
            self.cpu[0] = thread_cpu();
        } else if self.ended > self.size.settle && !self.is_over() {
            self.library_ticks.push(ticks);
            if self.is_full() {
                self.cpu[1] = thread_cpu();
            }
        }
    }

    /// Returns whether all measured sessions have ended.
    const fn is_full(&self) -> bool {
        self.ended >= self.size.settle + self.size.sessions
    }

    const fn is_over(&self) -> bool {
        self.ended > self.size.settle + self.size.sessions
    }

    fn served(self) -> Option<Served> {
        let Self { library_ticks, cpu: [from, to], .. } = &self;
        let cpu = to.saturating_sub(*from) / self.size.sessions;
        self.is_full().then(|| Served { cpu, library_ticks: library_ticks.clone() })
    }
}

/// The access log, written in blocks.
struct Log<'a> {
    file: &'a File,
    lines: Vec<u8>,
    written: Instant,
}

impl Log<'_> {
    fn flush(&mut self, interval: Duration) -> io::Result<()> {
        if !self.lines.is_empty() && self.written.elapsed() >= interval {
            self.file.write_all(&self.lines)?;
            self.lines.clear();
            self.written = Instant::now();
        }
        Ok(())
    }
}
