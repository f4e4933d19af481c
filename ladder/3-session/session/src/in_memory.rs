//! Sessions in memory: the server's own connections and minimal clients, on one thread.

use std::sync::Arc;

use tollgate_calibrate::{clock, tsc};
use tollgate_server::in_memory::{self, Turn, Worker};
use tollgate_tls_client::{Config, Connection, Event, Facts, Settings, VerifySignature};

use crate::error::Error;
use crate::pipe::{LAPS, Lap, Pipe, Recording};
use crate::plan::Session;

/// The number of connections in flight: the load generator's default. Together, these connections
/// use as much memory as those of a server under load, which is more than the inner caches have.
const CONNECTIONS: usize = 16;

/// A server in memory and its clients, ready for sessions of one kind.
pub(crate) struct Stage<'w> {
    session: Session,
    worker: &'w Worker,
    clients: Vec<Connection>,
    request: Vec<u8>,
}

/// A recorded session.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) recording: Recording,
    pub(crate) facts: Facts,
}

/// A session in progress; its client has the same index in the stage.
struct Visit<'w> {
    server: in_memory::Connection<'w, Pipe>,
    response: Response,
}

impl<'w> Stage<'w> {
    pub(crate) fn new(session: Session, worker: &'w Worker) -> Result<Self, Error> {
        // This client skips checks that cost the server nothing, like the load generator's client.
        let settings = Settings { verify_signature: VerifySignature::Never, ..session.settings()? };
        let config = Arc::new(Config::new(settings)?);
        let clients = (0..CONNECTIONS).map(|_| Connection::new(&config));
        let bytes = session.bytes;
        let request =
            format!("GET /bytes/{bytes} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        Ok(Self {
            session,
            worker,
            clients: clients.collect::<Result<_, _>>()?,
            request: request.into_bytes(),
        })
    }

    /// Plays [`CONNECTIONS`] sessions in turns. Returns the server's core cycles for each, by lap.
    pub(crate) fn play(&mut self) -> Result<Vec<[f64; LAPS]>, Error> {
        let ((result, all), elapsed) = clock::time(|| {
            let first = tsc::ticks();
            let result = self.run(CONNECTIONS, false);
            (result, first.zip(tsc::ticks()))
        });
        let (first, last) = all.ok_or(Error::NoCycles)?;
        let core = elapsed.core.ok_or(Error::NoCycles)?;
        // Preemption adds equally to both counters, so the ratio remains right. Interrupted
        // sessions are outliers.
        let cycles_per_tick = core.cycles / number(last.saturating_sub(first)).max(1.0);
        let cost =
            |(laps, _): ([u64; LAPS], Recording)| laps.map(|ticks| number(ticks) * cycles_per_tick);
        Ok(result?.into_iter().map(cost).collect())
    }

    /// Plays one session and records everything.
    pub(crate) fn record(&mut self) -> Result<Recorded, Error> {
        let (_, recording) = self.run(1, true)?.swap_remove(0);
        Ok(Recorded { recording, facts: *self.clients[0].facts() })
    }

    /// Runs all sessions in turns until all are idle. In each round, every server takes a turn,
    /// directly followed by its client.
    fn run(&mut self, count: usize, record: bool) -> Result<Vec<([u64; LAPS], Recording)>, Error> {
        let visits = (0..count).map(|place| self.begin(place, record));
        let mut visits: Vec<Option<Visit<'_>>> =
            visits.map(|visit| visit.map(Some)).collect::<Result<_, Error>>()?;
        let mut done = Vec::with_capacity(count);
        while done.len() < count {
            for place in 0..count {
                let Some(visit) = &mut visits[place] else { continue };
                turn(&mut visit.server, Turn::Wait).map_err(|why| self.strange(why))?;
                if !self.answer(place, visit)? {
                    done.extend(visits[place].take().map(|visit| self.finish(place, visit)));
                }
            }
        }
        done.into_iter().collect()
    }

    fn begin(&mut self, place: usize, record: bool) -> Result<Visit<'w>, Error> {
        let client = &mut self.clients[place];
        client.reset()?;
        let mut pipe = Pipe::new(record);
        pipe.send(Lap::Hello, client.outgoing());
        client.sent(client.outgoing().len())?;
        let before = tsc::ticks();
        let mut server = self.worker.accept(pipe)?;
        server.transport().count(since(before));
        Ok(Visit { server, response: Response::default() })
    }

    /// Passes the server's bytes to the client and the client's answer to the server. Returns
    /// whether the client had an answer.
    fn answer(&mut self, place: usize, visit: &mut Visit<'_>) -> Result<bool, Error> {
        let client = &mut self.clients[place];
        let Visit { server, response } = visit;
        let pipe = server.transport();
        let mut established = false;
        pipe.receive(|bytes| {
            client.read_tls(bytes, |event| match event {
                Event::Established => established = true,
                Event::Data(data) => response.read(data),
                Event::Closed => {}
            })
        })?;
        let waiting = client.outgoing();
        let any = !waiting.is_empty() || established;
        pipe.send(Lap::Finish, waiting);
        client.sent(waiting.len())?;
        if established {
            client.send(&self.request)?;
            pipe.send(Lap::Data, client.outgoing());
            client.sent(client.outgoing().len())?;
        }
        Ok(any)
    }

    /// Closes the client's side and returns the cost of the session.
    fn finish(&self, place: usize, visit: Visit<'_>) -> Result<([u64; LAPS], Recording), Error> {
        let Visit { mut server, response } = visit;
        let whole = response == Response { ok: true, body_bytes: self.session.bytes };
        if !whole || self.clients[place].confirmation().is_none() {
            return Err(self.strange("the response is not complete"));
        }
        server.transport().reset();
        turn(&mut server, Turn::Close).map_err(|why| self.strange(why))?;
        let recording = server.transport().recording();
        let [hello, finish, data] = server.transport().ticks();
        let before = tsc::ticks();
        drop(server);
        Ok(([hello, finish, data + since(before)], recording))
    }

    fn strange(&self, why: &'static str) -> Error {
        Error::Session { session: self.session.to_string(), why: why.to_owned() }
    }
}

/// The number of ticks since `before`.
fn since(before: Option<u64>) -> u64 {
    before.zip(tsc::ticks()).map_or(0, |(from, to)| to.saturating_sub(from))
}

/// The response as received so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Response {
    ok: bool,
    body_bytes: u64,
}

impl Response {
    /// Consumes the data of a record; the first one contains the whole head.
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

/// Gives the server a turn. Gives it more turns if it asks for them.
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

/// Converts a count of ticks to a floating-point number.
#[allow(clippy::cast_precision_loss, reason = "spans of ticks are far below 2^53")]
pub(crate) const fn number(ticks: u64) -> f64 {
    ticks as f64
}
