//! Parameters for libcrypto; they borrow the memory that they point to.

use core::ffi::{CStr, c_int};
use core::ptr;

use openssl_sys as sys;

/// `OSSL_PARAM_INTEGER` of `openssl/core.h`.
const INTEGER: u32 = 1;
/// `OSSL_PARAM_UNSIGNED_INTEGER` of `openssl/core.h`.
const UNSIGNED_INTEGER: u32 = 2;
/// `OSSL_PARAM_UTF8_STRING` of `openssl/core.h`.
const UTF8_STRING: u32 = 4;
/// `OSSL_PARAM_OCTET_STRING` of `openssl/core.h`.
const OCTET_STRING: u32 = 5;

const fn param(key: &CStr, data_type: u32, data: *const u8, length: usize) -> sys::OSSL_PARAM {
    sys::OSSL_PARAM {
        key: key.as_ptr(),
        data_type,
        data: data.cast_mut().cast(),
        data_size: length,
        return_size: usize::MAX, // OSSL_PARAM_UNMODIFIED
    }
}

pub(super) const fn end() -> sys::OSSL_PARAM {
    sys::OSSL_PARAM {
        key: ptr::null(),
        data_type: 0,
        data: ptr::null_mut(),
        data_size: 0,
        return_size: 0,
    }
}

pub(super) fn text(key: &CStr, value: &'static CStr) -> sys::OSSL_PARAM {
    param(key, UTF8_STRING, value.as_ptr().cast(), value.to_bytes().len())
}

pub(super) fn octets(key: &CStr, value: &[u8]) -> sys::OSSL_PARAM {
    param(key, OCTET_STRING, value.as_ptr(), value.len())
}

pub(super) fn signed(key: &CStr, value: &c_int) -> sys::OSSL_PARAM {
    param(key, INTEGER, (&raw const *value).cast(), size_of::<c_int>())
}

pub(super) fn unsigned(key: &CStr, value: &u32) -> sys::OSSL_PARAM {
    param(key, UNSIGNED_INTEGER, (&raw const *value).cast(), size_of::<u32>())
}
