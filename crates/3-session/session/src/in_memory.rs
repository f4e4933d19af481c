//! One session in memory: the server's own connection and the minimal client, on one thread.

use std::sync::Arc;

use tollgate_client::{Config, Connection, Event, Settings, Suite, VerifySignature};
use tollgate_client::{Facts, Group};
use tollgate_cpu::{clock, tsc};
use tollgate_load::Protocol;
use tollgate_server::in_memory::{self, Turn, Worker};

use crate::cpu_time::thread_cpu;
use crate::error::Error;
use crate::pipe::{LAPS, Lap, Pipe, Recording};
use crate::plan::Session;

/// The share of a session's time that its thread must have had a core; the readings take the rest.
const ON_CORE: f64 = 0.97;

/// A client, ready for one session after another of one kind.
pub(crate) struct Stage<'w> {
    session: Session,
    worker: &'w Worker,
    client: Connection,
    request: Vec<u8>,
}

/// What one session cost the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Core cycles, by lap.
    pub(crate) laps: [f64; LAPS],
}

/// What a session was, once it has been recorded.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) recording: Recording,
    pub(crate) facts: Facts,
}

impl<'w> Stage<'w> {
    pub(crate) fn new(session: Session, worker: &'w Worker) -> Result<Self, Error> {
        let (suite, group) = match session.protocol {
            Protocol::Tls12P256 => (Suite::Tls12EcdheRsa, Group::P256),
            Protocol::Tls12Rsa => (Suite::Tls12Rsa, Group::X25519),
            Protocol::Tls12X25519 => (Suite::Tls12EcdheRsa, Group::X25519),
            Protocol::Tls13 => (Suite::Tls13, Group::X25519),
        };
        // As the load generator's client: what it does not check costs the server nothing.
        let settings = Settings {
            groups: vec![group],
            verify_signature: VerifySignature::Never,
            ..Settings::new(suite)
        };
        let client = Connection::new(&Arc::new(Config::new(settings)?))?;
        let bytes = session.bytes;
        let request =
            format!("GET /bytes/{bytes} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        Ok(Self { session, worker, client, request: request.into_bytes() })
    }

    /// Plays one session; its cost, or `None` if the thread lost its core meanwhile: then nobody
    /// knows in which lap.
    pub(crate) fn play(&mut self) -> Result<Option<Cost>, Error> {
        let ((result, all, cpu), elapsed) = clock::time(|| {
            let (first, cpu) = (tsc::ticks(), thread_cpu());
            let result = self.run(false);
            let cpu = thread_cpu().saturating_sub(cpu);
            (result, first.zip(tsc::ticks()), cpu)
        });
        let (ticks, ..) = result?;
        let (first, last) = all.ok_or(Error::NoCycles)?;
        let core = elapsed.core.ok_or(Error::NoCycles)?;
        if cpu.as_secs_f64() < ON_CORE * elapsed.wall.as_secs_f64() {
            return Ok(None);
        }
        let cycles_per_tick = core.cycles / number(last.saturating_sub(first)).max(1.0);
        Ok(Some(Cost { laps: ticks.map(|ticks| number(ticks) * cycles_per_tick) }))
    }

    /// Plays one session and writes everything down.
    pub(crate) fn record(&mut self) -> Result<Recorded, Error> {
        let (_, recording) = self.run(true)?;
        Ok(Recorded { recording, facts: *self.client.facts() })
    }

    fn run(&mut self, record: bool) -> Result<([u64; LAPS], Recording), Error> {
        self.client.reset()?;
        let mut pipe = Pipe::new(record);
        pipe.send(Lap::Hello, self.client.outgoing());
        self.client.sent(self.client.outgoing().len())?;
        let before = tsc::ticks();
        let mut server = self.worker.accept(pipe)?;
        let opening = before.zip(tsc::ticks()).map_or(0, |(from, to)| to.saturating_sub(from));
        server.transport().count(opening);

        let mut response = Response::default();
        // Each turn of the server is followed by one of the client, until both have nothing to say.
        loop {
            turn(&mut server, Turn::Wait).map_err(|why| self.strange(why))?;
            if !self.answer(server.transport(), &mut response)? {
                break;
            }
        }
        let whole = response == Response { ok: true, body_bytes: self.session.bytes };
        if !whole || self.client.confirmation().is_none() {
            return Err(self.strange("the response is not complete"));
        }
        server.transport().reset();
        turn(&mut server, Turn::Close).map_err(|why| self.strange(why))?;
        let recording = server.transport().recording();
        let ticks = server.transport().ticks();
        let before = tsc::ticks();
        drop(server);
        let closing = before.zip(tsc::ticks()).map_or(0, |(from, to)| to.saturating_sub(from));
        let [hello, finish, data] = ticks;
        Ok(([hello, finish, data + closing], recording))
    }

    /// Gives the client what the server wrote, and the server what the client says to it. Whether
    /// that was anything.
    fn answer(&mut self, pipe: &mut Pipe, response: &mut Response) -> Result<bool, Error> {
        let client = &mut self.client;
        let mut established = false;
        pipe.receive(|bytes| {
            client.read_tls(bytes, |event| match event {
                Event::Established => established = true,
                Event::Data(data) => response.read(data),
                Event::Closed => {}
            })
        })?;
        let waiting = client.outgoing();
        let mut any = !waiting.is_empty();
        pipe.send(Lap::Finish, waiting);
        client.sent(waiting.len())?;
        if established {
            client.send(&self.request)?;
            pipe.send(Lap::Data, client.outgoing());
            client.sent(client.outgoing().len())?;
            any = true;
        }
        Ok(any)
    }

    fn strange(&self, why: &'static str) -> Error {
        Error::Session { session: self.session.to_string(), why: why.to_owned() }
    }
}

/// What came of the response so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Response {
    ok: bool,
    body_bytes: u64,
}

impl Response {
    /// Takes a record's worth; the first one holds the whole head.
    fn read(&mut self, data: &[u8]) {
        let mut body = data;
        if !self.ok {
            self.ok = data.starts_with(b"HTTP/1.1 200 OK\r\n");
            let end = data.windows(4).position(|four| four == b"\r\n\r\n");
            body = end.map_or(&[], |end| &data[end + 4..]);
        }
        self.body_bytes += u64::try_from(body.len()).unwrap_or(u64::MAX);
    }
}

/// Gives the server a turn, or more where it asks for more.
fn turn(server: &mut in_memory::Connection<'_, Pipe>, expected: Turn) -> Result<(), &'static str> {
    loop {
        server.transport().start();
        let next = server.turn();
        server.transport().stop();
        match next {
            Turn::Again => {}
            next if next == expected => return Ok(()),
            Turn::Close => return Err("the server closed early"),
            Turn::Wait => return Err("the server did not close"),
        }
    }
}

/// A count of ticks as a number; spans of ticks are far below 2^53.
#[allow(clippy::cast_precision_loss, reason = "spans of ticks are far below 2^53")]
pub(crate) const fn number(ticks: u64) -> f64 {
    ticks as f64
}
