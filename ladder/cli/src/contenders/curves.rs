//! Tollgate as a contender for keys other than RSA: one operation at a time, and in batches.

use openssl::pkey::PKey;
use tollgate_curves::p256::{self, Nonce, P256, Request, VerifyRequest};
use tollgate_curves::{PublicKey, SecretKey, Unavailable, X25519};
use tollgate_record::{Key as KeyName, Operation};

use super::openssl::agreements;
use super::{Contender, OURS, Run, compare, digest, selected_to_verify};
use crate::error::CliError;
use crate::keys::ECDSA_P256;

/// Prepares runs of a number of operations each.
type Prepare = fn(usize) -> Result<Run, CliError>;

/// `None` if the engine does not have the operation, or no kernel of it for this processor.
fn prepare(key: &KeyName, operation: &Operation) -> Option<Prepare> {
    let is_available = match key {
        KeyName::X25519 => true,
        _ => P256::best().is_ok(),
    };
    Some(match (key, operation) {
        _ if !is_available => return None,
        (KeyName::X25519, Operation::Generate) => x25519_generate,
        (KeyName::X25519, Operation::Agree) => x25519_agree,
        (KeyName::EcdhP256, Operation::Generate) => p256_generate,
        (KeyName::EcdhP256, Operation::Agree) => p256_agree,
        (KeyName::EcdsaP256, Operation::Sign) => p256_sign,
        (KeyName::EcdsaP256, Operation::Verify) => p256_verify,
        _ => return None,
    })
}

/// Returns whether the engine has the operation here.
pub(crate) fn has(key: &KeyName, operation: &Operation) -> bool {
    prepare(key, operation).is_some()
}

/// Returns the engine's contenders: one operation at a time and, if `batch` is more than one,
/// batches. Empty if the engine does not have the operation.
pub(crate) fn contenders(
    key: &KeyName,
    operation: &Operation,
    batch: u32,
) -> Result<Vec<Contender>, CliError> {
    let Some(run) = prepare(key, operation) else { return Ok(Vec::new()) };
    let alone = Contender { by: OURS, batch: None, kernel: None, run: run(1)? };
    let count = usize::try_from(batch).expect("at most 1024");
    let more = (batch > 1).then(|| run(count)).transpose()?;
    let more = more.map(|run| Contender { by: OURS, batch: Some(batch), kernel: None, run });
    Ok([alone].into_iter().chain(more).collect())
}

fn fill(random: &mut [[u8; 32]]) -> Result<(), CliError> {
    getrandom::fill(random.as_flattened_mut())
        .map_err(CliError::about("the system gives no random bytes"))
}

/// Returns the kernels to measure, and others to check them, which are the same if there are no
/// others.
fn kernels<C: Copy>(all: &[C]) -> Result<[C; 2], CliError> {
    let kernels = all.first().zip(all.last()).map(|(best, judge)| [*best, *judge]);
    kernels.ok_or(Unavailable).map_err(CliError::about("a curve"))
}

fn x25519_generate(count: usize) -> Result<Run, CliError> {
    let ([curve, judge], mut random) = (kernels(&X25519::all())?, vec![[0; 32]; count]);
    let mut is_selected = selected_to_verify();
    Ok(Box::new(move || {
        fill(&mut random)?;
        let secrets: Vec<_> = random.iter().map(SecretKey::from_bytes).collect();
        let keys = match &*secrets {
            [secret] => vec![curve.public_key(secret)],
            secrets => curve.public_keys(secrets),
        };
        if is_selected() {
            let right = judge.public_key(&secrets[count - 1]);
            compare(&keys[count - 1].0, &right.0)?;
        }
        Ok(())
    }))
}

fn x25519_agree(count: usize) -> Result<Run, CliError> {
    let [curve, _] = kernels(&X25519::all())?;
    let mut cases = Vec::new();
    for case in agreements(&KeyName::X25519, count)? {
        let bytes = |bytes: &[u8]| bytes.try_into().expect("X25519 has 32 bytes");
        cases.push((
            SecretKey::from_bytes(&bytes(&case.secret)),
            PublicKey(bytes(&case.peer)),
            case.shared,
        ));
    }
    Ok(Box::new(move || {
        let shared = match &*cases {
            [(secret, peer, _)] => vec![curve.agree(secret, peer)],
            cases => curve.agree_all(&cases.iter().map(|(k, u, _)| (k, u)).collect::<Vec<_>>()),
        };
        for (shared, (.., right)) in shared.into_iter().zip(&cases) {
            let shared = shared.map_err(CliError::about("an agreement failed"))?;
            compare(shared.as_bytes(), right)?;
        }
        Ok(())
    }))
}

fn p256_secret(bytes: &[u8]) -> Result<p256::SecretKey, CliError> {
    let bytes = bytes.try_into().map_err(CliError::about("a secret key"))?;
    p256::SecretKey::from_bytes(bytes).map_err(CliError::about("a secret key"))
}

/// The key that the other contenders sign with.
fn signing_key() -> Result<p256::SecretKey, CliError> {
    let number = PKey::private_key_from_pem(ECDSA_P256)
        .and_then(|key| key.ec_key()?.private_key().to_vec_padded(32))
        .map_err(CliError::about("the key on P-256"))?;
    p256_secret(&number)
}

fn p256_generate(count: usize) -> Result<Run, CliError> {
    let ([curve, judge], mut random) = (kernels(&P256::all())?, vec![[0; 32]; count]);
    let mut is_selected = selected_to_verify();
    Ok(Box::new(move || {
        fill(&mut random)?;
        // one of 2^32 keys is above the order, and fails
        let secrets: Vec<_> =
            random.iter().map(|key| p256_secret(key)).collect::<Result<_, _>>()?;
        let keys = match &*secrets {
            [secret] => vec![curve.public_key(secret)],
            secrets => curve.public_keys(secrets),
        };
        let last = keys[count - 1].to_bytes();
        if is_selected() {
            compare(&last, &judge.public_key(&secrets[count - 1]).to_bytes())?;
        }
        Ok(())
    }))
}

/// As in a handshake, the peer's point comes as bytes and is checked.
fn p256_agree(count: usize) -> Result<Run, CliError> {
    let [curve, _] = kernels(&P256::all())?;
    let mut cases = Vec::new();
    for case in agreements(&KeyName::EcdhP256, count)? {
        cases.push((p256_secret(&case.secret)?, case.peer, case.shared));
    }
    let point = |peer: &[u8]| {
        p256::PublicKey::from_bytes(peer).map_err(CliError::about("the peer's public key"))
    };
    Ok(Box::new(move || {
        let peers: Vec<_> =
            cases.iter().map(|(_, peer, _)| point(peer)).collect::<Result<_, _>>()?;
        let shared = match (&*cases, &*peers) {
            ([(secret, ..)], [peer]) => vec![curve.agree(secret, peer)],
            (cases, peers) => {
                let pairs: Vec<_> = cases.iter().map(|(k, ..)| k).zip(peers).collect();
                curve.agree_all(&pairs)
            }
        };
        for (shared, (.., right)) in shared.iter().zip(&cases) {
            compare(shared.as_bytes(), right)?;
        }
        Ok(())
    }))
}

fn p256_sign(count: usize) -> Result<Run, CliError> {
    let ([curve, judge], mut random) = (kernels(&P256::all())?, vec![[0; 32]; count]);
    let key = signing_key()?;
    let public = curve.public_key(&key);
    let digests: Vec<_> = (0..u32::try_from(count).expect("at most 1024")).map(digest).collect();
    let mut is_selected = selected_to_verify();
    Ok(Box::new(move || {
        fill(&mut random)?;
        let requests = digests.iter().zip(&random);
        let requests: Vec<_> = requests
            .map(|(digest, random)| Request { key: &key, digest, nonce: Nonce::Hedged(random) })
            .collect();
        let signatures = match &*requests {
            [one] => vec![curve.sign(one.key, one.digest, one.nonce)],
            requests => curve.sign_all(requests),
        };
        let last = signatures.into_iter().collect::<Result<Vec<_>, _>>();
        let last = last.map_err(CliError::about("a signature"))?[count - 1];
        if is_selected() {
            let is_valid = judge.verify(&public, &digests[count - 1], &last);
            CliError::unless(is_valid, "the signature is not valid")?;
        }
        Ok(())
    }))
}

/// In a batch each signature has another digest. The key is the same, which saves nothing.
fn p256_verify(count: usize) -> Result<Run, CliError> {
    let [curve, _] = kernels(&P256::all())?;
    let key = signing_key()?;
    let public = curve.public_key(&key);
    let mut cases = Vec::new();
    for number in 0..u32::try_from(count).expect("at most 1024") {
        let digest = digest(number);
        let signature = curve.sign(&key, &digest, Nonce::Deterministic);
        cases.push((digest, signature.map_err(CliError::about("a signature"))?));
    }
    Ok(Box::new(move || {
        let valid = match &*cases {
            [(digest, signature)] => vec![curve.verify(&public, digest, signature)],
            cases => {
                let requests = cases.iter().map(|(digest, signature)| VerifyRequest {
                    key: &public,
                    digest,
                    signature: *signature,
                });
                curve.verify_all(&requests.collect::<Vec<_>>())
            }
        };
        CliError::unless(valid.into_iter().all(|is_valid| is_valid), "a signature is not valid")
    }))
}
