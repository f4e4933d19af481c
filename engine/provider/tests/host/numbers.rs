//! The numbers of a key.

use core::ffi::{CStr, c_int};
use core::ptr;

use super::Key;
use super::libcrypto;

/// `EVP_PKEY_KEYPAIR` and `EVP_PKEY_PUBLIC_KEY` of `evp.h`.
pub(crate) const KEYPAIR: c_int = 0x87;
pub(crate) const PUBLIC_KEY: c_int = 0x86;

/// Returns n, e, and the private numbers, with their names.
pub(crate) fn numbers(key: &Key) -> Vec<(&'static CStr, Vec<u8>)> {
    const NAMES: [&CStr; 8] = [
        c"n",
        c"e",
        c"d",
        c"rsa-factor1",
        c"rsa-factor2",
        c"rsa-exponent1",
        c"rsa-exponent2",
        c"rsa-coefficient1",
    ];
    let mut params = ptr::null_mut();
    // SAFETY: the key is valid, and `params` is a pointer that the call may write.
    let done = unsafe { libcrypto::EVP_PKEY_todata(key.0, KEYPAIR, &mut params) };
    assert_eq!(done, 1);
    let mut numbers = Vec::new();
    for (name, param) in libcrypto::list(params) {
        if let Some(name) = NAMES.into_iter().find(|known| *known == name) {
            // SAFETY: the parameter's data has this length.
            let bytes = unsafe { core::slice::from_raw_parts(param.data.cast(), param.data_size) };
            let big_endian = libcrypto::native(bytes);
            let zeros = big_endian.iter().take_while(|&&byte| byte == 0).count();
            numbers.push((name, big_endian[zeros..].to_vec()));
        }
    }
    // SAFETY: freed once.
    unsafe { libcrypto::OSSL_PARAM_free(params) };
    numbers.sort_by_key(|(name, _)| NAMES.iter().position(|known| known == name));
    numbers
}
