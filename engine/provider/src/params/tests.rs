//! Parameters as C code makes them.

use core::ffi::c_uint;
use core::ptr;

use super::*;

fn param(key: &'static CStr, data_type: c_uint, data: &mut [u8]) -> [OSSL_PARAM; 2] {
    let param = OSSL_PARAM {
        key: key.as_ptr(),
        data_type,
        data: data.as_mut_ptr().cast(),
        data_size: data.len(),
        ..OSSL_PARAM::END
    };
    [param, OSSL_PARAM::END]
}

/// Reads the parameter of a list that has only one.
fn read<R>(data_type: c_uint, data: &[u8], read: impl FnOnce(Param<'_>) -> R) -> R {
    let mut data = data.to_vec();
    let params = param(c"x", data_type, &mut data);
    // SAFETY: an array up to a NULL key, borrowed for the call.
    let params = unsafe { Params::new(params.as_ptr()) };
    assert!(params.find(c"other").is_none());
    read(params.find(c"x").unwrap())
}

#[test]
fn integers_of_any_width_are_read() {
    let integer = |data_type, data: &[u8]| read(data_type, data, |param| param.integer());
    for value in [-1_i32, i32::MIN, 7] {
        let read = integer(OSSL_PARAM_INTEGER, &value.to_ne_bytes());
        assert_eq!(read, Some(value.into()));
    }
    let unsigned = u32::MAX.to_ne_bytes();
    assert_eq!(integer(OSSL_PARAM_UNSIGNED_INTEGER, &unsigned), Some(u32::MAX.into()));
    assert_eq!(integer(OSSL_PARAM_INTEGER, &[0xfe]), Some(-2));
    let large = u64::MAX.to_ne_bytes();
    assert_eq!(integer(OSSL_PARAM_UNSIGNED_INTEGER, &large), None, "beyond i64");
    assert_eq!(integer(OSSL_PARAM_INTEGER, &[0; 9]), None);
    assert_eq!(integer(OSSL_PARAM_UTF8_STRING, &[7; 4]), None);
    assert_eq!(integer(OSSL_PARAM_INTEGER, &[]), Some(0));
}

#[test]
fn texts_end_at_a_nul_or_at_their_size() {
    let text =
        |bytes: &[u8]| read(OSSL_PARAM_UTF8_STRING, bytes, |param| param.text().map(str::to_owned));
    assert_eq!(text(b"pss"), Some("pss".into()));
    assert_eq!(text(b"pss\0rest"), Some("pss".into()));
    assert_eq!(text(b""), Some(String::new()));
    assert_eq!(text(&[0xff]), None);
}

#[test]
fn a_choice_has_a_number_or_a_name() {
    const CHOICES: &Choices<char> = &[('a', 1, c"one"), ('b', 2, c"two"), ('c', 3, c"")];
    let choice = |data_type, data: &[u8]| read(data_type, data, |param| param.choice(CHOICES));
    for (value, number, name) in [('a', 1_i32, "one"), ('b', 2, "two"), ('c', 3, "")] {
        assert_eq!(choice(OSSL_PARAM_INTEGER, &number.to_ne_bytes()), Ok(Some(value)));
        let named = Some(value).filter(|_| !name.is_empty());
        assert_eq!(choice(OSSL_PARAM_UTF8_STRING, name.as_bytes()), Ok(named), "{name:?}");
    }
    assert_eq!(choice(OSSL_PARAM_INTEGER, &4_i32.to_ne_bytes()), Ok(None));
    assert_eq!(choice(OSSL_PARAM_UTF8_STRING, b"three"), Ok(None));
    for (data_type, data) in
        [(OSSL_PARAM_UTF8_STRING, &[0xff][..]), (OSSL_PARAM_OCTET_STRING, &[1])]
    {
        assert_eq!(choice(data_type, data), Err(Reason::Parameter));
    }
}

#[test]
fn null_has_no_parameters() {
    // SAFETY: NULL stands for none.
    let params = unsafe { Params::new(ptr::null()) };
    assert!(params.find(c"x").is_none());
    // SAFETY: NULL stands for none.
    let mut answers = unsafe { Answers::new(ptr::null_mut()) };
    assert_eq!(answers.integer(c"x", 1), Ok(()));
}

fn answer(
    data_type: c_uint,
    data: &mut [u8],
    write: impl FnOnce(&mut Answers<'_>) -> Result<(), Reason>,
) -> (Result<(), Reason>, usize) {
    let mut params = param(c"x", data_type, data);
    // SAFETY: an array up to a NULL key, borrowed for the call.
    let mut answers = unsafe { Answers::new(params.as_mut_ptr()) };
    let result = write(&mut answers);
    (result, params[0].return_size)
}

#[test]
fn integers_are_written_at_the_requested_width() {
    let mut four = [0xaa; 4];
    let write = |value| move |answers: &mut Answers<'_>| answers.integer(c"x", value);
    assert_eq!(answer(OSSL_PARAM_INTEGER, &mut four, write(-2)), (Ok(()), 4));
    assert_eq!(i32::from_ne_bytes(four), -2);
    let (refused, _) = answer(OSSL_PARAM_UNSIGNED_INTEGER, &mut four, write(-2));
    assert_eq!(refused, Err(Reason::Parameter));
    for value in [1 << 31, -(1 << 31) - 1, i64::MAX] {
        let (refused, _) = answer(OSSL_PARAM_INTEGER, &mut four, write(value));
        assert_eq!(refused, Err(Reason::Parameter), "{value}");
    }
    let fits = answer(OSSL_PARAM_UNSIGNED_INTEGER, &mut four, write(u32::MAX.into()));
    assert_eq!((fits, four), ((Ok(()), 4), [0xff; 4]));
    let mut wide = [0xaa; 16];
    assert_eq!(answer(OSSL_PARAM_INTEGER, &mut wide, write(5)), (Ok(()), 16));
    assert_eq!(i128::from_ne_bytes(wide), 5);
}

#[test]
fn numbers_are_padded_and_their_size_is_set() {
    let write = |answers: &mut Answers<'_>| answers.number(c"x", &[1, 2, 3]);
    let mut five = [0xaa; 5];
    assert_eq!(answer(OSSL_PARAM_UNSIGNED_INTEGER, &mut five, write), (Ok(()), 5));
    assert_eq!(swap_native(&five)[..], [0, 0, 1, 2, 3]);
    let mut two = [0xaa; 2];
    let refused = answer(OSSL_PARAM_UNSIGNED_INTEGER, &mut two, write);
    assert_eq!((refused, two), ((Err(Reason::Parameter), 3), [0xaa; 2]));
}

#[test]
fn texts_are_written_with_a_nul_if_it_fits() {
    let write = |answers: &mut Answers<'_>| answers.text(c"x", c"abc");
    let mut buffer = [0xaa; 5];
    assert_eq!(answer(OSSL_PARAM_UTF8_STRING, &mut buffer, write), (Ok(()), 3));
    assert_eq!(buffer, *b"abc\0\xaa");
    let mut exact = [0xaa; 3];
    assert_eq!(answer(OSSL_PARAM_UTF8_STRING, &mut exact, write), (Ok(()), 3));
    assert_eq!(exact, *b"abc");
    let mut short = [0xaa; 2];
    let refused = answer(OSSL_PARAM_UTF8_STRING, &mut short, write);
    assert_eq!((refused, short), ((Err(Reason::Parameter), 3), [0xaa; 2]));
}
