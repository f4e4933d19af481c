//! Loads RSA keys for a queue; another loader loads all other keys.

use std::sync::Arc;

use rustls::Error;
use rustls::crypto::KeyProvider;
use rustls::pki_types::PrivateKeyDer;
use rustls::sign;
use tollgate_queue::{PrivateJob, Queue};
use zeroize::Zeroize;

use crate::signing_key::{SigningKey, read};

/// Loads RSA keys that sign through a queue, and passes others to another loader. rustls requires a
/// `&'static` reference, which [`provider`](crate::provider) creates.
#[derive(Debug)]
pub struct KeyLoader {
    queue: Queue<PrivateJob>,
    others: &'static dyn KeyProvider,
}

impl KeyLoader {
    /// Creates a loader whose RSA keys sign through `queue`. `others` loads all other keys.
    #[must_use]
    pub fn new(queue: &Queue<PrivateJob>, others: &'static dyn KeyProvider) -> Self {
        Self { queue: queue.clone(), others }
    }
}

impl KeyProvider for KeyLoader {
    fn load_private_key(
        &self,
        mut key_der: PrivateKeyDer<'static>,
    ) -> Result<Arc<dyn sign::SigningKey>, Error> {
        let Some(key) = read(&key_der).transpose() else {
            return self.others.load_private_key(key_der);
        };
        key_der.zeroize();
        Ok(Arc::new(SigningKey::new(&self.queue, key?)?))
    }
}
