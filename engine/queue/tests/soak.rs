//! Sixteen threads with random keys and cancellations: every request is answered exactly
//! once, and every signature verifies. Runs for two seconds, or for a minute if
//! `TOLLGATE_TEST_LONG` is set.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use tollgate_queue::{Caller, Config, Error, PrivateJob, Queue, RunBatch, Work};
use tollgate_rsa::{Hash, PrivateKey, Workspace};

const THREADS: u64 = 16;

/// Outcomes of requests as callers see them.
#[derive(Default)]
struct Seen {
    answers: AtomicU64,
    dropped: AtomicU64,
    full: AtomicU64,
}

const HASH: Hash = Hash::Sha256;
const SIGN: Work = Work::SignPkcs1v15 { hash: HASH };

struct Soaker {
    caller: Caller<PrivateJob>,
    keys: [Arc<PrivateKey>; 3],
    random: fastrand::Rng,
    workspace: Workspace,
    seen: Arc<Seen>,
}

impl Soaker {
    fn step(&mut self) {
        // a realistic mix of sizes: few of the largest
        let key = Arc::clone(&self.keys[[0, 0, 0, 1, 1, 2][self.random.usize(..6)]]);
        let digest = HASH.digest(&self.random.u64(..).to_be_bytes());
        let mut ticket = match self.caller.submit(|job| job.load(&key, SIGN, digest.as_ref())) {
            Ok(ticket) => ticket,
            Err(Error::Full { .. } | Error::CallerFull { .. }) => {
                self.seen.full.fetch_add(1, SeqCst);
                thread::yield_now();
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let answer = match self.random.u8(..8) {
            0 => None,
            1 => ticket.try_take_or_run(RunBatch::IfDue),
            2 => ticket.try_take_done(),
            _ => Some(ticket.wait()),
        };
        let Some(answer) = answer else {
            self.seen.dropped.fetch_add(1, SeqCst);
            return;
        };
        let (answer, workspace) = (answer.unwrap(), &mut self.workspace);
        let public = key.public();
        public.verify_pkcs1v15_with(workspace, HASH, digest.as_ref(), answer.output()).unwrap();
        self.seen.answers.fetch_add(1, SeqCst);
    }
}

fn soak(linger_us_max: u32, seconds: f64) {
    let config = Config { linger_us_max, ..Config::with_capacity(24) };
    let queue = Queue::of_this_processor(config).unwrap();
    let keys = [
        include_str!("../../../vectors/keys/rsa-512.pem"),
        include_str!("../../../vectors/keys/rsa-1024.pem"),
        include_str!("../../../vectors/keys/rsa-2048.pem"),
    ]
    .map(|pem| Arc::new(PrivateKey::from_pem(pem).unwrap()));
    let (end, seen) = (Instant::now() + Duration::from_secs_f64(seconds), Arc::<Seen>::default());
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let mut soaker = Soaker {
                caller: queue.caller().unwrap(),
                keys: keys.clone(),
                random: fastrand::Rng::with_seed(seed),
                workspace: Workspace::new().unwrap(),
                seen: Arc::clone(&seen),
            };
            scope.spawn(move || {
                while Instant::now() < end {
                    soaker.step();
                }
            });
        }
    });
    let ended = queue.shut_down(Duration::from_secs(60)).unwrap();
    assert_eq!((ended.cancelled, ended.still_running), (0, false));
    let stats = queue.stats().unwrap();
    let of = |count: &AtomicU64| count.load(SeqCst);
    assert_eq!(stats.submitted, of(&seen.answers) + of(&seen.dropped), "answered exactly once");
    assert_eq!((stats.failed, stats.faults, stats.quarantines), (0, 0, 0));
    assert_eq!(queue.slots_in_use().unwrap(), 0);
    assert!(of(&seen.answers) > 0 && of(&seen.dropped) > 0);
    println!(
        "soak: {} answers, {} cancelled, {} without a slot, fill {:.1}",
        of(&seen.answers),
        stats.cancelled,
        of(&seen.full),
        stats.mean_fill()
    );
}

#[test]
fn every_request_is_answered_exactly_once() {
    let long = std::env::var_os("TOLLGATE_TEST_LONG").is_some();
    let seconds = if long { 30.0 } else { 1.0 };
    soak(0, seconds);
    soak(200, seconds);
}
