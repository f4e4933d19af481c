//! The ABI between OpenSSL 3 and a provider, written by hand: only the part that this crate uses.
//! Structures and constants have the names of the C headers.
//!
//! Sources: `openssl/core.h` (structures, types of parameters), `openssl/core_dispatch.h` (ids and
//! functions) and `openssl/core_names.h` (keys). A unit test compares numbers and keys with the
//! headers of the installed OpenSSL. The ids are the same in 3.0 and 4.0; releases only add ids.
#![allow(non_camel_case_types, reason = "the names of the C headers")]
#![allow(missing_docs, reason = "each name is documented in provider-base(7) and its siblings")]

use core::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};
use core::marker::PhantomData;
use core::ptr;

// --- core.h --------------------------------------------------------------------------------------

/// The core's opaque handle of a provider.
#[repr(C)]
#[derive(Debug)]
pub struct OSSL_CORE_HANDLE {
    opaque: [u8; 0],
}

/// The core's opaque stream.
#[repr(C)]
pub(crate) struct OSSL_CORE_BIO {
    opaque: [u8; 0],
}

/// A function and its number. A row with number 0 ends a table.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OSSL_DISPATCH {
    pub function_id: c_int,
    /// A `void (*)(void)`. The caller casts it to the type that belongs to the number.
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

impl OSSL_ALGORITHM {
    pub(crate) const END: Self = Self {
        algorithm_names: ptr::null(),
        property_definition: ptr::null(),
        implementation: ptr::null(),
        algorithm_description: ptr::null(),
    };
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

// --- core_dispatch.h: types of functions ---------------------------------------------------------

pub(crate) type CoreGetParams =
    unsafe extern "C" fn(*const OSSL_CORE_HANDLE, *mut OSSL_PARAM) -> c_int;
pub(crate) type CoreNewError = unsafe extern "C" fn(*const OSSL_CORE_HANDLE);
pub(crate) type CoreSetErrorDebug =
    unsafe extern "C" fn(*const OSSL_CORE_HANDLE, *const c_char, c_int, *const c_char);
/// The last argument is a `va_list`, which x86-64 and ARM pass by address. The core does not use it
/// if the format is NULL or has no conversions.
pub(crate) type CoreVsetError =
    unsafe extern "C" fn(*const OSSL_CORE_HANDLE, u32, *const c_char, *mut c_void);

pub(crate) type CoreGetLibctx = unsafe extern "C" fn(*const OSSL_CORE_HANDLE) -> *mut c_void;
pub(crate) type CoreMark = unsafe extern "C" fn(*const OSSL_CORE_HANDLE) -> c_int;

/// The arguments after the stream are the buffer and its size; the result is the number of bytes
/// before the NUL.
pub(crate) type BioGets = unsafe extern "C" fn(*mut OSSL_CORE_BIO, *mut c_char, c_int) -> c_int;

type New = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type NewSignature = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type GetParams = unsafe extern "C" fn(*mut c_void, *mut OSSL_PARAM) -> c_int;
type SetParams = unsafe extern "C" fn(*mut c_void, *const OSSL_PARAM) -> c_int;
type Keys = unsafe extern "C" fn(*mut c_void) -> *const OSSL_PARAM;
type KeysOfContext = unsafe extern "C" fn(*mut c_void, *mut c_void) -> *const OSSL_PARAM;
type KeysOfSelection = unsafe extern "C" fn(c_int) -> *const OSSL_PARAM;

type QueryOperation = unsafe extern "C" fn(*mut c_void, c_int, *mut c_int) -> *const OSSL_ALGORITHM;
type ReasonStrings = unsafe extern "C" fn(*mut c_void) -> *const OSSL_ITEM;
type SelfTest = unsafe extern "C" fn(*mut c_void) -> c_int;
type Capabilities =
    unsafe extern "C" fn(*mut c_void, *const c_char, Option<OSSL_CALLBACK>, *mut c_void) -> c_int;

type GenInit = unsafe extern "C" fn(*mut c_void, c_int, *const OSSL_PARAM) -> *mut c_void;
type Generate =
    unsafe extern "C" fn(*mut c_void, Option<OSSL_CALLBACK>, *mut c_void) -> *mut c_void;
type OperationName = unsafe extern "C" fn(c_int) -> *const c_char;
type Has = unsafe extern "C" fn(*const c_void, c_int) -> c_int;
type Validate = unsafe extern "C" fn(*const c_void, c_int, c_int) -> c_int;
type Match = unsafe extern "C" fn(*const c_void, *const c_void, c_int) -> c_int;
type Import = unsafe extern "C" fn(*mut c_void, c_int, *const OSSL_PARAM) -> c_int;
type Export = unsafe extern "C" fn(*mut c_void, c_int, Option<OSSL_CALLBACK>, *mut c_void) -> c_int;
type Duplicate = unsafe extern "C" fn(*const c_void, c_int) -> *mut c_void;

type Load = unsafe extern "C" fn(*const c_void, usize) -> *mut c_void;

type DoesSelection = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
/// The last two arguments are a callback for passphrases, which is not used, and its argument.
type Decode = unsafe extern "C" fn(
    *mut c_void,
    *mut OSSL_CORE_BIO,
    c_int,
    Option<OSSL_CALLBACK>,
    *mut c_void,
    *const c_void,
    *mut c_void,
) -> c_int;

type SetPeer = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type Init = unsafe extern "C" fn(*mut c_void, *mut c_void, *const OSSL_PARAM) -> c_int;
/// The arguments after the context are the output buffer, the length of the output, the size of the
/// buffer, the input and the length of the input.
type Transform = unsafe extern "C" fn(
    *mut c_void,
    *mut c_uchar,
    *mut usize,
    usize,
    *const c_uchar,
    usize,
) -> c_int;
type Verify =
    unsafe extern "C" fn(*mut c_void, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
type DigestInit =
    unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_void, *const OSSL_PARAM) -> c_int;
type Input = unsafe extern "C" fn(*mut c_void, *const c_uchar, usize) -> c_int;
type Output = unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut usize, usize) -> c_int;
/// The arguments after the context are the ciphertext and its length, the secret and its length.
type Encapsulate =
    unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut usize, *mut c_uchar, *mut usize) -> c_int;
/// The arguments after the context are the secret and its length, the ciphertext and its length.
type Decapsulate =
    unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;

// --- core_dispatch.h: numbers of functions -------------------------------------------------------

/// The number of a function in a table, with the function's type.
pub(crate) struct Id<F> {
    pub(crate) number: c_int,
    of_type: PhantomData<F>,
}

impl<F> Id<F> {
    const fn new(number: c_int) -> Self {
        Self { number, of_type: PhantomData }
    }

    /// Returns the function, which must have the type of this number.
    pub(crate) const fn checked(&self, function: F) -> F {
        function
    }
}

pub(crate) const OSSL_FUNC_CORE_GET_PARAMS: Id<CoreGetParams> = Id::new(2);
pub(crate) const OSSL_FUNC_CORE_GET_LIBCTX: Id<CoreGetLibctx> = Id::new(4);
pub(crate) const OSSL_FUNC_CORE_NEW_ERROR: Id<CoreNewError> = Id::new(5);
pub(crate) const OSSL_FUNC_CORE_SET_ERROR_DEBUG: Id<CoreSetErrorDebug> = Id::new(6);
pub(crate) const OSSL_FUNC_CORE_VSET_ERROR: Id<CoreVsetError> = Id::new(7);
pub(crate) const OSSL_FUNC_CORE_SET_ERROR_MARK: Id<CoreMark> = Id::new(8);
pub(crate) const OSSL_FUNC_CORE_POP_ERROR_TO_MARK: Id<CoreMark> = Id::new(10);
pub(crate) const OSSL_FUNC_BIO_GETS: Id<BioGets> = Id::new(49);

pub(crate) const OSSL_FUNC_PROVIDER_TEARDOWN: Id<Free> = Id::new(1024);
pub(crate) const OSSL_FUNC_PROVIDER_GETTABLE_PARAMS: Id<Keys> = Id::new(1025);
pub(crate) const OSSL_FUNC_PROVIDER_GET_PARAMS: Id<GetParams> = Id::new(1026);
pub(crate) const OSSL_FUNC_PROVIDER_QUERY_OPERATION: Id<QueryOperation> = Id::new(1027);
pub(crate) const OSSL_FUNC_PROVIDER_GET_REASON_STRINGS: Id<ReasonStrings> = Id::new(1029);
pub(crate) const OSSL_FUNC_PROVIDER_GET_CAPABILITIES: Id<Capabilities> = Id::new(1030);
pub(crate) const OSSL_FUNC_PROVIDER_SELF_TEST: Id<SelfTest> = Id::new(1031);

pub(crate) const OSSL_FUNC_KEYMGMT_NEW: Id<New> = Id::new(1);
pub(crate) const OSSL_FUNC_KEYMGMT_GEN_INIT: Id<GenInit> = Id::new(2);
pub(crate) const OSSL_FUNC_KEYMGMT_GEN_SET_PARAMS: Id<SetParams> = Id::new(4);
pub(crate) const OSSL_FUNC_KEYMGMT_GEN_SETTABLE_PARAMS: Id<KeysOfContext> = Id::new(5);
pub(crate) const OSSL_FUNC_KEYMGMT_GEN: Id<Generate> = Id::new(6);
pub(crate) const OSSL_FUNC_KEYMGMT_GEN_CLEANUP: Id<Free> = Id::new(7);
pub(crate) const OSSL_FUNC_KEYMGMT_LOAD: Id<Load> = Id::new(8);
pub(crate) const OSSL_FUNC_KEYMGMT_FREE: Id<Free> = Id::new(10);
pub(crate) const OSSL_FUNC_KEYMGMT_GET_PARAMS: Id<GetParams> = Id::new(11);
pub(crate) const OSSL_FUNC_KEYMGMT_GETTABLE_PARAMS: Id<Keys> = Id::new(12);
pub(crate) const OSSL_FUNC_KEYMGMT_SET_PARAMS: Id<SetParams> = Id::new(13);
pub(crate) const OSSL_FUNC_KEYMGMT_SETTABLE_PARAMS: Id<Keys> = Id::new(14);
pub(crate) const OSSL_FUNC_KEYMGMT_QUERY_OPERATION_NAME: Id<OperationName> = Id::new(20);
pub(crate) const OSSL_FUNC_KEYMGMT_HAS: Id<Has> = Id::new(21);
pub(crate) const OSSL_FUNC_KEYMGMT_VALIDATE: Id<Validate> = Id::new(22);
pub(crate) const OSSL_FUNC_KEYMGMT_MATCH: Id<Match> = Id::new(23);
pub(crate) const OSSL_FUNC_KEYMGMT_IMPORT: Id<Import> = Id::new(40);
pub(crate) const OSSL_FUNC_KEYMGMT_IMPORT_TYPES: Id<KeysOfSelection> = Id::new(41);
pub(crate) const OSSL_FUNC_KEYMGMT_EXPORT: Id<Export> = Id::new(42);
pub(crate) const OSSL_FUNC_KEYMGMT_EXPORT_TYPES: Id<KeysOfSelection> = Id::new(43);
pub(crate) const OSSL_FUNC_KEYMGMT_DUP: Id<Duplicate> = Id::new(44);

pub(crate) const OSSL_FUNC_KEYEXCH_NEWCTX: Id<New> = Id::new(1);
pub(crate) const OSSL_FUNC_KEYEXCH_INIT: Id<Init> = Id::new(2);
pub(crate) const OSSL_FUNC_KEYEXCH_DERIVE: Id<Output> = Id::new(3);
pub(crate) const OSSL_FUNC_KEYEXCH_SET_PEER: Id<SetPeer> = Id::new(4);
pub(crate) const OSSL_FUNC_KEYEXCH_FREECTX: Id<Free> = Id::new(5);
pub(crate) const OSSL_FUNC_KEYEXCH_DUPCTX: Id<New> = Id::new(6);

pub(crate) const OSSL_FUNC_SIGNATURE_NEWCTX: Id<NewSignature> = Id::new(1);
pub(crate) const OSSL_FUNC_SIGNATURE_SIGN_INIT: Id<Init> = Id::new(2);
pub(crate) const OSSL_FUNC_SIGNATURE_SIGN: Id<Transform> = Id::new(3);
pub(crate) const OSSL_FUNC_SIGNATURE_VERIFY_INIT: Id<Init> = Id::new(4);
pub(crate) const OSSL_FUNC_SIGNATURE_VERIFY: Id<Verify> = Id::new(5);
pub(crate) const OSSL_FUNC_SIGNATURE_VERIFY_RECOVER_INIT: Id<Init> = Id::new(6);
pub(crate) const OSSL_FUNC_SIGNATURE_VERIFY_RECOVER: Id<Transform> = Id::new(7);
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_SIGN_INIT: Id<DigestInit> = Id::new(8);
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_SIGN_UPDATE: Id<Input> = Id::new(9);
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_SIGN_FINAL: Id<Output> = Id::new(10);
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_SIGN: Id<Transform> = Id::new(11);
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_INIT: Id<DigestInit> = Id::new(12);
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_UPDATE: Id<Input> = Id::new(13);
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_FINAL: Id<Input> = Id::new(14);
pub(crate) const OSSL_FUNC_SIGNATURE_DIGEST_VERIFY: Id<Verify> = Id::new(15);
pub(crate) const OSSL_FUNC_SIGNATURE_FREECTX: Id<Free> = Id::new(16);
pub(crate) const OSSL_FUNC_SIGNATURE_DUPCTX: Id<New> = Id::new(17);
pub(crate) const OSSL_FUNC_SIGNATURE_GET_CTX_PARAMS: Id<GetParams> = Id::new(18);
pub(crate) const OSSL_FUNC_SIGNATURE_GETTABLE_CTX_PARAMS: Id<KeysOfContext> = Id::new(19);
pub(crate) const OSSL_FUNC_SIGNATURE_SET_CTX_PARAMS: Id<SetParams> = Id::new(20);
pub(crate) const OSSL_FUNC_SIGNATURE_SETTABLE_CTX_PARAMS: Id<KeysOfContext> = Id::new(21);

pub(crate) const OSSL_FUNC_ASYM_CIPHER_NEWCTX: Id<New> = Id::new(1);
pub(crate) const OSSL_FUNC_ASYM_CIPHER_ENCRYPT_INIT: Id<Init> = Id::new(2);
pub(crate) const OSSL_FUNC_ASYM_CIPHER_ENCRYPT: Id<Transform> = Id::new(3);
pub(crate) const OSSL_FUNC_ASYM_CIPHER_DECRYPT_INIT: Id<Init> = Id::new(4);
pub(crate) const OSSL_FUNC_ASYM_CIPHER_DECRYPT: Id<Transform> = Id::new(5);
pub(crate) const OSSL_FUNC_ASYM_CIPHER_FREECTX: Id<Free> = Id::new(6);
pub(crate) const OSSL_FUNC_ASYM_CIPHER_DUPCTX: Id<New> = Id::new(7);
pub(crate) const OSSL_FUNC_ASYM_CIPHER_GET_CTX_PARAMS: Id<GetParams> = Id::new(8);
pub(crate) const OSSL_FUNC_ASYM_CIPHER_GETTABLE_CTX_PARAMS: Id<KeysOfContext> = Id::new(9);
pub(crate) const OSSL_FUNC_ASYM_CIPHER_SET_CTX_PARAMS: Id<SetParams> = Id::new(10);
pub(crate) const OSSL_FUNC_ASYM_CIPHER_SETTABLE_CTX_PARAMS: Id<KeysOfContext> = Id::new(11);

pub(crate) const OSSL_FUNC_KEM_NEWCTX: Id<New> = Id::new(1);
pub(crate) const OSSL_FUNC_KEM_ENCAPSULATE_INIT: Id<Init> = Id::new(2);
pub(crate) const OSSL_FUNC_KEM_ENCAPSULATE: Id<Encapsulate> = Id::new(3);
pub(crate) const OSSL_FUNC_KEM_DECAPSULATE_INIT: Id<Init> = Id::new(4);
pub(crate) const OSSL_FUNC_KEM_DECAPSULATE: Id<Decapsulate> = Id::new(5);
pub(crate) const OSSL_FUNC_KEM_FREECTX: Id<Free> = Id::new(6);
pub(crate) const OSSL_FUNC_KEM_DUPCTX: Id<New> = Id::new(7);
pub(crate) const OSSL_FUNC_KEM_SET_CTX_PARAMS: Id<SetParams> = Id::new(10);
pub(crate) const OSSL_FUNC_KEM_SETTABLE_CTX_PARAMS: Id<KeysOfContext> = Id::new(11);

pub(crate) const OSSL_FUNC_DECODER_NEWCTX: Id<New> = Id::new(1);
pub(crate) const OSSL_FUNC_DECODER_FREECTX: Id<Free> = Id::new(2);
pub(crate) const OSSL_FUNC_DECODER_DOES_SELECTION: Id<DoesSelection> = Id::new(10);
pub(crate) const OSSL_FUNC_DECODER_DECODE: Id<Decode> = Id::new(11);

pub(crate) const OSSL_OP_KEYMGMT: c_int = 10;
pub(crate) const OSSL_OP_KEYEXCH: c_int = 11;
pub(crate) const OSSL_OP_SIGNATURE: c_int = 12;
pub(crate) const OSSL_OP_ASYM_CIPHER: c_int = 13;
pub(crate) const OSSL_OP_KEM: c_int = 14;
pub(crate) const OSSL_OP_DECODER: c_int = 21;
pub(crate) const OSSL_KEYMGMT_SELECT_PRIVATE_KEY: c_int = 0x01;
pub(crate) const OSSL_KEYMGMT_SELECT_PUBLIC_KEY: c_int = 0x02;
pub(crate) const OSSL_KEYMGMT_SELECT_KEYPAIR: c_int =
    OSSL_KEYMGMT_SELECT_PRIVATE_KEY | OSSL_KEYMGMT_SELECT_PUBLIC_KEY;
pub(crate) const OSSL_KEYMGMT_VALIDATE_FULL_CHECK: c_int = 0;

// --- core_names.h --------------------------------------------------------------------------------

/// Of `core_object.h`.
pub(crate) const OSSL_OBJECT_PKEY: c_int = 2;
pub(crate) const OSSL_OBJECT_PARAM_TYPE: &CStr = c"type";
pub(crate) const OSSL_OBJECT_PARAM_DATA_TYPE: &CStr = c"data-type";
pub(crate) const OSSL_OBJECT_PARAM_REFERENCE: &CStr = c"reference";
pub(crate) const OSSL_PROV_PARAM_NAME: &CStr = c"name";
pub(crate) const OSSL_PROV_PARAM_VERSION: &CStr = c"version";
pub(crate) const OSSL_PROV_PARAM_BUILDINFO: &CStr = c"buildinfo";
pub(crate) const OSSL_PROV_PARAM_STATUS: &CStr = c"status";
pub(crate) const OSSL_PKEY_PARAM_BITS: &CStr = c"bits";
pub(crate) const OSSL_PKEY_PARAM_MAX_SIZE: &CStr = c"max-size";
pub(crate) const OSSL_PKEY_PARAM_SECURITY_BITS: &CStr = c"security-bits";
/// Since 3.6: the headers of 3.0 lack it.
pub(crate) const OSSL_PKEY_PARAM_SECURITY_CATEGORY: &CStr = c"security-category";
pub(crate) const OSSL_PKEY_PARAM_DEFAULT_DIGEST: &CStr = c"default-digest";
pub(crate) const OSSL_PKEY_PARAM_PAD_MODE: &CStr = c"pad-mode";
pub(crate) const OSSL_PKEY_PARAM_DIGEST: &CStr = c"digest";
pub(crate) const OSSL_PKEY_PARAM_PROPERTIES: &CStr = c"properties";
pub(crate) const OSSL_PKEY_PARAM_MGF1_DIGEST: &CStr = c"mgf1-digest";
pub(crate) const OSSL_PKEY_PARAM_MGF1_PROPERTIES: &CStr = c"mgf1-properties";
pub(crate) const OSSL_PKEY_PARAM_GROUP_NAME: &CStr = c"group";
pub(crate) const OSSL_PKEY_PARAM_PUB_KEY: &CStr = c"pub";
pub(crate) const OSSL_PKEY_PARAM_PRIV_KEY: &CStr = c"priv";
pub(crate) const OSSL_PKEY_PARAM_EC_ENCODING: &CStr = c"encoding";
pub(crate) const OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY: &CStr = c"encoded-pub-key";
/// Since 3.2: the headers of 3.0 lack it.
pub(crate) const OSSL_PKEY_PARAM_DHKEM_IKM: &CStr = c"dhkem-ikm";
/// Since 3.5: the headers of 3.0 lack it.
pub(crate) const OSSL_PKEY_PARAM_ML_KEM_SEED: &CStr = c"seed";
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
pub(crate) const OSSL_SIGNATURE_PARAM_ALGORITHM_ID: &CStr = c"algorithm-id";
pub(crate) const OSSL_SIGNATURE_PARAM_DIGEST_SIZE: &CStr = c"digest-size";
/// Since 3.2: the headers of 3.0 lack it.
pub(crate) const OSSL_SIGNATURE_PARAM_NONCE_TYPE: &CStr = c"nonce-type";
pub(crate) const OSSL_SIGNATURE_PARAM_PSS_SALTLEN: &CStr = c"saltlen";
pub(crate) const OSSL_ASYM_CIPHER_PARAM_OAEP_DIGEST_PROPS: &CStr = c"digest-props";
pub(crate) const OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL: &CStr = c"oaep-label";
pub(crate) const OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION: &CStr = c"tls-client-version";
pub(crate) const OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION: &CStr = c"tls-negotiated-version";
/// Since 3.2: the headers of 3.0 lack it.
pub(crate) const OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION: &CStr = c"implicit-rejection";
/// Since 3.2: the headers of 3.0 lack it.
pub(crate) const OSSL_KEM_PARAM_IKME: &CStr = c"ikme";
pub(crate) const OSSL_CAPABILITY_TLS_GROUP_NAME: &CStr = c"tls-group-name";
pub(crate) const OSSL_CAPABILITY_TLS_GROUP_NAME_INTERNAL: &CStr = c"tls-group-name-internal";
pub(crate) const OSSL_CAPABILITY_TLS_GROUP_ALG: &CStr = c"tls-group-alg";
pub(crate) const OSSL_CAPABILITY_TLS_GROUP_ID: &CStr = c"tls-group-id";
pub(crate) const OSSL_CAPABILITY_TLS_GROUP_SECURITY_BITS: &CStr = c"tls-group-sec-bits";
pub(crate) const OSSL_CAPABILITY_TLS_GROUP_IS_KEM: &CStr = c"tls-group-is-kem";
pub(crate) const OSSL_CAPABILITY_TLS_GROUP_MIN_TLS: &CStr = c"tls-min-tls";
pub(crate) const OSSL_CAPABILITY_TLS_GROUP_MAX_TLS: &CStr = c"tls-max-tls";
pub(crate) const OSSL_CAPABILITY_TLS_GROUP_MIN_DTLS: &CStr = c"tls-min-dtls";
pub(crate) const OSSL_CAPABILITY_TLS_GROUP_MAX_DTLS: &CStr = c"tls-max-dtls";

#[cfg(test)]
mod tests;
