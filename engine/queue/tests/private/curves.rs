//! Secrets of X25519 and signatures with ECDSA through a queue, in batches with RSA beside them.

use std::sync::Arc;

use tollgate_curves::p256::{self, P256, Signature};
use tollgate_curves::{PublicKey, SecretKey, X25519};
use tollgate_queue::{
    Cause, Class, Config, Event, Job as _, Lanes, PrivateJob, Queue, Request, RunBatch,
    SelfTestFailed, Unit, Work,
};
use tollgate_rsa::{Hash, PrivateKey};

use crate::{queue, run_together};

fn secret(number: u8) -> Arc<SecretKey> {
    Arc::new(SecretKey::from_bytes(&[number; 32]))
}

/// Returns whether P-256 has no kernels here.
fn are_unavailable() -> bool {
    let unavailable = P256::best().is_err();
    if unavailable {
        println!("not run: this processor has no kernels of P-256");
    }
    unavailable
}

fn peer(number: u8) -> PublicKey {
    X25519::best().public_key(&SecretKey::from_bytes(&[number ^ 0xff; 32]))
}

fn p256_key() -> Arc<p256::SecretKey> {
    Arc::new(p256::SecretKey::from_bytes(&[5; 32]).unwrap())
}

fn is_valid(key: &p256::SecretKey, digest: &[u8], output: &[u8]) -> bool {
    let signature = Signature::from_bytes(output.try_into().unwrap()).unwrap();
    let curve = P256::best().unwrap();
    curve.verify(&curve.public_key(key), digest, &signature)
}

#[test]
fn jobs_of_all_kinds_share_a_queue() {
    if are_unavailable() {
        return;
    }
    let queue = queue();
    let caller = queue.caller().unwrap();
    let rsa = include_str!("../../../../vectors/keys/rsa-1024.pem");
    let (rsa, key) = (Arc::new(PrivateKey::from_pem(rsa).unwrap()), p256_key());
    let work = Work::SignPkcs1v15 { hash: Hash::Sha256 };
    let digest = |i: usize| Hash::Sha256.digest(&i.to_be_bytes());
    let number = |i: usize| u8::try_from(i).unwrap();
    let load = |i: usize, job: &mut PrivateJob| {
        match i % 3 {
            0 => job.load(&rsa, work, digest(i).as_ref())?,
            1 => job.load_x25519(&secret(number(i)), &peer(number(i))),
            _ => job.load_ecdsa(&key, digest(i).as_ref(), &[number(i); 32]),
        }
        Ok(())
    };
    for (i, output) in run_together(&caller, 60, load).into_iter().enumerate() {
        let output = output.unwrap();
        match i % 3 {
            0 => assert_eq!(output.len(), rsa.size()),
            1 => {
                let shared = X25519::best().agree(&secret(number(i)), &peer(number(i)));
                assert_eq!(output, shared.unwrap().as_bytes(), "job {i}");
            }
            _ => assert!(is_valid(&key, digest(i).as_ref(), &output), "job {i}"),
        }
    }
    let stats = queue.stats().unwrap();
    assert_eq!((stats.done, stats.faults), (60, 0));
    if X25519::best().has_lanes() {
        assert!(stats.fill[8] >= 4, "batches of each kind are full: {:?}", stats.fill);
    }
}

#[test]
fn a_peer_of_low_order_gets_no_secret_and_disturbs_no_other_job() {
    if are_unavailable() {
        return;
    }
    let caller = queue().caller().unwrap();
    let low = PublicKey([0; 32]);
    let peers = |i: usize| if i == 3 { low } else { peer(9) };
    let load = |i: usize, job: &mut PrivateJob| {
        job.load_x25519(&secret(1), &peers(i));
        Ok(())
    };
    for (i, output) in run_together(&caller, 8, load).into_iter().enumerate() {
        let expected = X25519::best().agree(&secret(1), &peers(i));
        let expected = expected.as_ref().map_or(&[][..], |shared| shared.as_bytes());
        assert_eq!(output.unwrap(), expected, "job {i}");
    }
}

#[test]
fn digests_of_any_length_are_signed() {
    if are_unavailable() {
        return;
    }
    let (caller, key) = (queue().caller().unwrap(), p256_key());
    for len in [0, 1, 20, 31, 32, 33, 64] {
        let digest = vec![0xa5; len];
        let answer = caller.run(|job| {
            job.load_ecdsa(&key, &digest, &[1; 32]);
            Ok(())
        });
        let answer = answer.unwrap();
        // an empty digest can be signed, as by libcrypto, but its signature is not valid
        assert_eq!(is_valid(&key, &digest, answer.output()), len != 0, "{len} bytes");
    }
}

/// Lanes that take four requests on every processor.
struct Four(Lanes);

impl Unit<PrivateJob> for Four {
    fn name(&self) -> &'static str {
        "four"
    }

    fn width(&self, _: Class) -> usize {
        4
    }

    fn run(&mut self, batch: &mut [Box<Request<PrivateJob>>]) {
        self.0.run(batch);
    }

    fn self_test(&mut self) -> Result<(), SelfTestFailed> {
        Ok(())
    }
}

#[test]
fn a_polling_thread_runs_full_batches_of_its_own_kind() {
    if are_unavailable() {
        return;
    }
    let queue =
        Queue::start(Config::default(), [Box::new(Four(Lanes::new(0).unwrap())) as _]).unwrap();
    let (caller, key) = (queue.caller().unwrap(), p256_key());
    let submit = |class: Class| {
        let load = |job: &mut PrivateJob| {
            match class {
                PrivateJob::X25519 => job.load_x25519(&secret(1), &peer(2)),
                _ => job.load_ecdsa(&key, &[7; 32], &[1; 32]),
            }
            Ok(())
        };
        caller.submit(load).unwrap()
    };
    let mut signing = submit(PrivateJob::ECDSA_P256);
    let mut deriving: Vec<_> = (1..4).map(|_| submit(PrivateJob::X25519)).collect();
    assert!(deriving[0].try_take_or_run(RunBatch::IfFull).is_none());
    let mut last = submit(PrivateJob::X25519);
    assert!(signing.try_take_or_run(RunBatch::IfFull).is_none(), "one signature waits");
    assert!(last.try_take_done().is_none());
    assert!(last.try_take_or_run(RunBatch::IfFull).unwrap().is_ok());
    assert!(deriving.iter_mut().all(|ticket| ticket.try_take_done().unwrap().is_ok()));
    assert!(signing.try_take_done().is_none(), "it waits for others");
    assert!(signing.try_take_or_run(RunBatch::Always).unwrap().is_ok());

    let expects = |class, fewest| caller.may_share(class, fewest).unwrap();
    assert!(expects(PrivateJob::X25519, 3), "the last batch was full");
    assert!(!expects(PrivateJob::ECDSA_P256, 2));
    let _waiting = submit(PrivateJob::ECDSA_P256);
    assert!(expects(PrivateJob::ECDSA_P256, 2), "another one waits");
}

/// Lanes that find a fault in the last request of each batch.
struct Faulty(Lanes);

impl Unit<PrivateJob> for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn width(&self, class: Class) -> usize {
        self.0.width(class)
    }

    fn run(&mut self, batch: &mut [Box<Request<PrivateJob>>]) {
        self.0.run(batch);
        batch.last_mut().unwrap().fault();
    }

    fn self_test(&mut self) -> Result<(), SelfTestFailed> {
        Ok(())
    }
}

/// The other unit signs again, with the same nonce, and so gives the same signature.
#[test]
fn a_faulty_lane_is_quarantined_and_its_job_runs_elsewhere() {
    if are_unavailable() {
        return;
    }
    let (tell, told) = std::sync::mpsc::channel();
    let on_event = move |event: &Event| tell.send(event.clone()).unwrap();
    let config = Config { on_event: Some(Box::new(on_event)), ..Config::default() };
    let units: [Box<dyn Unit<_>>; 2] =
        [Box::new(Faulty(Lanes::new(0).unwrap())), Box::new(Lanes::new(1).unwrap())];
    let queue = Queue::start(config, units).unwrap();
    let (caller, key) = (queue.caller().unwrap(), p256_key());
    let load = |_, job: &mut PrivateJob| {
        job.load_ecdsa(&key, &[7; 32], &[1; 32]);
        Ok(())
    };
    let signatures = run_together(&caller, 8, load);
    assert!(is_valid(&key, &[7; 32], signatures[0].as_ref().unwrap()));
    assert!(signatures.iter().all(|signature| *signature == signatures[0]));
    let stats = queue.stats().unwrap();
    assert_eq!((stats.done, stats.faults, stats.retried, stats.quarantines), (8, 1, 1, 1));
    let quarantined = Event::Quarantined { unit: "faulty".into(), cause: Cause::Check };
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [quarantined]);
}

#[test]
fn a_job_shows_no_key_and_releases_it_when_wiped() {
    if are_unavailable() {
        return;
    }
    let (secret, key) = (secret(1), p256_key());
    let mut job = PrivateJob::default();
    job.load_x25519(&secret, &peer(2));
    assert_eq!(format!("{job:?}"), "PrivateJob { task: Curve(Agree(..)), .. }");
    assert!(job.asked().is_none() && job.operation().is_none(), "it is not for other units");
    job.load_ecdsa(&key, &[7; 32], &[1; 32]);
    assert_eq!(format!("{job:?}"), "PrivateJob { task: Curve(Sign(..)), .. }");
    assert_eq!((Arc::strong_count(&secret), Arc::strong_count(&key)), (1, 2));
    job.wipe();
    assert_eq!(Arc::strong_count(&key), 1);
    assert!(job.output().is_empty() && job.class() == Class::default());
}
