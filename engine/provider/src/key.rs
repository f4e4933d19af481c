//! Keys: import from OpenSSL's numbers, and export.
#![forbid(unsafe_code)]

use core::ffi::CStr;
use std::sync::Arc;

use tollgate_rsa::{KeyParts, PrivateKey, PublicKey, Workspace};
use zeroize::Zeroizing;

use crate::abi::*;
use crate::params::{Answers, Numbers, Params};
use crate::reason::Reason;

/// The smallest modulus that is accepted, in bits. OpenSSL's own provider serves shorter keys,
/// subject to its security levels.
pub(crate) const BITS_MIN: usize = 1024;

/// A key, shared by its slots and by the contexts that use it; it may outlive the slots.
pub(crate) enum Key {
    Private(Arc<PrivateKey>),
    Public(Box<PublicKey>),
}

impl Key {
    /// Imports a key from its numbers, or returns the reason why it is refused.
    pub(crate) fn import(params: Params<'_>, with_private: bool) -> Result<Self, Reason> {
        let number = |key| params.find(key).and_then(|param| param.number());
        let e = number(OSSL_PKEY_PARAM_RSA_E).ok_or(Reason::KeyIncomplete)?.to_vec();
        let n = number(OSSL_PKEY_PARAM_RSA_N).ok_or(Reason::KeyIncomplete)?.to_vec();
        // Checked before anything costly, because OpenSSL tries again to import a refused key at
        // each operation.
        if bits(&n) < BITS_MIN {
            return Err(Reason::KeySize);
        }
        let Some(d) = number(OSSL_PKEY_PARAM_RSA_D).filter(|_| with_private) else {
            return Ok(Self::Public(Box::new(PublicKey::from_components(&n, &e)?)));
        };
        if params.find(OSSL_PKEY_PARAM_RSA_FACTOR3).is_some() {
            return Err(Reason::KeyMultiPrime);
        }
        let secret = |key| number(key).ok_or(Reason::KeyIncomplete);
        let parts = KeyParts {
            p: secret(OSSL_PKEY_PARAM_RSA_FACTOR1)?,
            q: secret(OSSL_PKEY_PARAM_RSA_FACTOR2)?,
            d_p: secret(OSSL_PKEY_PARAM_RSA_EXPONENT1)?,
            d_q: secret(OSSL_PKEY_PARAM_RSA_EXPONENT2)?,
            q_inv: secret(OSSL_PKEY_PARAM_RSA_COEFFICIENT1)?,
            n,
            e,
            d,
        };
        Ok(Self::Private(Arc::new(PrivateKey::from_parts(&parts)?)))
    }

    pub(crate) fn public(&self) -> &PublicKey {
        match self {
            Self::Private(key) => key.public(),
            Self::Public(key) => key,
        }
    }

    pub(crate) fn private(&self) -> Result<&Arc<PrivateKey>, Reason> {
        match self {
            Self::Private(key) => Ok(key),
            Self::Public(_) => Err(Reason::KeyNotPrivate),
        }
    }

    /// Returns the length of the modulus in bytes, which is also the length of a signature.
    pub(crate) fn size(&self) -> usize {
        self.public().size()
    }

    /// Returns whether the keys are equal: n and e identify both halves.
    pub(crate) fn matches(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.public(), other.public());
        ours.modulus() == theirs.modulus() && ours.exponent() == theirs.exponent()
    }

    /// Returns the key's numbers. The secret numbers are included only if `with_private` is true.
    pub(crate) fn export(&self, with_private: bool) -> Numbers {
        let mut numbers = Numbers::default();
        numbers.push(OSSL_PKEY_PARAM_RSA_N, &self.public().modulus());
        numbers.push(OSSL_PKEY_PARAM_RSA_E, &self.public().exponent());
        if let Self::Private(key) = self
            && with_private
        {
            secrets(&key.to_parts()).for_each(|(name, secret)| numbers.push(name, secret));
        }
        numbers
    }

    pub(crate) fn describe(&self, answers: &mut Answers<'_>) -> Result<(), Reason> {
        let public = self.public();
        let integer = |x: usize| i64::try_from(x).expect("a key has few bits");
        answers.integer(OSSL_PKEY_PARAM_BITS, integer(public.bits()))?;
        answers.integer(OSSL_PKEY_PARAM_SECURITY_BITS, i64::from(security_bits(public.bits())))?;
        answers.integer(OSSL_PKEY_PARAM_MAX_SIZE, integer(public.size()))?;
        answers.text(OSSL_PKEY_PARAM_DEFAULT_DIGEST, c"SHA256")?;
        answers.number(OSSL_PKEY_PARAM_RSA_N, &public.modulus())?;
        answers.number(OSSL_PKEY_PARAM_RSA_E, &public.exponent())?;
        match self {
            Self::Private(key) if SECRETS.iter().any(|name| answers.has(name)) => {
                let parts = key.to_parts();
                secrets(&parts).try_for_each(|(name, secret)| answers.number(name, secret))
            }
            _ => Ok(()),
        }
    }

    /// Applies the private operation to a random number and checks the result with e. The import
    /// has checked that the numbers are consistent; a composite "prime" is detected here, as in a
    /// Fermat test with one random base. Does nothing for a public key.
    pub(crate) fn check(&self, workspace: &mut Workspace) -> Result<(), Reason> {
        let Self::Private(key) = self else {
            return Ok(());
        };
        let mut number = Zeroizing::new(vec![0; self.size()]);
        getrandom::fill(&mut number).map_err(|_| Reason::Random)?;
        number[0] = 0; // makes the number smaller than n
        key.private(workspace, &mut number).map_err(|_| Reason::KeyInconsistent)
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

/// Returns the length of a big-endian number in bits.
fn bits(big_endian: &[u8]) -> usize {
    let zeros = big_endian.iter().take_while(|&&byte| byte == 0).count();
    let first = big_endian.get(zeros).map_or(0, |byte| byte.leading_zeros() as usize);
    8 * (big_endian.len() - zeros) - first
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_numbers() {
        for (number, expected) in
            [(&[][..], 0), (&[0, 0], 0), (&[1], 1), (&[0, 0x80, 0], 16), (&[0xff], 8)]
        {
            assert_eq!(bits(number), expected);
        }
    }
}
