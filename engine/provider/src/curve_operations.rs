//! Private operations on curves: secrets of X25519, and signatures with ECDSA P-256.
#![forbid(unsafe_code)]

use std::sync::Arc;

use tollgate_curves::p256::Nonce;
use tollgate_curves::{LowOrder, SecretKey};
use tollgate_queue::PrivateJob;
use tollgate_rsa::{Error, Unavailable};
use zeroize::Zeroizing;

use crate::p256_key::P256Key;
use crate::private::{Operation, ResultSink, Sharing};
use crate::provider::Provider;
use crate::reason::Reason;
use crate::waker::Keys;
use crate::x25519::X25519Key;

/// The derivation of a secret, with the context's keys. The result is empty if the peer's key has a
/// low order.
pub(crate) struct Agreement<'a> {
    pub(crate) key: &'a mut Option<Arc<X25519Key>>,
    pub(crate) peer: &'a mut Option<Arc<X25519Key>>,
}

impl Agreement<'_> {
    fn keys(&self) -> Result<(&Arc<SecretKey>, &X25519Key), Reason> {
        let key = self.key.as_ref().ok_or(Reason::KeyMissing)?;
        Ok((key.secret()?, self.peer.as_ref().ok_or(Reason::PeerMissing)?))
    }
}

impl Operation for Agreement<'_> {
    /// A batch of four costs half of four single operations.
    const SHARING: Sharing = Sharing::Jobs { class: PrivateJob::X25519, fewest: 4 };

    fn check(&self) -> Result<(), Reason> {
        self.keys().map(|_| ())
    }

    fn load(&self, job: &mut PrivateJob) -> Result<(), Error> {
        let (secret, peer) = self.keys().expect("checked before");
        job.load_x25519(secret, peer.public());
        Ok(())
    }

    #[inline(never)]
    fn run_here(&self, provider: &Provider, take: ResultSink<'_>) -> Result<(), Reason> {
        let (secret, peer) = self.keys()?;
        match provider.x25519()?.agree(secret, peer.public()) {
            Ok(shared) => take(shared.as_bytes()),
            Err(LowOrder) => take(&[]),
        }
    }

    fn take_keys(&mut self) -> Keys {
        [self.key.take(), self.peer.take()].into_iter().flatten().map(|key| key as _).collect()
    }

    fn put_back(&mut self, keys: Keys) {
        let mut keys = keys.into_iter().map(|key| key.downcast().ok());
        *self.key = keys.next().flatten();
        *self.peer = keys.next().flatten();
    }
}

/// A signature with a random nonce. The result is r and s.
pub(crate) struct EcdsaOperation<'a> {
    pub(crate) key: &'a mut Option<Arc<P256Key>>,
    pub(crate) digest: &'a [u8],
}

impl Operation for EcdsaOperation<'_> {
    const SHARING: Sharing = Sharing::Jobs { class: PrivateJob::ECDSA_P256, fewest: 4 };

    fn check(&self) -> Result<(), Reason> {
        self.key.as_ref().ok_or(Reason::KeyMissing)?.secret().map(|_| ())
    }

    fn load(&self, job: &mut PrivateJob) -> Result<(), Error> {
        let key = self.key.as_ref().and_then(|key| key.secret().ok()).expect("checked before");
        job.load_ecdsa(key, self.digest, &*random().map_err(|_| Unavailable::Random)?);
        Ok(())
    }

    /// Takes random bytes of its own: in a forked child, the parent has those of the job.
    #[inline(never)]
    fn run_here(&self, provider: &Provider, take: ResultSink<'_>) -> Result<(), Reason> {
        let key = self.key.as_ref().ok_or(Reason::KeyMissing)?;
        let random = random()?;
        let nonce = Nonce::Hedged(&random);
        take(&provider.p256()?.sign(key.secret()?, self.digest, nonce)?.to_bytes())
    }

    fn take_keys(&mut self) -> Keys {
        self.key.take().map(|key| key as _).into_iter().collect()
    }

    fn put_back(&mut self, keys: Keys) {
        *self.key = keys.into_iter().next().and_then(|key| key.downcast().ok());
    }
}

fn random() -> Result<Zeroizing<[u8; 32]>, Reason> {
    let mut random = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *random).map_err(|_| Reason::Random)?;
    Ok(random)
}
