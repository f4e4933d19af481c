//! A trivial job and a configurable unit for tests.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(dead_code, unreachable_pub, reason = "not every test uses everything")]

use std::sync::{Arc, Mutex};

use tollgate_queue::{Class, Job, Request, SelfTestFailed, Unit};

/// Doubles a number.
#[derive(Debug, Default)]
pub struct Doubling {
    pub x: u64,
    pub doubled: u64,
    pub is_doubled: bool,
    pub class: u64,
    pub key: u64,
    pub misbehaviour: Misbehaviour,
}

/// A planted misbehaviour of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Misbehaviour {
    #[default]
    None,
    /// The check fails on every unit.
    FaultsEverywhere,
    Panics,
    IsRefused,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused;

impl core::fmt::Display for Refused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the job is refused: send another")
    }
}

impl core::error::Error for Refused {}

impl Job for Doubling {
    type Refusal = Refused;

    fn class(&self) -> Class {
        Class(self.class)
    }

    fn key(&self) -> u64 {
        self.key
    }

    fn has_result(&self) -> bool {
        self.is_doubled
    }

    fn clear_result(&mut self) {
        (self.doubled, self.is_doubled) = (0, false);
    }

    fn wipe(&mut self) {
        *self = Self::default();
    }
}

impl Doubling {
    pub fn double(&mut self) {
        (self.doubled, self.is_doubled) = (2 * self.x, true);
    }

    pub fn new(x: u64) -> impl FnOnce(&mut Self) -> Result<(), Refused> {
        Self::with(move |job| job.x = x)
    }

    pub fn with(set: impl FnOnce(&mut Self)) -> impl FnOnce(&mut Self) -> Result<(), Refused> {
        move |job| {
            assert_eq!((job.x, job.doubled), (0, 0), "a slot is wiped between requests");
            set(job);
            Ok(())
        }
    }
}

/// The requests of a call.
pub type Batch = [Box<Request<Doubling>>];

/// The numbers of each batch of a unit.
pub type Log = Arc<Mutex<Vec<Vec<u64>>>>;

pub type BeforeBatch = Box<dyn FnMut() + Send>;

/// Doubles, up to `width` numbers at once.
pub struct Doubler {
    pub name: &'static str,
    pub width: usize,
    pub log: Log,
    /// The check of its results always fails.
    pub is_broken: bool,
    /// Number of self tests that pass before all others fail.
    pub self_tests_passed: usize,
    pub before_batch: BeforeBatch,
}

impl Doubler {
    pub fn new(width: usize) -> Self {
        Self {
            name: "doubler",
            width,
            log: Log::default(),
            is_broken: false,
            self_tests_passed: usize::MAX,
            before_batch: Box::new(|| ()),
        }
    }

    pub fn boxed(self) -> Box<dyn Unit<Doubling>> {
        Box::new(self)
    }
}

impl Unit<Doubling> for Doubler {
    fn name(&self) -> &str {
        self.name
    }

    fn width(&self, _: Class) -> usize {
        self.width
    }

    fn run(&mut self, batch: &mut Batch) {
        (self.before_batch)();
        assert!(batch.len() <= self.width, "a batch is no wider than its unit");
        assert!(batch.iter().all(|r| r.job.class == batch[0].job.class), "a batch has one class");
        self.log.lock().unwrap().push(batch.iter().map(|request| request.job.x).collect());
        for request in batch {
            match request.job.misbehaviour {
                Misbehaviour::Panics => panic!("misbehaviour"),
                Misbehaviour::IsRefused => request.refuse(Refused),
                Misbehaviour::FaultsEverywhere => request.fault(),
                Misbehaviour::None if self.is_broken => request.fault(),
                Misbehaviour::None => {
                    request.job.double();
                    request.done();
                }
            }
        }
    }

    fn self_test(&mut self) -> Result<(), SelfTestFailed> {
        let left = self.self_tests_passed.checked_sub(1);
        self.self_tests_passed = left.ok_or(SelfTestFailed { what: "doubling" })?;
        Ok(())
    }
}

/// A doubler with another implementation of `run`.
pub struct Instead<F>(pub Doubler, pub F);

impl<F: FnMut(&mut Doubler, &mut Batch) + Send + 'static> Instead<F> {
    pub fn boxed(self) -> Box<dyn Unit<Doubling>> {
        Box::new(self)
    }
}

impl<F: FnMut(&mut Doubler, &mut Batch) + Send> Unit<Doubling> for Instead<F> {
    fn name(&self) -> &str {
        "instead"
    }

    fn width(&self, class: Class) -> usize {
        self.0.width(class)
    }

    fn run(&mut self, batch: &mut Batch) {
        (self.1)(&mut self.0, batch);
    }

    fn self_test(&mut self) -> Result<(), SelfTestFailed> {
        self.0.self_test()
    }
}
