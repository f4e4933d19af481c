//! Public keys, and encryption.

use core::ffi::{c_char, c_int};

use tollgate_rsa::{Oaep, PublicKey};
use zeroize::Zeroizing;

use crate::arguments::{Buffer, Place, bytes, check_size};
use crate::border::enter;
use crate::code::Failure;
use crate::handle::{self, Handle};
use crate::scheme::{Scheme, tollgate_scheme};
use crate::thread_memory::with_workspace;

/// A public key of 512 to 8192 bits. Threads may share it.
pub struct tollgate_public_key(pub(crate) PublicKey);

impl Handle for tollgate_public_key {
    const NAME: &str = "tollgate_public_key";
    const MAGIC: &[u8; 8] = b"tollpubl";
}

/// Reads a public key in DER: SubjectPublicKeyInfo or PKCS#1. Free it with
/// tollgate_public_key_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_public_key_from_der(
    der: *const u8,
    der_len: usize,
    key: *mut *mut tollgate_public_key,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let key = unsafe { Place::new("key", key) }?;
        handle::create(key, || {
            // SAFETY: the caller's promise.
            let der = unsafe { bytes("der", der, der_len) }?;
            Ok(tollgate_public_key(PublicKey::from_der(der)?))
        })
    })
}

/// Reads a public key in PEM, as tollgate_public_key_from_der(). Other text around the key is
/// skipped. pem_len does not count a NUL at the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_public_key_from_pem(
    pem: *const c_char,
    pem_len: usize,
    key: *mut *mut tollgate_public_key,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let key = unsafe { Place::new("key", key) }?;
        handle::create(key, || {
            // SAFETY: the caller's promise.
            let pem = unsafe { text("pem", pem, pem_len) }?;
            Ok(tollgate_public_key(PublicKey::from_pem(pem)?))
        })
    })
}

/// Returns the length of the modulus in bits, or 0 if key is no key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_public_key_bits(key: *const tollgate_public_key) -> usize {
    // SAFETY: the caller's promise.
    size_of_key(|| Ok(unsafe { handle::borrow("key", key) }?.0.bits()))
}

/// Returns the length in bytes of the modulus, of a signature and of a ciphertext, or 0 if key is
/// no key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_public_key_size(key: *const tollgate_public_key) -> usize {
    // SAFETY: the caller's promise.
    size_of_key(|| Ok(unsafe { handle::borrow("key", key) }?.0.size()))
}

/// Frees a key. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_public_key_free(key: *mut tollgate_public_key) -> c_int {
    // SAFETY: the caller's promise.
    enter(|| unsafe { handle::free("key", key) })
}

/// Encrypts a message into a ciphertext of the key's size. The scheme is TOLLGATE_RSAES_OAEP or
/// TOLLGATE_RSAES_PKCS1V15.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tollgate_encrypt(
    key: *const tollgate_public_key,
    scheme: *const tollgate_scheme,
    message: *const u8,
    message_len: usize,
    ciphertext: *mut u8,
    ciphertext_len: usize,
) -> c_int {
    enter(|| {
        // SAFETY: the caller's promise.
        let key = &unsafe { handle::borrow("key", key) }?.0;
        // SAFETY: the caller's promise.
        let scheme = unsafe { Scheme::read(scheme) }?;
        // SAFETY: the caller's promise.
        let message = unsafe { bytes("message", message, message_len) }?;
        // SAFETY: the caller's promise.
        let buffer = unsafe { Buffer::new("ciphertext", ciphertext, ciphertext_len) }?;
        check_size("ciphertext_len", ciphertext_len, key.size())?;
        // If the operation fails, it still holds the message.
        let mut result = Zeroizing::new(vec![0; key.size()]);
        with_workspace(|workspace| match scheme {
            Scheme::Pkcs1v15Encryption => {
                Ok(key.encrypt_pkcs1v15_with(workspace, message, &mut result)?)
            }
            Scheme::Oaep { hash, mgf_hash, label } => {
                let oaep = Oaep::new(hash).with_mgf_hash(mgf_hash).with_label(label);
                Ok(key.encrypt_oaep_with(workspace, oaep, message, &mut result)?)
            }
            _ => Err(Scheme::not_encryption()),
        })??;
        buffer.write(&result);
        Ok(())
    })
}

/// Returns the size, or 0 after an error.
pub(crate) fn size_of_key(read: impl FnOnce() -> Result<usize, Failure>) -> usize {
    let mut size = 0;
    enter(|| read().map(|found| size = found));
    size
}

/// Borrows text in UTF-8.
///
/// # Safety
///
/// As [`bytes`].
pub(crate) unsafe fn text<'a>(
    name: &str,
    text: *const c_char,
    len: usize,
) -> Result<&'a str, Failure> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { bytes(name, text.cast(), len) }?;
    str::from_utf8(bytes)
        .map_err(|_| Failure::misuse(format!("{name} is not UTF-8: is this the right file?")))
}
