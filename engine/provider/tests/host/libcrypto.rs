//! Functions of libcrypto that the crate `openssl` does not provide, or provides without a property
//! query.
#![allow(non_camel_case_types, non_snake_case, clippy::upper_case_acronyms, reason = "C names")]
#![allow(missing_docs, clippy::missing_safety_doc, reason = "documented by OpenSSL")]

use core::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use core::ptr;

use tollgate_provider::InitFunction;

macro_rules! opaque {
    ($($name:ident)*) => { $(#[repr(C)] pub(crate) struct $name { _opaque: [u8; 0] })* };
}

opaque! { OSSL_LIB_CTX OSSL_PROVIDER EVP_PKEY EVP_PKEY_CTX EVP_MD_CTX BIO }

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct OSSL_PARAM {
    pub(crate) key: *const c_char,
    pub(crate) data_type: c_uint,
    pub(crate) data: *mut c_void,
    pub(crate) data_size: usize,
    pub(crate) return_size: usize,
}

pub(crate) const END: OSSL_PARAM = OSSL_PARAM {
    key: ptr::null(),
    data_type: 0,
    data: ptr::null_mut(),
    data_size: 0,
    return_size: usize::MAX,
};

pub(crate) type DigestInit = unsafe extern "C" fn(
    *mut EVP_MD_CTX,
    *mut *mut EVP_PKEY_CTX,
    *const c_char,
    *mut OSSL_LIB_CTX,
    *const c_char,
    *mut EVP_PKEY,
    *const OSSL_PARAM,
) -> c_int;
pub(crate) type ReadKey = unsafe extern "C" fn(
    *mut BIO,
    *mut *mut EVP_PKEY,
    Option<PasswordCallback>,
    *mut c_void,
    *mut OSSL_LIB_CTX,
    *const c_char,
) -> *mut EVP_PKEY;
pub(crate) type PasswordCallback =
    unsafe extern "C" fn(*mut c_char, c_int, c_int, *mut c_void) -> c_int;

/// Declares functions of libcrypto: for each type, the names of its functions.
macro_rules! functions {
    ($($arguments:tt -> $result:ty: $($name:ident)+;)*) => {
        #[link(name = "crypto")]
        unsafe extern "C" {
            $($(pub(crate) fn $name $arguments -> $result;)+)*
        }
    };
}

functions! {
    () -> *mut OSSL_LIB_CTX: OSSL_LIB_CTX_new OSSL_LIB_CTX_get0_global_default;
    (_: *mut OSSL_LIB_CTX) -> (): OSSL_LIB_CTX_free;
    (_: *mut OSSL_LIB_CTX) -> *mut OSSL_LIB_CTX: OSSL_LIB_CTX_set0_default;
    (_: *mut OSSL_LIB_CTX, _: *const c_char, _: InitFunction) -> c_int: OSSL_PROVIDER_add_builtin;
    (_: *mut OSSL_LIB_CTX, _: *const c_char) -> c_int: OSSL_PROVIDER_set_default_search_path;
    (_: *mut OSSL_LIB_CTX, _: *const c_char) -> *mut OSSL_PROVIDER: OSSL_PROVIDER_load;
    (_: *mut OSSL_PROVIDER) -> c_int: OSSL_PROVIDER_unload;
    (_: *const OSSL_PROVIDER, _: *mut OSSL_PARAM) -> c_int: OSSL_PROVIDER_get_params;
    (_: *const OSSL_PROVIDER) -> c_int: OSSL_PROVIDER_self_test;
    (_: *mut OSSL_LIB_CTX, _: *const c_char) -> c_int: OSSL_LIB_CTX_load_config;
    (_: *const OSSL_PROVIDER) -> *const c_char: OSSL_PROVIDER_get0_name;
    (_: *const EVP_PKEY) -> *const OSSL_PROVIDER: EVP_PKEY_get0_provider;
    (_: *mut OSSL_LIB_CTX, _: *const c_char, _: *const c_char, _: *const u8, _: usize)
        -> *mut EVP_PKEY: EVP_PKEY_new_raw_private_key_ex EVP_PKEY_new_raw_public_key_ex;
    (_: *const EVP_PKEY, _: *mut u8, _: *mut usize) -> c_int:
        EVP_PKEY_get_raw_private_key EVP_PKEY_get_raw_public_key;
    (_: *mut EVP_PKEY, _: *const u8, _: usize) -> c_int: EVP_PKEY_set1_encoded_public_key;
    (_: *mut EVP_PKEY_CTX, _: *mut EVP_PKEY, _: c_int) -> c_int: EVP_PKEY_derive_set_peer_ex;
    (_: *mut EVP_PKEY_CTX, _: *mut u8, _: *mut usize) -> c_int: EVP_PKEY_derive;
    (_: *mut EVP_PKEY_CTX, _: *const OSSL_PARAM) -> c_int:
        EVP_PKEY_encapsulate_init EVP_PKEY_decapsulate_init;
    (_: *mut EVP_PKEY_CTX, _: *mut u8, _: *mut usize, _: *mut u8, _: *mut usize) -> c_int:
        EVP_PKEY_encapsulate;
    (_: *mut EVP_PKEY_CTX, _: *mut u8, _: *mut usize, _: *const u8, _: usize) -> c_int:
        EVP_PKEY_decapsulate;
    (_: *const c_void, _: c_int) -> *mut BIO: BIO_new_mem_buf;
    (_: *mut BIO) -> c_int: BIO_free;
    (_: *mut BIO, _: *mut *mut EVP_PKEY, _: Option<PasswordCallback>, _: *mut c_void,
     _: *mut OSSL_LIB_CTX, _: *const c_char) -> *mut EVP_PKEY:
        PEM_read_bio_PrivateKey_ex PEM_read_bio_PUBKEY_ex;
    (_: *const EVP_PKEY, _: *const c_char, _: *mut u8, _: usize, _: *mut usize) -> c_int:
        EVP_PKEY_get_octet_string_param;
    (_: *mut EVP_PKEY) -> c_int: EVP_PKEY_up_ref;
    (_: *mut EVP_PKEY) -> (): EVP_PKEY_free;
    (_: *mut EVP_PKEY) -> *mut EVP_PKEY: EVP_PKEY_dup;
    (_: *const EVP_PKEY, _: *const EVP_PKEY) -> c_int: EVP_PKEY_eq;
    (_: *const EVP_PKEY) -> c_int: EVP_PKEY_get_bits EVP_PKEY_get_size EVP_PKEY_get_security_bits;
    (_: *const EVP_PKEY, _: c_int, _: *mut *mut OSSL_PARAM) -> c_int: EVP_PKEY_todata;
    (_: *mut OSSL_PARAM) -> (): OSSL_PARAM_free;
    (_: *mut OSSL_LIB_CTX, _: *const c_char, _: *const c_char) -> *mut EVP_PKEY_CTX:
        EVP_PKEY_CTX_new_from_name;
    (_: *mut OSSL_LIB_CTX, _: *mut EVP_PKEY, _: *const c_char) -> *mut EVP_PKEY_CTX:
        EVP_PKEY_CTX_new_from_pkey;
    (_: *mut EVP_PKEY_CTX) -> (): EVP_PKEY_CTX_free;
    (_: *mut EVP_PKEY_CTX, _: *const OSSL_PARAM) -> c_int:
        EVP_PKEY_CTX_set_params EVP_PKEY_sign_init_ex EVP_PKEY_verify_init_ex
        EVP_PKEY_verify_recover_init_ex EVP_PKEY_encrypt_init_ex EVP_PKEY_decrypt_init_ex;
    (_: *mut EVP_PKEY_CTX, _: *mut OSSL_PARAM) -> c_int: EVP_PKEY_CTX_get_params;
    (_: *const EVP_PKEY) -> *const OSSL_PARAM: EVP_PKEY_gettable_params;
    (_: *const EVP_PKEY_CTX) -> *const OSSL_PARAM:
        EVP_PKEY_CTX_gettable_params EVP_PKEY_CTX_settable_params;
    (_: *mut EVP_PKEY_CTX) -> c_int:
        EVP_PKEY_fromdata_init EVP_PKEY_keygen_init EVP_PKEY_paramgen_init EVP_PKEY_derive_init
        EVP_PKEY_pairwise_check EVP_PKEY_private_check EVP_PKEY_public_check;
    (_: *mut EVP_PKEY_CTX, _: *mut *mut EVP_PKEY, _: c_int, _: *mut OSSL_PARAM) -> c_int:
        EVP_PKEY_fromdata;
    (_: *mut EVP_PKEY_CTX, _: *mut *mut EVP_PKEY) -> c_int: EVP_PKEY_generate;
    (_: *mut EVP_PKEY_CTX, _: *mut u8, _: *mut usize, _: *const u8, _: usize) -> c_int:
        EVP_PKEY_sign EVP_PKEY_encrypt EVP_PKEY_decrypt;
    (_: *mut EVP_PKEY_CTX, _: *const u8, _: usize, _: *const u8, _: usize) -> c_int:
        EVP_PKEY_verify;
    () -> *mut EVP_MD_CTX: EVP_MD_CTX_new;
    (_: *mut EVP_MD_CTX) -> (): EVP_MD_CTX_free;
    (_: *const EVP_MD_CTX) -> *mut EVP_PKEY_CTX: EVP_MD_CTX_get_pkey_ctx;
    (_: *mut EVP_MD_CTX, _: *mut *mut EVP_PKEY_CTX, _: *const c_char, _: *mut OSSL_LIB_CTX,
     _: *const c_char, _: *mut EVP_PKEY, _: *const OSSL_PARAM) -> c_int:
        EVP_DigestSignInit_ex EVP_DigestVerifyInit_ex;
    (_: *mut EVP_MD_CTX, _: *mut u8, _: *mut usize, _: *const u8, _: usize) -> c_int:
        EVP_DigestSign;
    (_: *mut EVP_MD_CTX, _: *const u8, _: usize, _: *const u8, _: usize) -> c_int: EVP_DigestVerify;
    () -> c_ulong: ERR_get_error;
    (_: c_ulong, _: *mut c_char, _: usize) -> (): ERR_error_string_n;
}

/// Describes an integer to get.
pub(crate) fn unsigned(key: &CStr, value: &mut u64) -> OSSL_PARAM {
    param(key, 2, ptr::from_mut(value).cast(), size_of::<u64>())
}

/// Describes an `int` to set or get.
pub(crate) fn int(key: &CStr, value: &mut c_int) -> OSSL_PARAM {
    param(key, 1, ptr::from_mut(value).cast(), size_of::<c_int>())
}

/// Describes an `unsigned int` to set.
pub(crate) fn uint(key: &CStr, value: &mut c_uint) -> OSSL_PARAM {
    param(key, 2, ptr::from_mut(value).cast(), size_of::<c_uint>())
}

/// Describes a string to set.
pub(crate) fn text(key: &CStr, value: &CStr) -> OSSL_PARAM {
    param(key, 4, value.as_ptr().cast_mut().cast(), value.to_bytes().len())
}

/// Describes a buffer for a text to get.
pub(crate) fn text_buffer(key: &CStr, value: &mut [u8]) -> OSSL_PARAM {
    param(key, 4, value.as_mut_ptr().cast(), value.len())
}

/// Describes bytes to set or get.
pub(crate) fn octets(key: &CStr, value: &mut [u8]) -> OSSL_PARAM {
    param(key, 5, value.as_mut_ptr().cast(), value.len())
}

/// Describes an integer in native byte order.
pub(crate) fn number(key: &CStr, native: &mut [u8]) -> OSSL_PARAM {
    param(key, 2, native.as_mut_ptr().cast(), native.len())
}

/// Describes strings to set, with the end marker.
pub(crate) fn texts(params: &[(&CStr, &CStr)]) -> Vec<OSSL_PARAM> {
    params.iter().map(|(key, value)| text(key, value)).chain([END]).collect()
}

/// Returns the parameters of an array, each with its name.
pub(crate) fn list<'a>(mut at: *const OSSL_PARAM) -> Vec<(&'a CStr, OSSL_PARAM)> {
    let mut params = Vec::new();
    loop {
        // SAFETY: the array ends with a NULL key.
        let param = unsafe { *at };
        if param.key.is_null() {
            return params;
        }
        // SAFETY: a NUL-terminated name.
        params.push((unsafe { CStr::from_ptr(param.key) }, param));
        // SAFETY: this was not the last parameter.
        at = unsafe { at.add(1) };
    }
}

/// Converts big-endian to native byte order.
pub(crate) fn native(big_endian: &[u8]) -> Vec<u8> {
    let mut bytes = big_endian.to_vec();
    if cfg!(target_endian = "little") {
        bytes.reverse();
    }
    bytes
}

fn param(key: &CStr, data_type: c_uint, data: *mut c_void, data_size: usize) -> OSSL_PARAM {
    OSSL_PARAM { key: key.as_ptr(), data_type, data, data_size, return_size: usize::MAX }
}
