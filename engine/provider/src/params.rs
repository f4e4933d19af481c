//! `OSSL_PARAM` arrays: parameters to read, parameters to fill, and values to export.
//!
//! libcrypto stores numbers in the machine's byte order. The functions of this module take and
//! return big-endian numbers.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr;
use core::slice;
use std::ffi::CString;

use zeroize::Zeroizing;

use crate::abi::*;
use crate::reason::Reason;

/// Parameters that a caller sets.
#[derive(Clone, Copy)]
pub(crate) struct Params<'a>(&'a [OSSL_PARAM]);

/// One parameter that a caller sets.
#[derive(Clone, Copy)]
pub(crate) struct Param<'a>(&'a OSSL_PARAM);

/// Values that a parameter may have, each with its number and its name. An empty name means that
/// the value has no name. A value may have several rows; the first row is written.
pub(crate) type Choices<T> = [(T, i64, &'static CStr)];

/// Parameters that a caller requests.
pub(crate) struct Answers<'a>(&'a mut [OSSL_PARAM]);

/// Values to pass to an `OSSL_CALLBACK`; wiped when dropped.
#[derive(Default)]
pub(crate) struct Values(Vec<(&'static CStr, c_uint, Zeroizing<Vec<u8>>)>);

impl<'a> Params<'a> {
    /// # Safety
    ///
    /// `first` is NULL, for no parameters, or an array that ends with a NULL key. Array and data
    /// live for `'a` and are not written during `'a`.
    pub(crate) unsafe fn new(first: *const OSSL_PARAM) -> Self {
        if first.is_null() {
            return Self(&[]);
        }
        let count = count(first);
        // SAFETY: as the caller promised.
        Self(unsafe { slice::from_raw_parts(first, count) })
    }

    pub(crate) fn find(self, key: &CStr) -> Option<Param<'a>> {
        self.0.iter().find(|param| key_of(param) == key).map(Param)
    }
}

impl<'a> Param<'a> {
    fn data(self) -> &'a [u8] {
        let Self(param) = self;
        if param.data.is_null() {
            return &[];
        }
        // SAFETY: as the caller of `Params::new` promised.
        unsafe { slice::from_raw_parts(param.data.cast(), param.data_size) }
    }

    /// Returns a signed or unsigned number of at most 64 bits. An empty number is 0:
    /// libcrypto converts the text "0" to an empty number.
    pub(crate) fn integer(self) -> Option<i64> {
        let signed = match self.0.data_type {
            OSSL_PARAM_INTEGER => true,
            OSSL_PARAM_UNSIGNED_INTEGER => false,
            _ => return None,
        };
        if self.0.data.is_null() {
            return None;
        }
        let big_endian = swap_native(self.data());
        let negative = signed && big_endian.first().is_some_and(|byte| byte & 0x80 != 0);
        let mut wide = [if negative { 0xff } else { 0 }; 8];
        let at = wide.len().checked_sub(big_endian.len())?;
        wide[at..].copy_from_slice(&big_endian);
        let value = i64::from_be_bytes(wide);
        (signed || value >= 0).then_some(value)
    }

    /// Returns a non-negative number of any length, big-endian.
    pub(crate) fn number(self) -> Option<Zeroizing<Vec<u8>>> {
        let is_number = self.0.data_type == OSSL_PARAM_UNSIGNED_INTEGER && !self.0.data.is_null();
        is_number.then(|| swap_native(self.data()))
    }

    /// Returns a text up to the first NUL.
    pub(crate) fn text(self) -> Option<&'a str> {
        if self.0.data_type != OSSL_PARAM_UTF8_STRING {
            return None;
        }
        let text = self.data().split(|&byte| byte == 0).next().unwrap_or_default();
        str::from_utf8(text).ok()
    }

    /// Returns the value with this number or name, or `None` if no value has it. Refuses a
    /// parameter that is neither a number nor a text.
    pub(crate) fn choice<T: Copy>(self, choices: &Choices<T>) -> Result<Option<T>, Reason> {
        let (number, text) = (self.integer(), self.text());
        if (number, text) == (None, None) {
            return Err(Reason::Parameter);
        }
        let text = text.filter(|text| !text.is_empty()).map(str::as_bytes);
        let row = choices
            .iter()
            .find(|(_, known, name)| number == Some(*known) || text == Some(name.to_bytes()));
        Ok(row.map(|(value, ..)| *value))
    }

    pub(crate) fn octets(self) -> Option<&'a [u8]> {
        (self.0.data_type == OSSL_PARAM_OCTET_STRING).then(|| self.data())
    }
}

impl<'a> Answers<'a> {
    /// # Safety
    ///
    /// `first` is NULL, for no parameters, or an array that ends with a NULL key. Array and buffers
    /// are writable and not used elsewhere during `'a`.
    pub(crate) unsafe fn new(first: *mut OSSL_PARAM) -> Self {
        if first.is_null() {
            return Self(&mut []);
        }
        let count = count(first);
        // SAFETY: as the caller promised.
        Self(unsafe { slice::from_raw_parts_mut(first, count) })
    }

    pub(crate) fn has(&self, key: &CStr) -> bool {
        self.0.iter().any(|param| key_of(param) == key)
    }

    /// Writes the name of a value if a text is requested, and otherwise its number.
    pub(crate) fn choice<T: PartialEq>(
        &mut self,
        key: &CStr,
        value: &T,
        choices: &Choices<T>,
    ) -> Result<(), Reason> {
        let row = choices.iter().find(|(known, ..)| known == value);
        let (_, number, name) = row.expect("every value has a row");
        if self.wants_text(key) { self.text(key, name) } else { self.integer(key, *number) }
    }

    /// Writes a number if the key is requested. This function and the next ones refuse another type
    /// and a buffer that is too small.
    pub(crate) fn integer(&mut self, key: &CStr, value: i64) -> Result<(), Reason> {
        let Some(param) = self.find(key) else {
            return Ok(());
        };
        let signed = match param.data_type {
            OSSL_PARAM_INTEGER => true,
            OSSL_PARAM_UNSIGNED_INTEGER if value >= 0 => false,
            _ => return Err(Reason::Parameter),
        };
        let wide = i128::from(value).to_be_bytes();
        param.return_size = if param.data.is_null() { size_of::<i64>() } else { param.data_size };
        if param.data.is_null() {
            return Ok(());
        }
        let at = wide.len().checked_sub(param.data_size).ok_or(Reason::Parameter)?;
        let (cut, kept) = wide.split_at(at);
        let fill = if value < 0 { 0xff } else { 0 };
        let sign_is_kept = !signed || kept.first().is_some_and(|byte| byte & 0x80 == fill & 0x80);
        if cut.iter().any(|&byte| byte != fill) || !sign_is_kept {
            return Err(Reason::Parameter);
        }
        store(param, &swap_native(kept));
        Ok(())
    }

    /// Writes a number, as decimal text if a text is requested.
    pub(crate) fn integer_or_text(&mut self, key: &CStr, value: i64) -> Result<(), Reason> {
        if !self.wants_text(key) {
            return self.integer(key, value);
        }
        let text = CString::new(value.to_string()).map_err(|_| Reason::Panic)?;
        self.copied_text(key, &text)
    }

    /// Writes a big-endian number of any length if the key is requested.
    pub(crate) fn number(&mut self, key: &CStr, big_endian: &[u8]) -> Result<(), Reason> {
        let Some(param) = self.find(key) else {
            return Ok(());
        };
        if param.data_type != OSSL_PARAM_UNSIGNED_INTEGER {
            return Err(Reason::Parameter);
        }
        if param.data.is_null() {
            param.return_size = big_endian.len();
            return Ok(());
        }
        let Some(zeros) = param.data_size.checked_sub(big_endian.len()) else {
            param.return_size = big_endian.len();
            return Err(Reason::Parameter);
        };
        param.return_size = param.data_size;
        let mut padded = Zeroizing::new(vec![0; param.data_size]);
        padded[zeros..].copy_from_slice(big_endian);
        store(param, &swap_native(&padded));
        Ok(())
    }

    /// Writes a literal text if the key is requested.
    pub(crate) fn text(&mut self, key: &CStr, text: &'static CStr) -> Result<(), Reason> {
        match self.find(key) {
            Some(param) if param.data_type == OSSL_PARAM_UTF8_PTR && !param.data.is_null() => {
                param.return_size = text.to_bytes().len();
                // SAFETY: data of this type is a variable for a pointer to a text.
                unsafe { param.data.cast::<*const c_char>().write(text.as_ptr()) };
                Ok(())
            }
            _ => self.copied_text(key, text),
        }
    }

    fn wants_text(&mut self, key: &CStr) -> bool {
        self.find(key).is_some_and(|param| param.data_type == OSSL_PARAM_UTF8_STRING)
    }

    /// Copies a text into the caller's buffer if the key is requested.
    fn copied_text(&mut self, key: &CStr, text: &CStr) -> Result<(), Reason> {
        let Some(param) = self.find(key) else {
            return Ok(());
        };
        let len = text.to_bytes().len();
        param.return_size = len;
        match param.data_type {
            _ if param.data.is_null() => {}
            OSSL_PARAM_UTF8_STRING if param.data_size > len => {
                store(param, text.to_bytes_with_nul());
            }
            OSSL_PARAM_UTF8_STRING if param.data_size == len => store(param, text.to_bytes()),
            _ => return Err(Reason::Parameter),
        }
        Ok(())
    }

    /// Writes a byte string if the key is requested.
    pub(crate) fn octets(&mut self, key: &CStr, octets: &[u8]) -> Result<(), Reason> {
        let Some(param) = self.find(key) else {
            return Ok(());
        };
        param.return_size = octets.len();
        if param.data.is_null() {
            return Ok(());
        }
        if param.data_type != OSSL_PARAM_OCTET_STRING || param.data_size < octets.len() {
            return Err(Reason::Parameter);
        }
        store(param, octets);
        Ok(())
    }

    /// Writes a pointer to these bytes if the key is requested. The pointer is NULL for an empty
    /// string. The owner's documentation states how long the pointer is valid.
    pub(crate) fn pointer(&mut self, key: &CStr, octets: &[u8]) -> Result<(), Reason> {
        let Some(param) = self.find(key) else {
            return Ok(());
        };
        if param.data_type != OSSL_PARAM_OCTET_PTR {
            return Err(Reason::Parameter);
        }
        param.return_size = octets.len();
        if !param.data.is_null() {
            let pointer = if octets.is_empty() { ptr::null() } else { octets.as_ptr() };
            // SAFETY: data of this type is a variable for a pointer to bytes.
            unsafe { param.data.cast::<*const u8>().write(pointer) };
        }
        Ok(())
    }

    fn find(&mut self, key: &CStr) -> Option<&mut OSSL_PARAM> {
        self.0.iter_mut().find(|param| key_of(param) == key)
    }
}

impl Values {
    /// Adds a number, big-endian.
    pub(crate) fn number(&mut self, key: &'static CStr, big_endian: &[u8]) {
        self.0.push((key, OSSL_PARAM_UNSIGNED_INTEGER, swap_native(big_endian)));
    }

    /// Adds a signed number.
    pub(crate) fn integer(&mut self, key: &'static CStr, value: i32) {
        let bytes = Zeroizing::new(value.to_ne_bytes().to_vec());
        self.0.push((key, OSSL_PARAM_INTEGER, bytes));
    }

    /// Adds a byte string.
    pub(crate) fn octets(&mut self, key: &'static CStr, octets: &[u8]) {
        self.0.push((key, OSSL_PARAM_OCTET_STRING, Zeroizing::new(octets.to_vec())));
    }

    /// Adds a text. Its length includes the NUL, because libssl copies texts up to the NUL.
    pub(crate) fn text(&mut self, key: &'static CStr, text: &CStr) {
        let bytes = Zeroizing::new(text.to_bytes_with_nul().to_vec());
        self.0.push((key, OSSL_PARAM_UTF8_STRING, bytes));
    }

    /// Passes all values to the callback and returns its result.
    ///
    /// # Safety
    ///
    /// `callback` may be called with `argument`.
    pub(crate) unsafe fn pass_to(
        mut self,
        callback: OSSL_CALLBACK,
        argument: *mut c_void,
    ) -> c_int {
        let mut params: Vec<OSSL_PARAM> = self
            .0
            .iter_mut()
            .map(|(key, data_type, bytes)| OSSL_PARAM {
                key: key.as_ptr(),
                data_type: *data_type,
                data: bytes.as_mut_ptr().cast(),
                data_size: bytes.len(),
                ..OSSL_PARAM::END
            })
            .collect();
        params.push(OSSL_PARAM::END);
        // SAFETY: as the caller promised; the array ends with a NULL key and outlives the call.
        unsafe { callback(params.as_ptr(), argument) }
    }
}

/// Counts the parameters before the NULL key.
fn count(first: *const OSSL_PARAM) -> usize {
    let mut count = 0;
    loop {
        // SAFETY: the callers of `Params::new` and `Answers::new` promised an array up to a NULL
        // key.
        let param = unsafe { first.add(count) };
        // SAFETY: as above.
        if unsafe { (*param).key }.is_null() {
            return count;
        }
        count += 1;
    }
}

fn key_of(param: &OSSL_PARAM) -> &CStr {
    // SAFETY: keys are C strings.
    unsafe { CStr::from_ptr(param.key) }
}

/// Writes a value whose length the caller has checked.
fn store(param: &OSSL_PARAM, bytes: &[u8]) {
    assert!(bytes.len() <= param.data_size, "the value fits its buffer");
    let place = param.data.cast::<u8>();
    // SAFETY: `data_size` bytes are writable, as the caller of `Answers::new` promised.
    unsafe { place.copy_from(bytes.as_ptr(), bytes.len()) };
}

/// Converts between big-endian and the machine's byte order.
fn swap_native(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(bytes.to_vec());
    if cfg!(target_endian = "little") {
        bytes.reverse();
    }
    bytes
}

#[cfg(test)]
mod tests;
