//! RSA keys, from OpenSSL's numbers.
#![forbid(unsafe_code)]

use core::ffi::CStr;
use std::sync::Arc;

use tollgate_keyless::{Ski, Stub};
use tollgate_rsa::{KeyParts, PrivateKey, PublicKey};

use crate::abi::*;
use crate::key_slot::RemoteKey;
use crate::params::Params;
use crate::reason::Reason;

/// The smallest modulus that is accepted, in bits. OpenSSL's own provider serves shorter keys,
/// subject to its security levels.
pub(crate) const BITS_MIN: usize = 1024;

/// A key, shared by its slots and by the contexts that use it; it may outlive the slots.
pub(crate) enum RsaKey {
    Private(Arc<PrivateKey>),
    Public(Box<PublicKey>),
    /// A signer has the private half.
    Remote(Box<PublicKey>, Ski),
}

impl RsaKey {
    /// Imports a key from its numbers, or returns the reason why it is refused.
    pub(crate) fn from_numbers(params: Params<'_>, with_private: bool) -> Result<Self, Reason> {
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
            Self::Public(key) | Self::Remote(key, _) => key,
        }
    }

    pub(crate) fn private(&self) -> Result<&Arc<PrivateKey>, Reason> {
        match self {
            Self::Private(key) => Ok(key),
            Self::Public(_) => Err(Reason::KeyNotPrivate),
            Self::Remote(..) => Err(Reason::RemoteUnsupported),
        }
    }

    /// Returns the name of the key on its signer, if it is a remote one.
    pub(crate) fn remote(&self) -> Option<Ski> {
        match self {
            Self::Remote(_, ski) => Some(*ski),
            Self::Private(_) | Self::Public(_) => None,
        }
    }

    /// Returns the length of the modulus in bytes, which is also the length of a signature.
    pub(crate) fn size(&self) -> usize {
        self.public().size()
    }
}

impl RemoteKey for RsaKey {
    const NAME: &'static CStr = c"RSA";

    fn of_stub(stub: &Stub) -> Option<Self> {
        let key = PublicKey::from_der(stub.spki()).ok().filter(|key| key.bits() >= BITS_MIN)?;
        Some(Self::Remote(Box::new(key), stub.ski()))
    }
}

/// Returns the length of a big-endian number in bits.
fn bits(big_endian: &[u8]) -> usize {
    let zeros = big_endian.iter().take_while(|&&byte| byte == 0).count();
    let first = big_endian.get(zeros).map_or(0, |byte| byte.leading_zeros() as usize);
    8 * (big_endian.len() - zeros) - first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_of_short_keys_are_refused() {
        for (bits, is_accepted) in [(512, false), (1016, false), (1024, true)] {
            let key = openssl::rsa::Rsa::generate(bits).unwrap().public_key_to_der().unwrap();
            let stub = Stub::new(key).unwrap();
            assert_eq!(RsaKey::of_stub(&stub).is_some(), is_accepted, "{bits}");
        }
    }

    #[test]
    fn bits_of_numbers() {
        for (number, expected) in
            [(&[][..], 0), (&[0, 0], 0), (&[1], 1), (&[0, 0x80, 0], 16), (&[0xff], 8)]
        {
            assert_eq!(bits(number), expected);
        }
    }
}
