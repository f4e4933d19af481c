//! Verification: one signature, or a batch.

use core::ffi::c_int;

use tollgate_rsa::{PublicKey, VerifyRequest, verify_batch};

use crate::arguments::{array, bytes};
use crate::border::enter;
use crate::code::Failure;
use crate::code::tollgate_code::TOLLGATE_PANIC;
use crate::handle;
use crate::public_key::tollgate_public_key;
use crate::scheme::{Scheme, tollgate_scheme};
use crate::thread_memory::with_workspace;

/// A signature to verify in a batch.
#[repr(C)]
#[derive(Debug)]
pub struct tollgate_verification {
    /// The key.
    pub key: *const tollgate_public_key,
    /// TOLLGATE_RSASSA_PKCS1V15 or TOLLGATE_RSASSA_PSS.
    pub scheme: *const tollgate_scheme,
    /// The digest of the message.
    pub digest: *const u8,
    /// Bytes of digest.
    pub digest_len: usize,
    /// The signature.
    pub signature: *const u8,
    /// Bytes of signature.
    pub signature_len: usize,
    /// Set at the end: one of tollgate_code.
    pub code: c_int,
}

/// Verifies a signature of a digest. The scheme is TOLLGATE_RSASSA_PKCS1V15 or TOLLGATE_RSASSA_PSS.
/// Returns TOLLGATE_OK if the signature is valid, and TOLLGATE_SIGNATURE_INVALID if it is not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_verify(
    key: *const tollgate_public_key,
    scheme: *const tollgate_scheme,
    digest: *const u8,
    digest_len: usize,
    signature: *const u8,
    signature_len: usize,
) -> c_int {
    let code = 0;
    let asked =
        tollgate_verification { key, scheme, digest, digest_len, signature, signature_len, code };
    enter(|| {
        // SAFETY: the caller's promise.
        let mut request = [unsafe { Asked::read(&asked) }?.request()?];
        with_workspace(|workspace| verify_batch(workspace, &mut request))?;
        Ok(request[0].outcome()?)
    })
}

/// Verifies any number of signatures, of any keys. Sets the code of each, and returns the first
/// code that is not TOLLGATE_OK. Those of one key size share lanes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_verify_batch(
    verifications: *mut tollgate_verification,
    count: usize,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let verifications = unsafe { array("verifications", verifications, count) }?;
        // No element is valid unless its own result says so.
        verifications
            .iter_mut()
            .for_each(|verification| verification.code = TOLLGATE_PANIC as c_int);
        let (mut ends, mut places, mut requests) = (Vec::new(), Vec::new(), Vec::new());
        for (at, verification) in verifications.iter().enumerate() {
            // SAFETY: the caller's promise.
            let request = unsafe { Asked::read(verification) }.and_then(Asked::request);
            ends.push(request.map(|request| {
                places.push(at);
                requests.push(request);
            }));
        }
        if let Err(failure) = with_workspace(|workspace| verify_batch(workspace, &mut requests)) {
            verifications.iter_mut().for_each(|verification| verification.code = failure.code());
            return Err(failure);
        }
        for (at, request) in places.into_iter().zip(requests) {
            ends[at] = request.outcome().map_err(Failure::from);
        }
        let mut first = Ok(());
        for (at, (verification, end)) in verifications.iter_mut().zip(ends).enumerate() {
            verification.code = end.as_ref().map_or_else(Failure::code, |()| 0);
            first = first.and(end.map_err(|failure| failure.of(&format!("verification {at}"))));
        }
        first
    })
}

/// A checked verification.
struct Asked<'a> {
    key: &'a PublicKey,
    scheme: Scheme<'a>,
    digest: &'a [u8],
    signature: &'a [u8],
}

impl<'a> Asked<'a> {
    /// # Safety
    ///
    /// Each pointer is NULL, or valid during `'a`.
    unsafe fn read(asked: &tollgate_verification) -> Result<Self, Failure> {
        // SAFETY: the caller's promise.
        let key = &unsafe { handle::borrow("key", asked.key) }?.0;
        // SAFETY: the caller's promise.
        let scheme = unsafe { Scheme::read(asked.scheme) }?;
        // SAFETY: the caller's promise.
        let digest = unsafe { bytes("digest", asked.digest, asked.digest_len) }?;
        // SAFETY: the caller's promise.
        let signature = unsafe { bytes("signature", asked.signature, asked.signature_len) }?;
        Ok(Self { key, scheme, digest, signature })
    }

    fn request(self) -> Result<VerifyRequest<'a>, Failure> {
        let Self { key, digest, signature, .. } = self;
        match self.scheme {
            Scheme::Pss(pss) => Ok(VerifyRequest::pss(key, pss, digest, signature)),
            Scheme::Pkcs1v15Signature { hash } => {
                Ok(VerifyRequest::pkcs1v15(key, hash, digest, signature))
            }
            _ => Err(Scheme::not_signature()),
        }
    }
}
