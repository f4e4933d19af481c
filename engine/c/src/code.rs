//! Codes of results and their texts.

use core::cell::RefCell;
use core::ffi::{CStr, c_char, c_int};
use std::ffi::CString;

use tollgate_queue::PrivateError;
use tollgate_rsa::{Error, Rejected};

use tollgate_code::*;

/// Results of functions. The numbers do not change between releases.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum tollgate_code {
    /// Success.
    TOLLGATE_OK = 0,
    /// Operations of the queue still run. Not an error: call again later.
    TOLLGATE_PENDING = 1,
    /// The signature is not valid. There is one code for every reason.
    TOLLGATE_SIGNATURE_INVALID = 2,
    /// The ciphertext does not decrypt. There is one code for every reason.
    TOLLGATE_DECRYPTION_FAILED = 3,
    /// A key, digest or message is not acceptable: use another one.
    TOLLGATE_REJECTED = 4,
    /// The call is wrong, e.g. a pointer is NULL or a length does not fit: correct the program.
    TOLLGATE_MISUSE = 5,
    /// The queue is full, or the caller has its share of it: take results, then retry.
    TOLLGATE_FULL = 6,
    /// The process was forked from the one that created the object: create one in this process.
    TOLLGATE_FORKED = 7,
    /// The queue accepts no more operations: start another one.
    TOLLGATE_CLOSED = 8,
    /// The system gave no random bytes, thread or descriptor: repair it, then retry.
    TOLLGATE_UNAVAILABLE = 9,
    /// The check of the result failed and nothing was released: test the machine.
    TOLLGATE_FAULT = 10,
    /// The library has a bug; the panic's message is on standard error: report it.
    TOLLGATE_PANIC = 11,
}

const ALL: [(tollgate_code, &CStr); 12] = [
    (TOLLGATE_OK, c"success"),
    (TOLLGATE_PENDING, c"operations of the queue still run: call again later"),
    (TOLLGATE_SIGNATURE_INVALID, c"the signature is not valid"),
    (TOLLGATE_DECRYPTION_FAILED, c"the ciphertext does not decrypt"),
    (TOLLGATE_REJECTED, c"a key, digest or message is not acceptable: use another one"),
    (TOLLGATE_MISUSE, c"the call is wrong: correct the program"),
    (TOLLGATE_FULL, c"the queue is full: take results, then retry"),
    (TOLLGATE_FORKED, c"the object is of the parent process: create one in this process"),
    (TOLLGATE_CLOSED, c"the queue accepts no more operations: start another one"),
    (TOLLGATE_UNAVAILABLE, c"the system did not give what was needed: repair it, then retry"),
    (TOLLGATE_FAULT, c"the check of the result failed: test this machine's memory and processor"),
    (TOLLGATE_PANIC, c"the library has a bug: report the panic's message"),
];

/// Returns the text of a code: one line, static, never NULL. tollgate_last_error() says more.
#[unsafe(no_mangle)]
pub extern "C" fn tollgate_error_text(code: c_int) -> *const c_char {
    let known = ALL.iter().find(|(known, _)| *known as c_int == code);
    known.map_or(c"no code of this library", |(_, text)| text).as_ptr()
}

/// Returns the text of this thread's last error: the failure, its place, and the next step, in one
/// line. It is valid until the next error in this thread, and empty before the first one.
#[unsafe(no_mangle)]
pub extern "C" fn tollgate_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Returns the version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn tollgate_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The reason that a function gives no result.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    code: tollgate_code,
    text: String,
}

impl Failure {
    pub(crate) fn new(code: tollgate_code, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    pub(crate) fn misuse(text: impl Into<String>) -> Self {
        Self::new(TOLLGATE_MISUSE, text)
    }

    /// Prefixes the text, e.g. with the number of an element.
    pub(crate) fn of(self, what: &str) -> Self {
        Self { text: format!("{what}: {}", self.text), ..self }
    }

    pub(crate) fn code(&self) -> c_int {
        self.code as c_int
    }

    /// Keeps the text for this thread and returns the code.
    pub(crate) fn report(self) -> c_int {
        // No text of the library has a NUL. In a thread that ends there is no place for a text.
        let text = CString::new(self.text).unwrap_or_default();
        let _ = LAST.try_with(|last| last.replace(text));
        self.code as c_int
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Rejected(Rejected::SignatureInvalid) => TOLLGATE_SIGNATURE_INVALID,
            Error::Rejected(Rejected::DecryptionFailed) => TOLLGATE_DECRYPTION_FAILED,
            Error::Rejected(_) => TOLLGATE_REJECTED,
            Error::Misuse(_) => TOLLGATE_MISUSE,
            Error::Fault => TOLLGATE_FAULT,
            Error::Unavailable(_) => TOLLGATE_UNAVAILABLE,
        };
        Self::new(code, error.to_string())
    }
}

impl From<PrivateError> for Failure {
    fn from(error: PrivateError) -> Self {
        let code = match error {
            PrivateError::Rejected(why) => return why.into(),
            PrivateError::Full { .. } | PrivateError::CallerFull { .. } => TOLLGATE_FULL,
            PrivateError::Config(_) => TOLLGATE_MISUSE,
            PrivateError::Fault => TOLLGATE_FAULT,
            PrivateError::Forked => TOLLGATE_FORKED,
            PrivateError::NoUnit | PrivateError::ShutDown => TOLLGATE_CLOSED,
            PrivateError::UnitPanicked => TOLLGATE_PANIC,
            _ => TOLLGATE_UNAVAILABLE,
        };
        Self::new(code, error.to_string())
    }
}
