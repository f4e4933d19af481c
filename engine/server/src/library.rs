//! A library context of OpenSSL with the providers of an engine, and keys in it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use openssl::error::ErrorStack;
use openssl::lib_ctx::LibCtx;
use openssl::pkey::{PKey, Private};
use openssl::provider::Provider;

use crate::counters::SignerOperations;
use crate::ffi;
use crate::key::{Key, KeyId};
use crate::kinds::Engine;

/// A library context with its providers. Fields are dropped in this order: OpenSSL requires that
/// providers are freed before their library context.
pub(crate) struct Library {
    providers: Vec<Provider>,
    context: LibCtx,
    engine: Engine,
}

impl Library {
    pub(crate) fn new(engine: Engine) -> Result<Self, ErrorStack> {
        let context = LibCtx::new()?;
        let mut providers = vec![Provider::load(Some(&context), "default")?];
        if engine == Engine::Tollgate {
            ffi::add_builtin(&context, c"tollgate", tollgate_provider::init_function())?;
            providers.push(Provider::load(Some(&context), "tollgate")?);
        }
        ffi::prefer(&context, engine.query())?;
        Ok(Self { providers, context, engine })
    }

    pub(crate) const fn context(&self) -> &LibCtx {
        &self.context
    }

    /// Returns the private-key operations so far; zero for an engine that does not count.
    pub(crate) fn operations(&self) -> SignerOperations {
        match (self.engine, self.providers.last()) {
            (Engine::Tollgate, Some(provider)) => ffi::operations(provider),
            _ => SignerOperations::default(),
        }
    }

    /// Decodes a key.
    pub(crate) fn decode(&self, key: &Key) -> Result<PKey<Private>, ErrorStack> {
        ffi::private_key(&self.context, self.engine.query(), key.kind.id(), &key.der)
    }
}

/// The keys of a worker in its library context. Each is decoded when it is first needed. Fields are
/// dropped in this order: keys before their library context.
pub(crate) struct Keys {
    /// One thread uses them; the callbacks of libssl ask for a lock.
    decoded: Mutex<HashMap<KeyId, PKey<Private>>>,
    library: Arc<Library>,
}

impl Keys {
    pub(crate) fn new(library: &Arc<Library>) -> Self {
        Self { decoded: Mutex::default(), library: Arc::clone(library) }
    }

    pub(crate) fn decode(&self, key: &Key) -> Result<PKey<Private>, ErrorStack> {
        let mut decoded = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = decoded.get(&key.id) {
            return Ok(key.clone());
        }
        let made = self.library.decode(key)?;
        decoded.insert(key.id, made.clone());
        Ok(made)
    }

    /// Forgets keys that are no longer used.
    pub(crate) fn retain(&self, is_used: impl Fn(&KeyId) -> bool) {
        let mut decoded = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        decoded.retain(|id, _| is_used(id));
    }
}
