//! The event loop of a replica.

use core::time::Duration;
use std::fs::File;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::net::SocketFlags;
use rustix::time::Timespec;
use tollgate_load::thread_cpu;

use super::connection::{Connection, Shared, Turn};
use super::sequence::Worker;
use super::{SESSIONS, SETTLE};

const LISTENER: u64 = u64::MAX;
/// Timeout of a replay.
const PATIENCE: Duration = Duration::from_secs(20);
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
    pub(super) log: &'a File,
    pub(super) log_line: &'a [u8],
}

impl Loop<'_> {
    /// Serves [`SETTLE`] and then [`SESSIONS`] sessions, and then the rest until `is_over`.
    pub(super) fn serve(&self, is_over: &dyn Fn() -> bool) -> io::Result<Served> {
        let poll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&poll, self.listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        let mut events: Vec<Event> = Vec::with_capacity(self.worker.events_max);
        let mut connections: Vec<Option<Connection>> = Vec::new();
        let mut free = Vec::new();
        let mut log = Log { file: self.log, lines: Vec::new(), written: Instant::now() };
        let (mut ended, mut library_ticks, begun) = (0, Vec::new(), Instant::now());
        let mut cpu = (Duration::ZERO, Duration::ZERO);
        while !is_over() {
            if begun.elapsed() > PATIENCE {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "its client waits"));
            }
            events.clear();
            match epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), Some(&LOOK)) {
                Err(rustix::io::Errno::INTR) => {}
                result => _ = result?,
            }
            for event in &events {
                let token = event.data.u64();
                if token == LISTENER {
                    self.accept(&poll, &mut connections, &mut free)?;
                    continue;
                }
                let place = usize::try_from(token).unwrap_or(usize::MAX);
                let Some(slot) = connections.get_mut(place) else { continue };
                let Some(connection) = slot else { continue };
                let turn = match connection.turn(&self.shared) {
                    // The client resets what is in flight when it has made all its sessions.
                    Err(_) if ended >= SETTLE + SESSIONS => {
                        *slot = None;
                        free.push(place);
                        continue;
                    }
                    turn => turn?,
                };
                match turn {
                    Turn::Readable => {}
                    Turn::Writable => {
                        let both = readable() | EventFlags::OUT;
                        epoll::modify(&poll, connection.socket(), EventData::new_u64(token), both)?;
                    }
                    Turn::Over(ticks) => {
                        *slot = None;
                        free.push(place);
                        log.lines.extend_from_slice(self.log_line);
                        ended += 1;
                        if ended == SETTLE {
                            cpu.0 = thread_cpu();
                        } else if (SETTLE..=SETTLE + SESSIONS).contains(&ended) {
                            library_ticks.push(ticks);
                            if ended == SETTLE + SESSIONS {
                                cpu.1 = thread_cpu();
                            }
                        }
                    }
                }
            }
            log.flush(Duration::from_millis(self.worker.log_flush_ms))?;
        }
        if ended < SETTLE + SESSIONS {
            return Err(io::Error::other("its client ended early"));
        }
        Ok(Served { cpu: cpu.1.saturating_sub(cpu.0) / SESSIONS, library_ticks })
    }

    fn accept(
        &self,
        poll: &OwnedFd,
        connections: &mut Vec<Option<Connection>>,
        free: &mut Vec<usize>,
    ) -> io::Result<()> {
        for _ in 0..self.worker.accepts_per_event {
            let socket = match rustix::net::accept_with(self.listener, SocketFlags::NONBLOCK) {
                Err(rustix::io::Errno::AGAIN) => return Ok(()),
                socket => socket?,
            };
            let place = free.pop().unwrap_or(connections.len());
            if place == connections.len() {
                connections.push(None);
            }
            let token = u64::try_from(place).unwrap_or(LISTENER);
            epoll::add(poll, &socket, EventData::new_u64(token), readable())?;
            connections[place] = Some(Connection::new(socket, self.shared.calls));
        }
        Ok(())
    }
}

/// As servers register connections: edge-triggered.
fn readable() -> EventFlags {
    EventFlags::IN | EventFlags::RDHUP | EventFlags::ET
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
