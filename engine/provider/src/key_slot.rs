//! The object that libcrypto holds as a key.
#![forbid(unsafe_code)]

use std::sync::Arc;

use crate::alt_stack::on_alt_stack;
use crate::counters::Event;
use crate::key::Key;
use crate::params::Params;
use crate::provider::Provider;
use crate::reason::Reason;

/// The object that libcrypto holds as a key. The slot is empty until a key is imported or
/// generated.
pub(crate) struct KeySlot {
    pub(crate) provider: Arc<Provider>,
    pub(crate) key: Option<Arc<Key>>,
}

impl AsRef<Provider> for KeySlot {
    fn as_ref(&self) -> &Provider {
        &self.provider
    }
}

impl KeySlot {
    pub(crate) fn import(&mut self, params: Params<'_>, with_private: bool) -> Result<(), Reason> {
        let import = || Key::import(params, with_private);
        let key = if !self.provider.is_healthy() {
            Err(Reason::SelfTest)
        } else if self.provider.running_job().is_some() {
            on_alt_stack(import)
        } else {
            import()
        };
        self.provider.count(if key.is_ok() { Event::Key } else { Event::RefusedKey });
        self.key = Some(Arc::new(key?));
        Ok(())
    }

    pub(crate) fn key(&self) -> Result<&Arc<Key>, Reason> {
        self.key.as_ref().ok_or(Reason::KeyMissing)
    }

    /// Returns whether the slot has the selected halves.
    pub(crate) fn has(&self, public: bool, private: bool) -> bool {
        match self.key.as_deref() {
            Some(Key::Private(_)) => true,
            Some(Key::Public(_)) => !private,
            None => !public && !private,
        }
    }
}
