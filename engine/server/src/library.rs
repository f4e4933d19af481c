//! A library context of OpenSSL with the providers of an engine, and keys in it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use openssl::error::ErrorStack;
use openssl::lib_ctx::LibCtx;
use openssl::pkey::{PKey, Private};
use openssl::provider::Provider;

use crate::counters::SignerOperations;
use crate::ffi;
use crate::identities::Identities;
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
    decoded: Mutex<Decoded>,
    library: Arc<Library>,
}

struct Decoded {
    keys: HashMap<KeyId, PKey<Private>>,
    identities: Arc<Identities>,
}

impl Keys {
    pub(crate) fn new(library: &Arc<Library>, identities: &Arc<Identities>) -> Self {
        let decoded = Decoded { keys: HashMap::new(), identities: Arc::clone(identities) };
        Self { decoded: Mutex::new(decoded), library: Arc::clone(library) }
    }

    /// Decodes a key. A connection that began before a reload may ask for a key that was replaced;
    /// such a key is not kept.
    pub(crate) fn decode(&self, key: &Key) -> Result<PKey<Private>, ErrorStack> {
        let mut decoded = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = decoded.keys.get(&key.id) {
            return Ok(key.clone());
        }
        let made = self.library.decode(key)?;
        if decoded.identities.has_key(&key.id) {
            decoded.keys.insert(key.id, made.clone());
        }
        Ok(made)
    }

    /// Forgets the keys that are not among these.
    pub(crate) fn retain(&self, identities: &Arc<Identities>) {
        let mut decoded = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        decoded.keys.retain(|id, _| identities.has_key(id));
        decoded.identities = Arc::clone(identities);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::Certificate;
    use crate::kinds::KeyKind;

    #[test]
    fn a_replaced_key_is_not_kept_again() {
        let library = Arc::new(Library::new(Engine::OpenSsl).unwrap());
        let load = || {
            let certificate = Certificate::SelfSigned(KeyKind::EcdsaP256);
            Arc::new(Identities::load([&certificate], None).unwrap())
        };
        let (old, new) = (load(), load());
        let keys = Keys::new(&library, &old);
        let kept = || keys.decoded.lock().unwrap().keys.len();
        keys.decode(&old.default().key).unwrap();
        assert_eq!(kept(), 1);
        keys.retain(&new);
        assert_eq!(kept(), 0);
        keys.decode(&old.default().key).unwrap();
        assert_eq!(kept(), 0, "asked for by a connection from before");
        keys.decode(&new.default().key).unwrap();
        assert_eq!(kept(), 1);
    }
}
