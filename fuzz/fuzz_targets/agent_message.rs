//! Reads any bytes as messages between agents and controllers on NATS, and lets the input decide which
//! messages a connection loses, repeats and delays. The bytes that arrive are always the first ones of
//! those that were sent, and all of them once the connection loses nothing more. Foreign messages cause
//! no panic, and acknowledge no byte that was not sent.
//!
//! The first byte: foreign messages come too, if it is odd. Then steps, of two bytes and more.
#![no_main]

use core::time::Duration;
use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

// this module is private: compile the source file of the crate
#[allow(dead_code, reason = "the agents use more of it")]
#[path = "../../ladder/4-server/agents/src/nats/line.rs"]
mod line;
use line::{HEAD, Kind, Line, Message};

/// Rounds in which a connection that loses nothing delivers everything.
const ROUNDS: u32 = 100;

struct End {
    line: Line,
    sent: Vec<u8>,
    got: Vec<u8>,
    has_ended: bool,
    /// Its messages that have not arrived.
    under_way: VecDeque<Bytes>,
}

impl End {
    fn new(now: Instant) -> Self {
        let (sent, got, under_way) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { line: Line::new(now), sent, got, has_ended: false, under_way }
    }

    /// Takes a message; `None` if that ends the stream.
    fn take(&mut self, message: Message, now: Instant, has_room: bool) -> Option<()> {
        let Self { line, got, .. } = self;
        let deliver = |data: Bytes| {
            if has_room {
                got.extend_from_slice(&data);
            }
            has_room
        };
        line.take(message, now, deliver).ok()
    }

    fn end(&mut self, now: Instant) {
        if !core::mem::replace(&mut self.has_ended, true) {
            self.line.send(Kind::End, Bytes::new(), now);
        }
    }
}

fuzz_target!(|input: &[u8]| {
    parse(input);
    let [first, steps @ ..] = input else { return };
    let _ended = play(first % 2 == 1, steps);
});

/// Checks that a message is written as it was read.
fn parse(input: &[u8]) {
    match Message::parse(&Bytes::copy_from_slice(input)) {
        None => assert!(input.len() < HEAD || input[0] > 4, "{input:?}"),
        Some(message) => assert_eq!(message.bytes(), input),
    }
}

/// Plays the steps; `None` if a side left the other, as after a long silence.
fn play(is_hostile: bool, mut steps: &[u8]) -> Option<()> {
    let mut now = Instant::now();
    let mut ends = [End::new(now), End::new(now)];
    while let [step, count, rest @ ..] = steps {
        steps = rest;
        let (at, count) = (usize::from(step >> 7), usize::from(*count));
        match step % 8 {
            0 | 1 if !ends[at].has_ended => {
                let data = &steps[..count.min(steps.len())];
                steps = &steps[data.len()..];
                ends[at].sent.extend_from_slice(data);
                ends[at].line.send(Kind::Data, Bytes::copy_from_slice(data), now);
            }
            2 => ends[at].end(now),
            3 => now += Duration::from_millis(8 * count as u64),
            4 => ends[at].line.look(now).ok()?,
            5 => drop(ends[at].under_way.pop_front()),
            6 if is_hostile => {
                let bytes = &steps[..(HEAD + count % 8).min(steps.len())];
                steps = &steps[bytes.len()..];
                if let Some(message) = Message::parse(&Bytes::copy_from_slice(bytes)) {
                    ends[at].take(message, now, true)?;
                }
            }
            _ => {
                let sender = &mut ends[1 - at].under_way;
                // a message that comes twice is first for the second time
                let next =
                    if count % 8 == 0 { sender.front().cloned() } else { sender.pop_front() };
                if let Some(bytes) = next {
                    let message = Message::parse(&bytes).expect("a message of a line");
                    ends[at].take(message, now, count % 16 > 1)?;
                }
            }
        }
        for end in &mut ends {
            end.under_way.extend(end.line.outbox.drain(..));
            assert!(end.line.kept_bytes <= end.sent.len());
        }
        if !is_hostile {
            assert!(
                ends[1].sent.starts_with(&ends[0].got) && ends[0].sent.starts_with(&ends[1].got)
            );
        }
    }
    if is_hostile {
        return Some(());
    }
    ends.iter_mut().for_each(|end| end.end(now));
    for round in 0.. {
        now += Duration::from_millis(250);
        for at in [0, 1] {
            ends[at].line.look(now).ok()?;
            let sent = ends[at].line.outbox.drain(..).collect::<Vec<_>>();
            ends[at].under_way.extend(sent);
            while let Some(bytes) = ends[at].under_way.pop_front() {
                ends[1 - at].take(Message::parse(&bytes).expect("of a line"), now, true)?;
            }
        }
        if ends.iter().all(|end| end.line.has_all && end.line.is_acknowledged()) {
            break;
        }
        assert!(round < ROUNDS, "it never ends");
    }
    assert!(ends[0].got == ends[1].sent && ends[1].got == ends[0].sent);
    Some(())
}
