//! The parameters of RSA keys to generate.
//!
//! A program generates RSA keys with this provider if it queries `tollgate.rsa=yes`, or if it loads
//! no other provider of keys before this one. [`crate::dispatch`] explains why.
#![forbid(unsafe_code)]

use std::sync::Arc;

use tollgate_rsa::{Generation, MODULUS_BYTES_MAX};

use crate::abi::*;
use crate::counters::Event;
use crate::generation::Request;
use crate::key_slot::KeySlot;
use crate::params::Params;
use crate::provider::Provider;
use crate::reason::Reason;
use crate::rsa_key::{BITS_MIN, RsaKey};
use crate::table::Table;

/// The parameters of an RSA key to generate.
pub(crate) struct RsaRequest {
    provider: Arc<Provider>,
    bits: usize,
    primes: i64,
    /// Big-endian.
    e: Vec<u8>,
}

/// The smallest modulus, in bits, and the smallest public exponent, in bytes, that
/// [`Generation::new`] accepts.
const SECURE: (usize, usize) = (2048, 3);

impl AsRef<Provider> for RsaRequest {
    fn as_ref(&self) -> &Provider {
        &self.provider
    }
}

impl Request for RsaRequest {
    type Key = RsaKey;

    const SETTABLE: *const OSSL_PARAM = SETTABLE.first();

    fn new(provider: &Arc<Provider>, with_key: bool) -> Option<Self> {
        let provider = Arc::clone(provider);
        with_key.then_some(Self { provider, bits: 2048, primes: 2, e: vec![1, 0, 1] })
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

    fn run(&mut self) -> Result<KeySlot<RsaKey>, Reason> {
        if self.primes != 2 {
            return Err(Reason::NewKeyPrimes);
        }
        self.provider.check_health()?;
        let secure = self.bits >= SECURE.0 && self.e.len() >= SECURE.1;
        let generation =
            if secure { Generation::new(self.bits) } else { Generation::insecure(self.bits) };
        let generation = generation.exponent(&self.e);
        let key = self.provider.with_workspace(|ws| generation.run(ws))?;
        self.provider.count(Event::Key);
        let key = Some(Arc::new(RsaKey::Private(Arc::new(key))));
        Ok(KeySlot { provider: Arc::clone(&self.provider), key })
    }
}

static SETTABLE: Table<[OSSL_PARAM; 4]> = Table::of_keys([
    (OSSL_PKEY_PARAM_BITS, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_PRIMES, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_E, OSSL_PARAM_UNSIGNED_INTEGER),
    (c"", 0),
]);
