//! EC keys of P-256, copied from the provider that holds them.
#![forbid(unsafe_code)]

use core::ffi::CStr;
use std::sync::Arc;

use der::Decode as _;
use der::asn1::ObjectIdentifier;
use tollgate_curves::p256::{PublicKey, SecretKey};
use tollgate_keyless::{Ski, Stub};
use zeroize::Zeroizing;

use crate::abi::*;
use crate::key_slot::{KeyType, RemoteKey};
use crate::params::{Answers, Params, Values};
use crate::provider::Provider;
use crate::reason::Reason;
use crate::table::Table;

/// The longest signature in DER: two numbers of 33 bytes with a sign, and three headers.
pub(crate) const SIGNATURE_BYTES_MAX: usize = 72;

/// A key pair. Public keys are refused, because they would gain little: see `docs/provider.md`.
pub(crate) struct P256Key {
    pub(crate) public: PublicKey,
    half: Half,
}

/// The private half of a key, or its place.
enum Half {
    Here(Arc<SecretKey>),
    /// A signer has it under this name.
    Remote(Ski),
}

impl P256Key {
    pub(crate) fn secret(&self) -> Result<&Arc<SecretKey>, Reason> {
        match &self.half {
            Half::Here(secret) => Ok(secret),
            Half::Remote(_) => Err(Reason::RemoteUnsupported),
        }
    }

    /// Returns the name of the key on its signer, if it is a remote one.
    pub(crate) fn remote(&self) -> Option<Ski> {
        match &self.half {
            Half::Here(_) => None,
            Half::Remote(ski) => Some(*ski),
        }
    }
}

impl RemoteKey for P256Key {
    const NAME: &'static CStr = c"EC";

    fn of_stub(stub: &Stub) -> Option<Self> {
        // id-ecPublicKey on prime256v1, whose public keys are points
        let info = spki::SubjectPublicKeyInfoRef::from_der(stub.spki()).ok()?;
        let curve = info.algorithm.parameters_oid().ok()?;
        let is_p256 = info.algorithm.oid == EC_PUBLIC_KEY && curve == PRIME256V1;
        let point = info.subject_public_key.as_bytes().filter(|_| is_p256)?;
        let public = PublicKey::from_bytes(point).ok()?;
        Some(Self { public, half: Half::Remote(stub.ski()) })
    }
}

const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const PRIME256V1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");

static GETTABLE: Table<[OSSL_PARAM; 6]> = Table::of_keys([
    (OSSL_PKEY_PARAM_BITS, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_SECURITY_BITS, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_MAX_SIZE, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_DEFAULT_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_GROUP_NAME, OSSL_PARAM_UTF8_STRING),
    (c"", 0),
]);

/// The values of a key. The public ones come last.
static TYPES: Table<[OSSL_PARAM; 5]> = Table::of_keys([
    (OSSL_PKEY_PARAM_PRIV_KEY, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_GROUP_NAME, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_EC_ENCODING, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_PUB_KEY, OSSL_PARAM_OCTET_STRING),
    (c"", 0),
]);

/// OpenSSL's names of the curve: of X9.62, NIST and SEC 2.
const GROUP_NAMES: [&str; 3] = ["prime256v1", "P-256", "secp256r1"];

impl KeyType for P256Key {
    const GETTABLE: *const OSSL_PARAM = GETTABLE.first();
    const PUBLIC_TYPES: *const OSSL_PARAM = TYPES.row(1);
    const PAIR_TYPES: *const OSSL_PARAM = TYPES.first();

    /// Computes the public key, and compares it with the given one if there is one.
    fn import(provider: &Provider, params: Params<'_>, with_private: bool) -> Result<Self, Reason> {
        // First, because OpenSSL tries to import a public key for each verification, and for each
        // comparison with a stub. Without an error, because it then asks its own provider, and
        // leaves errors of a comparison in the queue.
        let secret = params.find(OSSL_PKEY_PARAM_PRIV_KEY).filter(|_| with_private);
        let secret = secret.ok_or(Reason::Said)?;
        let text = |key| params.find(key).and_then(|param| param.text());
        let group = text(OSSL_PKEY_PARAM_GROUP_NAME).ok_or(Reason::EcGroup)?;
        let is_explicit = text(OSSL_PKEY_PARAM_EC_ENCODING).is_some_and(|form| form == "explicit");
        if is_explicit || !GROUP_NAMES.iter().any(|name| name.eq_ignore_ascii_case(group)) {
            return Err(Reason::EcGroup);
        }
        let number = secret.number().ok_or(Reason::Parameter)?;
        let secret = SecretKey::from_bytes(&*exactly_32(&number).ok_or(Reason::KeyInconsistent)?)?;
        let public = provider.p256()?.public_key(&secret);
        if let Some(given) = params.find(OSSL_PKEY_PARAM_PUB_KEY)
            && !is_point(&public, given.octets().ok_or(Reason::Parameter)?)
        {
            return Err(Reason::KeyInconsistent);
        }
        Ok(Self { public, half: Half::Here(Arc::new(secret)) })
    }

    fn has_private(&self) -> bool {
        true
    }

    fn matches(&self, other: &Self) -> bool {
        self.public == other.public
    }

    fn describe(key: Option<&Self>, answers: &mut Answers<'_>) -> Result<(), Reason> {
        key.ok_or(Reason::KeyMissing)?;
        answers.integer(OSSL_PKEY_PARAM_BITS, 256)?;
        answers.integer(OSSL_PKEY_PARAM_SECURITY_BITS, 128)?;
        answers.integer(OSSL_PKEY_PARAM_MAX_SIZE, SIGNATURE_BYTES_MAX as i64)?;
        answers.text(OSSL_PKEY_PARAM_DEFAULT_DIGEST, c"SHA256")?;
        answers.text(OSSL_PKEY_PARAM_GROUP_NAME, c"prime256v1")
    }

    fn export(&self, with_private: bool) -> Values {
        let mut values = Values::default();
        values.text(OSSL_PKEY_PARAM_GROUP_NAME, c"prime256v1");
        values.octets(OSSL_PKEY_PARAM_PUB_KEY, &self.public.to_bytes());
        if let Half::Here(secret) = &self.half
            && with_private
        {
            values.number(OSSL_PKEY_PARAM_PRIV_KEY, &*Zeroizing::new(secret.to_bytes()));
        }
        values
    }

    /// The import has compared both halves.
    fn check(&self, _: &Provider) -> Result<(), Reason> {
        Ok(())
    }
}

/// Returns a big-endian number in 32 bytes, unless it is larger.
fn exactly_32(number: &[u8]) -> Option<Zeroizing<[u8; 32]>> {
    let mut bytes = Zeroizing::new([0; 32]);
    let (zeros, number) = number.split_at(number.len().saturating_sub(32));
    bytes[32 - number.len()..].copy_from_slice(number);
    zeros.iter().all(|&byte| byte == 0).then_some(bytes)
}

/// Returns whether `encoded` is this point, uncompressed, compressed or hybrid (X9.62). OpenSSL 3.0
/// exports compressed points.
fn is_point(point: &PublicKey, encoded: &[u8]) -> bool {
    let bytes = point.to_bytes();
    let parity = bytes[64] & 1;
    match encoded {
        [form @ (2 | 3), x @ ..] => *form == 2 | parity && *x == bytes[1..33],
        [4, rest @ ..] => *rest == bytes[1..],
        [form @ (6 | 7), rest @ ..] => *form == 6 | parity && *rest == bytes[1..],
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use openssl::bn::BigNumContext;
    use openssl::ec::{EcGroup, EcPoint, PointConversionForm as Form};
    use openssl::nid::Nid;
    use tollgate_curves::p256::P256;

    use super::*;

    #[test]
    fn points_are_compared_in_each_form() {
        let secret = SecretKey::from_bytes(&[7; 32]).unwrap();
        let Ok(curve) = P256::best() else { return };
        let point = curve.public_key(&secret);
        let other = curve.public_key(&SecretKey::from_bytes(&[8; 32]).unwrap());
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        let mut context = BigNumContext::new().unwrap();
        let mut theirs = EcPoint::from_bytes(&group, &point.to_bytes(), &mut context).unwrap();
        for is_inverse in [false, true] {
            for form in [Form::COMPRESSED, Form::UNCOMPRESSED, Form::HYBRID] {
                let encoded = theirs.to_bytes(&group, form, &mut context).unwrap();
                assert_eq!(is_point(&point, &encoded), !is_inverse, "{encoded:?}");
                assert!(!is_point(&other, &encoded));
                assert!(!is_point(&point, &encoded[..encoded.len() - 1]));
            }
            theirs.invert2(&group, &mut context).unwrap();
        }
        assert!(!is_point(&point, &[]));
    }

    #[test]
    fn numbers_have_32_bytes() {
        assert_eq!(exactly_32(&[]).as_deref(), Some(&[0; 32]));
        assert_eq!(exactly_32(&[7]).unwrap()[30..], [0, 7]);
        assert_eq!(exactly_32(&[7; 32]).as_deref(), Some(&[7; 32]));
        assert_eq!(exactly_32(&[&[0, 0][..], &[7; 32]].concat()).as_deref(), Some(&[7; 32]));
        assert_eq!(exactly_32(&[1; 33]), None);
    }
}
