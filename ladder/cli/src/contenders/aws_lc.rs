//! AWS-LC, limited to the operations that aws-lc-rs exposes.

use aws_lc_rs::agreement::{self, EphemeralPrivateKey, UnparsedPublicKey};
use aws_lc_rs::digest::{Digest, SHA256};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    self, ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ED25519 as ED25519_ALGORITHM,
    EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_SHA256, RsaKeyPair,
};
use openssl::pkey::PKey;
use tollgate_record::{Key as KeyName, Operation};

use super::{
    Contender, Job, KeyOperation, Run, compare, computed, digest, in_turn, public_der,
    selected_to_verify,
};
use crate::error::CliError;
use crate::keys::{ECDSA_P256, ED25519};

pub(super) const BY: &str = "aws-lc";

/// Returns AWS-LC as a contender, one operation at a time. The error is a note for the user that
/// says why the table has no row for AWS-LC.
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
    let run: Run = match job.what {
        KeyOperation::PrivateFull | KeyOperation::Public(_) => {
            return Err("AWS-LC (aws-lc-rs) offers no raw RSA operation".to_owned());
        }
        KeyOperation::Sign => computed(job, move |number, _, output| {
            pair.sign_digest(&RSA_PKCS1_SHA256, &digests[number], output).map_err(unspecified)
        }),
        KeyOperation::Verify => {
            let key = ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key())
                .map_err(|error| refused(&error))?;
            in_turn(job, move |number, case| {
                key.verify_digest_sig(&digests[number], &case.output).map_err(unspecified)
            })
        }
        KeyOperation::VerifyOnce => {
            let der = public_der(&job.key).map_err(|error| error.to_string())?;
            in_turn(job, move |_, case| {
                signature::UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &der)
                    .verify(&case.input, &case.output)
                    .map_err(unspecified)
            })
        }
    };
    Ok(Contender::library(BY, run))
}

/// Creates a contender for an operation with a key of a type other than RSA.
pub(crate) fn curve(key: &KeyName, operation: &Operation) -> Result<Contender, CliError> {
    let group = match key {
        KeyName::X25519 => Some(&agreement::X25519),
        KeyName::EcdhP256 => Some(&agreement::ECDH_P256),
        _ => None,
    };
    let run = match (group, operation) {
        (Some(group), Operation::Generate) => generate(group),
        (Some(group), _) => agree(key, group)?,
        (None, operation) => {
            let signs = *operation == Operation::Sign;
            if *key == KeyName::EcdsaP256 { ecdsa(signs)? } else { ed25519(signs)? }
        }
    };
    Ok(Contender::library(BY, run))
}

fn generate(group: &'static agreement::Algorithm) -> Run {
    let random = SystemRandom::new();
    Box::new(move || {
        let key = EphemeralPrivateKey::generate(group, &random);
        key.and_then(|key| key.compute_public_key()).map(drop).map_err(unspecified)
    })
}

fn agree(key: &KeyName, group: &'static agreement::Algorithm) -> Result<Run, CliError> {
    let case = super::openssl::agreements(key, 1)?.remove(0);
    let secret = agreement::PrivateKey::from_private_key(group, &case.secret).map_err(refused)?;
    Ok(Box::new(move || {
        let peer = UnparsedPublicKey::new(group, &case.peer);
        agreement::agree(&secret, peer, unspecified(Unspecified), |shared| {
            compare(shared, &case.shared)
        })
    }))
}

pub(super) fn unspecified(_: Unspecified) -> CliError {
    error!("AWS-LC gave an error, and by design does not say which")
}

pub(super) fn refused(error: impl core::fmt::Display) -> CliError {
    error!("AWS-LC does not do this: {error}; leave it out with --against")
}

/// Returns a SHA-256 digest from its bytes.
fn import(digest: &[u8]) -> Result<Digest, Unspecified> {
    Digest::import_less_safe(digest, &SHA256)
}

fn pkcs8(pem: &[u8]) -> Result<Vec<u8>, CliError> {
    PKey::private_key_from_pem(pem)
        .and_then(|key| key.private_key_to_pkcs8())
        .map_err(|error| error!("a built-in key cannot be read: {error}"))
}

fn ecdsa(signs: bool) -> Result<Run, CliError> {
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &pkcs8(ECDSA_P256)?)
        .map_err(refused)?;
    let public =
        ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, pair.public_key()).map_err(refused)?;
    let message = import(&digest(0)).map_err(refused)?;
    if !signs {
        let signature = pair.sign_digest(&message).map_err(refused)?;
        return Ok(Box::new(move || {
            public.verify_digest_sig(&message, signature.as_ref()).map_err(unspecified)
        }));
    }
    let mut is_selected = selected_to_verify();
    Ok(Box::new(move || {
        let signature = pair.sign_digest(&message).map_err(unspecified)?;
        if is_selected() {
            public.verify_digest_sig(&message, signature.as_ref()).map_err(unspecified)?;
        }
        Ok(())
    }))
}

fn ed25519(signs: bool) -> Result<Run, CliError> {
    let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&pkcs8(ED25519)?).map_err(refused)?;
    let message = digest(0);
    let right = pair.sign(&message);
    if signs {
        let run = move || compare(pair.sign(&message).as_ref(), right.as_ref());
        return Ok(Box::new(run));
    }
    let public = ParsedPublicKey::new(&ED25519_ALGORITHM, pair.public_key()).map_err(refused)?;
    Ok(Box::new(move || public.verify_sig(&message, right.as_ref()).map_err(unspecified)))
}
