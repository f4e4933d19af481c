//! The entry points that read a stub of a remote key from a PEM file: provider-decoder(7).
//!
//! The decoders of RSA and of EC differ in their names only: each reads the stub, and answers if
//! the key is of its type. A file without a stub is no error; libcrypto then asks other decoders.

use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use std::sync::Arc;

use tollgate_keyless::Stub;
use zeroize::Zeroizing;

use crate::abi::*;
use crate::boundary::catch;
use crate::handle;
use crate::key_slot::{KeySlot, KeyType, RemoteKey};
use crate::p256_key::P256Key;
use crate::provider::Provider;
use crate::rsa_key::RsaKey;
use crate::table::{Table, dispatch};
use crate::upcalls::Stream;

/// The longest file with a stub: HAProxy has the certificates in the same file.
const FILE_BYTES_MAX: usize = 1 << 20;

/// The memory for a block at first. No private key is longer; a copy in memory that is too small
/// for a longer block is not wiped.
const BLOCK_BYTES: usize = 16 << 10;

pub(crate) static RSA: Table<[OSSL_DISPATCH; 5]> = dispatch! {
    OSSL_FUNC_DECODER_NEWCTX = newctx;
    OSSL_FUNC_DECODER_FREECTX = handle::free::<Arc<Provider>>;
    OSSL_FUNC_DECODER_DOES_SELECTION = does_selection;
    OSSL_FUNC_DECODER_DECODE = decode::<RsaKey>;
};

pub(crate) static EC: Table<[OSSL_DISPATCH; 5]> = dispatch! {
    OSSL_FUNC_DECODER_NEWCTX = newctx;
    OSSL_FUNC_DECODER_FREECTX = handle::free::<Arc<Provider>>;
    OSSL_FUNC_DECODER_DOES_SELECTION = does_selection;
    OSSL_FUNC_DECODER_DECODE = decode::<P256Key>;
};

unsafe extern "C" fn newctx(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: libcrypto passes the pointer that `OSSL_provider_init` returned.
    let provider = unsafe { handle::shared::<Arc<Provider>>(provctx) };
    handle::create(|| provider.cloned())
}

/// A stub stands for a private key. No selection stands for any.
unsafe extern "C" fn does_selection(_provctx: *mut c_void, selection: c_int) -> c_int {
    c_int::from(selection == 0 || selection & OSSL_KEYMGMT_SELECT_PRIVATE_KEY != 0)
}

unsafe extern "C" fn decode<K: RemoteKey>(
    ctx: *mut c_void,
    input: *mut OSSL_CORE_BIO,
    selection: c_int,
    callback: Option<OSSL_CALLBACK>,
    argument: *mut c_void,
    _passphrase: *const c_void,
    _passphrase_argument: *mut c_void,
) -> c_int {
    // SAFETY: the context came from `newctx`.
    let provider = unsafe { handle::shared::<Arc<Provider>>(ctx) };
    // SAFETY: the function takes any selection.
    let is_private = unsafe { does_selection(ptr::null_mut(), selection) } == 1;
    let slot = catch(None, || {
        let provider = provider.filter(|provider| is_private && provider.is_healthy())?;
        // SAFETY: libcrypto's stream, for this call.
        let stream = unsafe { Stream::new(input) };
        let stub = first_stub(|| provider.read_line(&stream))?;
        let key = Some(Arc::new(K::of_stub(&stub)?));
        Some(KeySlot { provider: Arc::clone(provider), key })
    });
    let (Some(slot), Some(callback)) = (slot, callback) else {
        return 1; // other decoders go on
    };
    let mut object = handle::give(slot);
    let mut object_type = OSSL_OBJECT_PKEY;
    let param = |key: &CStr, data_type, data, data_size| OSSL_PARAM {
        key: key.as_ptr(),
        data_type,
        data,
        data_size,
        ..OSSL_PARAM::END
    };
    let type_data = (&raw mut object_type).cast();
    let name = K::NAME.as_ptr().cast_mut().cast();
    let reference = (&raw mut object).cast();
    let params = [
        param(OSSL_OBJECT_PARAM_TYPE, OSSL_PARAM_INTEGER, type_data, size_of::<c_int>()),
        param(OSSL_OBJECT_PARAM_DATA_TYPE, OSSL_PARAM_UTF8_STRING, name, K::NAME.to_bytes().len()),
        param(
            OSSL_OBJECT_PARAM_REFERENCE,
            OSSL_PARAM_OCTET_STRING,
            reference,
            size_of::<*mut c_void>(),
        ),
        OSSL_PARAM::END,
    ];
    // SAFETY: libcrypto's callback and its argument; the array ends with a NULL key, and array and
    // data outlive the call. `load` takes the object and writes NULL.
    let accepted = unsafe { callback(params.as_ptr(), argument) };
    // SAFETY: NULL, or the object from above, which nobody took.
    unsafe { handle::free::<KeySlot<K>>(object) };
    accepted
}

/// Returns the first stub in the lines of a PEM file. Reads no line after it, which the program may
/// read next. Text and other blocks before it are skipped; a block may be a private key.
fn first_stub(mut next: impl FnMut() -> Option<Zeroizing<Vec<u8>>>) -> Option<Stub> {
    let (mut block, mut read) = (Zeroizing::new(Vec::with_capacity(BLOCK_BYTES)), 0);
    let mut is_whole = true;
    while read < FILE_BYTES_MAX {
        let line = next()?;
        read += line.len();
        if is_whole && line.starts_with(b"-----BEGIN ") {
            block.clear();
        }
        block.extend_from_slice(&line);
        if is_whole && line.starts_with(b"-----END ") {
            if let Ok(Some(stub)) = Stub::from_pem(&block) {
                return Some(stub);
            }
            block.clear();
        }
        // A long line comes in parts.
        is_whole = line.ends_with(b"\n");
    }
    None
}

/// Takes the object that a decoder offers.
pub(crate) unsafe extern "C" fn load<K: KeyType>(
    reference: *const c_void,
    size: usize,
) -> *mut c_void {
    if reference.is_null() || size != size_of::<*mut c_void>() {
        return ptr::null_mut();
    }
    let place = reference.cast_mut().cast::<*mut c_void>();
    // SAFETY: the variable of `decode`, which libcrypto passes on.
    unsafe { place.replace(ptr::null_mut()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_the_first_stub() {
        let key = openssl::rsa::Rsa::generate(1024).unwrap().public_key_to_der().unwrap();
        let stub = Stub::new(key).unwrap();
        let pem = stub.to_pem();
        let other = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let broken = pem.replace("\nMI", "\n*I");
        let long = "a".repeat(700);
        let begin = "-----BEGIN TOLLGATE REMOTE KEY-----";
        let comment = format!("{begin} is below, or after: {begin}");
        for before in ["", other, &broken, &long, &format!("{begin}\n"), &comment, "\u{feff}#"] {
            let before = format!("{before}\n");
            let file = format!("{before}{pem}{other}");
            let mut rest = file.as_bytes();
            let found = first_stub(|| {
                let line = rest.iter().take(255).position(|&byte| byte == b'\n');
                let len = line.map_or(rest.len().min(255), |at| at + 1);
                let (line, after) = rest.split_at(len);
                rest = after;
                (len > 0).then(|| line.to_vec().into())
            });
            assert_eq!(found.as_ref(), Some(&stub), "{before}");
            assert_eq!(rest, other.as_bytes(), "{before}");
        }
        assert_eq!(first_stub(|| None), None);
        assert_eq!(first_stub(|| Some(vec![0; 255].into())), None, "an endless file");
    }
}
