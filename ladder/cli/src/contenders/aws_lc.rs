//! AWS-LC, as far as aws-lc-rs exposes its operations.

use aws_lc_rs::digest::{Digest, SHA256};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ED25519 as ED25519_ALGORITHM,
    EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_SHA256, RsaKeyPair,
};
use openssl::pkey::PKey;

use super::{Contender, Failed, Job, Run, What, compare, digest};
use crate::error::CliError;
use crate::keys::{ECDSA_P256, ED25519};

const BY: &str = "aws-lc";

/// Interval, in ECDSA signatures, between verifications; rare enough not to affect the timing.
const VERIFY_EVERY: u32 = 4096;

/// AWS-LC, one by one.
///
/// # Errors
///
/// The operation is not available in aws-lc-rs; the sentence says why, and the cell stays empty.
pub(crate) fn contender(job: &Job) -> Result<Contender, String> {
    if job.key.bits() < 2048 {
        return Err("AWS-LC (aws-lc-rs) takes no RSA keys below 2048 bits".to_owned());
    }
    // The key as PKCS#1, whatever the format of the file.
    let der = job.key.openssl.private_key_to_der().map_err(|error| error.to_string())?;
    let refused =
        |why: &dyn core::fmt::Display| format!("AWS-LC (aws-lc-rs) refuses the key: {why}");
    let pair = RsaKeyPair::from_der(&der).map_err(|error| refused(&error))?;
    let digests: Vec<Digest> =
        job.cases.iter().filter_map(|case| import(&case.input).ok()).collect();
    let (cases, mut next) = (std::rc::Rc::clone(&job.cases), 0);
    let mut turn = move || {
        let now = next;
        next = (next + 1) % cases.len();
        now
    };
    let cases = std::rc::Rc::clone(&job.cases);
    let run: Run = match job.what {
        What::PrivateFull | What::Public(_) => {
            return Err("AWS-LC (aws-lc-rs) offers no raw RSA operation".to_owned());
        }
        What::Sign => {
            let mut signature = vec![0; pair.public_modulus_len()];
            Box::new(move || {
                let now = turn();
                pair.sign_digest(&RSA_PKCS1_SHA256, &digests[now], &mut signature)?;
                compare(&signature, &cases[now].output)
            })
        }
        What::Verify => {
            let key = ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key())
                .map_err(|error| refused(&error))?;
            Box::new(move || {
                let now = turn();
                Ok(key.verify_digest_sig(&digests[now], &cases[now].output)?)
            })
        }
    };
    Ok(Contender::library(BY, run))
}

/// Signatures on P-256.
///
/// # Errors
///
/// The library refuses the operation.
pub(crate) fn ecdsa_sign() -> Result<Contender, CliError> {
    let (pair, public, message) = ecdsa()?;
    let mut count = 0_u32;
    Ok(Contender::library(
        BY,
        Box::new(move || {
            let signature = pair.sign_digest(&message)?;
            count = count.wrapping_add(1);
            // Each signature is different, so there is no expected value to compare with.
            if count % VERIFY_EVERY == 1 {
                public.verify_digest_sig(&message, signature.as_ref())?;
            }
            Ok(())
        }),
    ))
}

/// Verifications on P-256.
///
/// # Errors
///
/// The library refuses the operation.
pub(crate) fn ecdsa_verify() -> Result<Contender, CliError> {
    let (pair, public, message) = ecdsa()?;
    let signature = pair.sign_digest(&message).map_err(refused)?;
    let run = move || Ok(public.verify_digest_sig(&message, signature.as_ref())?);
    Ok(Contender::library(BY, Box::new(run)))
}

/// Signatures with Ed25519.
///
/// # Errors
///
/// The library refuses the operation.
pub(crate) fn ed25519_sign() -> Result<Contender, CliError> {
    let (pair, message) = (ed25519()?, digest(0));
    let right = pair.sign(&message);
    let run = move || compare(pair.sign(&message).as_ref(), right.as_ref());
    Ok(Contender::library(BY, Box::new(run)))
}

/// Verifications with Ed25519.
///
/// # Errors
///
/// The library refuses the operation.
pub(crate) fn ed25519_verify() -> Result<Contender, CliError> {
    let (pair, message) = (ed25519()?, digest(0));
    let signature = pair.sign(&message);
    let public = ParsedPublicKey::new(&ED25519_ALGORITHM, pair.public_key()).map_err(refused)?;
    let run = move || Ok(public.verify_sig(&message, signature.as_ref())?);
    Ok(Contender::library(BY, Box::new(run)))
}

impl From<Unspecified> for Failed {
    fn from(_: Unspecified) -> Self {
        Self::new("AWS-LC gave an error, and by design does not say which")
    }
}

fn refused(error: impl core::fmt::Display) -> CliError {
    CliError::new(format!("AWS-LC does not do this: {error}; leave it out with --against"))
}

/// A SHA-256 digest from its bytes.
fn import(digest: &[u8]) -> Result<Digest, Unspecified> {
    Digest::import_less_safe(digest, &SHA256)
}

fn pkcs8(pem: &[u8]) -> Result<Vec<u8>, CliError> {
    PKey::private_key_from_pem(pem)
        .and_then(|key| key.private_key_to_pkcs8())
        .map_err(|error| CliError::new(format!("a built-in key cannot be read: {error}")))
}

fn ecdsa() -> Result<(EcdsaKeyPair, ParsedPublicKey, Digest), CliError> {
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &pkcs8(ECDSA_P256)?)
        .map_err(refused)?;
    let public =
        ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, pair.public_key()).map_err(refused)?;
    Ok((pair, public, import(&digest(0)).map_err(refused)?))
}

fn ed25519() -> Result<Ed25519KeyPair, CliError> {
    Ed25519KeyPair::from_pkcs8_maybe_unchecked(&pkcs8(ED25519)?).map_err(refused)
}
