//! Jobs on curves: secrets of X25519 and signatures with ECDSA P-256, up to eight in lanes.

use std::sync::Arc;

use tollgate_curves::p256::{self, Nonce, P256};
use tollgate_curves::{PublicKey, SecretKey, X25519};
use zeroize::Zeroizing;

use crate::curve_task::{CLASS_OF_AGREEMENTS, CLASS_OF_SIGNATURES, CurveTask};
use crate::job::{Class, Request};
use crate::private_job::PrivateJob;

/// The random bytes of a nonce.
const RANDOM_BYTES: usize = 32;

/// The bytes of a digest that count.
const DIGEST_BYTES_MAX: usize = 32;

impl PrivateJob {
    /// The class of the jobs that [`load_x25519`](Self::load_x25519) sets.
    pub const X25519: Class = CLASS_OF_AGREEMENTS;
    /// The class of the jobs that [`load_ecdsa`](Self::load_ecdsa) sets.
    pub const ECDSA_P256: Class = CLASS_OF_SIGNATURES;

    /// Sets the job: the secret that an X25519 key shares with the owner of `peer`. Its
    /// [`output`](Self::output) has 32 bytes. It is empty if `peer` has a low order: end the
    /// handshake then.
    pub fn load_x25519(&mut self, secret: &Arc<SecretKey>, peer: &PublicKey) {
        self.load_curve(CurveTask::Agree { secret: Arc::clone(secret), peer: *peer }, &[]);
    }

    /// Sets the job: a signature with ECDSA of a digest, of which the first 32 bytes count. The
    /// nonce is [`Nonce::Hedged`] with `random`, fresh random bytes. The [`output`](Self::output)
    /// is r and s, of 32 bytes each. The job fails where [`P256::best`] does.
    pub fn load_ecdsa(&mut self, key: &Arc<p256::SecretKey>, digest: &[u8], random: &[u8; 32]) {
        let mut input = Zeroizing::new([0; RANDOM_BYTES + DIGEST_BYTES_MAX]);
        let digest = &digest[..digest.len().min(DIGEST_BYTES_MAX)];
        input[..RANDOM_BYTES].copy_from_slice(random);
        input[RANDOM_BYTES..][..digest.len()].copy_from_slice(digest);
        let input = &input[..RANDOM_BYTES + digest.len()];
        self.load_curve(CurveTask::Sign { key: Arc::clone(key) }, input);
    }
}

/// The kernels of the curves; those of P-256 if this processor has some.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curves {
    x25519: X25519,
    p256: Option<P256>,
}

/// A batch of jobs of one kind.
type Batch = [Box<Request<PrivateJob>>];

impl Curves {
    /// Uses the best kernels of this processor.
    pub(crate) fn best() -> Self {
        Self { x25519: X25519::best(), p256: P256::best().ok() }
    }

    /// Returns whether several jobs of the class cost less in lanes than alone, or `None` if it is
    /// no class of a curve.
    pub(crate) fn has_lanes(self, class: Class) -> Option<bool> {
        match class {
            CLASS_OF_AGREEMENTS => Some(self.x25519.has_lanes()),
            CLASS_OF_SIGNATURES => Some(self.p256.is_some_and(P256::has_lanes)),
            _ => None,
        }
    }

    /// Runs jobs of one kind. Returns `false` if they are not jobs on curves.
    pub(crate) fn run(self, batch: &mut Batch) -> bool {
        match batch.first().and_then(|request| request.job.curve()) {
            Some((CurveTask::Agree { .. }, _)) => self.agree(batch),
            Some((CurveTask::Sign { .. }, _)) => self.sign(batch),
            None => return false,
        }
        true
    }

    #[inline(never)]
    fn agree(self, batch: &mut Batch) {
        let pairs = batch.iter().filter_map(|request| match request.job.curve() {
            Some((CurveTask::Agree { secret, peer }, _)) => Some((&**secret, peer)),
            _ => None,
        });
        let shared = self.x25519.agree_all(&pairs.collect::<Vec<_>>());
        for (request, shared) in batch.iter_mut().zip(&shared) {
            // The peer chose a key of low order, and knows it: the branch reveals no secret.
            request.job.set_output(shared.as_ref().map_or(&[], |shared| shared.as_bytes()));
            request.done();
        }
    }

    #[inline(never)]
    fn sign(self, batch: &mut Batch) {
        let Some(p256) = self.p256 else {
            return batch.iter_mut().for_each(|request| request.fault());
        };
        let requests = batch.iter().filter_map(|request| match request.job.curve() {
            Some((CurveTask::Sign { key }, input)) => {
                let (random, digest) = input.split_first_chunk()?;
                Some(p256::Request { key, digest, nonce: Nonce::Hedged(random) })
            }
            _ => None,
        });
        let signatures = p256.sign_all(&requests.collect::<Vec<_>>());
        for (request, signature) in batch.iter_mut().zip(signatures) {
            match signature {
                Ok(signature) => {
                    request.job.set_output(&signature.to_bytes());
                    request.done();
                }
                Err(p256::Fault) => request.fault(),
            }
        }
    }

    /// Runs jobs with known answers, alone and in a batch of `width`, if there are kernels. Returns
    /// what failed.
    pub(crate) fn self_test(self, width: usize) -> Result<(), &'static str> {
        let key = p256::SecretKey::from_bytes(&[7; 32]).map_err(|_| "a key on P-256")?;
        let (secret, key) = (Arc::new(SecretKey::from_bytes(&[7; 32])), Arc::new(key));
        for count in [1, width] {
            let peer = self.x25519.public_key(&SecretKey::from_bytes(&[8; 32]));
            let shared = X25519::Portable.agree(&secret, &peer);
            let is_right = |job: &PrivateJob| {
                shared.as_ref().is_ok_and(|shared| job.output() == shared.as_bytes())
            };
            self.gives(count, |_, job| job.load_x25519(&secret, &peer), is_right)
                .ok_or("an agreement with X25519")?;
            if let Some(p256) = self.p256 {
                let public = p256.public_key(&key);
                let is_right = |job: &PrivateJob| {
                    let signature = job.output().try_into().ok();
                    let signature = signature.and_then(p256::Signature::from_bytes);
                    signature.is_some_and(|signature| p256.verify(&public, &DIGEST, &signature))
                };
                let load =
                    |random, job: &mut PrivateJob| job.load_ecdsa(&key, &DIGEST, &[random; 32]);
                self.gives(count, load, is_right).ok_or("a signature with ECDSA")?;
            }
        }
        Ok(())
    }

    /// Runs `count` jobs, and returns `None` unless all results are right.
    fn gives(
        self,
        count: usize,
        load: impl Fn(u8, &mut PrivateJob),
        is_right: impl Fn(&PrivateJob) -> bool,
    ) -> Option<()> {
        let mut batch: Vec<Box<Request<PrivateJob>>> = Vec::new();
        batch.resize_with(count, Box::default);
        (0..).zip(&mut batch).for_each(|(number, request)| load(number, &mut request.job));
        self.run(&mut batch);
        batch.iter().all(|request| !request.is_fault() && is_right(&request.job)).then_some(())
    }
}

/// The digest of the self test.
const DIGEST: [u8; 32] = [9; 32];
