//! What the core offers the provider: raising errors.

use core::ffi::c_int;
use core::mem::transmute;
use core::ptr;

use crate::abi::{
    OSSL_CORE_HANDLE, OSSL_DISPATCH, OSSL_FUNC_CORE_NEW_ERROR, OSSL_FUNC_CORE_SET_ERROR_DEBUG,
    OSSL_FUNC_CORE_VSET_ERROR, OSSL_FUNC_core_new_error_fn, OSSL_FUNC_core_set_error_debug_fn,
    OSSL_FUNC_core_vset_error_fn,
};
use crate::reason::Reason;

/// The libcrypto that loaded us, by the functions that it passed in.
pub(crate) struct Core {
    handle: *const OSSL_CORE_HANDLE,
    new_error: Option<OSSL_FUNC_core_new_error_fn>,
    set_error_debug: Option<OSSL_FUNC_core_set_error_debug_fn>,
    vset_error: Option<OSSL_FUNC_core_vset_error_fn>,
}

// SAFETY: the handle is only passed back to the core, whose upcalls any thread may make.
unsafe impl Send for Core {}
// SAFETY: as for `Send`; nothing here is written after `new`.
unsafe impl Sync for Core {}

impl Core {
    /// Reads the core's table.
    ///
    /// # Safety
    ///
    /// `handle` and `table` are what a libcrypto of version 3 or later passes to
    /// `OSSL_provider_init`, and the value is not used after teardown.
    pub(crate) unsafe fn new(
        handle: *const OSSL_CORE_HANDLE,
        mut table: *const OSSL_DISPATCH,
    ) -> Self {
        let mut core = Self { handle, new_error: None, set_error_debug: None, vset_error: None };
        if table.is_null() {
            return core;
        }
        loop {
            // SAFETY: the table goes on up to the row with number 0, which ends the loop.
            let row = unsafe { *table };
            match row.function_id {
                0 => return core,
                _ if row.function.is_null() => {}
                OSSL_FUNC_CORE_NEW_ERROR => {
                    // SAFETY: the core's function of this number has this type.
                    let function = unsafe {
                        transmute::<*const (), OSSL_FUNC_core_new_error_fn>(row.function)
                    };
                    core.new_error = Some(function);
                }
                OSSL_FUNC_CORE_SET_ERROR_DEBUG => {
                    // SAFETY: the core's function of this number has this type.
                    let function = unsafe {
                        transmute::<*const (), OSSL_FUNC_core_set_error_debug_fn>(row.function)
                    };
                    core.set_error_debug = Some(function);
                }
                OSSL_FUNC_CORE_VSET_ERROR => {
                    // SAFETY: the core's function of this number has this type.
                    let function = unsafe {
                        transmute::<*const (), OSSL_FUNC_core_vset_error_fn>(row.function)
                    };
                    core.vset_error = Some(function);
                }
                _ => {}
            }
            // SAFETY: this was not the last row.
            table = unsafe { table.add(1) };
        }
    }

    /// Puts a reason into the calling thread's error queue; its text is in the table of reasons.
    pub(crate) fn raise(&self, reason: Reason) {
        let (Some(new_error), Some(vset_error)) = (self.new_error, self.vset_error) else {
            return;
        };
        // SAFETY: the core's function, with the core's handle.
        unsafe { new_error(self.handle) };
        if let Some(set_error_debug) = self.set_error_debug {
            let line: c_int = 0;
            // SAFETY: as above; the file is a literal, and NULL stands for no function.
            unsafe { set_error_debug(self.handle, c"tollgate".as_ptr(), line, ptr::null()) };
        }
        // SAFETY: as above; with a NULL format the core does not read the argument list.
        unsafe { vset_error(self.handle, reason as u32, ptr::null(), ptr::null_mut()) };
    }
}
