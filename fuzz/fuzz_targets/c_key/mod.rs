//! The key of the targets that call the C library.

use core::ptr;

use tollgate_c::*;

/// Returns a private key of 512 bits and its public key.
pub(crate) fn keys() -> (*mut tollgate_private_key, *mut tollgate_public_key) {
    let pem = include_bytes!("../../../vectors/keys/rsa-512.pem");
    let (mut private, mut public) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the pointers are valid for their lengths.
    unsafe {
        assert_eq!(tollgate_private_key_from_pem(pem.as_ptr().cast(), pem.len(), &mut private), 0);
        assert_eq!(tollgate_private_key_public(private, &mut public), 0);
    }
    (private, public)
}
