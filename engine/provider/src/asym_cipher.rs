//! The entry points of encryption and decryption: provider-asym_cipher(7). [`crate::context`]
//! states what libcrypto guarantees for contexts.

use core::ffi::{c_int, c_uchar, c_void};

use crate::abi::OSSL_DISPATCH;
use crate::asym_cipher_context::AsymCipherContext;
use crate::context::{
    dupctx, get_ctx_params, gettable_ctx_params, init, newctx, set_ctx_params, settable_ctx_params,
    transforms,
};
use crate::handle;
use crate::table::{Table, dispatch};

pub(crate) static FUNCTIONS: Table<[OSSL_DISPATCH; 12]> = dispatch! {
    OSSL_FUNC_ASYM_CIPHER_NEWCTX = newctx::<AsymCipherContext>;
    OSSL_FUNC_ASYM_CIPHER_FREECTX = handle::free::<AsymCipherContext>;
    OSSL_FUNC_ASYM_CIPHER_DUPCTX = dupctx::<AsymCipherContext>;
    OSSL_FUNC_ASYM_CIPHER_ENCRYPT_INIT = init::<AsymCipherContext, false>;
    OSSL_FUNC_ASYM_CIPHER_ENCRYPT = encrypt;
    OSSL_FUNC_ASYM_CIPHER_DECRYPT_INIT = init::<AsymCipherContext, true>;
    OSSL_FUNC_ASYM_CIPHER_DECRYPT = decrypt;
    OSSL_FUNC_ASYM_CIPHER_GET_CTX_PARAMS = get_ctx_params::<AsymCipherContext>;
    OSSL_FUNC_ASYM_CIPHER_GETTABLE_CTX_PARAMS = gettable_ctx_params::<AsymCipherContext>;
    OSSL_FUNC_ASYM_CIPHER_SET_CTX_PARAMS = set_ctx_params::<AsymCipherContext>;
    OSSL_FUNC_ASYM_CIPHER_SETTABLE_CTX_PARAMS = settable_ctx_params::<AsymCipherContext>;
};

transforms! {
    encrypt = AsymCipherContext::encrypt;
    decrypt = AsymCipherContext::decrypt;
}
