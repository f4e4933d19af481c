//! The ABI between OpenSSL 3 and a provider, written by hand. It has the names of the C headers,
//! and only what this crate uses.
//!
//! Sources: `openssl/core.h` (structures, types of parameters), `openssl/core_dispatch.h` (ids and
//! functions) and `openssl/core_names.h` (keys). A unit test compares numbers and keys with the
//! headers of the installed OpenSSL. The ids are the same in 3.0 and 4.0; releases only add ids.
#![allow(non_camel_case_types, reason = "the names of the C headers")]
#![allow(missing_docs, reason = "each name is documented in provider-base(7) and its siblings")]

use core::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};
use core::ptr;

// --- core.h --------------------------------------------------------------------------------------

/// The core's opaque handle of a provider.
#[repr(C)]
#[derive(Debug)]
pub struct OSSL_CORE_HANDLE {
    opaque: [u8; 0],
}

/// A function by its number; a table ends with number 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OSSL_DISPATCH {
    pub function_id: c_int,
    /// `void (*)(void)`: cast to the type of the number before a call.
    pub function: *const (),
}

#[repr(C)]
pub(crate) struct OSSL_ITEM {
    pub(crate) id: c_uint,
    pub(crate) ptr: *const c_void,
}

#[repr(C)]
pub(crate) struct OSSL_ALGORITHM {
    pub(crate) algorithm_names: *const c_char,
    pub(crate) property_definition: *const c_char,
    pub(crate) implementation: *const OSSL_DISPATCH,
    pub(crate) algorithm_description: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct OSSL_PARAM {
    pub(crate) key: *const c_char,
    pub(crate) data_type: c_uint,
    pub(crate) data: *mut c_void,
    pub(crate) data_size: usize,
    pub(crate) return_size: usize,
}

pub(crate) const OSSL_PARAM_INTEGER: c_uint = 1;
pub(crate) const OSSL_PARAM_UNSIGNED_INTEGER: c_uint = 2;
pub(crate) const OSSL_PARAM_UTF8_STRING: c_uint = 4;
pub(crate) const OSSL_PARAM_OCTET_STRING: c_uint = 5;
pub(crate) const OSSL_PARAM_UTF8_PTR: c_uint = 6;
pub(crate) const OSSL_PARAM_OCTET_PTR: c_uint = 7;
/// `OSSL_PARAM_UNMODIFIED` of `params.h`: the value of `return_size` before it is set.
pub(crate) const OSSL_PARAM_UNMODIFIED: usize = usize::MAX;

pub(crate) type OSSL_CALLBACK =
    unsafe extern "C" fn(params: *const OSSL_PARAM, arg: *mut c_void) -> c_int;

/// `OSSL_provider_init_fn`: the function that a module exports, and that
/// `OSSL_PROVIDER_add_builtin` takes.
pub type OSSL_provider_init_fn = unsafe extern "C" fn(
    handle: *const OSSL_CORE_HANDLE,
    input: *const OSSL_DISPATCH,
    output: *mut *const OSSL_DISPATCH,
    provctx: *mut *mut c_void,
) -> c_int;

impl OSSL_DISPATCH {
    pub(crate) const END: Self = Self { function_id: 0, function: ptr::null() };
}

impl OSSL_PARAM {
    pub(crate) const END: Self = Self {
        key: ptr::null(),
        data_type: 0,
        data: ptr::null_mut(),
        data_size: 0,
        return_size: OSSL_PARAM_UNMODIFIED,
    };
}

// --- core_dispatch.h: what the core offers -------------------------------------------------------

pub(crate) const OSSL_FUNC_CORE_GET_PARAMS: c_int = 2;
pub(crate) const OSSL_FUNC_CORE_NEW_ERROR: c_int = 5;
pub(crate) const OSSL_FUNC_CORE_SET_ERROR_DEBUG: c_int = 6;
pub(crate) const OSSL_FUNC_CORE_VSET_ERROR: c_int = 7;

pub(crate) type OSSL_FUNC_core_get_params_fn =
    unsafe extern "C" fn(*const OSSL_CORE_HANDLE, *mut OSSL_PARAM) -> c_int;
pub(crate) type OSSL_FUNC_core_new_error_fn = unsafe extern "C" fn(*const OSSL_CORE_HANDLE);
pub(crate) type OSSL_FUNC_core_set_error_debug_fn =
    unsafe extern "C" fn(*const OSSL_CORE_HANDLE, *const c_char, c_int, *const c_char);
/// The last argument is a `va_list`, which x86-64 and ARM pass by address. The core does not use it
/// if the format is NULL or has no conversions.
pub(crate) type OSSL_FUNC_core_vset_error_fn =
    unsafe extern "C" fn(*const OSSL_CORE_HANDLE, u32, *const c_char, *mut c_void);

// --- core_dispatch.h: the provider's own table ---------------------------------------------------

pub(crate) const OSSL_FUNC_PROVIDER_TEARDOWN: c_int = 1024;
pub(crate) const OSSL_FUNC_PROVIDER_GETTABLE_PARAMS: c_int = 1025;
pub(crate) const OSSL_FUNC_PROVIDER_GET_PARAMS: c_int = 1026;
pub(crate) const OSSL_FUNC_PROVIDER_QUERY_OPERATION: c_int = 1027;
pub(crate) const OSSL_FUNC_PROVIDER_GET_REASON_STRINGS: c_int = 1029;
pub(crate) const OSSL_FUNC_PROVIDER_SELF_TEST: c_int = 1031;

pub(crate) const OSSL_OP_KEYMGMT: c_int = 10;
pub(crate) const OSSL_OP_SIGNATURE: c_int = 12;
pub(crate) const OSSL_OP_ASYM_CIPHER: c_int = 13;

pub(crate) type OSSL_FUNC_provider_teardown_fn = unsafe extern "C" fn(*mut c_void);
pub(crate) type OSSL_FUNC_provider_gettable_params_fn =
    unsafe extern "C" fn(*mut c_void) -> *const OSSL_PARAM;
pub(crate) type OSSL_FUNC_provider_get_params_fn =
    unsafe extern "C" fn(*mut c_void, *mut OSSL_PARAM) -> c_int;
pub(crate) type OSSL_FUNC_provider_query_operation_fn =
    unsafe extern "C" fn(*mut c_void, c_int, *mut c_int) -> *const OSSL_ALGORITHM;
pub(crate) type OSSL_FUNC_provider_get_reason_strings_fn =
    unsafe extern "C" fn(*mut c_void) -> *const OSSL_ITEM;
pub(crate) type OSSL_FUNC_provider_self_test_fn = unsafe extern "C" fn(*mut c_void) -> c_int;

// --- core_dispatch.h: key management -------------------------------------------------------------

pub(crate) const OSSL_FUNC_KEYMGMT_NEW: c_int = 1;
pub(crate) const OSSL_FUNC_KEYMGMT_GEN_INIT: c_int = 2;
pub(crate) const OSSL_FUNC_KEYMGMT_GEN_SET_PARAMS: c_int = 4;
pub(crate) const OSSL_FUNC_KEYMGMT_GEN_SETTABLE_PARAMS: c_int = 5;
pub(crate) const OSSL_FUNC_KEYMGMT_GEN: c_int = 6;
pub(crate) const OSSL_FUNC_KEYMGMT_GEN_CLEANUP: c_int = 7;
pub(crate) const OSSL_FUNC_KEYMGMT_FREE: c_int = 10;
pub(crate) const OSSL_FUNC_KEYMGMT_GET_PARAMS: c_int = 11;
pub(crate) const OSSL_FUNC_KEYMGMT_GETTABLE_PARAMS: c_int = 12;
pub(crate) const OSSL_FUNC_KEYMGMT_QUERY_OPERATION_NAME: c_int = 20;
pub(crate) const OSSL_FUNC_KEYMGMT_HAS: c_int = 21;
pub(crate) const OSSL_FUNC_KEYMGMT_VALIDATE: c_int = 22;
pub(crate) const OSSL_FUNC_KEYMGMT_MATCH: c_int = 23;
pub(crate) const OSSL_FUNC_KEYMGMT_IMPORT: c_int = 40;
pub(crate) const OSSL_FUNC_KEYMGMT_IMPORT_TYPES: c_int = 41;
pub(crate) const OSSL_FUNC_KEYMGMT_EXPORT: c_int = 42;
pub(crate) const OSSL_FUNC_KEYMGMT_EXPORT_TYPES: c_int = 43;
pub(crate) const OSSL_FUNC_KEYMGMT_DUP: c_int = 44;

pub(crate) const OSSL_KEYMGMT_SELECT_PRIVATE_KEY: c_int = 0x01;
pub(crate) const OSSL_KEYMGMT_SELECT_PUBLIC_KEY: c_int = 0x02;
pub(crate) const OSSL_KEYMGMT_SELECT_KEYPAIR: c_int =
    OSSL_KEYMGMT_SELECT_PRIVATE_KEY | OSSL_KEYMGMT_SELECT_PUBLIC_KEY;
pub(crate) const OSSL_KEYMGMT_VALIDATE_FULL_CHECK: c_int = 0;

pub(crate) type OSSL_FUNC_keymgmt_new_fn = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
pub(crate) type OSSL_FUNC_keymgmt_free_fn = unsafe extern "C" fn(*mut c_void);
pub(crate) type OSSL_FUNC_keymgmt_gen_init_fn =
    unsafe extern "C" fn(*mut c_void, c_int, *const OSSL_PARAM) -> *mut c_void;
pub(crate) type OSSL_FUNC_keymgmt_gen_set_params_fn =
    unsafe extern "C" fn(*mut c_void, *const OSSL_PARAM) -> c_int;
pub(crate) type OSSL_FUNC_keymgmt_gen_settable_params_fn =
    unsafe extern "C" fn(*mut c_void, *mut c_void) -> *const OSSL_PARAM;
pub(crate) type OSSL_FUNC_keymgmt_gen_fn =
    unsafe extern "C" fn(*mut c_void, Option<OSSL_CALLBACK>, *mut c_void) -> *mut c_void;
pub(crate) type OSSL_FUNC_keymgmt_gen_cleanup_fn = unsafe extern "C" fn(*mut c_void);
pub(crate) type OSSL_FUNC_keymgmt_get_params_fn =
    unsafe extern "C" fn(*mut c_void, *mut OSSL_PARAM) -> c_int;
pub(crate) type OSSL_FUNC_keymgmt_gettable_params_fn =
    unsafe extern "C" fn(*mut c_void) -> *const OSSL_PARAM;
pub(crate) type OSSL_FUNC_keymgmt_query_operation_name_fn =
    unsafe extern "C" fn(c_int) -> *const c_char;
pub(crate) type OSSL_FUNC_keymgmt_has_fn = unsafe extern "C" fn(*const c_void, c_int) -> c_int;
pub(crate) type OSSL_FUNC_keymgmt_validate_fn =
    unsafe extern "C" fn(*const c_void, c_int, c_int) -> c_int;
pub(crate) type OSSL_FUNC_keymgmt_match_fn =
    unsafe extern "C" fn(*const c_void, *const c_void, c_int) -> c_int;
pub(crate) type OSSL_FUNC_keymgmt_import_fn =
    unsafe extern "C" fn(*mut c_void, c_int, *const OSSL_PARAM) -> c_int;
pub(crate) type OSSL_FUNC_keymgmt_import_types_fn =
    unsafe extern "C" fn(c_int) -> *const OSSL_PARAM;
pub(crate) type OSSL_FUNC_keymgmt_export_fn =
    unsafe extern "C" fn(*mut c_void, c_int, Option<OSSL_CALLBACK>, *mut c_void) -> c_int;
pub(crate) type OSSL_FUNC_keymgmt_export_types_fn =
    unsafe extern "C" fn(c_int) -> *const OSSL_PARAM;
pub(crate) type OSSL_FUNC_keymgmt_dup_fn =
    unsafe extern "C" fn(*const c_void, c_int) -> *mut c_void;

// --- core_dispatch.h: signatures -----------------------------------------------------------------

pub(crate) const OSSL_FUNC_SIGNATURE_NEWCTX: c_int = 1;
pub(crate) const OSSL_FUNC_SIGNATURE_SIGN_INIT: c_int = 2;
pub(crate) const OSSL_FUNC_SIGNATURE_SIGN: c_int = 3;
pub(crate) const OSSL_FUNC_SIGNATURE_VERIFY_INIT: c_int = 4;
pub(crate) const OSSL_FUNC_SIGNATURE_VERIFY: c_int = 5;
pub(crate) const OSSL_FUNC_SIGNATURE_VERIFY_RECOVER_INIT: c_int = 6;
pub(crate) const OSSL_FUNC_SIGNATURE_VERIFY_RECOVER: c_int = 7;
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_SIGN_INIT: c_int = 8;
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_SIGN_UPDATE: c_int = 9;
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_SIGN_FINAL: c_int = 10;
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_SIGN: c_int = 11;
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_INIT: c_int = 12;
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_UPDATE: c_int = 13;
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_FINAL: c_int = 14;
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_VERIFY: c_int = 15;
pub(crate) const OSSL_FUNC_SIGNATURE_FREECTX: c_int = 16;
pub(crate) const OSSL_FUNC_SIGNATURE_DUPCTX: c_int = 17;
pub(crate) const OSSL_FUNC_SIGNATURE_GET_CTX_PARAMS: c_int = 18;
pub(crate) const OSSL_FUNC_SIGNATURE_GETTABLE_CTX_PARAMS: c_int = 19;
pub(crate) const OSSL_FUNC_SIGNATURE_SET_CTX_PARAMS: c_int = 20;
pub(crate) const OSSL_FUNC_SIGNATURE_SETTABLE_CTX_PARAMS: c_int = 21;

pub(crate) type OSSL_FUNC_signature_newctx_fn =
    unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
pub(crate) type OSSL_FUNC_signature_init_fn =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *const OSSL_PARAM) -> c_int;
/// sign, and `verify_recover`: out, its length, its size; in, its length.
pub(crate) type OSSL_FUNC_signature_sign_fn = unsafe extern "C" fn(
    *mut c_void,
    *mut c_uchar,
    *mut usize,
    usize,
    *const c_uchar,
    usize,
) -> c_int;
pub(crate) type OSSL_FUNC_signature_verify_fn =
    unsafe extern "C" fn(*mut c_void, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
pub(crate) type OSSL_FUNC_signature_digest_init_fn =
    unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_void, *const OSSL_PARAM) -> c_int;
/// `digest_sign_update`, `digest_verify_update` and `digest_verify_final`.
pub(crate) type OSSL_FUNC_signature_digest_input_fn =
    unsafe extern "C" fn(*mut c_void, *const c_uchar, usize) -> c_int;
pub(crate) type OSSL_FUNC_signature_digest_sign_final_fn =
    unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut usize, usize) -> c_int;
pub(crate) type OSSL_FUNC_freectx_fn = unsafe extern "C" fn(*mut c_void);
pub(crate) type OSSL_FUNC_dupctx_fn = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
pub(crate) type OSSL_FUNC_get_ctx_params_fn =
    unsafe extern "C" fn(*mut c_void, *mut OSSL_PARAM) -> c_int;
pub(crate) type OSSL_FUNC_set_ctx_params_fn =
    unsafe extern "C" fn(*mut c_void, *const OSSL_PARAM) -> c_int;
/// `gettable_ctx_params` and `settable_ctx_params`.
pub(crate) type OSSL_FUNC_ctx_keys_fn =
    unsafe extern "C" fn(*mut c_void, *mut c_void) -> *const OSSL_PARAM;

// --- core_dispatch.h: encryption and decryption --------------------------------------------------

pub(crate) const OSSL_FUNC_ASYM_CIPHER_NEWCTX: c_int = 1;
pub(crate) const OSSL_FUNC_ASYM_CIPHER_ENCRYPT_INIT: c_int = 2;
pub(crate) const OSSL_FUNC_ASYM_CIPHER_ENCRYPT: c_int = 3;
pub(crate) const OSSL_FUNC_ASYM_CIPHER_DECRYPT_INIT: c_int = 4;
pub(crate) const OSSL_FUNC_ASYM_CIPHER_DECRYPT: c_int = 5;
pub(crate) const OSSL_FUNC_ASYM_CIPHER_FREECTX: c_int = 6;
pub(crate) const OSSL_FUNC_ASYM_CIPHER_DUPCTX: c_int = 7;
pub(crate) const OSSL_FUNC_ASYM_CIPHER_GET_CTX_PARAMS: c_int = 8;
pub(crate) const OSSL_FUNC_ASYM_CIPHER_GETTABLE_CTX_PARAMS: c_int = 9;
pub(crate) const OSSL_FUNC_ASYM_CIPHER_SET_CTX_PARAMS: c_int = 10;
pub(crate) const OSSL_FUNC_ASYM_CIPHER_SETTABLE_CTX_PARAMS: c_int = 11;

pub(crate) type OSSL_FUNC_asym_cipher_newctx_fn = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
pub(crate) type OSSL_FUNC_asym_cipher_init_fn = OSSL_FUNC_signature_init_fn;
/// encrypt and decrypt: out, its length, its size; in, its length.
pub(crate) type OSSL_FUNC_asym_cipher_crypt_fn = OSSL_FUNC_signature_sign_fn;

// --- core_names.h --------------------------------------------------------------------------------

pub(crate) const OSSL_PROV_PARAM_NAME: &CStr = c"name";
pub(crate) const OSSL_PROV_PARAM_VERSION: &CStr = c"version";
pub(crate) const OSSL_PROV_PARAM_BUILDINFO: &CStr = c"buildinfo";
pub(crate) const OSSL_PROV_PARAM_STATUS: &CStr = c"status";
pub(crate) const OSSL_PKEY_PARAM_BITS: &CStr = c"bits";
pub(crate) const OSSL_PKEY_PARAM_MAX_SIZE: &CStr = c"max-size";
pub(crate) const OSSL_PKEY_PARAM_SECURITY_BITS: &CStr = c"security-bits";
pub(crate) const OSSL_PKEY_PARAM_DEFAULT_DIGEST: &CStr = c"default-digest";
pub(crate) const OSSL_PKEY_PARAM_PAD_MODE: &CStr = c"pad-mode";
pub(crate) const OSSL_PKEY_PARAM_DIGEST: &CStr = c"digest";
pub(crate) const OSSL_PKEY_PARAM_PROPERTIES: &CStr = c"properties";
pub(crate) const OSSL_PKEY_PARAM_MGF1_DIGEST: &CStr = c"mgf1-digest";
pub(crate) const OSSL_PKEY_PARAM_MGF1_PROPERTIES: &CStr = c"mgf1-properties";
pub(crate) const OSSL_PKEY_PARAM_RSA_N: &CStr = c"n";
pub(crate) const OSSL_PKEY_PARAM_RSA_E: &CStr = c"e";
pub(crate) const OSSL_PKEY_PARAM_RSA_D: &CStr = c"d";
pub(crate) const OSSL_PKEY_PARAM_RSA_FACTOR1: &CStr = c"rsa-factor1";
pub(crate) const OSSL_PKEY_PARAM_RSA_FACTOR2: &CStr = c"rsa-factor2";
pub(crate) const OSSL_PKEY_PARAM_RSA_FACTOR3: &CStr = c"rsa-factor3";
pub(crate) const OSSL_PKEY_PARAM_RSA_EXPONENT1: &CStr = c"rsa-exponent1";
pub(crate) const OSSL_PKEY_PARAM_RSA_EXPONENT2: &CStr = c"rsa-exponent2";
pub(crate) const OSSL_PKEY_PARAM_RSA_COEFFICIENT1: &CStr = c"rsa-coefficient1";
pub(crate) const OSSL_PKEY_PARAM_RSA_PRIMES: &CStr = c"primes";
pub(crate) const OSSL_GEN_PARAM_POTENTIAL: &CStr = c"potential";
pub(crate) const OSSL_GEN_PARAM_ITERATION: &CStr = c"iteration";
pub(crate) const OSSL_SIGNATURE_PARAM_ALGORITHM_ID: &CStr = c"algorithm-id";
pub(crate) const OSSL_SIGNATURE_PARAM_PSS_SALTLEN: &CStr = c"saltlen";
pub(crate) const OSSL_ASYM_CIPHER_PARAM_OAEP_DIGEST_PROPS: &CStr = c"digest-props";
pub(crate) const OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL: &CStr = c"oaep-label";
pub(crate) const OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION: &CStr = c"tls-client-version";
pub(crate) const OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION: &CStr = c"tls-negotiated-version";
/// Since 3.2: the headers of 3.0 lack it.
pub(crate) const OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION: &CStr = c"implicit-rejection";

#[cfg(test)]
mod tests;
