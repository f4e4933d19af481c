//! Checks a unit: results must be right in batches of every size, a refusal must affect its own
//! request only, and with several threads each request must get its own answer.

use std::sync::{Arc, Mutex};
use std::thread;

use tollgate_queue::{Class, Config, Job as _, Outcome, PrivateJob, Queue, Request, Unit, Work};
use tollgate_rsa::{Hash, Oaep, PrivateKey, TlsVersions, Workspace, premaster};

/// Every batch size up to this one is tried; of larger sizes, the powers of two and the width.
const EVERY_FILL_TO: usize = 16;

/// Number of threads of the test in a queue, and number of requests of each thread.
const THREADS: usize = 4;
const REQUESTS: usize = 40;

/// SHA-1, because OAEP with a longer hash does not fit a key of 512 bits.
const OAEP: Oaep<'_> = Oaep::new(Hash::Sha1).with_mgf_hash(Hash::Sha1).with_label(b"a label");
const VERSIONS: TlsVersions = TlsVersions { client: 0x0303, negotiated: None };
const SIGN: Work = Work::SignPkcs1v15 { hash: Hash::Sha256 };

/// Signatures and all kinds of decryptions with one key; adjacent cases differ.
struct Cases {
    key: Arc<PrivateKey>,
    workspace: Mutex<Workspace>,
}

/// Returns a message that is unique to the case.
fn message(i: usize) -> [u8; premaster::PREMASTER_LEN] {
    let mut message = [0; premaster::PREMASTER_LEN];
    message[..2].copy_from_slice(&VERSIONS.client.to_be_bytes());
    message[2..34].copy_from_slice(Hash::Sha256.digest(&i.to_be_bytes()).as_ref());
    message
}

/// Returns a message short enough for every padding with a key of 512 bits.
fn short_message(i: usize) -> [u8; 16] {
    *message(i)[2..].first_chunk().unwrap()
}

impl Cases {
    fn load(&self, i: usize, job: &mut PrivateJob) -> Result<(), tollgate_rsa::Error> {
        let (key, public) = (&self.key, self.key.public());
        let digest = Hash::Sha256.digest(&message(i));
        let workspace = &mut *self.workspace.lock().unwrap();
        let mut ciphertext = vec![0; key.size()];
        match i % 5 {
            0 => return job.load(key, SIGN, digest.as_ref()),
            1 => public.encrypt_pkcs1v15_with(workspace, &short_message(i), &mut ciphertext)?,
            2 => {
                // without valid padding: it decrypts to a synthetic message
                ciphertext = digest.as_ref().repeat(key.size().div_ceil(32));
                ciphertext.truncate(key.size());
                ciphertext[0] = 0; // less than n
            }
            3 => {
                public.encrypt_oaep_with(workspace, OAEP, &short_message(i), &mut ciphertext)?;
                let label_digest = Hash::Sha1.digest(b"a label");
                let work = Work::DecryptOaep { label_digest, mgf_hash: Hash::Sha1 };
                return job.load(key, work, &ciphertext);
            }
            _ => {
                public.encrypt_pkcs1v15_with(workspace, &message(i), &mut ciphertext)?;
                let work = Work::DecryptTlsPremaster { versions: VERSIONS };
                return job.load(key, work, &ciphertext);
            }
        }
        job.load(key, Work::DecryptPkcs1v15, &ciphertext)
    }

    fn is_right(&self, i: usize, job: &PrivateJob) -> bool {
        let (found, workspace) = (job.output(), &mut *self.workspace.lock().unwrap());
        match i % 5 {
            0 => {
                let digest = Hash::Sha256.digest(&message(i));
                let public = self.key.public();
                let hash = Hash::Sha256;
                public.verify_pkcs1v15_with(workspace, hash, digest.as_ref(), found).is_ok()
            }
            2 => {
                let (_, _, ciphertext) = job.asked().unwrap();
                let mut buffer = vec![0; self.key.size()];
                self.key.decrypt_pkcs1v15_with(workspace, ciphertext, &mut buffer) == Ok(found)
            }
            4 => found == message(i),
            _ => found == short_message(i),
        }
    }
}

/// Checks a unit, and returns its width.
#[track_caller]
pub(crate) fn judge(mut unit: Box<dyn Unit<PrivateJob>>, key: &Arc<PrivateKey>) -> usize {
    let cases = Cases { key: Arc::clone(key), workspace: Mutex::new(Workspace::new().unwrap()) };
    unit.self_test().unwrap();
    let width = unit.width(Class(key.public().bits() as u64));
    let mut first = 0;
    let mut run = |fill: usize, refused: Option<usize>| {
        let mut batch: Vec<Box<Request<PrivateJob>>> = (0..fill).map(|_| Box::default()).collect();
        for (position, request) in batch.iter_mut().enumerate() {
            if refused == Some(position) {
                // a number that is at least the modulus
                request.job.load(key, Work::Raw, &vec![0xff; key.size()]).unwrap();
            } else {
                cases.load(first + position, &mut request.job).unwrap();
            }
        }
        unit.run(&mut batch);
        for (position, request) in batch.iter_mut().enumerate() {
            match request.take_outcome() {
                Some(Outcome::Refused(_)) if refused == Some(position) => {}
                Some(Outcome::Done) if refused != Some(position) => {
                    let is_right = cases.is_right(first + position, &request.job);
                    assert!(is_right, "request {position} of {fill} has a wrong result");
                }
                other => panic!("request {position} of {fill} ended as {other:?}"),
            }
            request.job.wipe();
        }
        first += fill;
    };
    for fill in (1..=width)
        .filter(|fill| *fill <= EVERY_FILL_TO || fill.is_power_of_two() || *fill == width)
    {
        run(fill, None);
    }
    for position in (0..width).filter(|p| *p < EVERY_FILL_TO || p + 1 == width) {
        run(width, Some(position));
    }

    let config = Config { slots_per_caller_max: THREADS, ..Config::with_capacity(4 * THREADS) };
    let queue = Queue::start(config, [unit]).unwrap();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (caller, cases) = (queue.caller().unwrap(), &cases);
            scope.spawn(move || {
                for i in (0..REQUESTS).map(|i| i * THREADS + thread) {
                    let answer = caller.run(|job| cases.load(i, job)).unwrap();
                    assert!(cases.is_right(i, &answer), "case {i} in a queue");
                }
            });
        }
    });
    let stats = queue.stats().unwrap();
    assert_eq!((stats.done, stats.quarantines), ((THREADS * REQUESTS) as u64, 0));
    width
}
