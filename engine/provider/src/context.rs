//! The entry points that contexts of all operations have in common. They create, copy and
//! initialize contexts, get and set parameters, and run operations that turn input into output.
//!
//! Every context and key came from `newctx`, `dupctx` or the key management of this provider.
//! libcrypto uses a context from one thread at a time and frees it once.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use std::sync::Arc;

use crate::abi::OSSL_PARAM;
use crate::handle;
use crate::key_slot::{KeySlot, KeyType};
use crate::params::{Answers, Params};
use crate::provider::{Provider, entry};
use crate::reason::Reason;

/// The safe part of a context.
pub(crate) trait Context: AsRef<Provider> + Clone {
    type Key: KeyType;

    /// The descriptions of the parameters that can be read, up to a NULL key.
    const GETTABLE: *const OSSL_PARAM;
    /// The descriptions of the parameters that can be set, up to a NULL key.
    const SETTABLE: *const OSSL_PARAM;

    fn new(provider: Arc<Provider>) -> Self;

    /// Starts an operation, which needs the private half if `private` is true. If `key` is `None`,
    /// the context keeps its last key.
    fn restart(&mut self, key: Option<Arc<Self::Key>>, private: bool) -> Result<(), Reason>;

    fn set(&mut self, params: Params<'_>) -> Result<(), Reason>;

    fn describe(&self, answers: &mut Answers<'_>) -> Result<(), Reason>;
}

/// Returns the key of an operation: `key`, or else the context's last key. Refuses a key without a
/// private half if `private` is true.
pub(crate) fn operation_key<K: KeyType>(
    key: Option<Arc<K>>,
    last: &mut Option<Arc<K>>,
    private: bool,
) -> Result<Arc<K>, Reason> {
    let key = key.or(last.take()).ok_or(Reason::KeyMissing)?;
    if private && !key.has_private() {
        return Err(Reason::KeyNotPrivate);
    }
    Ok(key)
}

/// Returns the key of an init call, or `None` if the pointer is NULL. The call then refers to the
/// context's last key.
///
/// # Safety
///
/// As the module says.
pub(crate) unsafe fn key<K: KeyType>(provkey: *mut c_void) -> Result<Option<Arc<K>>, Reason> {
    // SAFETY: as the caller promised.
    let slot = unsafe { handle::shared::<KeySlot<K>>(provkey) };
    slot.map(|slot| slot.key().map(Arc::clone)).transpose()
}

pub(crate) unsafe extern "C" fn newctx<C: Context>(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: as the caller promised.
    unsafe { newctx_for_query::<C>(provctx, ptr::null()) }
}

/// Creates a context for an operation with this property query, or NULL.
///
/// # Safety
///
/// As the module says; `query` ends with a NUL.
pub(crate) unsafe fn newctx_for_query<C: Context>(
    provctx: *mut c_void,
    query: *const c_char,
) -> *mut c_void {
    // SAFETY: libcrypto passes the pointer that `OSSL_provider_init` returned.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    // SAFETY: the caller's text.
    let query = (!query.is_null()).then(|| unsafe { CStr::from_ptr(query) });
    handle::create(|| {
        let provider = provider?;
        provider.check_keymgmt_cache(provctx, query);
        Some(C::new(Arc::clone(provider)))
    })
}

pub(crate) unsafe extern "C" fn dupctx<C: Context>(ctx: *mut c_void) -> *mut c_void {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::shared::<C>(ctx) };
    handle::create(|| ctx.cloned())
}

pub(crate) unsafe extern "C" fn init<C: Context, const PRIVATE: bool>(
    ctx: *mut c_void,
    provkey: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::exclusive::<C>(ctx) };
    // SAFETY: as the module says.
    let key = unsafe { key(provkey) };
    // SAFETY: the parameters outlive the call.
    let params = unsafe { Params::new(params) };
    entry(ctx, |ctx| {
        ctx.restart(key?, PRIVATE)?;
        ctx.set(params)
    })
}

pub(crate) unsafe extern "C" fn get_ctx_params<C: Context>(
    ctx: *mut c_void,
    params: *mut OSSL_PARAM,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::exclusive::<C>(ctx) };
    // SAFETY: the parameters are the caller's, to be filled.
    let mut answers = unsafe { Answers::new(params) };
    entry(ctx, |ctx| ctx.describe(&mut answers))
}

pub(crate) unsafe extern "C" fn set_ctx_params<C: Context>(
    ctx: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::exclusive::<C>(ctx) };
    // SAFETY: the parameters outlive the call.
    let params = unsafe { Params::new(params) };
    entry(ctx, |ctx| ctx.set(params))
}

pub(crate) unsafe extern "C" fn gettable_ctx_params<C: Context>(
    _ctx: *mut c_void,
    _provctx: *mut c_void,
) -> *const OSSL_PARAM {
    C::GETTABLE
}

pub(crate) unsafe extern "C" fn settable_ctx_params<C: Context>(
    _ctx: *mut c_void,
    _provctx: *mut c_void,
) -> *const OSSL_PARAM {
    C::SETTABLE
}

/// Defines entry points that turn input into output by a method of a context.
macro_rules! transforms {
    ($($name:ident $(<$C:ident: $bound:ident>)? = $context:ident::$method:ident;)*) => {$(
        unsafe extern "C" fn $name $(<$C: $bound>)? (
            ctx: *mut c_void,
            out: *mut c_uchar,
            outlen: *mut usize,
            outsize: usize,
            input: *const c_uchar,
            inlen: usize,
        ) -> c_int {
            // SAFETY: as the module says.
            let ctx = unsafe { $crate::handle::exclusive::<$context>(ctx) };
            // SAFETY: the caller's output buffer.
            let mut output = unsafe { $crate::handle::Output::new(out, outsize, outlen) };
            $crate::provider::entry(ctx, |ctx| {
                // SAFETY: the caller's input, not written before the output is copied.
                let input = unsafe { $crate::handle::bytes(input, inlen) };
                ctx.$method(&mut output, input)?;
                output.copy_out();
                Ok(())
            })
        }
    )*};
}
pub(crate) use transforms;
