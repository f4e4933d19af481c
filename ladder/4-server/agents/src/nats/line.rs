//! One end of a connection over messages that may be lost, without input and output.
//!
//! NATS delivers a message at most once: a server or a connection that ends loses the messages that
//! it holds. Each message therefore has a number. The receiver takes messages in order, and asks for
//! those from the first missing one on. The sender keeps a message until it is acknowledged.

use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use bytes::{BufMut as _, Bytes, BytesMut};

/// Bytes before the data of a message: its kind, the expected number, its own number.
pub(super) const HEAD: usize = 17;

/// Interval of asking again for what is missing.
pub(super) const TICK: Duration = Duration::from_millis(250);

/// Each side sends a message at least at this interval. It acknowledges what has come, and shows
/// the peer whether the last messages were lost.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// A peer that is silent for this time is gone.
const GONE_AFTER: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Has no number of its own: it states that of the next message.
    Alive,
    /// As `Alive`, and the peer must send the expected message and all later ones again.
    Again,
    Data,
    End,
    /// The sender has no such stream.
    Reset,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Alive, Self::Again, Self::Data, Self::End, Self::Reset];
}

#[derive(Debug)]
pub(super) struct Message {
    pub(super) kind: Kind,
    /// The number of the message that the sender expects next: it has all earlier ones.
    expected: u64,
    number: u64,
    data: Bytes,
}

impl Message {
    /// Returns the message; `None` if it is none.
    pub(super) fn parse(bytes: &Bytes) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let kind = *Kind::ALL.get(usize::from(*kind))?;
        let (expected, rest) = rest.split_first_chunk()?;
        let (number, _) = rest.split_first_chunk()?;
        let [expected, number] = [expected, number].map(|bytes| u64::from_be_bytes(*bytes));
        Some(Self { kind, expected, number, data: bytes.slice(HEAD..) })
    }

    pub(super) fn bytes(&self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(HEAD + self.data.len());
        bytes.put_u8(self.kind as u8);
        bytes.put_u64(self.expected);
        bytes.put_u64(self.number);
        bytes.put_slice(&self.data);
        bytes.freeze()
    }

    /// Returns whether the sender has neither sent nor received data.
    pub(super) const fn is_opening(&self) -> bool {
        matches!(self.kind, Kind::Alive) && self.expected == 0 && self.number == 0
    }

    /// Returns a message outside any stream.
    pub(super) fn first(kind: Kind) -> Bytes {
        Self { kind, expected: 0, number: 0, data: Bytes::new() }.bytes()
    }
}

/// The messages of both directions.
#[derive(Debug)]
pub(super) struct Line {
    /// Messages to send now.
    pub(super) outbox: Vec<Bytes>,
    /// Own messages that are not acknowledged.
    kept: VecDeque<(Kind, Bytes)>,
    /// The length of their data.
    pub(super) kept_bytes: usize,
    /// The number of the first of them.
    first: u64,
    /// The number of the peer's next message.
    expected: u64,
    /// The peer has sent its last message, and this side has all.
    pub(super) has_all: bool,
    heard_at: Instant,
    said_at: Instant,
    looked_at: Instant,
    /// The last question for messages that are still missing.
    asked_at: Option<Instant>,
}

impl Line {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            outbox: vec![Message::first(Kind::Alive)],
            kept: VecDeque::new(),
            kept_bytes: 0,
            first: 0,
            expected: 0,
            has_all: false,
            heard_at: now,
            said_at: now,
            looked_at: now,
            asked_at: None,
        }
    }

    /// Sends data or the end.
    pub(super) fn send(&mut self, kind: Kind, data: Bytes, now: Instant) {
        self.kept_bytes += data.len();
        self.put(kind, self.next(), data.clone(), now);
        self.kept.push_back((kind, data));
    }

    /// Takes a message that has come. `deliver` returns whether there is room for its data; if not,
    /// the message is missing.
    ///
    /// # Errors
    ///
    /// The peer has no such stream.
    pub(super) fn take(
        &mut self,
        message: Message,
        now: Instant,
        deliver: impl FnOnce(Bytes) -> bool,
    ) -> io::Result<()> {
        self.heard_at = now;
        if message.kind == Kind::Reset {
            return Err(io::Error::other("it serves another controller, or was started again"));
        }
        self.acknowledge(message.expected);
        if message.kind == Kind::Again {
            for (number, (kind, data)) in (self.first..).zip(self.kept.clone()) {
                self.put(kind, number, data, now);
            }
        }
        let is_numbered = matches!(message.kind, Kind::Data | Kind::End);
        if message.number < self.expected || (message.number == self.expected && !is_numbered) {
            return Ok(());
        }
        if message.number == self.expected && deliver(message.data) {
            self.expected += 1;
            self.asked_at = None;
            if message.kind == Kind::End {
                self.has_all = true;
                self.note(Kind::Alive, now);
            }
        } else if self.asked_at.is_none() {
            self.ask(now); // `look` asks again
        }
        Ok(())
    }

    /// Asks again for missing messages, or says that this side lives, if it is time.
    ///
    /// # Errors
    ///
    /// The peer is silent for too long.
    pub(super) fn look(&mut self, now: Instant) -> io::Result<()> {
        if now.saturating_duration_since(self.looked_at) > GONE_AFTER / 3 {
            self.heard_at = now; // this process itself stood still
        }
        self.looked_at = now;
        let since = |at| now.saturating_duration_since(at);
        if since(self.heard_at) > GONE_AFTER {
            let why = format!("it was silent for {} s", GONE_AFTER.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        if self.asked_at.is_some_and(|at| since(at) >= TICK) {
            self.ask(now);
        } else if since(self.said_at) >= KEEP_ALIVE {
            self.note(Kind::Alive, now);
        }
        Ok(())
    }

    /// Returns whether the peer has everything.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.kept.is_empty()
    }

    fn ask(&mut self, now: Instant) {
        self.asked_at = Some(now);
        self.note(Kind::Again, now);
    }

    /// Sends a message without a number of its own.
    fn note(&mut self, kind: Kind, now: Instant) {
        self.put(kind, self.next(), Bytes::new(), now);
    }

    fn put(&mut self, kind: Kind, number: u64, data: Bytes, now: Instant) {
        self.said_at = now;
        self.outbox.push(Message { kind, expected: self.expected, number, data }.bytes());
    }

    /// The number of the next message.
    fn next(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    /// Drops the messages before this number.
    fn acknowledge(&mut self, expected: u64) {
        while self.first < expected
            && let Some((_, data)) = self.kept.pop_front()
        {
            self.first += 1;
            self.kept_bytes -= data.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_and_others_are_none() {
        let data = Bytes::from_static(b"abc");
        let bytes = Message { kind: Kind::Data, expected: 7, number: u64::MAX, data }.bytes();
        let again = Message::parse(&bytes).unwrap();
        assert_eq!((again.kind, again.expected, again.number), (Kind::Data, 7, u64::MAX));
        assert_eq!(&*again.data, b"abc");
        for end in 0..HEAD {
            assert!(Message::parse(&bytes.slice(..end)).is_none());
        }
        let mut unknown = bytes.to_vec();
        unknown[0] = 5;
        assert!(Message::parse(&unknown.into()).is_none());
        assert!(Message::parse(&Message::first(Kind::Alive)).unwrap().is_opening());
        assert!(!Message::parse(&Message::first(Kind::Reset)).unwrap().is_opening());
    }

    /// An end of a connection in a test, and the data that it has received.
    struct End {
        line: Line,
        got: Vec<u8>,
    }

    impl End {
        fn new(now: Instant) -> Self {
            Self { line: Line::new(now), got: Vec::new() }
        }

        fn take(&mut self, bytes: &Bytes, now: Instant, has_room: bool) {
            let message = Message::parse(bytes).unwrap();
            let got = &mut self.got;
            let deliver = |data: Bytes| {
                if has_room {
                    got.extend_from_slice(&data);
                }
                has_room
            };
            self.line.take(message, now, deliver).unwrap();
        }
    }

    #[test]
    fn all_data_arrives_in_order_over_a_connection_that_loses_repeats_and_delays() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut now = Instant::now();
            let mut ends = [End::new(now), End::new(now)];
            let mut under_way: [VecDeque<Bytes>; 2] = Default::default();
            let mut sent: [Vec<u8>; 2] = Default::default();
            let mut rounds = 0;
            while !ends.iter().all(|end| end.line.has_all && end.line.is_acknowledged()) {
                rounds += 1;
                assert!(rounds < 10_000, "seed {seed}: it never ends");
                now += Duration::from_millis(random.u64(0..200));
                for at in [0, 1] {
                    let data: Vec<u8> = (0..random.usize(0..4)).map(|_| random.u8(..)).collect();
                    if rounds < 50 {
                        sent[at].extend_from_slice(&data);
                        ends[at].line.send(Kind::Data, data.into(), now);
                    } else if rounds == 50 {
                        ends[at].line.send(Kind::End, Bytes::new(), now);
                    }
                    ends[at].line.look(now).unwrap();
                    for message in core::mem::take(&mut ends[at].line.outbox) {
                        let copies = [0, 1, 1, 1, 1, 2][random.usize(..6)];
                        under_way[at].extend(core::iter::repeat_n(message, copies));
                    }
                    for _ in 0..random.usize(0..4) {
                        let Some(message) = under_way[at].pop_front() else { break };
                        ends[1 - at].take(&message, now, random.u8(..8) > 0);
                    }
                }
            }
            assert_eq!([&ends[1].got, &ends[0].got], [&sent[0], &sent[1]], "seed {seed}");
        }
    }

    #[test]
    fn acknowledgements_of_messages_that_were_not_sent_do_nothing() {
        let now = Instant::now();
        let mut line = Line::new(now);
        line.send(Kind::Data, Bytes::from_static(b"abc"), now);
        let alive =
            |expected| Message { kind: Kind::Alive, expected, number: 0, data: Bytes::new() };
        line.take(alive(0), now, |_| true).unwrap();
        assert_eq!((line.kept_bytes, line.next()), (3, 1));
        line.take(alive(u64::MAX), now, |_| true).unwrap();
        assert_eq!((line.kept_bytes, line.next()), (0, 1));
    }

    #[test]
    fn a_silent_peer_is_gone_unless_this_process_stood_still() {
        let begin = Instant::now();
        let look = |step: Duration, count: u32| {
            let mut line = Line::new(begin);
            (1..=count).try_for_each(|number| line.look(begin + step * number))
        };
        look(Duration::from_secs(1), 10).unwrap();
        assert_eq!(look(Duration::from_secs(1), 11).unwrap_err().kind(), io::ErrorKind::TimedOut);
        look(Duration::from_secs(11), 3).unwrap();
    }
}
