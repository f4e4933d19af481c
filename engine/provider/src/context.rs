//! What the contexts of signatures and of ciphers have in common, as libcrypto calls them: they are
//! made, copied and freed, started, told and asked, and turn input into output.
//!
//! Every context and key here came from `newctx`, `dupctx` or the key management of this provider;
//! libcrypto uses a context from one thread at a time and frees it once.

use core::ffi::{c_int, c_void};
use core::ptr;
use std::sync::Arc;

use crate::abi::OSSL_PARAM;
use crate::handle;
use crate::key::{Key, KeySlot};
use crate::params::{Answers, Params};
use crate::provider::{Provider, entry, entry_object};
use crate::reason::Reason;

/// A context, in safe words.
pub(crate) trait Context: AsRef<Provider> + Clone {
    fn new(provider: Arc<Provider>) -> Self;

    /// Starts an operation, which needs the private half or not; without a key, on the last one.
    fn init(
        &mut self,
        key: Option<Arc<Key>>,
        private: bool,
        params: Params<'_>,
    ) -> Result<(), Reason>;

    /// Sets what the parameters say.
    fn set(&mut self, params: Params<'_>) -> Result<(), Reason>;

    /// Answers what is asked.
    fn describe(&self, answers: &mut Answers<'_>) -> Result<(), Reason>;
}

/// A context for the length of a call.
///
/// # Safety
///
/// As the module says.
pub(crate) unsafe fn context<'a, C: Context>(ctx: *mut c_void) -> Option<&'a mut C> {
    // SAFETY: the caller's promise.
    unsafe { handle::exclusive(ctx) }
}

/// The key of an init call, to keep; NULL stands for the last one.
///
/// # Safety
///
/// As the module says.
pub(crate) unsafe fn key(provkey: *mut c_void) -> Result<Option<Arc<Key>>, Reason> {
    // SAFETY: the caller's promise.
    let slot = unsafe { handle::shared::<KeySlot>(provkey) };
    slot.map(|slot| slot.key().map(Arc::clone)).transpose()
}

pub(crate) unsafe extern "C" fn newctx<C: Context>(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: libcrypto passes the provider back that `init` gave it.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    entry_object(|| match provider {
        Some(provider) => handle::give(C::new(Arc::clone(provider))),
        None => ptr::null_mut(),
    })
}

pub(crate) unsafe extern "C" fn freectx<C: Context>(ctx: *mut c_void) {
    entry_object(|| {
        // SAFETY: as the module says.
        unsafe { handle::free::<C>(ctx) };
        ptr::null_mut()
    });
}

pub(crate) unsafe extern "C" fn dupctx<C: Context>(ctx: *mut c_void) -> *mut c_void {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::shared::<C>(ctx) };
    entry_object(|| ctx.map_or(ptr::null_mut(), |ctx| handle::give(ctx.clone())))
}

pub(crate) unsafe extern "C" fn init<C: Context, const PRIVATE: bool>(
    ctx: *mut c_void,
    provkey: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context::<C>(ctx) };
    // SAFETY: as the module says.
    let key = unsafe { key(provkey) };
    // SAFETY: the parameters stay until the call is over.
    let params = unsafe { Params::new(params) };
    entry(ctx, |ctx| ctx.init(key?, PRIVATE, params))
}

pub(crate) unsafe extern "C" fn get_ctx_params<C: Context>(
    ctx: *mut c_void,
    params: *mut OSSL_PARAM,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context::<C>(ctx) };
    // SAFETY: the parameters are the caller's, for us to fill.
    let mut answers = unsafe { Answers::new(params) };
    entry(ctx, |ctx| ctx.describe(&mut answers))
}

pub(crate) unsafe extern "C" fn set_ctx_params<C: Context>(
    ctx: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { context::<C>(ctx) };
    // SAFETY: the parameters stay until the call is over.
    let params = unsafe { Params::new(params) };
    entry(ctx, |ctx| ctx.set(params))
}

/// Entry points that turn input into output by a context's method.
macro_rules! transforms {
    ($($name:ident = $context:ident::$method:ident;)*) => {$(
        unsafe extern "C" fn $name(
            ctx: *mut c_void,
            out: *mut c_uchar,
            outlen: *mut usize,
            outsize: usize,
            input: *const c_uchar,
            inlen: usize,
        ) -> c_int {
            // SAFETY: as the module says.
            let ctx = unsafe { $crate::context::context::<$context>(ctx) };
            // SAFETY: the caller's output buffer.
            let mut output = unsafe { $crate::handle::Output::new(out, outsize, outlen) };
            $crate::provider::entry(ctx, |ctx| {
                // SAFETY: the caller's input, not written before the output is handed over.
                let input = unsafe { $crate::handle::bytes(input, inlen) };
                ctx.$method(&mut output, input)?;
                output.hand_over();
                Ok(())
            })
        }
    )*};
}
pub(crate) use transforms;
