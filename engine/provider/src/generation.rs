//! The entry points of key generation, for keys of any type: provider-keymgmt(7).

use core::ffi::{c_int, c_void};
use core::ptr;
use std::sync::Arc;

use crate::abi::*;
use crate::handle;
use crate::key_slot::{KeySlot, KeyType};
use crate::params::Params;
use crate::provider::{Provider, attempt, entry};
use crate::reason::Reason;

/// The parameters of a key to generate: the context of `gen_init`.
pub(crate) trait Request: AsRef<Provider> + Sized {
    type Key: KeyType;

    /// The descriptions of the parameters that can be set, up to a NULL key.
    const SETTABLE: *const OSSL_PARAM;

    /// Returns the default parameters. `with_key` is false if the program asks for domain
    /// parameters only. Returns `None` if keys of this type have none.
    fn new(provider: &Arc<Provider>, with_key: bool) -> Option<Self>;

    fn set(&mut self, params: Params<'_>) -> Result<(), Reason>;

    fn run(&mut self) -> Result<KeySlot<Self::Key>, Reason>;
}

pub(crate) unsafe extern "C" fn gen_init<R: Request>(
    provctx: *mut c_void,
    selection: c_int,
    params: *const OSSL_PARAM,
) -> *mut c_void {
    // SAFETY: libcrypto passes the pointer that `OSSL_provider_init` returned.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    // SAFETY: the parameters outlive the call.
    let params = unsafe { Params::new(params) };
    let with_key = selection & OSSL_KEYMGMT_SELECT_KEYPAIR != 0;
    let request = attempt(provider, |provider| {
        let Some(mut request) = R::new(provider, with_key) else {
            return Ok(ptr::null_mut());
        };
        request.set(params)?;
        Ok(handle::give(request))
    });
    request.unwrap_or(ptr::null_mut())
}

pub(crate) unsafe extern "C" fn gen_set_params<R: Request>(
    genctx: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: the context came from `gen_init`, and one thread uses it at a time.
    let request = unsafe { handle::exclusive::<R>(genctx) };
    // SAFETY: the parameters outlive the call.
    let params = unsafe { Params::new(params) };
    entry(request, |request| request.set(params))
}

pub(crate) unsafe extern "C" fn gen_settable_params<R: Request>(
    _genctx: *mut c_void,
    _provctx: *mut c_void,
) -> *const OSSL_PARAM {
    R::SETTABLE
}

/// Generates the key, without reports of progress.
pub(crate) unsafe extern "C" fn generate<R: Request>(
    genctx: *mut c_void,
    _callback: Option<OSSL_CALLBACK>,
    _argument: *mut c_void,
) -> *mut c_void {
    // SAFETY: the context came from `gen_init`, and one thread uses it at a time.
    let request = unsafe { handle::exclusive::<R>(genctx) };
    let slot = attempt(request, |request| Ok(handle::give(request.run()?)));
    slot.unwrap_or(ptr::null_mut())
}
