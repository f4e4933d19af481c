//! The connection of a worker to an upstream signer.
//!
//! A connection is used only after an answer to a ping: with TLS 1.3 a client does not learn from the
//! handshake if its certificate was accepted. Pings also show that an idle connection still works.

use core::sync::atomic::Ordering;
use core::time::Duration;
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Instant;

use mio::net::TcpStream;
use mio::{Registry, Token};
use tollgate_keyless::{ErrorCode, Incoming, Message, PADDED_BYTES, PING, Reply};
use zeroize::Zeroizing;

use super::failure::Failure;
use super::plan::{Plan, Status};
use crate::account::RELAYED_MAX;
use crate::identity::Identity;
use crate::outgoing::Outgoing;
use crate::stream::Stream;

/// A signer, and the connection to it.
pub(crate) struct Upstream {
    number: usize,
    plan: Arc<Plan>,
    link: Option<Link>,
    /// The time of the next attempt to connect.
    retry: Instant,
    /// The connections that have ended since the last answer.
    failures: u32,
}

/// A connection.
struct Link {
    stream: Stream,
    step: Step,
    /// The socket may have bytes, or room for some.
    is_ready: bool,
    /// The time of the first step.
    began: Instant,
    /// The end of the validity of the signer's certificate.
    until: Option<Instant>,
    output: Outgoing,
    incoming: Incoming,
    /// The requests without an answer, with their times.
    asked: HashMap<u32, Instant>,
    /// The time of the last answer, or of the first request since all were answered.
    heard: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Connect,
    Handshake,
    /// A ping is on its way.
    Greeting,
    Open,
}

/// An event of a connection.
pub(crate) enum News {
    Answer {
        id: u32,
        took: Duration,
        reply: Result<Zeroizing<Vec<u8>>, ErrorCode>,
    },
    /// The connection has ended, without answers to these requests.
    Ended {
        ids: Vec<u32>,
        why: Failure,
    },
    Opened,
}

/// The number of pings. Operations have others.
pub(crate) const PING_ID: u32 = 0;

/// The longest body of an answer, in bytes: the size of the longest key, and the other items.
const BODY_MAX: usize = 2048;
/// The maximum number of requests of a connection without an answer. Clients on up to [`RELAYED_MAX`]
/// connections have fewer, so that only requests that were given up can use it up.
const ASKED_MAX: usize = 2 * RELAYED_MAX;
/// A connection takes no more requests while this many bytes of them wait. A signer that answers what it
/// has not read would get more without an end.
const OUTPUT_BYTES_MAX: usize = 2 * ASKED_MAX * PADDED_BYTES;
/// The longest time from the beginning to the answer to the first ping.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// The time of an idle connection between two pings.
const PING_EVERY: Duration = Duration::from_secs(30);
/// The shortest and the longest time between two attempts to connect.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

impl Upstream {
    pub(crate) fn new(number: usize, plan: &Arc<Plan>) -> Self {
        Self { number, plan: Arc::clone(plan), link: None, retry: Instant::now(), failures: 0 }
    }

    pub(crate) fn status(&self) -> &Status {
        &self.plan.statuses[self.number]
    }

    /// Returns whether it takes a request now.
    pub(crate) fn takes(&self) -> bool {
        let open = self.link.as_ref().filter(|link| link.step == Step::Open);
        open.is_some_and(|link| {
            link.asked.len() < ASKED_MAX && link.output.waiting() < OUTPUT_BYTES_MAX
        })
    }

    /// Returns whether it has not answered for so long, although it was asked.
    pub(crate) fn is_late(&self, after: Duration, now: Instant) -> bool {
        let asked = self.link.as_ref().filter(|link| !link.asked.is_empty());
        asked.is_some_and(|link| now > link.heard + after)
    }

    /// Returns whether a connection is on its way, or will be at once.
    pub(crate) fn is_coming(&self, now: Instant) -> bool {
        self.link.as_ref().map_or(self.retry <= now, |link| link.step != Step::Open)
    }

    /// Returns whether a late answer to this request may come.
    pub(crate) fn has_asked(&self, id: u32) -> bool {
        self.link.as_ref().is_some_and(|link| link.asked.contains_key(&id))
    }

    /// Takes an event of the connection.
    pub(crate) fn wake(&mut self) {
        if let Some(link) = &mut self.link {
            link.is_ready = true;
        }
    }

    /// Adds a request. [`takes`](Self::takes) has said that there is room.
    pub(crate) fn ask(&mut self, request: &Message<'_>, now: Instant) {
        if let Some(link) = &mut self.link {
            link.ask(request, now);
        }
    }

    /// Returns the time of the next step without an event.
    pub(crate) fn due(&self) -> Instant {
        let Some(link) = &self.link else { return self.retry };
        match link.step {
            Step::Connect | Step::Handshake | Step::Greeting => link.began + CONNECT_MAX,
            Step::Open => {
                let wait = if link.asked.is_empty() { PING_EVERY } else { self.silence_max() };
                link.until.map_or(link.heard + wait, |until| until.min(link.heard + wait))
            }
        }
    }

    /// The time after which a connection whose requests get no answer is given up: other signers can
    /// still do them then.
    fn silence_max(&self) -> Duration {
        self.plan.settings.limit / 2
    }

    /// Goes on as far as that is possible without a wait.
    pub(crate) fn turn(&mut self, registry: &Registry, token: Token, news: &mut Vec<News>) {
        let now = Instant::now();
        if self.link.is_none() {
            if now < self.retry {
                return;
            }
            match Link::open(&self.plan, self.number, registry, token, now) {
                Ok(link) => self.link = Some(link),
                Err(why) => return self.end(Failure::Gone(why), news),
            }
        }
        if let Err(why) = self.go_on(now, news) {
            self.end(why, news);
        }
    }

    fn go_on(&mut self, now: Instant, news: &mut Vec<News>) -> Result<(), Failure> {
        let silence_max = self.silence_max();
        let Self { number, plan, link: Some(link), failures, .. } = self else { return Ok(()) };
        if core::mem::take(&mut link.is_ready) {
            if link.step == Step::Connect && link.is_connected()? {
                link.step = Step::Handshake;
            }
            if link.step == Step::Handshake {
                link.shake_hands(&plan.settings.upstreams[*number].certificate, now)?;
            }
            if link.is_up() {
                let was_open = link.step == Step::Open;
                let has_answer = link.receive(now, news)?;
                *failures = if has_answer { 0 } else { *failures };
                if !was_open && link.step == Step::Open {
                    plan.statuses[*number].connected.fetch_add(1, Ordering::Relaxed);
                }
                link.send()?;
            }
        }
        if link.step != Step::Open {
            return if now < link.began + CONNECT_MAX { Ok(()) } else { Err(Failure::Late) };
        }
        if link.until.is_some_and(|until| until <= now) {
            return Err(Failure::Expired);
        }
        if link.asked.is_empty() && now >= link.heard + PING_EVERY {
            link.ask(&PING_REQUEST, now);
            link.send()?;
        }
        let is_silent = !link.asked.is_empty() && now >= link.heard + silence_max;
        if is_silent { Err(Failure::Late) } else { Ok(()) }
    }

    /// Sends what was added in this turn.
    pub(crate) fn send(&mut self, news: &mut Vec<News>) {
        if let Some(link) = &mut self.link
            && link.is_up()
            && let Err(why) = link.send()
        {
            self.end(why, news);
        }
    }

    /// Ends the connection.
    pub(crate) fn end(&mut self, why: Failure, news: &mut Vec<News>) {
        let link = self.link.take();
        let was_open = link.as_ref().is_some_and(|link| link.step == Step::Open);
        if was_open {
            self.status().connected.fetch_sub(1, Ordering::Relaxed);
        }
        // A signer that starts again ends its connections. It is there again at once.
        let is_usual = was_open && self.failures == 0 && why.is_usual();
        let wait = RETRY.0.saturating_mul(1 << self.failures.min(16)).min(RETRY.1);
        let wait = match why {
            Failure::Wrong | Failure::Nonsense => RETRY.1,
            _ if is_usual => Duration::ZERO,
            _ => wait,
        };
        self.failures = self.failures.saturating_add(1);
        self.retry = Instant::now() + wait;
        let ids = link.map_or_else(Vec::new, |mut link| {
            link.stream.end();
            link.asked.into_keys().filter(|id| *id != PING_ID).collect()
        });
        news.push(News::Ended { ids, why: if is_usual { Failure::Ended } else { why } });
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        if self.link.as_ref().is_some_and(|link| link.step == Step::Open) {
            self.status().connected.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

const PING_REQUEST: Message<'_> = Message { id: PING_ID, opcode: PING, ski: None, payload: &[] };

impl Link {
    fn open(
        plan: &Plan,
        number: usize,
        registry: &Registry,
        token: Token,
        now: Instant,
    ) -> io::Result<Self> {
        let socket = TcpStream::connect(plan.settings.upstreams[number].address)?;
        let mut stream = Stream::tls(&plan.tls, socket)?;
        stream.register(registry, token)?;
        Ok(Self {
            stream,
            step: Step::Connect,
            is_ready: false,
            began: now,
            until: None,
            output: Outgoing::default(),
            incoming: Incoming::new(BODY_MAX),
            asked: HashMap::new(),
            heard: now,
        })
    }

    /// Returns whether the handshake has ended.
    const fn is_up(&self) -> bool {
        matches!(self.step, Step::Greeting | Step::Open)
    }

    fn is_connected(&self) -> Result<bool, Failure> {
        self.stream.is_connected().map_err(Failure::Gone)
    }

    /// Goes on with the handshake, and begins with the greeting. The signer's certificate must have this
    /// name.
    fn shake_hands(&mut self, name: &String, now: Instant) -> Result<(), Failure> {
        let peer = match self.stream.shake_hands() {
            Ok(peer) => peer.ok_or(Failure::Handshake("it has no certificate"))?,
            Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(_) => {
                return Err(self.stream.refusal().map_or(Failure::Closed, Failure::Handshake));
            }
        };
        let Identity::Certificate(names) = peer.identity else { return Err(Failure::Nonsense) };
        if !names.contains(name) {
            return Err(Failure::Name);
        }
        (self.step, self.until) = (Step::Greeting, Some(peer.until));
        self.ask(&PING_REQUEST, now);
        Ok(())
    }

    fn ask(&mut self, request: &Message<'_>, now: Instant) {
        if self.asked.is_empty() {
            self.heard = now;
        }
        self.asked.insert(request.id, now);
        self.output.add(request);
    }

    fn send(&mut self) -> Result<(), Failure> {
        self.output.send(&mut self.stream).map(drop).map_err(|_| Failure::Closed)
    }

    /// Takes the answers that have come, and returns whether there was one.
    fn receive(&mut self, now: Instant, news: &mut Vec<News>) -> Result<bool, Failure> {
        let mut has_answer = false;
        loop {
            while let Some(frame) = self.incoming.next_frame().map_err(|_| Failure::Nonsense)? {
                let id = frame.id;
                let reply = Message::read(frame).and_then(Message::reply);
                let reply = reply.map_err(|_| Failure::Nonsense)?;
                // A ping has a pong, and an operation has none.
                let is_pong = matches!(reply, Reply::Pong(_));
                if (id == PING_ID) != is_pong {
                    return Err(match reply {
                        Reply::Refused(why) if id == PING_ID => Failure::Refused(why),
                        _ => Failure::Nonsense,
                    });
                }
                // Each request has one answer, and nothing else is an answer. A request stays in
                // `asked` up to here, so that the end of the connection sends it to another signer.
                let asked = self.asked.remove(&id).ok_or(Failure::Nonsense)?;
                let took = now.saturating_duration_since(asked);
                self.heard = now;
                match reply {
                    Reply::Pong(_) if self.step == Step::Greeting => {
                        self.step = Step::Open;
                        news.push(News::Opened);
                        continue;
                    }
                    Reply::Pong(_) => {}
                    Reply::Refused(why) => {
                        news.push(News::Answer { id, took, reply: Err(why) });
                    }
                    Reply::Result(result) => {
                        let result = Zeroizing::new(result.to_vec());
                        news.push(News::Answer { id, took, reply: Ok(result) });
                    }
                }
                has_answer = true;
            }
            match self.stream.read(self.incoming.room()) {
                Ok(0) => return Err(Failure::Closed),
                Ok(count) => self.incoming.add(count),
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(has_answer),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Failure::Closed),
            }
        }
    }
}
