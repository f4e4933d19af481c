//! The part of a session that passes outside the server.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use super::core::{Core, Serving};
use crate::Error;
use crate::demand::as_f64;

/// The most client threads.
const THREADS_MAX: u32 = 1 << 16;

/// The network, and clients that share threads.
///
/// A client works before the first stage of its session, between two stages, and after the last
/// one. Its thread does one such part after the other, in the order in which they come. The network
/// delays each stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Outside {
    delays_ns: Vec<f64>,
    threads: u32,
    work_ns: f64,
    core: Core,
}

impl Outside {
    /// Creates a network without clients' work. `delays_ns` has equally likely times, in
    /// nanoseconds. Each session draws one of them; an equal part of it passes before each stage.
    ///
    /// # Errors
    ///
    /// No time; a time that is below 0 or not finite.
    pub fn network(delays_ns: Vec<f64>) -> Result<Self, Error> {
        Self::new(delays_ns, 1, 0.0, Core::default())
    }

    /// Creates a network with clients that take turns on `threads` threads, each with a core of its
    /// own. The parts of a client's work for a session are equal, `work_ns` nanoseconds together.
    ///
    /// # Errors
    ///
    /// As [`network`](Self::network); no thread, or more than 65536; the work is below 0 or not
    /// finite.
    pub fn new(delays_ns: Vec<f64>, threads: u32, work_ns: f64, core: Core) -> Result<Self, Error> {
        if threads == 0 || threads > THREADS_MAX {
            let must = "be within 1 and 65536";
            let what = "the number of client threads";
            return Err(Error::Rejected { what, value: f64::from(threads), must });
        }
        Error::positive("the number of times of the network", as_f64(delays_ns.len() as u64))?;
        Error::not_negative("the work of a client in ns", work_ns)?;
        for ns in &delays_ns {
            Error::not_negative("a time of the network in ns", *ns)?;
        }
        Ok(Self { delays_ns, threads, work_ns, core })
    }

    /// Returns the clients of a run, for sessions with this number of stages.
    pub(super) fn clients(&self, stages: usize, random: &mut fastrand::Rng) -> Clients<'_> {
        Clients {
            threads: (0..self.threads).map(|_| self.core.serving(random)).collect(),
            part_ns: self.work_ns / as_f64(stages as u64 + 1),
            tasks: BinaryHeap::new(),
        }
    }

    /// Draws the time of the network before each stage of a session.
    pub(super) fn delay(&self, stages: usize, random: &mut fastrand::Rng) -> f64 {
        self.delays_ns[random.usize(..self.delays_ns.len())] / as_f64(stages as u64)
    }
}

/// The clients of a run.
pub(super) struct Clients<'a> {
    threads: Vec<Serving<'a>>,
    part_ns: f64,
    /// Their work in the order of time: the time as the bits of a positive number, whose order is
    /// that of the numbers; the session; and the number of its stages that are done.
    tasks: BinaryHeap<Reverse<(u64, usize, usize)>>,
}

/// A part of a client's work that is done.
pub(super) struct Done {
    pub(super) at: f64,
    pub(super) session: usize,
    /// The number of stages that were done before.
    pub(super) stages: usize,
}

impl Clients<'_> {
    /// Gives a client work at a time. A number of stages of its session is done.
    pub(super) fn give(&mut self, at: f64, session: usize, stages: usize) {
        self.tasks.push(Reverse((at.to_bits(), session, stages)));
    }

    /// Does the next work, if its time is not after this one.
    pub(super) fn work(&mut self, until: f64) -> Option<Done> {
        let Reverse((at, session, stages)) = *self.tasks.peek()?;
        let at = f64::from_bits(at);
        if at > until {
            return None;
        }
        self.tasks.pop();
        let count = self.threads.len();
        let thread = &mut self.threads[session % count];
        thread.serve(at, self.part_ns);
        Some(Done { at: thread.free_at, session, stages })
    }
}
