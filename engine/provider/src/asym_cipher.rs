//! The entry points of encryption and decryption: provider-asym_cipher(7). [`crate::context`]
//! states what libcrypto guarantees for contexts.

use core::ffi::{c_int, c_uchar, c_void};

use crate::abi::OSSL_DISPATCH;
use crate::asym_cipher_context::AsymCipherContext;
use crate::context::{
    dupctx, freectx, get_ctx_params, gettable_ctx_params, init, newctx, set_ctx_params,
    settable_ctx_params, transforms,
};
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
    OSSL_FUNC_ASYM_CIPHER_GETTABLE_CTX_PARAMS: OSSL_FUNC_ctx_keys_fn =
        gettable_ctx_params::<AsymCipherContext>;
    OSSL_FUNC_ASYM_CIPHER_SET_CTX_PARAMS: OSSL_FUNC_set_ctx_params_fn =
        set_ctx_params::<AsymCipherContext>;
    OSSL_FUNC_ASYM_CIPHER_SETTABLE_CTX_PARAMS: OSSL_FUNC_ctx_keys_fn =
        settable_ctx_params::<AsymCipherContext>;
};

transforms! {
    encrypt = AsymCipherContext::encrypt;
    decrypt = AsymCipherContext::decrypt;
}
