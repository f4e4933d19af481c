//! An in-memory transport that separates the server's time from the time of the transport, and
//! records every call.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};

use tollgate_calibrate::tsc;
use tollgate_server::in_memory::Transport;

/// The laps of a session. A lap begins when the server reads the lap's first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lap {
    /// Starts when the server accepts the connection: the `ClientHello` and the server's first
    /// flight.
    Hello,
    /// The client's last flight of the handshake and the answer to it.
    Finish,
    /// The request, the response, and the end of the connection.
    Data,
}

pub(crate) const LAPS: usize = 3;

/// A connection's call to its transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// The connection read this many bytes.
    Read(usize),
    /// The connection tried to read, but no bytes were available.
    Blocked,
    /// The connection wrote this many bytes.
    Write(usize),
    /// The connection closed its writing side.
    CloseWriting,
}

/// A call, and the server's time before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The number of ticks of the time stamp counter since the previous call.
    pub(crate) ticks: u64,
    pub(crate) call: Call,
}

/// All bytes and calls of a pipe.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    pub(crate) steps: Vec<Step>,
    /// Bytes from the client, by lap.
    pub(crate) client: [Vec<u8>; LAPS],
    /// Bytes from the server, by lap.
    pub(crate) server: [Vec<u8>; LAPS],
}

/// A transport in memory.
#[derive(Debug)]
pub(crate) struct Pipe {
    to_server: VecDeque<(Lap, Vec<u8>)>,
    /// The number of bytes of the front piece that were already read.
    read: usize,
    from_server: Vec<u8>,
    /// True if the client left without a `close_notify`.
    reset: bool,
    lap: Lap,
    ticks: [u64; LAPS],
    /// When the current span of the server's time began; `None` while the clock is stopped.
    since: Option<u64>,
    /// Ticks since the last call.
    pending: u64,
    recording: Option<Box<Recording>>,
}

impl Pipe {
    pub(crate) fn new(record: bool) -> Self {
        Self {
            to_server: VecDeque::new(),
            read: 0,
            from_server: Vec::with_capacity(4096),
            reset: false,
            lap: Lap::Hello,
            ticks: [0; LAPS],
            since: None,
            pending: 0,
            recording: record.then(Box::default),
        }
    }

    /// Starts the clock of the server's time.
    pub(crate) fn start(&mut self) {
        self.since = tsc::ticks();
    }

    /// Stops the clock of the server's time.
    pub(crate) fn stop(&mut self) {
        if let (Some(since), Some(now)) = (self.since.take(), tsc::ticks()) {
            self.count(now.saturating_sub(since));
        }
    }

    /// Adds ticks of the server's time that were measured elsewhere.
    pub(crate) fn count(&mut self, ticks: u64) {
        self.ticks[self.lap as usize] += ticks;
        self.pending += ticks;
    }

    /// Ticks of the server's time, by lap.
    pub(crate) const fn ticks(&self) -> [u64; LAPS] {
        self.ticks
    }

    /// Appends one piece of bytes for the server to read.
    pub(crate) fn send(&mut self, lap: Lap, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.to_server.push_back((lap, bytes.to_vec()));
        }
    }

    /// Resets the connection, as if the client had left.
    pub(crate) const fn reset(&mut self) {
        self.reset = true;
    }

    /// Passes the bytes that the server has written to `take`.
    pub(crate) fn receive<R>(&mut self, take: impl FnOnce(&[u8]) -> R) -> R {
        let result = take(&self.from_server);
        self.from_server.clear();
        result
    }

    /// Returns the recording so far; empty if recording is off.
    pub(crate) fn recording(&mut self) -> Recording {
        self.recording.take().map(|recording| *recording).unwrap_or_default()
    }

    fn record(&mut self, call: Call) {
        let ticks = core::mem::take(&mut self.pending);
        if let Some(recording) = &mut self.recording {
            recording.steps.push(Step { ticks, call });
        }
    }

    fn hand_over(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some((lap, piece)) = self.to_server.front() else {
            if self.reset {
                return Err(ErrorKind::ConnectionReset.into());
            }
            self.record(Call::Blocked);
            return Err(ErrorKind::WouldBlock.into());
        };
        self.lap = *lap;
        let rest = &piece[self.read..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        if let Some(recording) = &mut self.recording {
            recording.client[self.lap as usize].extend_from_slice(&rest[..count]);
        }
        self.read += count;
        if self.read == piece.len() {
            self.read = 0;
            self.to_server.pop_front();
        }
        self.record(Call::Read(count));
        Ok(count)
    }

    /// Runs `act` without charging its time to the server.
    fn aside<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        self.stop();
        let result = act(self);
        self.start();
        result
    }
}

impl Read for Pipe {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.aside(|pipe| pipe.hand_over(out))
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.aside(|pipe| {
            pipe.from_server.extend_from_slice(bytes);
            if let Some(recording) = &mut pipe.recording {
                recording.server[pipe.lap as usize].extend_from_slice(bytes);
            }
            pipe.record(Call::Write(bytes.len()));
            Ok(bytes.len())
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Transport for Pipe {
    fn close_writing(&mut self) -> io::Result<()> {
        self.aside(|pipe| pipe.record(Call::CloseWriting));
        Ok(())
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn pieces_begin_laps_and_calls_are_recorded() {
        let mut pipe = Pipe::new(true);
        pipe.send(Lap::Hello, b"hello");
        pipe.send(Lap::Finish, b"");
        pipe.send(Lap::Data, b"data");
        let mut out = [0; 3];
        assert_eq!(pipe.read(&mut out).unwrap(), 3);
        assert_eq!(pipe.read(&mut out).unwrap(), 2);
        pipe.write_all(b"answer").unwrap();
        assert_eq!(pipe.read(&mut out).unwrap(), 3, "pieces are not joined");
        pipe.write_all(b"response").unwrap();
        assert_eq!(pipe.receive(<[u8]>::to_vec), b"answerresponse");
        assert_eq!(pipe.receive(<[u8]>::to_vec), b"");
        assert_eq!(pipe.read(&mut out).unwrap(), 1);
        assert_eq!(pipe.read(&mut out).unwrap_err().kind(), ErrorKind::WouldBlock);
        pipe.close_writing().unwrap();
        pipe.reset();
        assert_eq!(pipe.read(&mut out).unwrap_err().kind(), ErrorKind::ConnectionReset);
        let Recording { steps, client, server } = pipe.recording();
        let calls: Vec<Call> = steps.iter().map(|step| step.call).collect();
        let expected = [
            Call::Read(3),
            Call::Read(2),
            Call::Write(6),
            Call::Read(3),
            Call::Write(8),
            Call::Read(1),
            Call::Blocked,
            Call::CloseWriting,
        ];
        assert_eq!(calls, expected);
        assert_eq!(client, [b"hello".to_vec(), vec![], b"data".to_vec()]);
        assert_eq!(server, [b"answer".to_vec(), vec![], b"response".to_vec()]);
    }

    #[test]
    fn time_outside_of_turns_is_not_counted() {
        let mut pipe = Pipe::new(false);
        pipe.send(Lap::Data, b"data");
        pipe.count(100);
        pipe.hand_over(&mut [0; 4]).unwrap();
        pipe.count(20);
        assert_eq!(pipe.ticks(), [100, 0, 20]);
        pipe.stop(); // the clock was never started
        assert_eq!(pipe.ticks(), [100, 0, 20]);
    }
}
