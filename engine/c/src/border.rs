//! Entry from C: panics and failures become codes.

use core::ffi::c_int;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use crate::code::{Failure, tollgate_code};

/// Runs the body of a function and returns its code. A value that was being changed during a panic
/// may be inconsistent, but is memory safe.
pub(crate) fn enter(body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        core::mem::forget(payload); // its destructor may panic too
        let text = "the library has a bug: report the panic's message, on standard error";
        Err(Failure::new(tollgate_code::TOLLGATE_PANIC, text))
    });
    outcome.map_or_else(Failure::report, |()| tollgate_code::TOLLGATE_OK as c_int)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_code() {
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        let code = enter(|| panic!("on purpose"));
        std::panic::set_hook(quiet);
        assert_eq!(code, tollgate_code::TOLLGATE_PANIC as c_int);
        assert_eq!(enter(|| Ok(())), 0);
    }
}
