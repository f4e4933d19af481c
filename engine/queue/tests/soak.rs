//! Sixteen threads with random keys and cancellations: every request is answered exactly
//! once, and every signature verifies. Runs for two seconds, or for a minute if
//! `TOLLGATE_TEST_LONG` is set.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use core::time::Duration;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use tollgate_curves::{SecretKey, X25519};
use tollgate_queue::{Answer, Caller, Config, Error, PrivateJob, Queue, RunBatch, Work};
use tollgate_rsa::{Hash, PrivateKey, Pss, Salt, Workspace};

const THREADS: u64 = 16;

/// Outcomes of requests as callers see them.
#[derive(Default)]
struct Seen {
    answers: AtomicU64,
    dropped: AtomicU64,
    refused: AtomicU64,
    full: AtomicU64,
}

const HASH: Hash = Hash::Sha256;
const PKCS1V15: Work = Work::SignPkcs1v15 { hash: HASH };
const PSS: Work = Work::SignPss(Pss::new(HASH).with_salt(Salt::Exactly(20)));

struct Soaker {
    caller: Caller<PrivateJob>,
    keys: [Arc<PrivateKey>; 3],
    random: fastrand::Rng,
    workspace: Workspace,
    seen: Arc<Seen>,
}

fn verify(
    workspace: &mut Workspace,
    key: &PrivateKey,
    work: Work,
    digest: &[u8],
    signature: &[u8],
) {
    match work {
        PKCS1V15 => key.public().verify_pkcs1v15_with(workspace, HASH, digest, signature),
        _ => key.public().verify_pss_with(
            workspace,
            Pss::new(HASH).with_salt(Salt::Exactly(20)),
            digest,
            signature,
        ),
    }
    .unwrap();
}

impl Soaker {
    fn step(&mut self) {
        // a realistic mix of sizes: few of the largest
        let key = Arc::clone(&self.keys[[0, 0, 0, 1, 1, 2][self.random.usize(..6)]]);
        let work = [PKCS1V15, PSS][self.random.usize(..2)];
        let digest = HASH.digest(&self.random.u64(..).to_be_bytes());
        let load = |job: &mut PrivateJob| job.load(&key, work, digest.as_ref());
        if self.random.u8(..) < 8 {
            let refused = self.caller.run(|job| job.load(&key, Work::Raw, &vec![0xff; key.size()]));
            self.count_refused(refused);
            return;
        }
        if self.random.u8(..) < 64 {
            self.agree();
            return;
        }
        let mut ticket = match self.caller.submit(load) {
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
        match answer {
            None => drop(self.seen.dropped.fetch_add(1, SeqCst)),
            Some(answer) => {
                verify(&mut self.workspace, &key, work, digest.as_ref(), answer.unwrap().output());
                self.seen.answers.fetch_add(1, SeqCst);
            }
        }
    }

    /// Derives both secrets of an exchange, which must be equal.
    fn agree(&mut self) {
        let Ok(curve) = X25519::best() else { return };
        let number = self.random.u8(..);
        let secrets = [number, !number].map(|byte| Arc::new(SecretKey::from_bytes(&[byte; 32])));
        let publics = secrets.each_ref().map(|secret| curve.public_key(secret));
        let shared: Vec<_> = [0, 1]
            .iter()
            .filter_map(|&i| {
                let load = |job: &mut PrivateJob| {
                    job.load_x25519(&secrets[i], &publics[1 - i]);
                    Ok(())
                };
                match self.caller.run(load) {
                    Ok(answer) => Some(answer.output().to_vec()),
                    Err(Error::Full { .. } | Error::CallerFull { .. }) => None,
                    Err(error) => panic!("{error}"),
                }
            })
            .collect();
        assert!(shared.windows(2).all(|two| two[0] == two[1] && two[0].len() == 32));
        self.seen.answers.fetch_add(shared.len() as u64, SeqCst);
    }

    fn count_refused(&self, refused: Result<Answer<PrivateJob>, Error<tollgate_rsa::Error>>) {
        match refused {
            Err(Error::Rejected(_)) => drop(self.seen.refused.fetch_add(1, SeqCst)),
            Err(Error::Full { .. } | Error::CallerFull { .. }) => {}
            other => panic!("{other:?}"),
        }
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
    let ended_otherwise = of(&seen.dropped) + of(&seen.refused);
    assert_eq!(stats.submitted, of(&seen.answers) + ended_otherwise, "answered exactly once");
    assert_eq!(stats.failed, of(&seen.refused));
    assert_eq!((stats.faults, stats.quarantines), (0, 0));
    assert_eq!(queue.slots_in_use().unwrap(), 0);
    assert!(of(&seen.answers) > 0 && of(&seen.dropped) > 0);
    println!(
        "soak: {} answers, {} cancelled, {} refused, {} without a slot, fill {:.1}",
        of(&seen.answers),
        stats.cancelled,
        of(&seen.refused),
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
