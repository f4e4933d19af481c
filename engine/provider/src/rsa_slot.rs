//! RSA keys in slots of libcrypto: import, export and parameters.
#![forbid(unsafe_code)]

use core::ffi::CStr;

use tollgate_rsa::KeyParts;
use zeroize::Zeroizing;

use crate::abi::*;
use crate::alt_stack::on_alt_stack;
use crate::counters::Event;
use crate::key_slot::KeyType;
use crate::params::{Answers, Params, Values};
use crate::provider::Provider;
use crate::reason::Reason;
use crate::rsa_key::RsaKey;
use crate::table::Table;

/// The properties of a key, followed by its numbers. The public numbers come first.
static GETTABLE: Table<[OSSL_PARAM; 13]> = Table::of_keys([
    (OSSL_PKEY_PARAM_BITS, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_SECURITY_BITS, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_MAX_SIZE, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_DEFAULT_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_RSA_N, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_E, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_D, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_FACTOR1, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_FACTOR2, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_EXPONENT1, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_COEFFICIENT1, OSSL_PARAM_UNSIGNED_INTEGER),
    (c"", 0),
]);

/// The row of [`GETTABLE`] where the numbers begin.
const NUMBERS: usize = 4;

static PUBLIC_TYPES: Table<[OSSL_PARAM; 3]> = Table::of_keys([
    (OSSL_PKEY_PARAM_RSA_N, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_E, OSSL_PARAM_UNSIGNED_INTEGER),
    (c"", 0),
]);

impl KeyType for RsaKey {
    const GETTABLE: *const OSSL_PARAM = GETTABLE.first();
    const PUBLIC_TYPES: *const OSSL_PARAM = PUBLIC_TYPES.first();
    const PAIR_TYPES: *const OSSL_PARAM = GETTABLE.row(NUMBERS);

    fn import(provider: &Provider, params: Params<'_>, with_private: bool) -> Result<Self, Reason> {
        let import = || Self::from_numbers(params, with_private);
        let key = if !provider.is_healthy() {
            Err(Reason::SelfTest)
        } else if provider.running_job().is_some() {
            on_alt_stack(import)
        } else {
            import()
        };
        provider.count(if key.is_ok() { Event::Key } else { Event::RefusedKey });
        key
    }

    fn has_private(&self) -> bool {
        matches!(self, Self::Private(_) | Self::Remote(..))
    }

    /// n and e identify both halves.
    fn matches(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.public(), other.public());
        ours.modulus() == theirs.modulus() && ours.exponent() == theirs.exponent()
    }

    fn describe(key: Option<&Self>, answers: &mut Answers<'_>) -> Result<(), Reason> {
        let key = key.ok_or(Reason::KeyMissing)?;
        let public = key.public();
        let integer = |x: usize| i64::try_from(x).expect("a key has few bits");
        answers.integer(OSSL_PKEY_PARAM_BITS, integer(public.bits()))?;
        answers.integer(OSSL_PKEY_PARAM_SECURITY_BITS, i64::from(security_bits(public.bits())))?;
        answers.integer(OSSL_PKEY_PARAM_MAX_SIZE, integer(public.size()))?;
        answers.text(OSSL_PKEY_PARAM_DEFAULT_DIGEST, c"SHA256")?;
        answers.number(OSSL_PKEY_PARAM_RSA_N, &public.modulus())?;
        answers.number(OSSL_PKEY_PARAM_RSA_E, &public.exponent())?;
        match key {
            Self::Private(key) if SECRETS.iter().any(|name| answers.has(name)) => {
                let parts = key.to_parts();
                secrets(&parts).try_for_each(|(name, secret)| answers.number(name, secret))
            }
            _ => Ok(()),
        }
    }

    fn export(&self, with_private: bool) -> Values {
        let mut numbers = Values::default();
        numbers.number(OSSL_PKEY_PARAM_RSA_N, &self.public().modulus());
        numbers.number(OSSL_PKEY_PARAM_RSA_E, &self.public().exponent());
        if let Self::Private(key) = self
            && with_private
        {
            secrets(&key.to_parts()).for_each(|(name, secret)| numbers.number(name, secret));
        }
        numbers
    }

    /// Applies the private operation to a random number and checks the result with e. The import
    /// has checked that the numbers are consistent; a composite "prime" is detected here, as in a
    /// Fermat test with one random base. Does nothing for a public key.
    fn check(&self, provider: &Provider) -> Result<(), Reason> {
        let Self::Private(key) = self else {
            return Ok(());
        };
        let mut number = Zeroizing::new(vec![0; self.size()]);
        getrandom::fill(&mut number).map_err(|_| Reason::Random)?;
        number[0] = 0; // makes the number smaller than n
        provider
            .with_workspace(|workspace| key.private(workspace, &mut number))
            .map_err(|_| Reason::KeyInconsistent)
    }
}

/// The names of the secret numbers, in the order of [`secrets`].
const SECRETS: [&CStr; 6] = [
    OSSL_PKEY_PARAM_RSA_D,
    OSSL_PKEY_PARAM_RSA_FACTOR1,
    OSSL_PKEY_PARAM_RSA_FACTOR2,
    OSSL_PKEY_PARAM_RSA_EXPONENT1,
    OSSL_PKEY_PARAM_RSA_EXPONENT2,
    OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
];

fn secrets(parts: &KeyParts) -> impl Iterator<Item = (&'static CStr, &[u8])> {
    let KeyParts { d, p, q, d_p, d_q, q_inv, .. } = parts;
    SECRETS.into_iter().zip([&d[..], p, q, d_p, d_q, q_inv])
}

/// Returns the security strength of a modulus in bits. The formula is that of SP 800-56B, appendix
/// D; the result is rounded to a multiple of 8, as in OpenSSL. For common lengths, the strength is
/// that of OpenSSL's table.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small positive numbers"
)]
fn security_bits(bits: usize) -> u16 {
    match bits {
        2048 => return 112,
        3072 => return 128,
        4096 => return 152,
        6144 => return 176,
        7680 => return 192,
        8192 => return 200,
        _ => {}
    }
    let ln_n = bits as f64 * core::f64::consts::LN_2;
    let work = 1.923 * (ln_n * ln_n.ln().powi(2)).cbrt() - 4.69;
    let strength = (work / core::f64::consts::LN_2) as u16;
    let cap = if bits <= 7680 { 192 } else { 256 };
    ((strength + 4) & !7).min(cap)
}
