//! The unit of this processor: kernels for one operation, for pairs, and for eight in lanes, of RSA
//! and of the curves.

use core::num::NonZero;
use std::sync::Arc;

use tollgate_rsa::{Error, Hash, Operation, PrivateKey, PrivateRequest, Workspace, private_batch};

use crate::config::Config;
use crate::curve_job::Curves;
use crate::job::{Class, Outcome, Request};
use crate::private_job::{PrivateError, PrivateJob};
use crate::queue::Queue;
use crate::unit::{SelfTestFailed, Unit};
use crate::work::Work;

/// Kernels and a workspace, for use by one core at a time.
#[derive(Debug)]
pub struct Lanes {
    name: String,
    workspace: Workspace,
    curves: Curves,
}

/// Maximum number of operations in one call.
const WIDTH: usize = 8;

impl Lanes {
    /// Uses the best kernels of this processor, except those that `TOLLGATE_CPU_DISABLE` disables.
    ///
    /// # Errors
    ///
    /// `TOLLGATE_CPU_DISABLE` contains an unknown word.
    pub fn new(number: usize) -> Result<Self, Error> {
        Ok(Self::with_workspace(number, Workspace::new()?))
    }

    /// Uses the kernels and plans of this workspace.
    #[must_use]
    pub fn with_workspace(number: usize, workspace: Workspace) -> Self {
        Self { name: format!("lanes {number}"), workspace, curves: Curves::best() }
    }
}

impl Queue<PrivateJob> {
    /// Starts a queue with a [`Lanes`] unit for each core that this process may use.
    ///
    /// # Errors
    ///
    /// As [`Queue::start`]; [`Error::Misuse`] if `TOLLGATE_CPU_DISABLE` contains an unknown word.
    pub fn of_this_processor(config: Config) -> Result<Self, PrivateError> {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let unit = |number| Lanes::new(number).map(|lanes| Box::new(lanes) as Box<dyn Unit<_>>);
        let units: Result<Vec<_>, Error> = (0..cores).map(unit).collect();
        Self::start(config, units.map_err(crate::Error::Rejected)?)
    }
}

impl Unit<PrivateJob> for Lanes {
    fn name(&self) -> &str {
        &self.name
    }

    /// Returns the largest batch that costs less than single operations: eight in lanes, two in a
    /// pair, or one.
    fn width(&self, class: Class) -> usize {
        if let Some(has_lanes) = self.curves.has_lanes(class) {
            return if has_lanes { WIDTH } else { 1 };
        }
        let bits = usize::try_from(class.0).unwrap_or(usize::MAX);
        let plan = self.workspace.plans().plan(Operation::Private, bits);
        [WIDTH, 2].into_iter().find(|&n| plan.cost(plan.cut(n)) < cost_alone(n)).unwrap_or(1)
    }

    fn run(&mut self, batch: &mut [Box<Request<PrivateJob>>]) {
        for group in batch.chunks_mut(WIDTH) {
            if self.curves.run(group) {
                continue;
            }
            for request in &mut *group {
                if let Err(why) = request.job.encode() {
                    request.refuse(why);
                }
            }
            self.run_encoded(group);
        }
    }

    /// Runs a signature and a decryption of RSA, and operations on curves, with known results,
    /// alone and in a batch.
    fn self_test(&mut self) -> Result<(), SelfTestFailed> {
        let key = PrivateKey::from_pem(SELF_TEST_KEY)
            .map_err(|_| SelfTestFailed { what: "a known key" })?;
        let key = Arc::new(key);
        let digest = Hash::Sha256.digest(b"tollgate");
        let mut ciphertext = vec![0; key.size()];
        key.public()
            .encrypt_pkcs1v15_with(&mut self.workspace, b"tollgate", &mut ciphertext)
            .map_err(|_| SelfTestFailed { what: "an encryption" })?;
        let signature =
            (Work::SignPkcs1v15 { hash: Hash::Sha256 }, digest.as_ref(), SELF_TEST_SIGNATURE_HASH);
        let message = (Work::DecryptPkcs1v15, &*ciphertext, digest.as_ref());
        let batch = [[signature, message]; WIDTH / 2];
        for (what, asked) in [
            ("a signature alone", &[signature][..]),
            ("a decryption alone", &[message]),
            ("a batch of operations", batch.as_flattened()),
        ] {
            if !self.gives(&key, asked) {
                return Err(SelfTestFailed { what });
            }
        }
        self.curves.self_test(WIDTH).map_err(|what| SelfTestFailed { what })
    }
}

impl Lanes {
    /// Returns `true` if the results of the batch have the expected SHA-256 digests.
    fn gives(&mut self, key: &Arc<PrivateKey>, asked: &[(Work, &[u8], &[u8])]) -> bool {
        let mut batch: Vec<Box<Request<PrivateJob>>> =
            asked.iter().map(|_| Box::default()).collect();
        let loaded = batch
            .iter_mut()
            .zip(asked)
            .all(|(request, (work, input, _))| request.job.load(key, *work, input).is_ok());
        if loaded {
            self.run(&mut batch);
        }
        batch.iter_mut().zip(asked).all(|(request, (.., expected))| {
            request.take_outcome() == Some(Outcome::Done)
                && Hash::Sha256.digest(request.job.output()).as_ref() == *expected
        })
    }

    /// Runs the requests whose padding succeeded. A group has at most [`WIDTH`] requests.
    #[inline(never)]
    fn run_encoded(&mut self, group: &mut [Box<Request<PrivateJob>>]) {
        let mut outcomes = [const { None }; WIDTH];
        let mut encoded = group.iter_mut().filter(|request| !request.has_outcome());
        let mut count = 0;
        let mut key = None;
        let mut operations: [Option<PrivateRequest<'_>>; WIDTH] = core::array::from_fn(|_| {
            let (own, buffer) = encoded.next()?.job.operation()?;
            count += 1;
            key = Some(own);
            Some(PrivateRequest::new(own, buffer))
        });
        let Some(key) = key else {
            return;
        };
        // Unused entries of the array hold an empty request that is never run.
        let mut requests = operations
            .each_mut()
            .map(|operation| operation.take().unwrap_or_else(|| PrivateRequest::new(key, &mut [])));
        private_batch(&mut self.workspace, &mut requests[..count]);
        for (outcome, request) in outcomes.iter_mut().zip(&requests[..count]) {
            *outcome = Some(request.outcome());
        }
        let encoded = group.iter_mut().filter(|request| !request.has_outcome());
        for (request, outcome) in encoded.zip(outcomes) {
            match request.job.decode(outcome.unwrap_or(Err(Error::Fault))) {
                Ok(()) => request.done(),
                Err(Error::Fault) => request.fault(),
                Err(why) => request.refuse(why),
            }
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "at most eight")]
fn cost_alone(operations: usize) -> f64 {
    operations as f64
}

/// The public test key of self-tests, as a PEM text.
pub const SELF_TEST_KEY: &str = include_str!("self_test.pem");

/// The hash of a signature with [`SELF_TEST_KEY`]:
///
/// ```text
/// printf tollgate | openssl dgst -sha256 -sign self_test.pem | sha256sum
/// ```
pub const SELF_TEST_SIGNATURE_HASH: &[u8] = &[
    0x29, 0xac, 0x71, 0x01, 0xaa, 0x01, 0x70, 0x42, 0x68, 0x32, 0x6a, 0xe8, 0xab, 0xe1, 0x40, 0x3d,
    0xfe, 0xb6, 0xfa, 0x4d, 0x54, 0xac, 0x5c, 0xa0, 0x71, 0x9e, 0xfb, 0x84, 0xbe, 0xc2, 0x58, 0xb8,
];
