//! Catches panics at the C boundary.
#![forbid(unsafe_code)]

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

/// Runs `body` and catches panics. A value that was being changed may be inconsistent, but is
/// memory safe, and libcrypto frees a context that failed.
pub(crate) fn catch<T>(on_panic: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        // The payload's destructor may panic too.
        core::mem::forget(payload);
        on_panic
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_do_not_cross_the_boundary() {
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        let caught = catch(7, || panic!("on purpose"));
        std::panic::set_hook(quiet);
        assert_eq!(caught, 7);
        assert_eq!(catch(7, || 8), 8);
    }
}
