//! A core that serves sessions, and the time that it needs for other things.

use crate::Error;
use crate::demand::as_f64;

/// The times of a core that are not work of sessions. The default is a core that does nothing else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Core {
    wake_ns: f64,
    interruptions: Interruptions,
}

/// Times in which a core does something else: other programs, the kernel, or the host of a virtual
/// machine. They come at random, at all times equally likely, and lengthen what runs meanwhile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interruptions {
    per_ns: f64,
    lengths_ns: Vec<f64>,
}

/// A core during a run.
pub(super) struct Serving<'a> {
    interrupted: Interrupted<'a>,
    wake_ns: f64,
    /// The time from which it has nothing to do.
    pub(super) free_at: f64,
    /// Its CPU time so far.
    pub(super) busy_ns: f64,
    /// The number of times that it woke up.
    pub(super) wakes: u64,
}

/// The interruptions of a core during a run.
struct Interrupted<'a> {
    interruptions: &'a Interruptions,
    random: fastrand::Rng,
    /// The begin of the next one; infinite if there is none.
    next: f64,
}

impl Core {
    /// Creates a core that works for `wake_ns` nanoseconds after a sleep, before anything else.
    ///
    /// # Errors
    ///
    /// The time is below 0 or not finite.
    pub fn new(wake_ns: f64, interruptions: Interruptions) -> Result<Self, Error> {
        Error::not_negative("the time to wake up in ns", wake_ns)?;
        Ok(Self { wake_ns, interruptions })
    }

    /// Returns the core of a run from time 0 on.
    pub(super) fn serving(&self, random: &mut fastrand::Rng) -> Serving<'_> {
        let mut random = random.fork();
        let next = self.interruptions.gap(&mut random);
        let interrupted = Interrupted { interruptions: &self.interruptions, random, next };
        Serving { interrupted, wake_ns: self.wake_ns, free_at: 0.0, busy_ns: 0.0, wakes: 0 }
    }
}

impl Interruptions {
    /// Creates interruptions from those that were seen within `within_ns` nanoseconds: each length
    /// is as likely as it was there.
    ///
    /// # Errors
    ///
    /// The time is not above 0; a length is below 0 or not finite; together they are as long as the
    /// time.
    pub fn seen(lengths_ns: Vec<f64>, within_ns: f64) -> Result<Self, Error> {
        Error::positive("the time of observation in ns", within_ns)?;
        for ns in &lengths_ns {
            Error::not_negative("an interruption in ns", *ns)?;
        }
        let all_ns: f64 = lengths_ns.iter().sum();
        if all_ns >= within_ns {
            let must = "be shorter than the time of observation";
            return Err(Error::Rejected { what: "interruptions in ns", value: all_ns, must });
        }
        // none begins during another one
        let per_ns = as_f64(lengths_ns.len() as u64) / (within_ns - all_ns);
        Ok(Self { per_ns, lengths_ns })
    }

    fn gap(&self, random: &mut fastrand::Rng) -> f64 {
        if self.lengths_ns.is_empty() {
            return f64::INFINITY;
        }
        -(1.0 - random.f64()).ln() / self.per_ns
    }
}

impl Serving<'_> {
    /// Does work that comes at a time, in the order in which it comes. A core that has nothing to
    /// do wakes up first.
    pub(super) fn serve(&mut self, at: f64, work_ns: f64) {
        if self.free_at <= at {
            self.wake(at);
        }
        self.work(work_ns);
    }

    /// Wakes up, because work comes at a time.
    pub(super) fn wake(&mut self, at: f64) {
        self.free_at = self.interrupted.wait(at);
        self.wakes += 1;
        self.work(self.wake_ns);
    }

    /// Works on.
    pub(super) fn work(&mut self, ns: f64) {
        self.free_at = self.interrupted.work(self.free_at, ns);
        self.busy_ns += ns;
    }
}

impl Interrupted<'_> {
    /// Returns the time at which work is done that begins at `now` and takes `work_ns`.
    fn work(&mut self, now: f64, work_ns: f64) -> f64 {
        let mut done = now + work_ns;
        while self.next < done {
            done += self.pass();
        }
        done
    }

    /// Returns the time from which a core that waits works on what comes at `at`: this time, or the
    /// end of an interruption.
    fn wait(&mut self, at: f64) -> f64 {
        let mut free = at;
        while self.next < at {
            let begin = self.next;
            free = free.max(begin + self.pass());
        }
        free
    }

    /// Returns the length of the next interruption, and passes to the one after it.
    fn pass(&mut self) -> f64 {
        let place = self.random.usize(..self.interruptions.lengths_ns.len());
        let length = self.interruptions.lengths_ns[place];
        self.next += length + self.interruptions.gap(&mut self.random);
        length
    }
}
