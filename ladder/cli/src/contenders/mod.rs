//! The contenders. All of them get the same cases, and every result is checked.

pub(crate) mod aws_lc;
pub(crate) mod curves;
mod full_length;
pub(crate) mod kem;
pub(crate) mod openssl;
pub(crate) mod ring;
pub(crate) mod tollgate;

use std::rc::Rc;

use tollgate_rsa::Hash;

use crate::bounds::Family;
use crate::error::CliError;
use crate::keys::{Key, KeyOperation};

/// The interval between verified results, where every result is different. Verifications are so
/// rare that they do not affect the timing.
const VERIFY_EVERY: u32 = 4096;

/// The engine's name in record subjects.
const OURS: &str = "tollgate";

/// A key and an operation, with inputs and expected outputs.
pub(crate) struct Job {
    pub(crate) key: Rc<Key>,
    pub(crate) what: KeyOperation,
    pub(crate) cases: Rc<[Case]>,
}

/// An input with its expected output: digest or message and signature, or two representatives.
pub(crate) struct Case {
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
}

pub(crate) struct Contender {
    /// The implementation's name in record subjects.
    pub(crate) by: &'static str,
    /// The number of operations in one run; `None` if each run is one operation.
    pub(crate) batch: Option<u32>,
    /// Our kernel that multiplies in RSA; `None` for libraries and other keys.
    pub(crate) kernel: Option<Family>,
    /// Runs the operation once and checks the result.
    pub(crate) run: Run,
}

impl Contender {
    /// Creates a library, which performs one operation at a time.
    pub(crate) fn library(by: &'static str, run: Run) -> Self {
        Self { by, batch: None, kernel: None, run }
    }

    /// Returns whether this is a library, and not the engine.
    pub(crate) fn is_library(&self) -> bool {
        self.by != OURS
    }
}

/// One run of a contender; fails if the operation fails or its result is wrong.
pub(crate) type Run = Box<dyn FnMut() -> Result<(), CliError>>;

impl Job {
    /// Creates cases for batches of up to `batch`, at least 8; OpenSSL computes the expected
    /// outputs.
    pub(crate) fn new(key: Rc<Key>, what: KeyOperation, batch: u32) -> Result<Self, CliError> {
        let size = key.ours.size();
        let cases = (0..batch.max(8)).map(|number| {
            let input = match what {
                KeyOperation::Sign | KeyOperation::Verify => digest(number),
                KeyOperation::VerifyOnce => message(number),
                KeyOperation::PrivateFull | KeyOperation::Public(_) => representative(number, size),
            };
            let output = openssl::reference(&key, what, &input)?;
            Ok(Case { input, output })
        });
        let wrong = format!("OpenSSL does not do this with a key of {} bits", key.bits());
        let cases = cases.collect::<Result<_, ::openssl::error::ErrorStack>>();
        Ok(Self { cases: cases.map_err(CliError::about(wrong))?, key, what })
    }
}

pub(crate) fn digest(number: u32) -> Vec<u8> {
    Hash::Sha256.digest(&message(number)).as_ref().to_vec()
}

fn message(number: u32) -> Vec<u8> {
    format!("message {number}").into_bytes()
}

/// Returns the public half as every library reads it: PKCS#1 in DER.
fn public_der(key: &Key) -> Result<Vec<u8>, ::openssl::error::ErrorStack> {
    key.openssl.public_key_to_der_pkcs1()
}

/// Returns a number of `size` bytes below any modulus of that size: its first byte is zero, and the
/// first byte of a modulus is not.
fn representative(number: u32, size: usize) -> Vec<u8> {
    let mut bytes = vec![0];
    for block in 0..size.div_ceil(32) {
        let seed = format!("representative {number}, block {block}");
        bytes.extend_from_slice(Hash::Sha256.digest(seed.as_bytes()).as_ref());
    }
    bytes.truncate(size);
    bytes
}

/// Returns a run that passes the cases to `body` in turn, each with its number.
fn in_turn(job: &Job, mut body: impl FnMut(usize, &Case) -> Result<(), CliError> + 'static) -> Run {
    let cases = Rc::clone(&job.cases);
    let mut turns = (0..cases.len()).cycle();
    Box::new(move || {
        let number = turns.next().expect("there are cases");
        body(number, &cases[number])
    })
}

/// Returns a run that computes outputs in turn, and compares them with the expected ones.
fn computed(
    job: &Job,
    mut compute: impl FnMut(usize, &[u8], &mut [u8]) -> Result<(), CliError> + 'static,
) -> Run {
    let mut buffer = vec![0; job.key.ours.size()];
    in_turn(job, move |number, case| {
        compute(number, &case.input, &mut buffer)?;
        compare(&buffer, &case.output)
    })
}

/// Selects the first of every [`VERIFY_EVERY`] results. Each ECDSA signature and each new key is
/// different, so there is no expected value.
fn selected_to_verify() -> impl FnMut() -> bool {
    let mut count = 0_u32;
    move || {
        count = count.wrapping_add(1);
        count % VERIFY_EVERY == 1
    }
}

pub(crate) fn compare(found: &[u8], right: &[u8]) -> Result<(), CliError> {
    CliError::unless(found == right, "the result is not the right one")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all contenders for this job, ours in batches of three.
    fn everybody(job: &Job) -> Vec<Contender> {
        let mut all = tollgate::contenders(job, 3).unwrap();
        all.push(openssl::contender(job).unwrap());
        all.extend(aws_lc::contender(job));
        all.extend(ring::contender(job).unwrap());
        all
    }

    const JOBS: [(u32, KeyOperation, usize); 8] = [
        (512, KeyOperation::Sign, 3), // two of ours, and OpenSSL
        (512, KeyOperation::Verify, 3),
        (1024, KeyOperation::PrivateFull, 3),
        (1024, KeyOperation::Public(7), 3),
        (2048, KeyOperation::Sign, 4), // and AWS-LC
        (2048, KeyOperation::Verify, 4),
        (2048, KeyOperation::VerifyOnce, 4), // one of ours, and ring
        (2048, KeyOperation::Public(u64::MAX), 3),
    ];

    #[test]
    fn everybody_gives_the_right_result_again_and_again() {
        for (bits, what, count) in JOBS {
            let key = Rc::new(Key::built_in(bits).unwrap());
            let job = Job::new(key, what, 3).unwrap();
            let mut all = everybody(&job);
            assert_eq!(all.len(), count, "{bits} {what:?}");
            for contender in &mut all {
                for _ in 0..10 {
                    (contender.run)().unwrap(); // more runs than cases
                }
            }
        }
    }

    #[test]
    fn everybodys_wrong_result_is_found() {
        for (bits, what, _) in JOBS {
            let key = Rc::new(Key::built_in(bits).unwrap());
            let mut job = Job::new(key, what, 3).unwrap();
            for case in Rc::get_mut(&mut job.cases).unwrap() {
                *case.output.last_mut().unwrap() ^= 1;
            }
            for mut contender in everybody(&job) {
                let by = (contender.by, contender.batch);
                assert!((contender.run)().is_err(), "{bits} {what:?} {by:?}");
            }
        }
    }
}
