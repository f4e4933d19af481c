//! Where rustls gets its keys from: RSA from here, others from elsewhere.

use std::sync::Arc;

use rustls::Error;
use rustls::crypto::KeyProvider;
use rustls::pki_types::PrivateKeyDer;
use rustls::sign;
use tollgate_queue::{PrivateJob, Queue};
use zeroize::Zeroize;

use crate::signing_key::{SigningKey, read};

/// Loads RSA keys for an engine, and leaves others to another loader. rustls wants it `&'static`:
/// [`provider`](crate::provider) sees to that.
#[derive(Debug)]
pub struct KeyLoader {
    engine: Queue<PrivateJob>,
    others: &'static dyn KeyProvider,
}

impl KeyLoader {
    /// RSA keys sign through `engine`; `others` loads what is no RSA key.
    #[must_use]
    pub fn new(engine: &Queue<PrivateJob>, others: &'static dyn KeyProvider) -> Self {
        Self { engine: engine.clone(), others }
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
        Ok(Arc::new(SigningKey::new(&self.engine, key?)?))
    }
}
