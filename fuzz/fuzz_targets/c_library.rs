//! Calls functions of the C library with any lengths, numbers, handles and NULL pointers. Each
//! gives a documented code, never a panic; an error has a text of one line and leaves the output
//! alone; no byte outside of the output changes.
#![no_main]
#![allow(unsafe_code, reason = "functions of a C library")]

mod c_key;

use core::ffi::{CStr, c_int};
use core::ptr;

use libfuzzer_sys::fuzz_target;
use tollgate_c::*;

/// Room for the output, in the middle of bytes that must not change.
const ROOM: usize = 128;
const UNTOUCHED: u8 = 0xa5;

thread_local! {
    static KEYS: (*mut tollgate_private_key, *mut tollgate_public_key) = c_key::keys();
}

/// A pointer to bytes or NULL, with its length.
fn bytes(choice: u8, bytes: &[u8]) -> (*const u8, usize) {
    match choice % 8 {
        0 => (ptr::null(), bytes.len()),
        1 => (bytes.as_ptr(), usize::MAX - bytes.len()), // refused: no object is as large
        2 => (ptr::null(), 0),
        _ => (bytes.as_ptr(), bytes.len()),
    }
}

fuzz_target!(|input: &[u8]| {
    let [call, handle, kind, hash, mgf_hash, salt, salt_len, choice, len, rest @ ..] = input else {
        return;
    };
    let (data, data_len) = bytes(*choice, rest);
    let (label, label_len) = bytes(choice >> 3, &rest[..rest.len().min(9)]);
    let number = |byte: u8| c_int::from(byte.cast_signed());
    let scheme = tollgate_scheme {
        kind: number(*kind) % 7,
        hash: number(*hash) % 15,
        mgf_hash: number(*mgf_hash) % 15,
        salt: number(*salt) % 5,
        salt_len: if *salt_len == 255 { usize::MAX } else { usize::from(*salt_len) },
        label,
        label_len,
    };
    let scheme = if choice >> 6 == 0 { ptr::null() } else { &raw const scheme };
    let mut memory = [UNTOUCHED; 3 * ROOM];
    let output = memory[ROOM..].as_mut_ptr();
    let output_len = usize::from(*len) % (ROOM + 1);
    let mut result_len = 0;
    KEYS.with(|&(key, public_key)| {
        let (private, public) = match handle % 4 {
            0 => (ptr::null_mut(), ptr::null_mut()),
            1 => (public_key.cast(), key.cast()), // of the other type
            _ => (key, public_key),
        };
        let mut made_private = ptr::null_mut();
        let mut made_public = ptr::null_mut();
        // SAFETY: pointers are NULL, or valid for their lengths, or have lengths that are refused.
        let code = unsafe {
            match call % 9 {
                0 => tollgate_sign(private, scheme, data, data_len, output, output_len),
                1 => tollgate_decrypt(
                    private,
                    scheme,
                    data,
                    data_len,
                    output,
                    output_len,
                    &mut result_len,
                ),
                2 => tollgate_encrypt(public, scheme, data, data_len, output, output_len),
                3 => tollgate_verify(public, scheme, data, data_len, output, output_len),
                4 => tollgate_digest(number(*hash), data, data_len, output, output_len),
                5 => tollgate_private_key_from_der(data, data_len, &mut made_private),
                6 => tollgate_public_key_from_pem(data.cast(), data_len, &mut made_public),
                _ => {
                    let one = || tollgate_operation {
                        key: private,
                        scheme,
                        input: data,
                        input_len: data_len,
                        output,
                        output_capacity: output_len,
                        output_len: 0,
                        code: 0,
                        context: ptr::null_mut(),
                    };
                    let mut batch = [one(), one(), one()];
                    let code = tollgate_run_batch(batch.as_mut_ptr(), batch.len());
                    assert!(batch.iter().all(|operation| operation.code == code));
                    code
                }
            }
        };
        check(code);
        let is_good = code == tollgate_code::TOLLGATE_OK as c_int;
        assert!(is_good || result_len == 0 && made_private.is_null() && made_public.is_null());
        let written = if is_good { ROOM + output_len } else { ROOM };
        let outside = memory[..ROOM].iter().chain(&memory[written..]);
        assert!(outside.copied().all(|byte| byte == UNTOUCHED), "call {call}, code {code}");
        // SAFETY: NULL or new.
        unsafe {
            assert_eq!(tollgate_private_key_free(made_private), 0);
            assert_eq!(tollgate_public_key_free(made_public), 0);
        }
    });
});

/// Checks that a code is documented and that an error has a text of one line.
fn check(code: c_int) {
    assert!((0..tollgate_code::TOLLGATE_PANIC as c_int).contains(&code), "code {code}");
    // SAFETY: texts end with a NUL.
    let text = unsafe { CStr::from_ptr(tollgate_last_error()) }.to_str().expect("ASCII");
    assert!(code == 0 || !text.is_empty() && !text.contains(['\n', '\r']), "{text:?}");
}
