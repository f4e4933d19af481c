//! The entry points of key management: provider-keymgmt(7). Keys are generated in
//! [`crate::generation`].

use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use std::sync::Arc;

use crate::abi::*;
use crate::boundary::catch;
use crate::generation::{KeyRequest, gen_init, gen_set_params, gen_settable_params, generate};
use crate::handle;
use crate::key_slot::KeySlot;
use crate::params::{Answers, Params};
use crate::provider::{Provider, attempt, entry};
use crate::reason::Reason;
use crate::table::{Table, dispatch};

pub(crate) static FUNCTIONS: Table<[OSSL_DISPATCH; 19]> = dispatch! {
    OSSL_FUNC_KEYMGMT_NEW = new;
    OSSL_FUNC_KEYMGMT_FREE = handle::free::<KeySlot>;
    OSSL_FUNC_KEYMGMT_GEN_INIT = gen_init;
    OSSL_FUNC_KEYMGMT_GEN_SET_PARAMS = gen_set_params;
    OSSL_FUNC_KEYMGMT_GEN_SETTABLE_PARAMS = gen_settable_params;
    OSSL_FUNC_KEYMGMT_GEN = generate;
    OSSL_FUNC_KEYMGMT_GEN_CLEANUP = handle::free::<KeyRequest>;
    OSSL_FUNC_KEYMGMT_DUP = dup;
    OSSL_FUNC_KEYMGMT_HAS = has;
    OSSL_FUNC_KEYMGMT_MATCH = matches;
    OSSL_FUNC_KEYMGMT_VALIDATE = validate;
    OSSL_FUNC_KEYMGMT_IMPORT = import;
    OSSL_FUNC_KEYMGMT_IMPORT_TYPES = types;
    OSSL_FUNC_KEYMGMT_EXPORT = export;
    OSSL_FUNC_KEYMGMT_EXPORT_TYPES = types;
    OSSL_FUNC_KEYMGMT_GET_PARAMS = get_params;
    OSSL_FUNC_KEYMGMT_GETTABLE_PARAMS = gettable_params;
    OSSL_FUNC_KEYMGMT_QUERY_OPERATION_NAME = query_operation_name;
};

/// The properties of a key, followed by its numbers. The public numbers come first.
static GETTABLE: Table<[OSSL_PARAM; 13]> = Table::of_keys([
    (OSSL_PKEY_PARAM_BITS, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_SECURITY_BITS, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_MAX_SIZE, OSSL_PARAM_INTEGER),
    (OSSL_PKEY_PARAM_DEFAULT_DIGEST, OSSL_PARAM_UTF8_STRING),
    (OSSL_PKEY_PARAM_RSA_N, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_E, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_D, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_FACTOR1, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_FACTOR2, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_EXPONENT1, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_COEFFICIENT1, OSSL_PARAM_UNSIGNED_INTEGER),
    (c"", 0),
]);

/// The row of [`GETTABLE`] where the numbers begin.
const NUMBERS: usize = 4;

static PUBLIC_TYPES: Table<[OSSL_PARAM; 3]> = Table::of_keys([
    (OSSL_PKEY_PARAM_RSA_N, OSSL_PARAM_UNSIGNED_INTEGER),
    (OSSL_PKEY_PARAM_RSA_E, OSSL_PARAM_UNSIGNED_INTEGER),
    (c"", 0),
]);

unsafe extern "C" fn new(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: libcrypto passes the pointer that `OSSL_provider_init` returned.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    handle::create(|| Some(KeySlot { provider: Arc::clone(provider?), key: None }))
}

unsafe extern "C" fn dup(keydata: *const c_void, selection: c_int) -> *mut c_void {
    // SAFETY: the key came from `new` or `dup`, and outlives the call.
    let slot = unsafe { handle::shared::<KeySlot>(keydata) };
    handle::create(|| {
        let slot = slot?;
        let wanted = selection & OSSL_KEYMGMT_SELECT_KEYPAIR != 0;
        // A key never changes, so both slots may share it.
        let key = slot.key.as_ref().filter(|_| wanted).map(Arc::clone);
        Some(KeySlot { provider: Arc::clone(&slot.provider), key })
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
    c_int::from(catch(None, same) == Some(true))
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
    let accepted = attempt(slot, |slot| {
        let callback = callback.ok_or(Reason::Parameter)?;
        let private = selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY != 0;
        let numbers = slot.key()?.export(private);
        // SAFETY: libcrypto's callback and its argument.
        Ok(unsafe { numbers.pass_to(callback, argument) })
    });
    accepted.unwrap_or(0)
}

unsafe extern "C" fn types(selection: c_int) -> *const OSSL_PARAM {
    match selection & OSSL_KEYMGMT_SELECT_KEYPAIR {
        0 => ptr::null(),
        OSSL_KEYMGMT_SELECT_PUBLIC_KEY => PUBLIC_TYPES.first(),
        _ => GETTABLE.row(NUMBERS),
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

#[cfg(test)]
mod tests {
    use core::ffi::CStr;

    use super::*;

    #[test]
    fn imported_types_are_the_numbers_alone() {
        for selection in [OSSL_KEYMGMT_SELECT_PUBLIC_KEY, OSSL_KEYMGMT_SELECT_KEYPAIR] {
            // SAFETY: the function takes any selection.
            let first = unsafe { types(selection) };
            // SAFETY: a static table with at least one row.
            let first = unsafe { &*first };
            // SAFETY: keys are static texts.
            assert_eq!(unsafe { CStr::from_ptr(first.key) }, OSSL_PKEY_PARAM_RSA_N);
        }
    }
}
