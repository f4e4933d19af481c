//! The system's libcrypto, through its public API; it also computes the expected outputs.

use core::ffi::CStr;

use openssl::bn::{BigNum, BigNumRef};
use openssl::error::ErrorStack;
use openssl::md::Md;
use openssl::pkey::{PKey, Private, Public};
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::{Padding, Rsa, RsaPrivateKeyBuilder};
use openssl::sha::sha256;
use openssl::sign::{Signer, Verifier};
use tollgate_record::{Key as KeyName, Operation};
use tollgate_server::in_memory::Worker;
use tollgate_server::{Config, Engine};
use tollgate_session::{agree as shared_secret, encoded_public, generate as generate_key};

use super::{
    Contender, Job, KeyOperation, Run, compare, computed, digest, in_turn, public_der,
    selected_to_verify,
};
use crate::error::CliError;
use crate::keys::{ECDSA_P256, ED25519, Key};

pub(super) const BY: &str = "openssl";

/// Creates the contender OpenSSL, which performs one operation at a time.
pub(crate) fn contender(job: &Job) -> Result<Contender, CliError> {
    run(job).map(|run| Contender::library(BY, run)).map_err(refused)
}

/// Creates a contender for an operation with a key of a type other than RSA.
pub(crate) fn curve(key: &KeyName, operation: &Operation) -> Result<Contender, CliError> {
    if let Some(group) = Group::new(key) {
        let worker = worker()?;
        let run = if *operation == Operation::Generate { generate } else { agree };
        return Ok(Contender::library(BY, run(group, worker).map_err(refused)?));
    }
    let signs = *operation == Operation::Sign;
    let run = if *key == KeyName::EcdsaP256 { ecdsa(signs) } else { ed25519(signs) };
    run.map(|run| Contender::library(BY, run)).map_err(refused)
}

/// A key agreement: our secret key, the peer's public key as in a message, and the shared secret.
pub(crate) struct Agreement {
    pub(crate) secret: Vec<u8>,
    pub(crate) peer: Vec<u8>,
    pub(crate) shared: Vec<u8>,
}

/// Returns different agreements, computed by OpenSSL.
pub(crate) fn agreements(key: &KeyName, count: usize) -> Result<Vec<Agreement>, CliError> {
    let group = Group::new(key).expect("a key for key agreement");
    let worker = worker()?;
    let new = || generate_key(worker.source(), group.algorithm, group.curve);
    let agreements = (0..count).map(|_| {
        let (ours, theirs) = (new()?, new()?);
        let secret = match group.curve {
            None => ours.raw_private_key()?,
            Some(_) => ours.ec_key()?.private_key().to_vec_padded(32)?,
        };
        let peer = encoded_public(&theirs)?;
        let shared = shared_secret(worker.source(), &ours, &peer)?;
        Ok(Agreement { secret, peer, shared })
    });
    agreements.collect::<Result<_, ErrorStack>>().map_err(refused)
}

/// A group as OpenSSL names it.
#[derive(Clone, Copy)]
struct Group {
    algorithm: &'static CStr,
    curve: Option<&'static CStr>,
}

impl Group {
    fn new(key: &KeyName) -> Option<Self> {
        match key {
            KeyName::X25519 => Some(Self { algorithm: c"X25519", curve: None }),
            KeyName::EcdhP256 => Some(Self { algorithm: c"EC", curve: Some(c"P-256") }),
            _ => None,
        }
    }
}

/// Returns a library context without our provider.
pub(super) fn worker() -> Result<Worker, CliError> {
    let config = Config { engine: Engine::OpenSsl, ..Config::default() };
    Worker::new(&config).map_err(CliError::about("OpenSSL does not start"))
}

fn generate(group: Group, worker: Worker) -> Result<Run, ErrorStack> {
    Ok(Box::new(move || {
        let key = generate_key(worker.source(), group.algorithm, group.curve)?;
        Ok(encoded_public(&key).map(drop)?)
    }))
}

fn agree(group: Group, worker: Worker) -> Result<Run, ErrorStack> {
    let new = || generate_key(worker.source(), group.algorithm, group.curve);
    let (ours, theirs) = (new()?, new()?);
    let peer = encoded_public(&theirs)?;
    let right = shared_secret(worker.source(), &ours, &peer)?;
    Ok(Box::new(move || compare(&shared_secret(worker.source(), &ours, &peer)?, &right)))
}

pub(crate) fn reference(
    key: &Key,
    what: KeyOperation,
    input: &[u8],
) -> Result<Vec<u8>, ErrorStack> {
    let mut output = vec![0; key.ours.size()];
    match what {
        KeyOperation::PrivateFull => {
            key.openssl.private_encrypt(input, &mut output, Padding::NONE)?;
        }
        KeyOperation::Public(e) => {
            with_exponent(&key.openssl, e)?.public_encrypt(input, &mut output, Padding::NONE)?;
        }
        KeyOperation::Sign | KeyOperation::Verify => {
            signer(&key.openssl)?.sign(input, Some(&mut output))?;
        }
        KeyOperation::VerifyOnce => {
            signer(&key.openssl)?.sign(&sha256(input), Some(&mut output))?;
        }
    }
    Ok(output)
}

fn refused(error: ErrorStack) -> CliError {
    error!("OpenSSL does not do this: {error}; leave it out with --against")
}

fn valid(verdict: bool) -> Result<(), CliError> {
    CliError::unless(verdict, "a valid signature was refused")
}

fn run(job: &Job) -> Result<Run, ErrorStack> {
    let key = &job.key.openssl;
    Ok(match job.what {
        KeyOperation::PrivateFull => {
            let key = without_factors(key)?;
            computed(job, move |_, input, output| {
                Ok(key.private_encrypt(input, output, Padding::NONE).map(drop)?)
            })
        }
        KeyOperation::Public(e) => {
            let key = with_exponent(key, e)?;
            computed(job, move |_, input, output| {
                Ok(key.public_encrypt(input, output, Padding::NONE).map(drop)?)
            })
        }
        KeyOperation::Sign => {
            let mut signer = signer(key)?;
            computed(job, move |_, input, output| Ok(signer.sign(input, Some(output)).map(drop)?))
        }
        KeyOperation::Verify => {
            let key = PKey::from_rsa(key.clone())?;
            let mut verifier = PkeyCtx::new(&key)?;
            verifier.verify_init()?;
            verifier.set_rsa_padding(Padding::PKCS1)?;
            verifier.set_signature_md(Md::sha256())?;
            in_turn(job, move |_, case| valid(verifier.verify(&case.input, &case.output)?))
        }
        KeyOperation::VerifyOnce => {
            let der = public_der(&job.key)?;
            in_turn(job, move |_, case| {
                let key = PKey::from_rsa(Rsa::public_key_from_der_pkcs1(&der)?)?;
                let mut verifier = PkeyCtx::new(&key)?;
                verifier.verify_init()?;
                verifier.set_rsa_padding(Padding::PKCS1)?;
                verifier.set_signature_md(Md::sha256())?;
                valid(verifier.verify(&sha256(&case.input), &case.output)?)
            })
        }
    })
}

/// Returns a context that is initialised once and can sign repeatedly.
fn signer(key: &Rsa<Private>) -> Result<PkeyCtx<Private>, ErrorStack> {
    let key = PKey::from_rsa(key.clone())?;
    let mut signer = PkeyCtx::new(&key)?;
    signer.sign_init()?;
    signer.set_rsa_padding(Padding::PKCS1)?;
    signer.set_signature_md(Md::sha256())?;
    Ok(signer)
}

/// Returns the same key without p and q, so that OpenSSL cannot use CRT.
fn without_factors(key: &Rsa<Private>) -> Result<Rsa<Private>, ErrorStack> {
    let copy = BigNumRef::to_owned;
    Ok(RsaPrivateKeyBuilder::new(copy(key.n())?, copy(key.e())?, copy(key.d())?)?.build())
}

/// Returns the key's modulus with another public exponent.
fn with_exponent(key: &Rsa<Private>, e: u64) -> Result<Rsa<Public>, ErrorStack> {
    let e = BigNum::from_slice(&e.to_be_bytes())?;
    Rsa::from_public_components(key.n().to_owned()?, e)
}

fn ecdsa(signs: bool) -> Result<Run, ErrorStack> {
    let key = PKey::private_key_from_pem(ECDSA_P256)?;
    let (mut signer, mut verifier) = (PkeyCtx::new(&key)?, PkeyCtx::new(&key)?);
    signer.sign_init()?;
    signer.set_signature_md(Md::sha256())?;
    verifier.verify_init()?;
    verifier.set_signature_md(Md::sha256())?;
    let message = digest(0);
    if !signs {
        let mut signature = Vec::new();
        signer.sign_to_vec(&message, &mut signature)?;
        return Ok(Box::new(move || valid(verifier.verify(&message, &signature)?)));
    }
    let (mut signature, mut is_selected) = (vec![0; key.size()], selected_to_verify());
    Ok(Box::new(move || {
        let length = signer.sign(&message, Some(&mut signature))?;
        if is_selected() {
            valid(verifier.verify(&message, &signature[..length])?)?;
        }
        Ok(())
    }))
}

/// Creates a run of Ed25519. A context makes or verifies only one signature, so each run creates
/// one, as a TLS server does.
fn ed25519(signs: bool) -> Result<Run, ErrorStack> {
    let key = PKey::private_key_from_pem(ED25519)?;
    let message = digest(0);
    let right = Signer::new_without_digest(&key)?.sign_oneshot_to_vec(&message)?;
    if !signs {
        return Ok(Box::new(move || {
            valid(Verifier::new_without_digest(&key)?.verify_oneshot(&right, &message)?)
        }));
    }
    let mut signature = right.clone();
    Ok(Box::new(move || {
        signature.fill(0);
        Signer::new_without_digest(&key)?.sign_oneshot(&mut signature, &message)?;
        compare(&signature, &right)
    }))
}
