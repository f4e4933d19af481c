//! The entry points of key management, for keys of any type: provider-keymgmt(7). Keys are
//! generated in [`crate::generation`].

use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use std::sync::Arc;

use crate::abi::*;
use crate::boundary::catch;
use crate::decoder::load;
use crate::generation::{Request, gen_init, gen_set_params, gen_settable_params, generate};
use crate::handle;
use crate::kem_key::KemRequest;
use crate::kems::{Hybrid, MlKem};
use crate::key_slot::{KeySlot, KeyType, PeerKey};
use crate::p256_key::P256Key;
use crate::params::{Answers, Params};
use crate::provider::{Provider, attempt, entry};
use crate::reason::Reason;
use crate::rsa_key::RsaKey;
use crate::rsa_request::RsaRequest;
use crate::table::{Table, dispatch};
use crate::x25519::X25519Request;

pub(crate) static RSA: Table<[OSSL_DISPATCH; 20]> = dispatch! {
    OSSL_FUNC_KEYMGMT_NEW = new::<RsaKey>;
    OSSL_FUNC_KEYMGMT_FREE = handle::free::<KeySlot<RsaKey>>;
    OSSL_FUNC_KEYMGMT_LOAD = load::<RsaKey>;
    OSSL_FUNC_KEYMGMT_GEN_INIT = gen_init::<RsaRequest>;
    OSSL_FUNC_KEYMGMT_GEN_SET_PARAMS = gen_set_params::<RsaRequest>;
    OSSL_FUNC_KEYMGMT_GEN_SETTABLE_PARAMS = gen_settable_params::<RsaRequest>;
    OSSL_FUNC_KEYMGMT_GEN = generate::<RsaRequest>;
    OSSL_FUNC_KEYMGMT_GEN_CLEANUP = handle::free::<RsaRequest>;
    OSSL_FUNC_KEYMGMT_DUP = dup::<RsaKey>;
    OSSL_FUNC_KEYMGMT_HAS = has::<RsaKey>;
    OSSL_FUNC_KEYMGMT_MATCH = matches::<RsaKey>;
    OSSL_FUNC_KEYMGMT_VALIDATE = validate::<RsaKey>;
    OSSL_FUNC_KEYMGMT_IMPORT = import::<RsaKey>;
    OSSL_FUNC_KEYMGMT_IMPORT_TYPES = types::<RsaKey>;
    OSSL_FUNC_KEYMGMT_EXPORT = export::<RsaKey>;
    OSSL_FUNC_KEYMGMT_EXPORT_TYPES = types::<RsaKey>;
    OSSL_FUNC_KEYMGMT_GET_PARAMS = get_params::<RsaKey>;
    OSSL_FUNC_KEYMGMT_GETTABLE_PARAMS = gettable_params::<RsaKey>;
    OSSL_FUNC_KEYMGMT_QUERY_OPERATION_NAME = rsa_operation_name;
};

pub(crate) static X25519: Table<[OSSL_DISPATCH; 20]> = of_peers::<X25519Request>();
pub(crate) static ML_KEM: Table<[OSSL_DISPATCH; 20]> = of_peers::<KemRequest<MlKem>>();
pub(crate) static HYBRID: Table<[OSSL_DISPATCH; 20]> = of_peers::<KemRequest<Hybrid>>();

/// The functions of keys of which libssl receives the public half from a peer.
const fn of_peers<R: Request<Key: PeerKey>>() -> Table<[OSSL_DISPATCH; 20]> {
    dispatch! {
        OSSL_FUNC_KEYMGMT_NEW = new::<R::Key>;
        OSSL_FUNC_KEYMGMT_FREE = handle::free::<KeySlot<R::Key>>;
        OSSL_FUNC_KEYMGMT_GEN_INIT = gen_init::<R>;
        OSSL_FUNC_KEYMGMT_GEN_SET_PARAMS = gen_set_params::<R>;
        OSSL_FUNC_KEYMGMT_GEN_SETTABLE_PARAMS = gen_settable_params::<R>;
        OSSL_FUNC_KEYMGMT_GEN = generate::<R>;
        OSSL_FUNC_KEYMGMT_GEN_CLEANUP = handle::free::<R>;
        OSSL_FUNC_KEYMGMT_DUP = dup::<R::Key>;
        OSSL_FUNC_KEYMGMT_HAS = has::<R::Key>;
        OSSL_FUNC_KEYMGMT_MATCH = matches::<R::Key>;
        OSSL_FUNC_KEYMGMT_VALIDATE = validate::<R::Key>;
        OSSL_FUNC_KEYMGMT_IMPORT = import::<R::Key>;
        OSSL_FUNC_KEYMGMT_IMPORT_TYPES = types::<R::Key>;
        OSSL_FUNC_KEYMGMT_EXPORT = export::<R::Key>;
        OSSL_FUNC_KEYMGMT_EXPORT_TYPES = types::<R::Key>;
        OSSL_FUNC_KEYMGMT_GET_PARAMS = get_params::<R::Key>;
        OSSL_FUNC_KEYMGMT_GETTABLE_PARAMS = gettable_params::<R::Key>;
        OSSL_FUNC_KEYMGMT_SET_PARAMS = set_params::<R::Key>;
        OSSL_FUNC_KEYMGMT_SETTABLE_PARAMS = settable_params::<R::Key>;
    }
}

/// The default provider makes and holds EC keys. These functions are those of the copy that an
/// operation uses, and of remote keys, which this provider holds.
pub(crate) static EC: Table<[OSSL_DISPATCH; 14]> = dispatch! {
    OSSL_FUNC_KEYMGMT_NEW = new::<P256Key>;
    OSSL_FUNC_KEYMGMT_FREE = handle::free::<KeySlot<P256Key>>;
    OSSL_FUNC_KEYMGMT_LOAD = load::<P256Key>;
    OSSL_FUNC_KEYMGMT_DUP = dup::<P256Key>;
    OSSL_FUNC_KEYMGMT_HAS = has::<P256Key>;
    OSSL_FUNC_KEYMGMT_MATCH = matches::<P256Key>;
    OSSL_FUNC_KEYMGMT_IMPORT = import::<P256Key>;
    OSSL_FUNC_KEYMGMT_IMPORT_TYPES = types::<P256Key>;
    OSSL_FUNC_KEYMGMT_EXPORT = export::<P256Key>;
    OSSL_FUNC_KEYMGMT_EXPORT_TYPES = types::<P256Key>;
    OSSL_FUNC_KEYMGMT_GET_PARAMS = get_params::<P256Key>;
    OSSL_FUNC_KEYMGMT_GETTABLE_PARAMS = gettable_params::<P256Key>;
    OSSL_FUNC_KEYMGMT_QUERY_OPERATION_NAME = ec_operation_name;
};

unsafe extern "C" fn new<K: KeyType>(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: libcrypto passes the pointer that `OSSL_provider_init` returned.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    handle::create(|| {
        let provider = provider?;
        provider.check_keymgmt_cache(provctx, None);
        Some(KeySlot::<K> { provider: Arc::clone(provider), key: None })
    })
}

unsafe extern "C" fn dup<K: KeyType>(keydata: *const c_void, selection: c_int) -> *mut c_void {
    // SAFETY: the key came from `new` or `dup`, and outlives the call.
    let slot = unsafe { handle::shared::<KeySlot<K>>(keydata) };
    handle::create(|| {
        let slot = slot?;
        let private = selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY != 0;
        // A copy of the public part alone is not made of a private key, whose parts are one object.
        let wanted =
            selection & OSSL_KEYMGMT_SELECT_KEYPAIR != 0 && (private || !slot.has(false, true));
        // A key never changes, so both slots may share it.
        let key = slot.key.as_ref().filter(|_| wanted).map(Arc::clone);
        Some(KeySlot { provider: Arc::clone(&slot.provider), key })
    })
}

unsafe extern "C" fn has<K: KeyType>(keydata: *const c_void, selection: c_int) -> c_int {
    // SAFETY: the key came from `new` or `dup`, and outlives the call.
    let Some(slot) = (unsafe { handle::shared::<KeySlot<K>>(keydata) }) else {
        return 0;
    };
    let public = selection & OSSL_KEYMGMT_SELECT_PUBLIC_KEY != 0;
    let private = selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY != 0;
    c_int::from(slot.has(public, private))
}

unsafe extern "C" fn matches<K: KeyType>(
    ours: *const c_void,
    theirs: *const c_void,
    selection: c_int,
) -> c_int {
    // SAFETY: the key came from `new` or `dup`, and outlives the call.
    let ours = unsafe { handle::shared::<KeySlot<K>>(ours) };
    // SAFETY: as above.
    let theirs = unsafe { handle::shared::<KeySlot<K>>(theirs) };
    let same = || {
        if selection & OSSL_KEYMGMT_SELECT_KEYPAIR == 0 {
            return Some(true); // there are no domain parameters to compare
        }
        Some(ours?.key.as_ref()?.matches(theirs?.key.as_ref()?))
    };
    c_int::from(catch(None, same) == Some(true))
}

unsafe extern "C" fn validate<K: KeyType>(
    keydata: *const c_void,
    selection: c_int,
    checktype: c_int,
) -> c_int {
    // SAFETY: the key came from `new` or `dup`, and outlives the call.
    let slot = unsafe { handle::shared::<KeySlot<K>>(keydata) };
    entry(slot, |slot| {
        if selection & OSSL_KEYMGMT_SELECT_KEYPAIR == 0 {
            return Ok(()); // there are no domain parameters to check
        }
        let private = selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY != 0;
        let key = slot.key()?;
        if private && !key.has_private() {
            return Err(Reason::KeyNotPrivate);
        }
        if private && checktype == OSSL_KEYMGMT_VALIDATE_FULL_CHECK {
            key.check(&slot.provider)?;
        }
        Ok(())
    })
}

unsafe extern "C" fn import<K: KeyType>(
    keydata: *mut c_void,
    selection: c_int,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: the key came from `new`, and libcrypto does not share it before its import.
    let slot = unsafe { handle::exclusive::<KeySlot<K>>(keydata) };
    // SAFETY: the parameters outlive the call.
    let params = unsafe { Params::new(params) };
    entry(slot, |slot| {
        if selection & OSSL_KEYMGMT_SELECT_KEYPAIR == 0 {
            return Err(Reason::KeyIncomplete);
        }
        slot.import(params, selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY != 0)
    })
}

unsafe extern "C" fn export<K: KeyType>(
    keydata: *mut c_void,
    selection: c_int,
    callback: Option<OSSL_CALLBACK>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the key came from `new` or `dup`, and outlives the call.
    let slot = unsafe { handle::shared::<KeySlot<K>>(keydata) };
    let accepted = attempt(slot, |slot| {
        let callback = callback.ok_or(Reason::Parameter)?;
        let private = selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY != 0;
        let values = slot.key()?.export(private);
        // SAFETY: libcrypto's callback and its argument.
        Ok(unsafe { values.pass_to(callback, argument) })
    });
    accepted.unwrap_or(0)
}

unsafe extern "C" fn types<K: KeyType>(selection: c_int) -> *const OSSL_PARAM {
    match selection & OSSL_KEYMGMT_SELECT_KEYPAIR {
        0 => ptr::null(),
        OSSL_KEYMGMT_SELECT_PUBLIC_KEY => K::PUBLIC_TYPES,
        _ => K::PAIR_TYPES,
    }
}

unsafe extern "C" fn get_params<K: KeyType>(
    keydata: *mut c_void,
    params: *mut OSSL_PARAM,
) -> c_int {
    // SAFETY: the key came from `new` or `dup`, and outlives the call.
    let slot = unsafe { handle::shared::<KeySlot<K>>(keydata) };
    // SAFETY: the parameters are the caller's, to be filled.
    let mut answers = unsafe { Answers::new(params) };
    entry(slot, |slot| K::describe(slot.key.as_deref(), &mut answers))
}

unsafe extern "C" fn gettable_params<K: KeyType>(_provctx: *mut c_void) -> *const OSSL_PARAM {
    K::GETTABLE
}

unsafe extern "C" fn rsa_operation_name(_operation: c_int) -> *const c_char {
    c"RSA".as_ptr()
}

unsafe extern "C" fn ec_operation_name(operation: c_int) -> *const c_char {
    if operation == OSSL_OP_SIGNATURE { c"ECDSA".as_ptr() } else { ptr::null() }
}

/// Sets the encoded public key, as libssl does with the peer's key share. An array without that key
/// changes nothing.
unsafe extern "C" fn set_params<K: PeerKey>(
    keydata: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: the parameters outlive the call.
    let params = unsafe { Params::new(params) };
    let encoded = params.find(OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY);
    // SAFETY: the key came from `new`, `dup` or `generate`, and outlives the call.
    let slot = unsafe { handle::shared::<KeySlot<K>>(keydata) };
    if K::IS_SET_ONCE && slot.is_some_and(|slot| slot.key.is_some()) {
        // Others may use such a key, so it is only read here.
        return entry(slot, |_| encoded.map_or(Ok(()), |_| Err(Reason::KemLocked)));
    }
    // SAFETY: as above, and libcrypto does not share a key while it sets parameters.
    let slot = unsafe { handle::exclusive::<KeySlot<K>>(keydata) };
    entry(slot, |slot| {
        if let Some(param) = encoded {
            let encoded = param.octets().ok_or(Reason::Parameter)?;
            slot.key = Some(Arc::new(K::from_encoded(&slot.provider, encoded)?));
        }
        Ok(())
    })
}

unsafe extern "C" fn settable_params<K: PeerKey>(_provctx: *mut c_void) -> *const OSSL_PARAM {
    SETTABLE_OF_PEERS.first()
}

/// Property queries are accepted and ignored: this provider fetches nothing.
static SETTABLE_OF_PEERS: Table<[OSSL_PARAM; 3]> = Table::of_keys([
    (OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, OSSL_PARAM_OCTET_STRING),
    (OSSL_PKEY_PARAM_PROPERTIES, OSSL_PARAM_UTF8_STRING),
    (c"", 0),
]);
