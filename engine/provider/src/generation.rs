//! The entry points of key generation: provider-keymgmt(7).
//!
//! A program generates keys with this provider if it queries `tollgate.rsa=yes`, or if it loads no
//! other provider of keys before this one. [`crate::dispatch`] explains why.

use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use std::sync::Arc;

use tollgate_rsa::{Generation, MODULUS_BYTES_MAX, Progress};

use crate::abi::*;
use crate::counters::Event;
use crate::handle;
use crate::key::{BITS_MIN, Key};
use crate::key_slot::KeySlot;
use crate::params::Params;
use crate::provider::{Provider, attempt, entry};
use crate::reason::Reason;
use crate::table::Table;

/// The parameters of the key to generate: the context of `gen_init`.
pub(crate) struct KeyRequest {
    provider: Arc<Provider>,
    bits: usize,
    primes: i64,
    /// Big-endian.
    e: Vec<u8>,
}

/// The smallest modulus, in bits, and the smallest public exponent, in bytes, that
/// [`Generation::new`] accepts.
const SECURE: (usize, usize) = (2048, 3);

impl AsRef<Provider> for KeyRequest {
    fn as_ref(&self) -> &Provider {
        &self.provider
    }
}

impl KeyRequest {
    fn new(provider: Arc<Provider>) -> Self {
        Self { provider, bits: 2048, primes: 2, e: vec![1, 0, 1] }
    }

    fn set(&mut self, params: Params<'_>) -> Result<(), Reason> {
        if let Some(param) = params.find(OSSL_PKEY_PARAM_BITS) {
            let bits = param.integer().ok_or(Reason::Parameter)?;
            let bits = usize::try_from(bits).map_err(|_| Reason::NewKeySize)?;
            if !(BITS_MIN..=8 * MODULUS_BYTES_MAX).contains(&bits) || bits % 2 == 1 {
                return Err(Reason::NewKeySize);
            }
            self.bits = bits;
        }
        if let Some(param) = params.find(OSSL_PKEY_PARAM_RSA_PRIMES) {
            self.primes = param.integer().ok_or(Reason::Parameter)?;
            if self.primes != 2 {
                return Err(Reason::NewKeyPrimes);
            }
        }
        if let Some(param) = params.find(OSSL_PKEY_PARAM_RSA_E) {
            let e = param.number().ok_or(Reason::Parameter)?;
            let e = &e[e.iter().take_while(|&&byte| byte == 0).count()..];
            let odd = e.last().is_some_and(|byte| byte % 2 == 1);
            if !odd || e == [1] || e.len() > 32 {
                return Err(Reason::KeyExponent);
            }
            self.e = e.to_vec();
        }
        Ok(())
    }

    /// Generates the key. Calls `tell` with potential and iteration (`BN_GENCB_call(3)`); `tell`
    /// returns whether to continue.
    fn run(&self, tell: &mut dyn FnMut(c_int, c_int) -> bool) -> Result<KeySlot, Reason> {
        if self.primes != 2 {
            return Err(Reason::NewKeyPrimes);
        }
        if !self.provider.is_healthy() {
            return Err(Reason::SelfTest);
        }
        let mut progress_report = ProgressReport { primes: 0, go_on: true };
        let mut watch = |progress| progress_report.tell(progress, tell);
        let secure = self.bits >= SECURE.0 && self.e.len() >= SECURE.1;
        let generation =
            if secure { Generation::new(self.bits) } else { Generation::insecure(self.bits) };
        let generation = generation.exponent(&self.e).watched(&mut watch);
        let key = self.provider.with_workspace(|ws| generation.run(ws))?;
        if !progress_report.go_on {
            return Err(Reason::NewKeyStopped);
        }
        self.provider.count(Event::Key);
        let key = Some(Arc::new(Key::Private(Arc::new(key))));
        Ok(KeySlot { provider: Arc::clone(&self.provider), key })
    }
}

/// The progress that has been reported so far.
struct ProgressReport {
    primes: usize,
    go_on: bool,
}

impl ProgressReport {
    /// Reports potential 0 for every eight tested candidates, and 3 for each prime found.
    fn tell(&mut self, progress: Progress, tell: &mut dyn FnMut(c_int, c_int) -> bool) {
        let number = |x: usize| c_int::try_from(x).unwrap_or(c_int::MAX);
        let tested = (0, number(progress.tested / 8 - 1));
        let found = (self.primes..progress.primes).map(|prime| (3, number(prime)));
        for (potential, iteration) in core::iter::once(tested).chain(found) {
            self.go_on = self.go_on && tell(potential, iteration);
        }
        self.primes = self.primes.max(progress.primes);
    }
}

static SETTABLE: Table<[OSSL_PARAM; 4]> = Table::of_keys([
    (OSSL_PKEY_PARAM_BITS, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_PRIMES, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_E, OSSL_PARAM_UNSIGNED_INTEGER),
    (c"", 0),
]);

pub(crate) unsafe extern "C" fn gen_init(
    provctx: *mut c_void,
    selection: c_int,
    params: *const OSSL_PARAM,
) -> *mut c_void {
    // SAFETY: libcrypto passes the pointer that `OSSL_provider_init` returned.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    // SAFETY: the parameters outlive the call.
    let params = unsafe { Params::new(params) };
    let provider = provider.filter(|_| selection & OSSL_KEYMGMT_SELECT_KEYPAIR != 0);
    let request = attempt(provider, |provider| {
        let mut request = KeyRequest::new(Arc::clone(provider));
        request.set(params)?;
        Ok(handle::give(request))
    });
    request.unwrap_or(ptr::null_mut())
}

pub(crate) unsafe extern "C" fn gen_set_params(
    genctx: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: the context came from `gen_init`, and one thread uses it at a time.
    let request = unsafe { handle::exclusive::<KeyRequest>(genctx) };
    // SAFETY: the parameters outlive the call.
    let params = unsafe { Params::new(params) };
    entry(request, |request| request.set(params))
}

pub(crate) unsafe extern "C" fn gen_settable_params(
    _genctx: *mut c_void,
    _provctx: *mut c_void,
) -> *const OSSL_PARAM {
    SETTABLE.first()
}

pub(crate) unsafe extern "C" fn generate(
    genctx: *mut c_void,
    callback: Option<OSSL_CALLBACK>,
    argument: *mut c_void,
) -> *mut c_void {
    // SAFETY: the context came from `gen_init`, and outlives the call.
    let request = unsafe { handle::shared::<KeyRequest>(genctx) };
    let slot = attempt(request, |request| {
        let slot = request.run(&mut |potential, iteration| {
            // SAFETY: libcrypto's callback and its argument.
            callback.is_none_or(|call| unsafe { report(call, argument, potential, iteration) })
        })?;
        Ok(handle::give(slot))
    });
    slot.unwrap_or(ptr::null_mut())
}

/// Calls the callback; returns whether to continue.
///
/// # Safety
///
/// `callback` may be called with `argument`.
unsafe fn report(
    callback: OSSL_CALLBACK,
    argument: *mut c_void,
    mut potential: c_int,
    mut iteration: c_int,
) -> bool {
    let integer = |key: &'static CStr, value: &mut c_int| OSSL_PARAM {
        key: key.as_ptr(),
        data_type: OSSL_PARAM_INTEGER,
        data: ptr::from_mut(value).cast(),
        data_size: size_of::<c_int>(),
        ..OSSL_PARAM::END
    };
    let params = [
        integer(OSSL_GEN_PARAM_POTENTIAL, &mut potential),
        integer(OSSL_GEN_PARAM_ITERATION, &mut iteration),
        OSSL_PARAM::END,
    ];
    // SAFETY: as the caller promised; the array ends with a NULL key and outlives the call.
    unsafe { callback(params.as_ptr(), argument) != 0 }
}
