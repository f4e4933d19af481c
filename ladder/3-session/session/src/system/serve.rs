//! The serving side of a replay: an event loop like the server's worker.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::time::Instant;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use tollgate_calibrate::clock;
use tollgate_load::thread_cpu;

use super::{CLOCK_WINDOWS, Move, PATIENCE, Size, spin};
use crate::pipe::Call;

const LISTENER: Token = Token(usize::MAX);
/// The maximum number of events of one poll, as in the server's worker.
const EVENTS_MAX: usize = 1024;
const ACCEPTS_MAX: usize = 64;
const RECORD_BYTES_MAX: usize = 16 * 1024;
/// The number of sessions whose computation is timed before and after a replay.
const COMPUTED: u32 = 10;

/// A connection and its progress in the session.
struct Visit {
    socket: TcpStream,
    at: usize,
    /// True if the computation before the next call is done.
    computed: bool,
    /// The number of bytes that were read before the recorded call that reads them.
    ahead: usize,
    /// The number of bytes of the next write that were already written.
    written: usize,
}

enum Next {
    Close,
    Wait,
    WaitForRoom,
}

/// Serves the sessions of a replay. Returns the core cycles per session, without the warm-up and
/// without the computation of `turns` turns; `None` if cycles cannot be measured.
pub(super) fn serve(
    listener: std::net::TcpListener,
    (moves, turns): (&[Move], u64),
    size: Size,
    over: &AtomicBool,
) -> io::Result<Option<f64>> {
    let mut listener = TcpListener::from_std(listener);
    let mut poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut events = Events::with_capacity(EVENTS_MAX);
    let mut visits: Vec<Option<Visit>> = Vec::new();
    let bytes = vec![0_u8; RECORD_BYTES_MAX + 1024];
    let mut scratch = bytes.clone();
    let (mut accept_ready, mut closed) = (true, 0);
    let (hz, computing) = (core_hz(), computing(turns));
    let (begun, mut cpu) = (Instant::now(), thread_cpu());
    while closed < size.all() {
        let wait = if accept_ready { Duration::ZERO } else { Duration::from_millis(50) };
        match poll.poll(&mut events, Some(wait)) {
            Err(why) if why.kind() != ErrorKind::Interrupted => return Err(why),
            _ => {}
        }
        if over.load(Ordering::Relaxed) || begun.elapsed() > PATIENCE {
            return Err(io::Error::new(ErrorKind::TimedOut, "its peer has given up"));
        }
        for event in &events {
            let Token(place) = event.token();
            if event.token() == LISTENER {
                accept_ready = true;
                continue;
            }
            let Some(Some(visit)) = visits.get_mut(place) else { continue };
            match visit.turn(moves, &bytes, &mut scratch)? {
                Next::Wait => {}
                Next::WaitForRoom => {
                    let both = Interest::READABLE | Interest::WRITABLE;
                    poll.registry().reregister(&mut visit.socket, Token(place), both)?;
                }
                Next::Close => {
                    visits[place] = None;
                    closed += 1;
                    if closed == size.settle {
                        cpu = thread_cpu();
                    }
                }
            }
        }
        for _ in 0..ACCEPTS_MAX {
            if !accept_ready {
                break;
            }
            match listener.accept() {
                Ok((socket, _)) => admit(socket, &mut visits, &poll)?,
                Err(why) if why.kind() == ErrorKind::WouldBlock => accept_ready = false,
                Err(why) => return Err(why),
            }
        }
    }
    let spent = thread_cpu().saturating_sub(cpu).as_secs_f64() / f64::from(size.sessions);
    let computing = f64::midpoint(computing, self::computing(turns));
    let hz = hz.zip(core_hz()).map(|(before, behind)| f64::midpoint(before, behind));
    Ok(hz.map(|hz| (spent - computing) * hz))
}

/// Returns the CPU seconds that the computation of one session takes now.
fn computing(turns: u64) -> f64 {
    let before = thread_cpu();
    (0..COMPUTED).for_each(|_| spin(turns));
    thread_cpu().saturating_sub(before).as_secs_f64() / f64::from(COMPUTED)
}

fn admit(mut socket: TcpStream, visits: &mut Vec<Option<Visit>>, poll: &Poll) -> io::Result<()> {
    let free = visits.iter().position(Option::is_none);
    let place = free.unwrap_or_else(|| {
        visits.push(None);
        visits.len() - 1
    });
    poll.registry().register(&mut socket, Token(place), Interest::READABLE)?;
    visits[place] = Some(Visit { socket, at: 0, computed: false, ahead: 0, written: 0 });
    Ok(())
}

impl Visit {
    /// Makes all progress that is possible now.
    fn turn(&mut self, moves: &[Move], bytes: &[u8], scratch: &mut [u8]) -> io::Result<Next> {
        loop {
            let Some(&Move { spin: turns, call }) = moves.get(self.at) else {
                return Ok(self.linger(scratch));
            };
            if !core::mem::replace(&mut self.computed, true) {
                spin(turns);
            }
            match call {
                Call::Read(count) if self.ahead >= count => self.ahead -= count,
                Call::Read(_) => match self.socket.read(scratch) {
                    Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                    Ok(count) => {
                        self.ahead += count;
                        continue;
                    }
                    Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(Next::Wait),
                    Err(why) => return Err(why),
                },
                Call::Blocked if self.ahead > 0 => {}
                Call::Blocked => match self.socket.read(scratch) {
                    Err(why) if why.kind() == ErrorKind::WouldBlock => {
                        self.step();
                        return Ok(Next::Wait);
                    }
                    // The client was faster than in memory, or it has left. The next call shows
                    // which.
                    Ok(count) => self.ahead += count,
                    Err(_) => return Ok(Next::Close),
                },
                Call::Write(count) => {
                    while self.written < count {
                        match self.socket.write(&bytes[..(count - self.written).min(bytes.len())]) {
                            Ok(written) => self.written += written,
                            Err(why) if why.kind() == ErrorKind::WouldBlock => {
                                return Ok(Next::WaitForRoom);
                            }
                            // The client had the whole response and left before the close_notify.
                            // The real server's connection also ends at this point. The peer
                            // reports every other loss.
                            Err(_) => return Ok(Next::Close),
                        }
                    }
                    self.written = 0;
                }
                Call::CloseWriting => {
                    // The peer may have left after the whole response.
                    let _ = self.socket.shutdown(Shutdown::Write);
                }
            }
            self.step();
        }
    }

    const fn step(&mut self) {
        self.at += 1;
        self.computed = false;
    }

    fn linger(&mut self, scratch: &mut [u8]) -> Next {
        match self.socket.read(scratch) {
            Err(why) if why.kind() == ErrorKind::WouldBlock => Next::Wait,
            _ => Next::Close,
        }
    }
}

/// Returns the core's clock. Takes the fastest measurement, because other processes can only make
/// it slower.
pub(super) fn core_hz() -> Option<f64> {
    clock::core_hz(CLOCK_WINDOWS)?.last().copied()
}
