//! Known-answer tests: of the curves when the provider is loaded, and of all algorithms on demand
//! (`OSSL_PROVIDER_self_test`).
//!
//! Loading the provider does not test RSA. Every private operation of RSA is checked with the
//! public exponent before its result is released, and that check is stronger than a known-answer
//! test.
#![forbid(unsafe_code)]

use tollgate_curves::X25519;
use tollgate_curves::p256::P256;
use tollgate_queue::{SELF_TEST_KEY, SELF_TEST_SIGNATURE_HASH};
use tollgate_rsa::{Hash, PrivateKey};

use crate::provider::Provider;
use crate::reason::Reason;

/// Signs a fixed message with a fixed RSA key and compares the result; tests the curves that the
/// provider offers. After a failure the provider refuses every key.
pub(crate) fn run(provider: &Provider) -> Result<(), Reason> {
    let failed = if !provider.is_healthy() {
        Reason::SelfTest
    } else if !provider.x25519.is_none_or(X25519::passes_test) {
        Reason::SelfTestX25519
    } else if !provider.p256.is_none_or(P256::passes_test) {
        Reason::SelfTestP256
    } else if matches_known_answer(provider) != Some(true) {
        Reason::SelfTestRsa
    } else {
        return Ok(());
    };
    provider.refuse_all_keys();
    Err(failed)
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
