//! Key encapsulation: provider-kem(7). [`crate::context`] states what libcrypto guarantees for
//! contexts.
//!
//! An operation takes some ten microseconds, so it never pauses a job. It needs more stack than a
//! job has: [`with_room`].

use core::ffi::{c_int, c_uchar, c_void};
use core::ptr;
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::abi::*;
use crate::alt_stack::with_room;
use crate::context::{
    Context, dupctx, init, newctx, operation_key, set_ctx_params, settable_ctx_params,
};
use crate::counters::Event;
use crate::handle::{self, Output};
use crate::kem_key::{Kem, KemKey, random};
use crate::kems::{Hybrid, MlKem};
use crate::params::{Answers, Params};
use crate::provider::{Provider, entry};
use crate::reason::Reason;
use crate::table::{Table, dispatch};

pub(crate) static ML_KEM: Table<[OSSL_DISPATCH; 10]> = functions::<MlKem>();
pub(crate) static HYBRID: Table<[OSSL_DISPATCH; 10]> = functions::<Hybrid>();

const fn functions<K: Kem>() -> Table<[OSSL_DISPATCH; 10]> {
    dispatch! {
        OSSL_FUNC_KEM_NEWCTX = newctx::<KemContext<K>>;
        OSSL_FUNC_KEM_FREECTX = handle::free::<KemContext<K>>;
        OSSL_FUNC_KEM_DUPCTX = dupctx::<KemContext<K>>;
        OSSL_FUNC_KEM_ENCAPSULATE_INIT = init::<KemContext<K>, false>;
        OSSL_FUNC_KEM_ENCAPSULATE = encapsulate::<K>;
        OSSL_FUNC_KEM_DECAPSULATE_INIT = init::<KemContext<K>, true>;
        OSSL_FUNC_KEM_DECAPSULATE = decapsulate::<K>;
        OSSL_FUNC_KEM_SET_CTX_PARAMS = set_ctx_params::<KemContext<K>>;
        OSSL_FUNC_KEM_SETTABLE_CTX_PARAMS = settable_ctx_params::<KemContext<K>>;
    }
}

/// The context of an encapsulation or a decapsulation.
struct KemContext<K: Kem> {
    provider: Arc<Provider>,
    key: Option<Arc<KemKey<K>>>,
    /// True if the context encapsulates, which has a random input.
    encapsulates: bool,
    /// The random input of the next encapsulation, if the program sets it, as tests do.
    random: Option<Zeroizing<Vec<u8>>>,
}

impl<K: Kem> Clone for KemContext<K> {
    fn clone(&self) -> Self {
        Self {
            provider: Arc::clone(&self.provider),
            key: self.key.clone(),
            encapsulates: self.encapsulates,
            random: None, // two contexts must not use the same
        }
    }
}

impl<K: Kem> AsRef<Provider> for KemContext<K> {
    fn as_ref(&self) -> &Provider {
        &self.provider
    }
}

impl<K: Kem> Context for KemContext<K> {
    type Key = KemKey<K>;

    const GETTABLE: *const OSSL_PARAM = ptr::null();
    const SETTABLE: *const OSSL_PARAM = K::SETTABLE_OF_CONTEXT;

    fn new(provider: Arc<Provider>) -> Self {
        Self { provider, key: None, encapsulates: false, random: None }
    }

    fn restart(&mut self, key: Option<Arc<KemKey<K>>>, private: bool) -> Result<(), Reason> {
        self.key = Some(operation_key(key, &mut self.key, private)?);
        self.encapsulates = !private;
        self.random = None;
        Ok(())
    }

    fn set(&mut self, params: Params<'_>) -> Result<(), Reason> {
        let is_used = self.encapsulates && K::HAS_SEED;
        if let Some(param) = params.find(OSSL_KEM_PARAM_IKME).filter(|_| is_used) {
            self.random = None;
            let random = param.octets().ok_or(Reason::Parameter)?;
            if random.len() != K::RANDOM_BYTES {
                return Err(Reason::KemSeed);
            }
            self.random = Some(Zeroizing::new(random.to_vec()));
        }
        Ok(())
    }

    fn describe(&self, _answers: &mut Answers<'_>) -> Result<(), Reason> {
        Ok(())
    }
}

impl<K: Kem> KemContext<K> {
    fn encapsulate(&mut self, sent: &mut Output, kept: &mut Output) -> Result<(), Reason> {
        let key = self.key.as_deref().ok_or(Reason::KeyMissing)?;
        if sent.is_query_for(K::CIPHERTEXT_BYTES)? {
            kept.set_length(K::SECRET_BYTES);
            return Ok(());
        }
        // a secret without a place for it is of no use
        if kept.is_query_for(K::SECRET_BYTES)? {
            return Err(Reason::BufferSmall);
        }
        self.provider.check_health()?;
        // a program's input serves once
        let random = self.random.take().map_or_else(|| random(K::RANDOM_BYTES), Ok)?;
        let mut ciphertext = vec![0; K::CIPHERTEXT_BYTES];
        let mut secret = Zeroizing::new(vec![0; K::SECRET_BYTES]);
        with_room(|| match key {
            KemKey::Public(public) => K::encapsulate(public, &random, &mut ciphertext, &mut secret),
            KemKey::Pair(_) => {
                let public = K::read_public(&self.provider, &key.public_bytes())?;
                K::encapsulate(&public, &random, &mut ciphertext, &mut secret)
            }
        })?;
        sent.write(&ciphertext)?;
        kept.write(&secret)?;
        self.provider.count(Event::Encapsulation);
        Ok(())
    }

    fn decapsulate(&self, kept: &mut Output, ciphertext: &[u8]) -> Result<(), Reason> {
        let Some(KemKey::Pair(pair)) = self.key.as_deref() else {
            return Err(Reason::KeyNotPrivate);
        };
        if kept.is_query_for(K::SECRET_BYTES)? {
            return Ok(());
        }
        self.provider.check_health()?;
        if ciphertext.len() != K::CIPHERTEXT_BYTES {
            return Err(Reason::KemCiphertext);
        }
        let mut secret = Zeroizing::new(vec![0; K::SECRET_BYTES]);
        with_room(|| K::decapsulate(pair, ciphertext, &mut secret))?;
        kept.write(&secret)?;
        self.provider.count(Event::Decapsulation);
        Ok(())
    }
}

/// Returns an output buffer, whose length variable states its capacity; without the variable it has
/// `otherwise`. For a query of the length the variable may have any bits.
///
/// # Safety
///
/// As for [`Output::new`]; `length` is NULL or, with a buffer, readable.
unsafe fn output(buffer: *mut c_uchar, length: *mut usize, otherwise: usize) -> Output {
    let stated = (!buffer.is_null() && !length.is_null()).then_some(length);
    // SAFETY: as the caller promised.
    let capacity = stated.map_or(otherwise, |length| unsafe { length.read() });
    // SAFETY: as the caller promised.
    unsafe { Output::new(buffer, capacity, length) }
}

unsafe extern "C" fn encapsulate<K: Kem>(
    ctx: *mut c_void,
    out: *mut c_uchar,
    outlen: *mut usize,
    secret: *mut c_uchar,
    secretlen: *mut usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::exclusive::<KemContext<K>>(ctx) };
    // SAFETY: the caller's output buffer.
    let mut sent = unsafe { output(out, outlen, 0) };
    // SAFETY: the caller's output buffer.
    let mut kept = unsafe { output(secret, secretlen, 0) };
    let asks_nothing = out.is_null() && outlen.is_null() && secretlen.is_null();
    entry(ctx.filter(|_| !asks_nothing), |ctx| {
        ctx.encapsulate(&mut sent, &mut kept)?;
        sent.copy_out();
        kept.copy_out();
        Ok(())
    })
}

/// A length variable is not needed, as in OpenSSL: the secret has one length.
unsafe extern "C" fn decapsulate<K: Kem>(
    ctx: *mut c_void,
    secret: *mut c_uchar,
    secretlen: *mut usize,
    input: *const c_uchar,
    inlen: usize,
) -> c_int {
    // SAFETY: as the module says.
    let ctx = unsafe { handle::exclusive::<KemContext<K>>(ctx) };
    // SAFETY: the caller's output buffer.
    let mut kept = unsafe { output(secret, secretlen, K::SECRET_BYTES) };
    let asks_nothing = secret.is_null() && secretlen.is_null();
    entry(ctx.filter(|_| !asks_nothing), |ctx| {
        // SAFETY: the caller's input, not written before the output is copied.
        let ciphertext = unsafe { handle::bytes(input, inlen) };
        ctx.decapsulate(&mut kept, ciphertext)?;
        kept.copy_out();
        Ok(())
    })
}
