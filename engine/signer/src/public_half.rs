//! The public half of a key that the signer does not have.

use core::fmt;

use openssl::bn::BigNumContext;
use openssl::ec::PointConversionForm;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey};
use tollgate_curves::p256;

/// The public half of a key.
pub(crate) enum Public {
    P256(p256::PublicKey),
    Rsa(Box<tollgate_rsa::PublicKey>),
}

/// The shortest modulus of a public key, in bits; private keys have [`PrivateKey::is_insecure`].
const RSA_BITS_MIN: usize = 2048;

/// Reads a `SubjectPublicKeyInfo`.
pub(crate) fn public<E>(spki: &[u8], refuse: impl Fn(&dyn fmt::Display) -> E) -> Result<Public, E> {
    let key = PKey::public_key_from_der(spki).map_err(|why| refuse(&why))?;
    match key.id() {
        Id::RSA => {
            let key = tollgate_rsa::PublicKey::from_der(spki).map_err(|why| refuse(&why))?;
            if key.bits() < RSA_BITS_MIN {
                return Err(refuse(&"it has less than 2048 bits"));
            }
            Ok(Public::Rsa(Box::new(key)))
        }
        Id::EC => {
            let key = key.ec_key().map_err(|why| refuse(&why))?;
            if key.group().curve_name() != Some(Nid::X9_62_PRIME256V1) {
                return Err(refuse(&"its curve is not P-256"));
            }
            let form = PointConversionForm::UNCOMPRESSED;
            let point = BigNumContext::new()
                .and_then(|mut context| key.public_key().to_bytes(key.group(), form, &mut context))
                .map_err(|why| refuse(&why))?;
            let key = p256::PublicKey::from_bytes(&point).map_err(|why| refuse(&why))?;
            Ok(Public::P256(key))
        }
        _ => Err(refuse(&"it is of another type")),
    }
}
