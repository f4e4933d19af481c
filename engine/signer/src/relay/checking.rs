//! Checks of what upstream signers get and give, with the public key.

use tollgate_curves::p256::{self, P256, SIGNATURE_BYTES, Signature};
use tollgate_keyless::{Operation, ecdsa_der};
use tollgate_rsa::{Pss, VerifyRequest, Workspace, verify_batch};

use zeroize::Zeroizing;

use crate::public_half::Public;

/// Checks results.
pub(crate) struct Checker {
    workspace: Workspace,
    curve: Option<P256>,
}

impl Checker {
    pub(crate) fn new() -> Result<Self, tollgate_rsa::Error> {
        Ok(Self { workspace: Workspace::new()?, curve: P256::best().ok() })
    }

    /// Returns whether each result is that of its operation on its input. A decrypted message has no check
    /// but its length. Signatures are checked together, in lanes.
    pub(crate) fn are_right(&mut self, claims: &[Claim<'_>]) -> Vec<bool> {
        let mut are_right: Vec<bool> = claims.iter().map(|claim| self.is_plain(claim)).collect();
        let (at, mut requests): (Vec<usize>, Vec<VerifyRequest<'_>>) = claims
            .iter()
            .enumerate()
            .filter_map(|(at, claim)| claim.rsa().map(|request| (at, request)))
            .unzip();
        verify_batch(&mut self.workspace, &mut requests);
        for (at, request) in at.into_iter().zip(&requests) {
            are_right[at] = request.outcome().is_ok();
        }
        let (at, requests): (Vec<usize>, Vec<p256::VerifyRequest<'_>>) = claims
            .iter()
            .enumerate()
            .filter_map(|(at, claim)| claim.ecdsa().map(|request| (at, request)))
            .unzip();
        let are_valid = self.curve.map(|curve| curve.verify_all(&requests)).unwrap_or_default();
        for (at, is_valid) in at.into_iter().zip(are_valid) {
            are_right[at] = is_valid;
        }
        are_right
    }

    /// Checks a result that is no signature.
    fn is_plain(&mut self, claim: &Claim<'_>) -> bool {
        match (claim.key, claim.operation) {
            (Public::Rsa(key), Operation::Decrypt) => claim.result.len() == key.size(),
            (Public::Rsa(key), Operation::Raw) => {
                let mut number = Zeroizing::new(claim.result.to_vec());
                number.len() == key.size()
                    // Unlike `public`, this leaves nothing of a secret number in the workspace.
                    && key.encrypt_raw(&mut self.workspace, &mut number).is_ok()
                    && *number == claim.input
            }
            _ => false,
        }
    }
}

/// A result that is to be checked.
pub(crate) struct Claim<'a> {
    pub(crate) key: &'a Public,
    pub(crate) operation: Operation,
    pub(crate) input: &'a [u8],
    pub(crate) result: &'a [u8],
}

impl<'a> Claim<'a> {
    fn rsa(&self) -> Option<VerifyRequest<'a>> {
        let (input, result) = (self.input, self.result);
        match (self.key, self.operation) {
            (Public::Rsa(key), Operation::SignPkcs1v15(hash)) => {
                Some(VerifyRequest::pkcs1v15(key, hash, input, result))
            }
            (Public::Rsa(key), Operation::SignPss(hash)) => {
                Some(VerifyRequest::pss(key, Pss::new(hash), input, result))
            }
            _ => None,
        }
    }

    fn ecdsa(&self) -> Option<p256::VerifyRequest<'a>> {
        let (Public::P256(key), Operation::SignEcdsa(_)) = (self.key, self.operation) else {
            return None;
        };
        let numbers: [u8; SIGNATURE_BYTES] = ecdsa_der::decode(self.result)?;
        let signature = Signature::from_bytes(&numbers)?;
        Some(p256::VerifyRequest { key, digest: self.input, signature })
    }
}

/// Returns whether an input has the length that the operation needs. Others are refused here: they could
/// end the connection that all clients share.
pub(crate) fn suits(key: &Public, operation: Operation, input: &[u8]) -> bool {
    match (key, operation) {
        (Public::Rsa(_), Operation::SignPkcs1v15(hash) | Operation::SignPss(hash))
        | (Public::P256(_), Operation::SignEcdsa(hash)) => input.len() == hash.len(),
        (Public::Rsa(key), Operation::Decrypt | Operation::Raw) => input.len() == key.size(),
        _ => false,
    }
}
