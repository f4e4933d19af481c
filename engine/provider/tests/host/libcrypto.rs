//! Functions of libcrypto that the crate `openssl` does not provide, or not with a property query.
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

#[link(name = "crypto")]
unsafe extern "C" {
    pub(crate) fn OSSL_LIB_CTX_new() -> *mut OSSL_LIB_CTX;
    pub(crate) fn OSSL_LIB_CTX_free(context: *mut OSSL_LIB_CTX);
    pub(crate) fn OSSL_PROVIDER_add_builtin(
        context: *mut OSSL_LIB_CTX,
        name: *const c_char,
        init: InitFunction,
    ) -> c_int;
    pub(crate) fn OSSL_PROVIDER_set_default_search_path(
        context: *mut OSSL_LIB_CTX,
        path: *const c_char,
    ) -> c_int;
    pub(crate) fn OSSL_PROVIDER_load(
        context: *mut OSSL_LIB_CTX,
        name: *const c_char,
    ) -> *mut OSSL_PROVIDER;
    pub(crate) fn OSSL_PROVIDER_unload(provider: *mut OSSL_PROVIDER) -> c_int;
    pub(crate) fn OSSL_PROVIDER_get_params(
        provider: *const OSSL_PROVIDER,
        params: *mut OSSL_PARAM,
    ) -> c_int;
    pub(crate) fn OSSL_PROVIDER_self_test(provider: *const OSSL_PROVIDER) -> c_int;

    pub(crate) fn BIO_new_mem_buf(data: *const c_void, len: c_int) -> *mut BIO;
    pub(crate) fn BIO_free(bio: *mut BIO) -> c_int;
    pub(crate) fn PEM_read_bio_PrivateKey_ex(
        bio: *mut BIO,
        key: *mut *mut EVP_PKEY,
        callback: Option<PasswordCallback>,
        argument: *mut c_void,
        context: *mut OSSL_LIB_CTX,
        query: *const c_char,
    ) -> *mut EVP_PKEY;

    pub(crate) fn PEM_read_bio_PUBKEY_ex(
        bio: *mut BIO,
        key: *mut *mut EVP_PKEY,
        callback: Option<PasswordCallback>,
        argument: *mut c_void,
        context: *mut OSSL_LIB_CTX,
        query: *const c_char,
    ) -> *mut EVP_PKEY;

    pub(crate) fn EVP_PKEY_up_ref(key: *mut EVP_PKEY) -> c_int;
    pub(crate) fn EVP_PKEY_free(key: *mut EVP_PKEY);
    pub(crate) fn EVP_PKEY_dup(key: *mut EVP_PKEY) -> *mut EVP_PKEY;
    pub(crate) fn EVP_PKEY_eq(one: *const EVP_PKEY, other: *const EVP_PKEY) -> c_int;
    pub(crate) fn EVP_PKEY_get_bits(key: *const EVP_PKEY) -> c_int;
    pub(crate) fn EVP_PKEY_get_size(key: *const EVP_PKEY) -> c_int;
    pub(crate) fn EVP_PKEY_get_security_bits(key: *const EVP_PKEY) -> c_int;
    pub(crate) fn EVP_PKEY_get_default_digest_name(
        key: *mut EVP_PKEY,
        name: *mut c_char,
        len: usize,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_todata(
        key: *const EVP_PKEY,
        selection: c_int,
        params: *mut *mut OSSL_PARAM,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_print_private(
        out: *mut BIO,
        key: *const EVP_PKEY,
        indent: c_int,
        context: *mut c_void,
    ) -> c_int;
    pub(crate) fn i2d_PrivateKey(key: *const EVP_PKEY, out: *mut *mut u8) -> c_int;
    pub(crate) fn BIO_s_mem() -> *const c_void;
    pub(crate) fn BIO_new(method: *const c_void) -> *mut BIO;
    pub(crate) fn BIO_read(bio: *mut BIO, out: *mut c_void, len: c_int) -> c_int;
    pub(crate) fn EVP_PKEY_get_bn_param(
        key: *const EVP_PKEY,
        name: *const c_char,
        number: *mut *mut c_void,
    ) -> c_int;
    pub(crate) fn BN_free(number: *mut c_void);
    pub(crate) fn OSSL_PARAM_free(params: *mut OSSL_PARAM);

    pub(crate) fn EVP_PKEY_CTX_new_from_name(
        context: *mut OSSL_LIB_CTX,
        name: *const c_char,
        query: *const c_char,
    ) -> *mut EVP_PKEY_CTX;
    pub(crate) fn EVP_PKEY_CTX_new_from_pkey(
        context: *mut OSSL_LIB_CTX,
        key: *mut EVP_PKEY,
        query: *const c_char,
    ) -> *mut EVP_PKEY_CTX;
    pub(crate) fn EVP_PKEY_CTX_dup(context: *const EVP_PKEY_CTX) -> *mut EVP_PKEY_CTX;
    pub(crate) fn EVP_PKEY_CTX_free(context: *mut EVP_PKEY_CTX);
    pub(crate) fn EVP_PKEY_CTX_set_params(
        context: *mut EVP_PKEY_CTX,
        params: *const OSSL_PARAM,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_CTX_get_params(
        context: *mut EVP_PKEY_CTX,
        params: *mut OSSL_PARAM,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_gettable_params(key: *const EVP_PKEY) -> *const OSSL_PARAM;
    pub(crate) fn EVP_PKEY_CTX_gettable_params(context: *const EVP_PKEY_CTX) -> *const OSSL_PARAM;
    pub(crate) fn EVP_PKEY_CTX_settable_params(context: *const EVP_PKEY_CTX) -> *const OSSL_PARAM;
    pub(crate) fn EVP_PKEY_CTX_ctrl_str(
        context: *mut EVP_PKEY_CTX,
        name: *const c_char,
        value: *const c_char,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_fromdata_init(context: *mut EVP_PKEY_CTX) -> c_int;
    pub(crate) fn EVP_PKEY_fromdata(
        context: *mut EVP_PKEY_CTX,
        key: *mut *mut EVP_PKEY,
        selection: c_int,
        params: *mut OSSL_PARAM,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_keygen_init(context: *mut EVP_PKEY_CTX) -> c_int;
    pub(crate) fn EVP_PKEY_generate(context: *mut EVP_PKEY_CTX, key: *mut *mut EVP_PKEY) -> c_int;
    pub(crate) fn EVP_PKEY_CTX_set_cb(
        context: *mut EVP_PKEY_CTX,
        callback: unsafe extern "C" fn(*mut EVP_PKEY_CTX) -> c_int,
    );
    pub(crate) fn EVP_PKEY_CTX_get_keygen_info(context: *mut EVP_PKEY_CTX, index: c_int) -> c_int;
    pub(crate) fn EVP_PKEY_CTX_set_app_data(context: *mut EVP_PKEY_CTX, data: *mut c_void);
    pub(crate) fn EVP_PKEY_CTX_get_app_data(context: *mut EVP_PKEY_CTX) -> *mut c_void;
    pub(crate) fn EVP_PKEY_check(context: *mut EVP_PKEY_CTX) -> c_int;
    pub(crate) fn EVP_PKEY_pairwise_check(context: *mut EVP_PKEY_CTX) -> c_int;
    pub(crate) fn EVP_PKEY_private_check(context: *mut EVP_PKEY_CTX) -> c_int;

    pub(crate) fn EVP_PKEY_sign_init_ex(
        context: *mut EVP_PKEY_CTX,
        params: *const OSSL_PARAM,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_sign(
        context: *mut EVP_PKEY_CTX,
        sig: *mut u8,
        sig_len: *mut usize,
        tbs: *const u8,
        tbs_len: usize,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_verify_init_ex(
        context: *mut EVP_PKEY_CTX,
        params: *const OSSL_PARAM,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_verify(
        context: *mut EVP_PKEY_CTX,
        sig: *const u8,
        sig_len: usize,
        tbs: *const u8,
        tbs_len: usize,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_verify_recover_init_ex(
        context: *mut EVP_PKEY_CTX,
        params: *const OSSL_PARAM,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_verify_recover(
        context: *mut EVP_PKEY_CTX,
        out: *mut u8,
        out_len: *mut usize,
        sig: *const u8,
        sig_len: usize,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_encrypt_init_ex(
        context: *mut EVP_PKEY_CTX,
        params: *const OSSL_PARAM,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_encrypt(
        context: *mut EVP_PKEY_CTX,
        out: *mut u8,
        out_len: *mut usize,
        input: *const u8,
        input_len: usize,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_decrypt_init_ex(
        context: *mut EVP_PKEY_CTX,
        params: *const OSSL_PARAM,
    ) -> c_int;
    pub(crate) fn EVP_PKEY_decrypt(
        context: *mut EVP_PKEY_CTX,
        out: *mut u8,
        out_len: *mut usize,
        input: *const u8,
        input_len: usize,
    ) -> c_int;

    pub(crate) fn EVP_MD_CTX_new() -> *mut EVP_MD_CTX;
    pub(crate) fn EVP_MD_CTX_free(context: *mut EVP_MD_CTX);
    pub(crate) fn EVP_MD_CTX_copy_ex(out: *mut EVP_MD_CTX, from: *const EVP_MD_CTX) -> c_int;
    pub(crate) fn EVP_MD_CTX_get_pkey_ctx(context: *const EVP_MD_CTX) -> *mut EVP_PKEY_CTX;
    pub(crate) fn EVP_DigestSignInit_ex(
        context: *mut EVP_MD_CTX,
        operation: *mut *mut EVP_PKEY_CTX,
        digest: *const c_char,
        library: *mut OSSL_LIB_CTX,
        query: *const c_char,
        key: *mut EVP_PKEY,
        params: *const OSSL_PARAM,
    ) -> c_int;
    pub(crate) fn EVP_DigestSign(
        context: *mut EVP_MD_CTX,
        sig: *mut u8,
        sig_len: *mut usize,
        tbs: *const u8,
        tbs_len: usize,
    ) -> c_int;
    pub(crate) fn EVP_DigestSignUpdate(
        context: *mut EVP_MD_CTX,
        data: *const c_void,
        len: usize,
    ) -> c_int;
    pub(crate) fn EVP_DigestSignFinal(
        context: *mut EVP_MD_CTX,
        sig: *mut u8,
        sig_len: *mut usize,
    ) -> c_int;
    pub(crate) fn EVP_DigestVerifyInit_ex(
        context: *mut EVP_MD_CTX,
        operation: *mut *mut EVP_PKEY_CTX,
        digest: *const c_char,
        library: *mut OSSL_LIB_CTX,
        query: *const c_char,
        key: *mut EVP_PKEY,
        params: *const OSSL_PARAM,
    ) -> c_int;
    pub(crate) fn EVP_DigestVerify(
        context: *mut EVP_MD_CTX,
        sig: *const u8,
        sig_len: usize,
        tbs: *const u8,
        tbs_len: usize,
    ) -> c_int;

    pub(crate) fn ERR_get_error() -> c_ulong;
    pub(crate) fn ERR_error_string_n(error: c_ulong, buffer: *mut c_char, len: usize);
}

/// An integer to get.
pub(crate) fn unsigned(key: &CStr, value: &mut u64) -> OSSL_PARAM {
    param(key, 2, ptr::from_mut(value).cast(), size_of::<u64>())
}

/// An `int` to set or get.
pub(crate) fn int(key: &CStr, value: &mut c_int) -> OSSL_PARAM {
    param(key, 1, ptr::from_mut(value).cast(), size_of::<c_int>())
}

/// An `unsigned int` to set.
pub(crate) fn uint(key: &CStr, value: &mut c_uint) -> OSSL_PARAM {
    param(key, 2, ptr::from_mut(value).cast(), size_of::<c_uint>())
}

/// A string to set.
pub(crate) fn text(key: &CStr, value: &CStr) -> OSSL_PARAM {
    param(key, 4, value.as_ptr().cast_mut().cast(), value.to_bytes().len())
}

/// Bytes to set or get.
pub(crate) fn octets(key: &CStr, value: &mut [u8]) -> OSSL_PARAM {
    param(key, 5, value.as_mut_ptr().cast(), value.len())
}

/// A pointer to a string, to get.
pub(crate) fn text_pointer(key: &CStr, value: &mut *const c_char) -> OSSL_PARAM {
    param(key, 6, ptr::from_mut(value).cast(), 0)
}

/// An integer in native byte order.
pub(crate) fn number(key: &CStr, native: &mut [u8]) -> OSSL_PARAM {
    param(key, 2, native.as_mut_ptr().cast(), native.len())
}

/// Strings to set, with the end marker.
pub(crate) fn texts(params: &[(&CStr, &CStr)]) -> Vec<OSSL_PARAM> {
    params.iter().map(|(key, value)| text(key, value)).chain([END]).collect()
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
