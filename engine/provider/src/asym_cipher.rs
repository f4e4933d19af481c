//! Encryption and decryption as libcrypto calls them: provider-asym_cipher(7). What
//! [`crate::context`] says of contexts holds here.

use core::ffi::{c_int, c_uchar, c_void};

use crate::abi::{
    OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION, OSSL_ASYM_CIPHER_PARAM_OAEP_DIGEST_PROPS,
    OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL, OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION,
    OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION, OSSL_DISPATCH, OSSL_PARAM, OSSL_PARAM_OCTET_PTR,
    OSSL_PARAM_OCTET_STRING, OSSL_PARAM_UNSIGNED_INTEGER, OSSL_PARAM_UTF8_STRING,
    OSSL_PKEY_PARAM_DIGEST, OSSL_PKEY_PARAM_MGF1_DIGEST, OSSL_PKEY_PARAM_MGF1_PROPERTIES,
    OSSL_PKEY_PARAM_PAD_MODE,
};
use crate::asym_cipher_context::AsymCipherContext;
use crate::context::{dupctx, freectx, get_ctx_params, init, newctx, set_ctx_params, transforms};
use crate::table::{Table, dispatch};

pub(crate) static FUNCTIONS: Table<[OSSL_DISPATCH; 12]> = dispatch! {
    OSSL_FUNC_ASYM_CIPHER_NEWCTX: OSSL_FUNC_asym_cipher_newctx_fn = newctx::<AsymCipherContext>;
    OSSL_FUNC_ASYM_CIPHER_FREECTX: OSSL_FUNC_freectx_fn = freectx::<AsymCipherContext>;
    OSSL_FUNC_ASYM_CIPHER_DUPCTX: OSSL_FUNC_dupctx_fn = dupctx::<AsymCipherContext>;
    OSSL_FUNC_ASYM_CIPHER_ENCRYPT_INIT: OSSL_FUNC_asym_cipher_init_fn =
        init::<AsymCipherContext, false>;
    OSSL_FUNC_ASYM_CIPHER_ENCRYPT: OSSL_FUNC_asym_cipher_crypt_fn = encrypt;
    OSSL_FUNC_ASYM_CIPHER_DECRYPT_INIT: OSSL_FUNC_asym_cipher_init_fn =
        init::<AsymCipherContext, true>;
    OSSL_FUNC_ASYM_CIPHER_DECRYPT: OSSL_FUNC_asym_cipher_crypt_fn = decrypt;
    OSSL_FUNC_ASYM_CIPHER_GET_CTX_PARAMS: OSSL_FUNC_get_ctx_params_fn =
        get_ctx_params::<AsymCipherContext>;
    OSSL_FUNC_ASYM_CIPHER_GETTABLE_CTX_PARAMS: OSSL_FUNC_ctx_keys_fn = gettable_ctx_params;
    OSSL_FUNC_ASYM_CIPHER_SET_CTX_PARAMS: OSSL_FUNC_set_ctx_params_fn =
        set_ctx_params::<AsymCipherContext>;
    OSSL_FUNC_ASYM_CIPHER_SETTABLE_CTX_PARAMS: OSSL_FUNC_ctx_keys_fn = settable_ctx_params;
};

static GETTABLE: Table<[OSSL_PARAM; 8]> = Table::of_keys([
    (OSSL_PKEY_PARAM_PAD_MODE, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_MGF1_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL, OSSL_PARAM_OCTET_PTR),
    (OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION, OSSL_PARAM_UNSIGNED_INTEGER),
    (c"", 0),
]);

/// Properties are taken and ignored: no digest of another provider is used.
static SETTABLE: Table<[OSSL_PARAM; 10]> = Table::of_keys([
    (OSSL_PKEY_PARAM_PAD_MODE, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_ASYM_CIPHER_PARAM_OAEP_DIGEST_PROPS, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_MGF1_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_MGF1_PROPERTIES, OSSL_PARAM_UTF8_STRING),
    (OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL, OSSL_PARAM_OCTET_STRING),
    (OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION, OSSL_PARAM_UNSIGNED_INTEGER),
    (c"", 0),
]);

transforms! {
    encrypt = AsymCipherContext::encrypt;
    decrypt = AsymCipherContext::decrypt;
}

unsafe extern "C" fn gettable_ctx_params(
    _ctx: *mut c_void,
    _provctx: *mut c_void,
) -> *const OSSL_PARAM {
    GETTABLE.first()
}

unsafe extern "C" fn settable_ctx_params(
    _ctx: *mut c_void,
    _provctx: *mut c_void,
) -> *const OSSL_PARAM {
    SETTABLE.first()
}
