//! The entry points of key management: provider-keymgmt(7). Keys are generated in
//! [`crate::generation`].

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr;
use std::sync::Arc;

use crate::abi::{
    OSSL_CALLBACK, OSSL_DISPATCH, OSSL_KEYMGMT_SELECT_KEYPAIR, OSSL_KEYMGMT_SELECT_PRIVATE_KEY,
    OSSL_KEYMGMT_SELECT_PUBLIC_KEY, OSSL_KEYMGMT_VALIDATE_FULL_CHECK, OSSL_PARAM,
    OSSL_PARAM_INTEGER, OSSL_PARAM_UNSIGNED_INTEGER, OSSL_PARAM_UTF8_STRING, OSSL_PKEY_PARAM_BITS,
    OSSL_PKEY_PARAM_DEFAULT_DIGEST, OSSL_PKEY_PARAM_MAX_SIZE, OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
    OSSL_PKEY_PARAM_RSA_D, OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_EXPONENT1,
    OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PKEY_PARAM_RSA_FACTOR1, OSSL_PKEY_PARAM_RSA_FACTOR2,
    OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_SECURITY_BITS,
};
use crate::boundary::entry_object;
use crate::generation::{gen_cleanup, gen_init, gen_set_params, gen_settable_params, generate};
use crate::handle;
use crate::key_slot::KeySlot;
use crate::params::{Answers, Params};
use crate::provider::{Provider, entry};
use crate::reason::Reason;
use crate::table::{Table, dispatch};

pub(crate) static FUNCTIONS: Table<[OSSL_DISPATCH; 19]> = dispatch! {
    OSSL_FUNC_KEYMGMT_NEW: OSSL_FUNC_keymgmt_new_fn = new;
    OSSL_FUNC_KEYMGMT_FREE: OSSL_FUNC_keymgmt_free_fn = free;
    OSSL_FUNC_KEYMGMT_GEN_INIT: OSSL_FUNC_keymgmt_gen_init_fn = gen_init;
    OSSL_FUNC_KEYMGMT_GEN_SET_PARAMS: OSSL_FUNC_keymgmt_gen_set_params_fn = gen_set_params;
    OSSL_FUNC_KEYMGMT_GEN_SETTABLE_PARAMS: OSSL_FUNC_keymgmt_gen_settable_params_fn =
        gen_settable_params;
    OSSL_FUNC_KEYMGMT_GEN: OSSL_FUNC_keymgmt_gen_fn = generate;
    OSSL_FUNC_KEYMGMT_GEN_CLEANUP: OSSL_FUNC_keymgmt_gen_cleanup_fn = gen_cleanup;
    OSSL_FUNC_KEYMGMT_DUP: OSSL_FUNC_keymgmt_dup_fn = dup;
    OSSL_FUNC_KEYMGMT_HAS: OSSL_FUNC_keymgmt_has_fn = has;
    OSSL_FUNC_KEYMGMT_MATCH: OSSL_FUNC_keymgmt_match_fn = matches;
    OSSL_FUNC_KEYMGMT_VALIDATE: OSSL_FUNC_keymgmt_validate_fn = validate;
    OSSL_FUNC_KEYMGMT_IMPORT: OSSL_FUNC_keymgmt_import_fn = import;
    OSSL_FUNC_KEYMGMT_IMPORT_TYPES: OSSL_FUNC_keymgmt_import_types_fn = types;
    OSSL_FUNC_KEYMGMT_EXPORT: OSSL_FUNC_keymgmt_export_fn = export;
    OSSL_FUNC_KEYMGMT_EXPORT_TYPES: OSSL_FUNC_keymgmt_export_types_fn = types;
    OSSL_FUNC_KEYMGMT_GET_PARAMS: OSSL_FUNC_keymgmt_get_params_fn = get_params;
    OSSL_FUNC_KEYMGMT_GETTABLE_PARAMS: OSSL_FUNC_keymgmt_gettable_params_fn = gettable_params;
    OSSL_FUNC_KEYMGMT_QUERY_OPERATION_NAME: OSSL_FUNC_keymgmt_query_operation_name_fn =
        query_operation_name;
};

type Parameter = (&'static CStr, c_uint);

const PUBLIC: [Parameter; 2] = [
    (OSSL_PKEY_PARAM_RSA_N, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_E, OSSL_PARAM_UNSIGNED_INTEGER),
];

const SECRET: [Parameter; 6] = [
    (OSSL_PKEY_PARAM_RSA_D, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_FACTOR1, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_FACTOR2, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_EXPONENT1, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_COEFFICIENT1, OSSL_PARAM_UNSIGNED_INTEGER),
];

const DESCRIPTION: [Parameter; 4] = [
    (OSSL_PKEY_PARAM_BITS, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_SECURITY_BITS, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_MAX_SIZE, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_DEFAULT_DIGEST, OSSL_PARAM_UTF8_STRING),
];

static PUBLIC_TYPES: Table<[OSSL_PARAM; 3]> = Table::of_keys(joined(&[&PUBLIC]));
static PRIVATE_TYPES: Table<[OSSL_PARAM; 9]> = Table::of_keys(joined(&[&PUBLIC, &SECRET]));
static GETTABLE: Table<[OSSL_PARAM; 13]> =
    Table::of_keys(joined(&[&DESCRIPTION, &PUBLIC, &SECRET]));

/// Concatenates groups of parameters and adds the empty one that ends a table.
const fn joined<const N: usize>(groups: &[&[Parameter]]) -> [Parameter; N] {
    let mut rows = [(c"", 0); N];
    let (mut filled, mut i) = (0, 0);
    while i < groups.len() {
        let mut j = 0;
        while j < groups[i].len() {
            rows[filled] = groups[i][j];
            filled += 1;
            j += 1;
        }
        i += 1;
    }
    assert!(filled + 1 == N, "the length is that of all parameters and the last one");
    rows
}

unsafe extern "C" fn new(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: libcrypto passes the pointer that `init` returned.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    entry_object(|| match provider {
        Some(provider) => handle::give(KeySlot { provider: Arc::clone(provider), key: None }),
        None => ptr::null_mut(),
    })
}

unsafe extern "C" fn free(keydata: *mut c_void) {
    entry_object(|| {
        // SAFETY: libcrypto frees once an object of `new` or `dup`.
        unsafe { handle::free::<KeySlot>(keydata) };
        ptr::null_mut()
    });
}

unsafe extern "C" fn dup(keydata: *const c_void, selection: c_int) -> *mut c_void {
    // SAFETY: the key came from `new` or `dup`, and outlives the call.
    let slot = unsafe { handle::shared::<KeySlot>(keydata) };
    entry_object(|| {
        let Some(slot) = slot else {
            return ptr::null_mut();
        };
        let wanted = selection & OSSL_KEYMGMT_SELECT_KEYPAIR != 0;
        // A key never changes: both slots may hold it.
        let key = slot.key.as_ref().filter(|_| wanted).map(Arc::clone);
        handle::give(KeySlot { provider: Arc::clone(&slot.provider), key })
    })
}

unsafe extern "C" fn has(keydata: *const c_void, selection: c_int) -> c_int {
    // SAFETY: the key came from `new` or `dup`, and outlives the call.
    let Some(slot) = (unsafe { handle::shared::<KeySlot>(keydata) }) else {
        return 0;
    };
    let public = selection & OSSL_KEYMGMT_SELECT_PUBLIC_KEY != 0;
    let private = selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY != 0;
    c_int::from(slot.has(public, private))
}

unsafe extern "C" fn matches(one: *const c_void, other: *const c_void, selection: c_int) -> c_int {
    // SAFETY: the key came from `new` or `dup`, and outlives the call.
    let one = unsafe { handle::shared::<KeySlot>(one) };
    // SAFETY: as above.
    let other = unsafe { handle::shared::<KeySlot>(other) };
    let same = || {
        if selection & OSSL_KEYMGMT_SELECT_KEYPAIR == 0 {
            return Some(true); // there are no domain parameters to compare
        }
        Some(one?.key.as_ref()?.matches(other?.key.as_ref()?))
    };
    c_int::from(crate::boundary::catch(None, same) == Some(true))
}

unsafe extern "C" fn validate(keydata: *const c_void, selection: c_int, checktype: c_int) -> c_int {
    // SAFETY: the key came from `new` or `dup`, and outlives the call.
    let slot = unsafe { handle::shared::<KeySlot>(keydata) };
    entry(slot, |slot| {
        let private = selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY != 0;
        let key = slot.key()?;
        if private {
            key.private()?;
        }
        if private && checktype == OSSL_KEYMGMT_VALIDATE_FULL_CHECK {
            slot.provider.with_workspace(|workspace| key.check(workspace))?;
        }
        Ok(())
    })
}

unsafe extern "C" fn import(
    keydata: *mut c_void,
    selection: c_int,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: the key came from `new`, and libcrypto does not share it before its import.
    let slot = unsafe { handle::exclusive::<KeySlot>(keydata) };
    // SAFETY: the parameters outlive the call.
    let params = unsafe { Params::new(params) };
    entry(slot, |slot| {
        if selection & OSSL_KEYMGMT_SELECT_KEYPAIR == 0 {
            return Err(Reason::KeyIncomplete);
        }
        slot.import(params, selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY != 0)
    })
}

unsafe extern "C" fn export(
    keydata: *mut c_void,
    selection: c_int,
    callback: Option<OSSL_CALLBACK>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the key came from `new` or `dup`, and outlives the call.
    let slot = unsafe { handle::shared::<KeySlot>(keydata) };
    let mut accepted = 0;
    entry(slot, |slot| {
        let callback = callback.ok_or(Reason::Parameter)?;
        let private = selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY != 0;
        let numbers = slot.key()?.export(private);
        // SAFETY: libcrypto's callback and its argument.
        accepted = unsafe { numbers.pass_to(callback, argument) };
        Ok(())
    });
    accepted
}

unsafe extern "C" fn types(selection: c_int) -> *const OSSL_PARAM {
    match selection & OSSL_KEYMGMT_SELECT_KEYPAIR {
        0 => ptr::null(),
        OSSL_KEYMGMT_SELECT_PUBLIC_KEY => PUBLIC_TYPES.first(),
        _ => PRIVATE_TYPES.first(),
    }
}

unsafe extern "C" fn get_params(keydata: *mut c_void, params: *mut OSSL_PARAM) -> c_int {
    // SAFETY: the key came from `new` or `dup`, and outlives the call.
    let slot = unsafe { handle::shared::<KeySlot>(keydata) };
    // SAFETY: the parameters are the caller's, to be filled.
    let mut answers = unsafe { Answers::new(params) };
    entry(slot, |slot| slot.key()?.describe(&mut answers))
}

unsafe extern "C" fn gettable_params(_provctx: *mut c_void) -> *const OSSL_PARAM {
    GETTABLE.first()
}

unsafe extern "C" fn query_operation_name(_operation: c_int) -> *const c_char {
    c"RSA".as_ptr()
}
