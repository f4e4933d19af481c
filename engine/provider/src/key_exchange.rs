//! Key exchange with X25519: provider-keyexch(7). [`crate::context`] states what libcrypto
//! guarantees for contexts.

use core::ffi::{c_int, c_uchar, c_void};
use core::ptr;
use std::sync::Arc;

use tollgate_curves::KEY_BYTES;

use crate::abi::{OSSL_DISPATCH, OSSL_PARAM};
use crate::context::{Context, dupctx, init, key, newctx, operation_key};
use crate::counters::Event;
use crate::curve_operations::Agreement;
use crate::handle::{self, Output};
use crate::params::{Answers, Params};
use crate::private::Operation as _;
use crate::provider::{Provider, entry};
use crate::reason::Reason;
use crate::table::{Table, dispatch};
use crate::x25519::X25519Key;

pub(crate) static FUNCTIONS: Table<[OSSL_DISPATCH; 7]> = dispatch! {
    OSSL_FUNC_KEYEXCH_NEWCTX = newctx::<ExchangeContext>;
    OSSL_FUNC_KEYEXCH_FREECTX = handle::free::<ExchangeContext>;
    OSSL_FUNC_KEYEXCH_DUPCTX = dupctx::<ExchangeContext>;
    OSSL_FUNC_KEYEXCH_INIT = init::<ExchangeContext, true>;
    OSSL_FUNC_KEYEXCH_SET_PEER = set_peer;
    OSSL_FUNC_KEYEXCH_DERIVE = derive;
};

/// The context of a key exchange.
#[derive(Clone)]
struct ExchangeContext {
    provider: Arc<Provider>,
    key: Option<Arc<X25519Key>>,
    peer: Option<Arc<X25519Key>>,
}

impl AsRef<Provider> for ExchangeContext {
    fn as_ref(&self) -> &Provider {
        &self.provider
    }
}

impl Context for ExchangeContext {
    type Key = X25519Key;

    // There are no parameters.
    const GETTABLE: *const OSSL_PARAM = ptr::null();
    const SETTABLE: *const OSSL_PARAM = ptr::null();

    fn new(provider: Arc<Provider>) -> Self {
        Self { provider, key: None, peer: None }
    }

    fn restart(&mut self, key: Option<Arc<X25519Key>>, private: bool) -> Result<(), Reason> {
        self.key = Some(operation_key(key, &mut self.key, private)?);
        self.peer = None;
        Ok(())
    }

    fn set(&mut self, _params: Params<'_>) -> Result<(), Reason> {
        Ok(())
    }

    fn describe(&self, _answers: &mut Answers<'_>) -> Result<(), Reason> {
        Ok(())
    }
}

impl ExchangeContext {
    fn derive(&mut self, output: &mut Output) -> Result<(), Reason> {
        let operation = Agreement { key: &mut self.key, peer: &mut self.peer };
        operation.check()?;
        if output.is_query_for(KEY_BYTES)? {
            return Ok(());
        }
        self.provider.x25519()?;
        self.provider.private(operation, &mut |shared| match shared {
            [] => Err(Reason::PeerLowOrder),
            shared => output.write(shared),
        })?;
        self.provider.count(Event::X25519Derivation);
        Ok(())
    }
}

unsafe extern "C" fn set_peer(ctx: *mut c_void, provkey: *mut c_void) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::exclusive::<ExchangeContext>(ctx) };
    // SAFETY: as the module says.
    let peer = unsafe { key(provkey) };
    entry(ctx, |ctx| {
        ctx.peer = Some(peer?.ok_or(Reason::PeerMissing)?);
        Ok(())
    })
}

unsafe extern "C" fn derive(
    ctx: *mut c_void,
    secret: *mut c_uchar,
    secretlen: *mut usize,
    outlen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::exclusive::<ExchangeContext>(ctx) };
    // SAFETY: the caller's output buffer.
    let mut output = unsafe { Output::new(secret, outlen, secretlen) };
    entry(ctx, |ctx| {
        ctx.derive(&mut output)?;
        output.copy_out();
        Ok(())
    })
}
