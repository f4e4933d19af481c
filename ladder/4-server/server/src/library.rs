//! A library context of OpenSSL with the providers of an engine.

use openssl::error::ErrorStack;
use openssl::lib_ctx::LibCtx;
use openssl::provider::Provider;

use crate::counters::SignerOperations;
use crate::ffi;
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
}
