//! Sessions in memory: the server's own connections and minimal clients, on one thread.

use std::sync::Arc;
use std::time::Instant;

use tollgate_calibrate::{clock, tsc};
use tollgate_load::thread_cpu;
use tollgate_server::in_memory::{self, Turn, Worker};
use tollgate_tls_client::{
    Config, Connection, Event, Facts, Identity, Resume, SavedSession, Settings, VerifySignature,
};

use crate::error::Error;
use crate::handshake::Handshake;
use crate::pipe::{LAPS, Lap, Pipe, Recording};
use crate::plan::Session;

/// A server in memory and its clients, ready for sessions of one kind. It has as many clients as
/// connections in flight. Together, 16 connections use as much memory as those of a server under
/// load, which is more than the inner caches have.
pub(crate) struct Stage<'w> {
    session: Session,
    worker: &'w Worker,
    clients: Vec<Connection>,
    /// The session that each client can resume, and the time of its handshake.
    saved: Vec<(SavedSession, Instant)>,
    requests: Requests,
}

/// The requests of a session, as the load generator sends them.
pub(crate) struct Requests {
    count: u32,
    bytes: u64,
    /// A request that keeps the connection open, and the last one.
    texts: [Vec<u8>; 2],
}

impl Requests {
    pub(crate) fn new(session: &Session) -> Self {
        let texts = ["", "Connection: close\r\n"].map(|field| {
            format!("GET /bytes/{} HTTP/1.1\r\nHost: 127.0.0.1\r\n{field}\r\n", session.bytes)
        });
        let texts = texts.map(String::into_bytes);
        Self { count: session.requests, bytes: session.bytes, texts }
    }

    /// Returns the next request after `sent` requests, if there is one.
    pub(crate) fn next(&self, sent: u32) -> Option<&[u8]> {
        let text = &self.texts[usize::from(sent + 1 == self.count)];
        (sent < self.count).then_some(text)
    }
}

/// The responses of a session as received so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Responses {
    sent: u32,
    current: Response,
}

impl Responses {
    /// Consumes the data of a record. A record begins a response or continues it.
    pub(crate) fn read(&mut self, data: &[u8]) {
        self.current.read(data);
    }

    /// Returns the request to send now, if the last response is complete.
    pub(crate) fn request<'a>(&mut self, of: &'a Requests) -> Option<&'a [u8]> {
        if self.sent > 0 && !self.is_complete(of) {
            return None;
        }
        let next = of.next(self.sent)?;
        *self = Self { sent: self.sent + 1, current: Response::default() };
        Some(next)
    }

    /// Returns whether the current response is whole.
    fn is_complete(&self, of: &Requests) -> bool {
        self.current == Response { ok: true, body_bytes: of.bytes }
    }

    /// Returns whether all responses are whole.
    pub(crate) fn are_complete(&self, of: &Requests) -> bool {
        self.sent == of.count && self.is_complete(of)
    }
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
    responses: Responses,
}

impl<'w> Stage<'w> {
    /// A stage for one connection, whose client presents no certificate.
    pub(crate) fn new(session: Session, worker: &'w Worker) -> Result<Self, Error> {
        Self::presenting(session, worker, None, 1)
    }

    /// A stage for this number of connections, whose clients present this certificate if the server
    /// requests one.
    pub(crate) fn presenting(
        session: Session,
        worker: &'w Worker,
        identity: Option<&Arc<Identity>>,
        connections: usize,
    ) -> Result<Self, Error> {
        // This client skips checks that cost the server nothing, like the load generator's client.
        let settings = Settings {
            verify_signature: VerifySignature::Never,
            // a server prefers tickets to session IDs
            tickets: session.handshake != Handshake::SessionId,
            save_sessions: session.handshake.is_resumed(),
            identity: identity.cloned(),
            ..session.settings()?
        };
        let config = Arc::new(Config::new(settings)?);
        let clients = (0..connections).map(|_| Connection::new(&config));
        Ok(Self {
            session,
            worker,
            clients: clients.collect::<Result<_, _>>()?,
            saved: (0..connections).map(|_| (SavedSession::default(), Instant::now())).collect(),
            requests: Requests::new(&session),
        })
    }

    /// Plays a session of each client, in turns. Returns the server's core cycles for a session, by
    /// lap: the mean, because one connection runs the batch of several. Time of other processes is
    /// not counted.
    ///
    /// A stage of resumed sessions makes full handshakes in its first play.
    pub(crate) fn play(&mut self) -> Result<[f64; LAPS], Error> {
        let count = self.clients.len();
        let (begun, cpu) = (Instant::now(), thread_cpu());
        let (visits, cycles_per_tick) = with_clock(|| self.run(count, false))?;
        let on_core = (thread_cpu() - cpu).div_duration_f64(begun.elapsed()).min(1.0);
        let mut sums = [0.0; LAPS];
        for (laps, _) in visits? {
            sums.iter_mut().zip(laps).for_each(|(sum, ticks)| *sum += number(ticks));
        }
        Ok(sums.map(|ticks| ticks * cycles_per_tick * on_core / float(count)))
    }

    /// Plays one session and records everything.
    pub(crate) fn record(&mut self) -> Result<Recorded, Error> {
        let (_, recording) = self.run(1, true)?.swap_remove(0);
        Ok(Recorded { recording, facts: *self.clients[0].facts() })
    }

    /// Runs all sessions in turns until all are idle. In each round, every server takes a turn,
    /// directly followed by its client. A server whose handshake is paused takes its next turn in the
    /// next round, as in the event loop of a worker.
    fn run(&mut self, count: usize, record: bool) -> Result<Vec<([u64; LAPS], Recording)>, Error> {
        let visits = (0..count).map(|place| self.begin(place, record));
        let mut visits: Vec<Option<Visit<'_>>> =
            visits.map(|visit| visit.map(Some)).collect::<Result<_, Error>>()?;
        let mut done = Vec::with_capacity(count);
        while done.len() < count {
            for place in 0..count {
                let Some(visit) = &mut visits[place] else { continue };
                let waits = turn(&mut visit.server, Turn::Wait).map_err(|why| self.strange(why))?;
                if waits && !self.answer(place, visit)? {
                    done.extend(visits[place].take().map(|visit| self.finish(place, visit)));
                }
            }
        }
        done.into_iter().collect()
    }

    fn begin(&mut self, place: usize, record: bool) -> Result<Visit<'w>, Error> {
        let client = &mut self.clients[place];
        match &self.saved[place] {
            (session, _) if session.is_empty() => client.reset()?,
            (session, since) => {
                client.resume(&Resume { session, age: since.elapsed(), early_data: &[] })?;
            }
        }
        let mut pipe = Pipe::new(record);
        pipe.send(Lap::Hello, client.outgoing());
        client.sent(client.outgoing().len())?;
        let before = tsc::ticks();
        let mut server = self.worker.accept(pipe)?;
        server.transport().count(since(before));
        Ok(Visit { server, responses: Responses::default() })
    }

    /// Passes the server's bytes to the client and the client's answer to the server. Returns
    /// whether the client had an answer.
    fn answer(&mut self, place: usize, visit: &mut Visit<'_>) -> Result<bool, Error> {
        let client = &mut self.clients[place];
        let Visit { server, responses } = visit;
        let pipe = server.transport();
        pipe.receive(|bytes| {
            client.read_tls(bytes, |event| match event {
                Event::Data(data) => responses.read(data),
                Event::Closed | Event::Established => {}
            })
        })?;
        let waiting = client.outgoing();
        let mut any = !waiting.is_empty();
        pipe.send(Lap::Finish, waiting);
        client.sent(waiting.len())?;
        if client.is_established()
            && let Some(request) = responses.request(&self.requests)
        {
            any = true;
            client.send(request)?;
            pipe.send(Lap::Data, client.outgoing());
            client.sent(client.outgoing().len())?;
        }
        Ok(any)
    }

    /// Closes the client's side and returns the cost of the session.
    fn finish(
        &mut self,
        place: usize,
        visit: Visit<'_>,
    ) -> Result<([u64; LAPS], Recording), Error> {
        let Visit { mut server, responses } = visit;
        let client = &mut self.clients[place];
        let facts = *client.facts();
        let is_whole = responses.are_complete(&self.requests) && client.confirmation().is_some();
        let (saved, saved_at) = &mut self.saved[place];
        while client.save(saved) {
            *saved_at = Instant::now();
        }
        if !is_whole {
            return Err(self.strange("the response is not complete"));
        }
        if facts.offered.is_some() && !facts.resumed {
            return Err(self.strange("the server did not resume the session"));
        }
        if self.session.handshake == Handshake::Mutual && facts.client_signature.is_none() {
            return Err(self.strange("the server requested no certificate"));
        }
        server.transport().reset();
        while !turn(&mut server, Turn::Close).map_err(|why| self.strange(why))? {}
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

/// Runs `play`, and measures the core cycles of a tick of the time stamp counter meanwhile.
pub(crate) fn with_clock<R>(play: impl FnOnce() -> R) -> Result<(R, f64), Error> {
    let ((result, all), elapsed) = clock::time(|| {
        let first = tsc::ticks();
        let result = play();
        (result, first.zip(tsc::ticks()))
    });
    let (first, last) = all.ok_or(Error::NoCycles)?;
    let core = elapsed.core.ok_or(Error::NoCycles)?;
    // Preemption adds equally to both counters, so the ratio remains right.
    Ok((result, core.cycles / number(last.saturating_sub(first)).max(1.0)))
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

/// Gives the server a turn. Returns false if it asks for another one.
pub(crate) fn turn(
    server: &mut in_memory::Connection<'_, Pipe>,
    expected: Turn,
) -> Result<bool, &'static str> {
    server.transport().start();
    let next = server.turn();
    server.transport().stop();
    match next {
        Turn::Again => Ok(false),
        next if next == expected => Ok(true),
        Turn::Close => Err("the server closed early"),
        Turn::Wait => Err("the server did not close"),
    }
}

#[allow(clippy::cast_precision_loss, reason = "at most some thousand connections")]
const fn float(connections: usize) -> f64 {
    connections as f64
}

/// Converts a count of ticks to a floating-point number.
#[allow(clippy::cast_precision_loss, reason = "spans of ticks are far below 2^53")]
pub(crate) const fn number(ticks: u64) -> f64 {
    ticks as f64
}
