//! Known-answer tests: of all but RSA when the provider is loaded, and of all algorithms on demand
//! (`OSSL_PROVIDER_self_test`).
//!
//! Loading the provider does not test RSA. Every private operation of RSA is checked with the
//! public exponent before its result is released, and that check is stronger than a known-answer
//! test.
#![forbid(unsafe_code)]

use tollgate_queue::{SELF_TEST_KEY, SELF_TEST_SIGNATURE_HASH};
use tollgate_rsa::{Hash, PrivateKey};

use crate::alt_stack::with_room;
use crate::provider::{Provider, failed};
use crate::reason::Reason;

/// Signs a fixed message with a fixed RSA key and compares the result; tests what else the
/// provider offers. After a failure the provider refuses every key.
pub(crate) fn run(provider: &Provider) -> Result<(), Reason> {
    let reason = if !provider.is_healthy() {
        Reason::SelfTest
    } else if let Some((reason, _)) =
        with_room(|| failed(provider.x25519, provider.p256, provider.hybrid))
    {
        reason
    } else if matches_known_answer(provider) != Some(true) {
        Reason::SelfTestRsa
    } else {
        return Ok(());
    };
    provider.refuse_all_keys();
    Err(reason)
}

fn matches_known_answer(provider: &Provider) -> Option<bool> {
    let key = PrivateKey::from_pem(SELF_TEST_KEY).ok()?;
    let digest = Hash::Sha256.digest(b"tollgate");
    let mut signature = vec![0; key.size()];
    provider
        .with_workspace(|ws| {
            key.sign_pkcs1v15_with(ws, Hash::Sha256, digest.as_ref(), &mut signature)?;
            key.public().verify_pkcs1v15_with(ws, Hash::Sha256, digest.as_ref(), &signature)
        })
        .ok()?;
    Some(Hash::Sha256.digest(&signature).as_ref() == SELF_TEST_SIGNATURE_HASH)
}
