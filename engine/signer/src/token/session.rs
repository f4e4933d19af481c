//! Calls of a PKCS#11 module: it is loaded, a session opened, keys are found and used.

use std::path::Path;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::rsa::{PkcsMgfType, PkcsPssParams};
use cryptoki::mechanism::{Mechanism, MechanismType};
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, SessionState, UserType};
use cryptoki::types::{RawAuthPin, Ulong};
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey, EcPoint};
use openssl::error::ErrorStack;
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use tollgate_keyless::{Operation, ecdsa_der};
use tollgate_rsa::Hash;
use zeroize::Zeroizing;

use super::trouble::Trouble;
use super::uri::{KeyUri, TokenName};

/// The object identifier of P-256 in DER, as tokens name curves.
const P256: [u8; 10] = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];

/// The length of a point of P-256 with both coordinates, and the header that makes it an OCTET STRING.
const POINT_BYTES: usize = 65;
const POINT_HEADER: [u8; 2] = [0x04, 0x41];

/// Loads a module. It stays loaded: threads that hang in it cannot be ended.
pub(super) fn load(path: &Path) -> Result<Pkcs11, Trouble> {
    let module = Pkcs11::new(path)?;
    match module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
        Ok(()) | Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => {}
        Err(why) => return Err(why.into()),
    }
    core::mem::forget(module.clone());
    Ok(module)
}

/// Opens a session with a token, and logs in.
pub(super) fn open(
    module: &Pkcs11,
    name: &TokenName,
    pin: Option<&[u8]>,
) -> Result<Session, Trouble> {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for slot in module.get_slots_with_token()? {
        // A token that gives no information is none that the settings could name.
        let Ok(token) = module.get_token_info(slot) else { continue };
        if token.token_initialized() && name.is(&token) {
            found.push((slot, token));
        } else if token.token_initialized() {
            others.push(format!("{:?}", token.label()));
        }
    }
    let [(slot, token)] = &found[..] else {
        let count = found.len();
        return Err(Trouble::Found(if count > 1 {
            format!("is one of {count} that match: add `serial` or `token` to `key.pkcs11`")
        } else if others.is_empty() {
            "is not there, and neither is another one: connect it, and check the module's own settings"
                .to_owned()
        } else {
            let others = others.join(", ");
            format!("is not there, but {others}: connect it, or correct `key.pkcs11`")
        }));
    };
    let session = module.open_ro_session(*slot)?;
    if token.login_required() {
        let missing = "asks for a PIN: give `pin_file` in [pkcs11]";
        let pin = pin.ok_or_else(|| Trouble::Found(missing.to_owned()))?;
        // The login of one session is that of all sessions of a program.
        if session.get_session_info()?.session_state() == SessionState::RoUser {
            return Ok(session);
        }
        if token.user_pin_locked() {
            return Err(locked());
        }
        if token.user_pin_final_try() {
            return Err(Trouble::Found(
                "has one attempt at the PIN left, which is not used here: correct the file of \
                 `pkcs11.pin_file`, then log in with that PIN by the token's own tool"
                    .into(),
            ));
        }
        let pin = RawAuthPin::new(Box::new(pin.to_vec()));
        use RvError::{PinIncorrect, PinInvalid, PinLenRange, PinLocked, UserAlreadyLoggedIn};
        match session.login_with_raw(UserType::User, &pin) {
            Ok(()) | Err(Error::Pkcs11(UserAlreadyLoggedIn, _)) => {}
            Err(Error::Pkcs11(PinIncorrect | PinInvalid | PinLenRange, _)) => {
                return Err(Trouble::Pin);
            }
            Err(Error::Pkcs11(PinLocked, _)) => return Err(locked()),
            Err(why) => return Err(why.into()),
        }
    }
    Ok(session)
}

fn locked() -> Trouble {
    let why = "has locked the PIN after wrong ones: let the token's security officer set a new one, and \
               write that into the file of `pkcs11.pin_file`";
    Trouble::Found(why.into())
}

/// Finds a private key.
pub(super) fn private_key(session: &Session, uri: &KeyUri) -> Result<ObjectHandle, Trouble> {
    let label = uri.object.as_ref().map(|label| Attribute::Label(label.clone().into_bytes()));
    let id = uri.id.clone().map(Attribute::Id);
    let found = find(session, ObjectClass::PRIVATE_KEY, label.into_iter().chain(id))?;
    match found[..] {
        [one] => Ok(one),
        [] => Err(Trouble::Found(
            "has no such private key: import it, or correct `object` and `id` of `key.pkcs11`"
                .into(),
        )),
        _ => Err(Trouble::Found(format!(
            "has {} private keys that match: add `id` or `object` to `key.pkcs11`",
            found.len()
        ))),
    }
}

fn find(
    session: &Session,
    class: ObjectClass,
    attributes: impl Iterator<Item = Attribute>,
) -> Result<Vec<ObjectHandle>, Trouble> {
    let template: Vec<Attribute> = attributes.chain([Attribute::Class(class)]).collect();
    Ok(session.find_objects(&template)?)
}

/// Returns the `SubjectPublicKeyInfo` of a private key, from the public key with the same ID.
pub(super) fn public_key(session: &Session, private: ObjectHandle) -> Result<Vec<u8>, Trouble> {
    let id = bytes(session, private, AttributeType::Id)?;
    let found = find(session, ObjectClass::PUBLIC_KEY, [Attribute::Id(id)].into_iter())?;
    let [public] = found[..] else {
        return Err(Trouble::Found(format!(
            "has {} public keys with the ID of the private key: import the one that belongs to it, with \
             the same ID",
            found.len()
        )));
    };
    let read = |kind| bytes(session, public, kind);
    let kind = session.get_attributes(public, &[AttributeType::KeyType])?.pop();
    match kind {
        Some(Attribute::KeyType(KeyType::RSA)) => {
            let (n, e) = (read(AttributeType::Modulus)?, read(AttributeType::PublicExponent)?);
            spki_rsa(&n, &e).map_err(unreadable)
        }
        Some(Attribute::KeyType(KeyType::EC)) => {
            if read(AttributeType::EcParams)? != P256 {
                return Err(Trouble::Found(
                    "has a key whose curve is not P-256: use another".into(),
                ));
            }
            let point = read(AttributeType::EcPoint)?;
            let has_header = point.len() > POINT_BYTES && point.starts_with(&POINT_HEADER);
            spki_p256(if has_header { &point[POINT_HEADER.len()..] } else { &point })
                .map_err(unreadable)
        }
        _ => Err(Trouble::Found("has a key of another type: use RSA or P-256".into())),
    }
}

fn unreadable(why: ErrorStack) -> Trouble {
    Trouble::Found(format!("has a public key that cannot be read ({why}): import it again"))
}

fn spki_rsa(n: &[u8], e: &[u8]) -> Result<Vec<u8>, ErrorStack> {
    let key = Rsa::from_public_components(BigNum::from_slice(n)?, BigNum::from_slice(e)?)?;
    PKey::from_rsa(key)?.public_key_to_der()
}

fn spki_p256(point: &[u8]) -> Result<Vec<u8>, ErrorStack> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
    let point = EcPoint::from_bytes(&group, point, &mut *openssl::bn::BigNumContext::new()?)?;
    PKey::from_ec_key(EcKey::from_public_key(&group, &point)?)?.public_key_to_der()
}

fn bytes(session: &Session, object: ObjectHandle, kind: AttributeType) -> Result<Vec<u8>, Trouble> {
    use Attribute::{EcParams, EcPoint, Id, Modulus, PublicExponent};
    match session.get_attributes(object, &[kind])?.pop() {
        Some(
            EcParams(bytes) | EcPoint(bytes) | Id(bytes) | Modulus(bytes) | PublicExponent(bytes),
        ) if !bytes.is_empty() => Ok(bytes),
        _ => Err(Trouble::Found(format!("does not show the {kind:?} of the key: import it again"))),
    }
}

/// Runs an operation in the token: a signature, or RSA without padding for anything else. The token
/// never removes a padding: its answer, or the time to it, could tell if the padding was valid.
pub(super) fn perform(
    session: &Session,
    key: ObjectHandle,
    operation: Operation,
    input: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Trouble> {
    let result = match operation {
        Operation::SignPkcs1v15(hash) => {
            session.sign(&Mechanism::RsaPkcs, key, &digest_info(hash, input))?
        }
        Operation::SignPss(hash) => session.sign(&Mechanism::RsaPkcsPss(pss(hash)), key, input)?,
        Operation::SignEcdsa(_) => {
            // FIPS 186-5, section 6.4.1: the leftmost bits of a longer digest. Some tokens take no more.
            let numbers = session.sign(&Mechanism::Ecdsa, key, &input[..input.len().min(32)])?;
            let numbers = <&[u8; 64]>::try_from(&numbers[..]).map_err(|_| Trouble::Wrong)?;
            ecdsa_der::encode(numbers)
        }
        Operation::Decrypt | Operation::Raw | Operation::Ping => {
            session.decrypt(&Mechanism::RsaX509, key, input)?
        }
    };
    Ok(Zeroizing::new(result))
}

/// Returns the `DigestInfo` of a digest (RFC 8017, section 9.2): the token adds the padding only.
fn digest_info(hash: Hash, digest: &[u8]) -> Vec<u8> {
    let (number, ..) = numbers(hash);
    let len = u8::try_from(digest.len()).unwrap_or_default();
    let mut info = vec![0x30, 17 + len, 0x30, 0x0d, 0x06, 0x09];
    info.extend([0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, number]);
    info.extend([0x05, 0x00, 0x04, len]);
    info.extend(digest);
    info
}

fn pss(hash: Hash) -> PkcsPssParams {
    let (_, hash_alg, mgf) = numbers(hash);
    let s_len = match hash {
        Hash::Sha384 => 48,
        Hash::Sha512 => 64,
        _ => 32,
    };
    PkcsPssParams { hash_alg, mgf, s_len: Ulong::new(s_len) }
}

/// Returns the numbers of a hash function: the last one of its object identifier, and those of PKCS#11.
/// The protocol has no hash functions but these.
const fn numbers(hash: Hash) -> (u8, MechanismType, PkcsMgfType) {
    match hash {
        Hash::Sha224 => (4, MechanismType::SHA224, PkcsMgfType::MGF1_SHA224),
        Hash::Sha384 => (2, MechanismType::SHA384, PkcsMgfType::MGF1_SHA384),
        Hash::Sha512 => (3, MechanismType::SHA512, PkcsMgfType::MGF1_SHA512),
        _ => (1, MechanismType::SHA256, PkcsMgfType::MGF1_SHA256),
    }
}
