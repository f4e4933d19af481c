//! The unit in a queue, through the emulated driver.

use core::time::Duration;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tollgate_cuda::{Event, Failure, Offload, Policy, Size};
use tollgate_queue::{Class, Config, Lanes, PrivateJob, Queue, Request, Unit, Work};
use tollgate_rsa::{Hash, Oaep, PrivateKey, TlsVersions};

use crate::library::{EmulatedDriver, LONG, Value};
use crate::operations::key;

type Log = Arc<Mutex<Vec<Event>>>;

/// A policy that sends everything to the device.
fn always() -> Policy {
    Policy { cores: 0, batch_time_max: LONG, timeout: LONG, retry: LONG }
}

fn unit(driver: &EmulatedDriver, width: usize, policy: Policy) -> (Box<dyn Unit<PrivateJob>>, Log) {
    let log = Log::default();
    let events = Arc::clone(&log);
    let listener = move |event| events.lock().unwrap().push(event);
    let device = driver.device();
    (Box::new(Offload::new(device, width, policy, listener).unwrap()), log)
}

/// Batches on the device.
fn offloaded(log: &Log) -> usize {
    log.lock().unwrap().iter().filter(|event| matches!(event, Event::Done(_))).count()
}

/// Signs `count` messages at once and checks the signatures.
fn sign(queue: &Queue<PrivateJob>, key: &Arc<PrivateKey>, count: u8) {
    let (caller, work) = (queue.caller().unwrap(), Work::SignPkcs1v15 { hash: Hash::Sha256 });
    let digest = |i| Hash::Sha256.digest(&[i]);
    let submit = |i| caller.submit(|job| job.load(key, work, digest(i).as_ref())).unwrap();
    let tickets: Vec<_> = (0..count).map(submit).collect();
    for (i, ticket) in (0..count).zip(tickets) {
        let signature = ticket.wait().unwrap();
        key.public().verify_pkcs1v15(Hash::Sha256, &[i], signature.output()).unwrap();
    }
}

/// Requests of each kind, right and wrong ones.
fn requests(key: &Arc<PrivateKey>) -> Vec<(Work, Vec<u8>)> {
    let (public, digest) = (key.public(), Hash::Sha256.digest(b"a message"));
    let secret = public.encrypt_pkcs1v15(&[&[3, 3][..], &[7; 46]].concat()).unwrap();
    let sealed = public.encrypt_oaep(Oaep::new(Hash::Sha1), b"a message").unwrap();
    let versions = TlsVersions { client: 0x0303, negotiated: None };
    let oaep = Work::DecryptOaep { label_digest: Hash::Sha1.digest(b""), mgf_hash: Hash::Sha1 };
    vec![
        (Work::SignPkcs1v15 { hash: Hash::Sha256 }, digest.as_ref().to_vec()),
        (Work::DecryptPkcs1v15, secret.clone()),
        (Work::DecryptPkcs1v15, vec![7; key.size()]), // a synthetic message
        (Work::Raw, vec![0xff; key.size()]),          // not below n
        (Work::DecryptTlsPremaster { versions }, secret),
        (oaep, sealed),
        (oaep, vec![7; key.size()]),
    ]
}

/// Batches of several sizes, with refused requests at each position.
#[test]
fn requests_end_as_in_lanes() {
    let (driver, key) = (EmulatedDriver::new(), key(Size::Rsa1024));
    let (offload, log) = unit(&driver, 3, always());
    assert_eq!(offload.name(), "offload to Emulated H200");
    let mut units: [Box<dyn Unit<PrivateJob>>; 2] = [offload, Box::new(Lanes::new(0).unwrap())];
    units.iter_mut().for_each(|unit| unit.self_test().unwrap());
    let mut requests = requests(&key);
    for fill in (1..=requests.len()).cycle().take(21) {
        requests.rotate_left(1);
        let [on_device, in_lanes] = units.each_mut().map(|unit| {
            let mut batch: Vec<Box<Request<PrivateJob>>> = vec![];
            for (work, input) in &requests[..fill] {
                batch.push(Box::default());
                batch.last_mut().unwrap().job.load(&key, *work, input).unwrap();
            }
            unit.run(&mut batch);
            let end = |request: &mut Box<Request<PrivateJob>>| {
                let outcome = format!("{:?}", request.take_outcome().unwrap());
                let output = (outcome == "Done").then(|| request.job.output().to_vec());
                (outcome, output)
            };
            batch.iter_mut().map(end).collect::<Vec<_>>()
        });
        assert_eq!(on_device, in_lanes);
    }
    assert!(offloaded(&log) > 20);
}

#[test]
fn unusual_keys_and_batches_that_do_not_pay_stay_on_the_processor() {
    let driver = EmulatedDriver::new();
    let e3 = include_str!("../../../../vectors/keys/rsa-2048-e3.pem");
    let e3 = Arc::new(PrivateKey::from_pem(e3).unwrap());
    // The emulation is slower than any processor.
    let slow = Policy { cores: 1000, ..always() };
    let short = Policy { batch_time_max: Duration::ZERO, ..always() };
    for (policy, key) in [(always(), e3), (slow, key(Size::Rsa1024)), (short, key(Size::Rsa1024))] {
        let pays = policy.cores == 0 && !policy.batch_time_max.is_zero();
        let (mut unit, log) = unit(&driver, 20, policy);
        // If full batches do not pay, the unit takes no more requests than others.
        unit.self_test().unwrap();
        let class = Class(key.public().bits() as u64);
        assert_eq!(unit.width(class) > Lanes::new(0).unwrap().width(class), pays);
        let queue = Queue::start(Config::default(), [unit]).unwrap();
        let tests = offloaded(&log);
        sign(&queue, &key, 4);
        assert_eq!(offloaded(&log), tests);
    }
}

/// A device that was slow may be fast again.
#[test]
fn a_device_for_which_no_batch_pays_gets_one_after_a_pause() {
    let (driver, key) = (EmulatedDriver::new(), key(Size::Rsa1024));
    for (retry, batches) in [(LONG, 0), (Duration::ZERO, 1)] {
        let policy = Policy { batch_time_max: Duration::ZERO, retry, ..always() };
        let (unit, log) = unit(&driver, 8, policy);
        let queue = Queue::start(Config::default(), [unit]).unwrap();
        let tests = offloaded(&log);
        sign(&queue, &key, 1);
        assert_eq!(offloaded(&log) - tests, batches, "{retry:?}");
    }
}

/// A device that is gone or hangs, and results that change on their way to the host.
#[test]
fn another_unit_takes_over_within_the_timeout() {
    let (key, timeout) = (key(Size::Rsa1024), Duration::from_secs(3));
    for value in [Value::Fails, Value::Hangs, Value::Corrupts] {
        let driver = EmulatedDriver::new();
        let (unit, log) = unit(&driver, 8, Policy { timeout, ..always() });
        let lanes = Box::new(Lanes::new(0).unwrap());
        let queue = Queue::start(Config::default(), [unit, lanes]).unwrap();
        sign(&queue, &key, 8);
        let before = log.lock().unwrap().len();
        assert_eq!(queue.stats().unwrap().quarantines, 0);
        driver.set(value, 1);
        let begin = Instant::now();
        sign(&queue, &key, 8);
        assert_eq!(begin.elapsed() >= timeout, matches!(value, Value::Hangs));
        let events = log.lock().unwrap()[before..].to_vec();
        match value {
            Value::Hangs => assert_eq!(events, [Event::Failed(Failure::Timeout(timeout))]),
            Value::Fails => assert!(matches!(events[..], [Event::Failed(_)]), "{events:?}"),
            _ => assert!(matches!(events[..], [Event::Done(_), Event::Wrong(_)]), "{events:?}"),
        }
        let stats = queue.stats().unwrap();
        assert_eq!((stats.quarantines, stats.done), (1, 16));
        // A device that failed is never used again; one with wrong results may pass its test later.
        assert_eq!(queue.readmit().unwrap(), 0);
        driver.set(value, 0);
        let is_back = usize::from(matches!(value, Value::Corrupts));
        assert_eq!(queue.readmit().unwrap(), is_back);
        sign(&queue, &key, 8);
    }
}

/// A bit that flips on the device: its own check finds the wrong result.
#[test]
fn a_result_that_fails_on_the_device_is_an_event_and_another_unit_repeats_it() {
    let (driver, key) = (EmulatedDriver::new(), key(Size::Rsa1024));
    let (unit, log) = unit(&driver, 8, always());
    let queue = Queue::start(Config::default(), [unit, Box::new(Lanes::new(0).unwrap())]).unwrap();
    let before = log.lock().unwrap().len();
    driver.inject(4, 0, 77); // the power modulo p of the next operation
    sign(&queue, &key, 1);
    let events = log.lock().unwrap()[before..].to_vec();
    assert!(matches!(events[..], [Event::Done(_), Event::Wrong(1)]), "{events:?}");
    assert_eq!(queue.stats().unwrap().quarantines, 1);
}
