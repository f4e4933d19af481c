//! The event loop of a replica.

use core::hint::black_box;
use core::time::Duration;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Instant;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use rustix::time::Timespec;
use tollgate_load::thread_cpu;

use super::Size;
use super::connection::{Connection, LibraryClock, Shared, Turn};
use super::sequence::{Call, Session, Watch, Worker};

const LISTENER: u64 = u64::MAX;
/// Timeout of a replay.
const PATIENCE: Duration = Duration::from_secs(20);
/// More than the number of times that the engine pauses a handshake.
const PAUSES_MAX: usize = 32;
/// Readings of the clock that are timed together.
const READINGS: u32 = 64;
/// The interval of looking whether the client has given up.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The cost of the measured sessions to the serving thread.
#[derive(Clone, Debug)]
pub(super) struct Served {
    /// CPU time of the thread for one session.
    pub(super) cpu: Duration,
    /// The part of it in the library.
    pub(super) library: Duration,
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
        let mut connections =
            Connections { poll, places: Vec::new(), free: Vec::new(), clock: Rc::default() };
        let (mut due, mut paused) = (VecDeque::new(), Vec::new());
        let mut log = Log { file: self.log, lines: Vec::new(), written: Instant::now() };
        let mut count = Count {
            size: self.size,
            ended: 0,
            clock: Rc::clone(&connections.clock),
            spent: [Spent::default(); 2],
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
            let place = connections.insert(socket, self.shared.calls);
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
                Some(Turn::Over) => {
                    log.lines.extend_from_slice(self.log_line);
                    count.add();
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
            (Turn::Over, _) => connections.remove(place),
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
    clock: Rc<LibraryClock>,
}

impl Connections {
    fn insert(&mut self, socket: OwnedFd, calls: &Session) -> usize {
        let connection = Connection::new(socket, calls, &self.clock);
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

/// CPU time of the thread so far, and the clock of the library.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    cpu: Duration,
    library: Duration,
    spans: u32,
}

/// The sessions that have ended, and the costs before and after the measured ones.
#[derive(Debug)]
struct Count {
    size: Size,
    ended: u32,
    clock: Rc<LibraryClock>,
    spent: [Spent; 2],
}

impl Count {
    fn add(&mut self) {
        self.ended += 1;
        let measured = [self.size.settle, self.size.settle + self.size.sessions];
        if let Some(i) = measured.iter().position(|&ended| ended == self.ended) {
            let (library, spans) = self.clock.read();
            self.spent[i] = Spent { cpu: thread_cpu(), library, spans };
        }
    }

    /// Returns whether all measured sessions have ended.
    const fn is_full(&self) -> bool {
        self.ended >= self.size.settle + self.size.sessions
    }

    /// The cost of a session, without that of reading the clock.
    fn served(&self) -> Option<Served> {
        let [from, to] = &self.spent;
        let readings = reading() * (to.spans - from.spans);
        let library = (to.library - from.library).saturating_sub(readings);
        let cpu = (to.cpu - from.cpu).saturating_sub(2 * readings);
        let count = self.size.sessions;
        self.is_full().then(|| Served { cpu: cpu / count, library: library / count })
    }
}

/// The CPU time of one reading of the clock: the least of several, because interruptions add to it.
fn reading() -> Duration {
    let timed = || {
        let before = thread_cpu();
        for _ in 1..READINGS {
            black_box(thread_cpu());
        }
        (thread_cpu() - before) / READINGS
    };
    (0..9).map(|_| timed()).min().unwrap_or_default()
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
