//! Functions of the libcrypto that loaded the provider, by name.
//!
//! They are looked up at run time. If this module were linked to libcrypto, a process with another
//! version of libcrypto would load a second libcrypto.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute_copy;
use core::ptr::{self, NonNull};

/// A loaded library, or a program that contains libcrypto.
pub(crate) struct Library {
    handle: NonNull<c_void>,
    /// The address of the program. Its handle also finds the functions of its libraries, which may
    /// include another libcrypto.
    program: Option<*mut c_void>,
}

/// `Dl_info` of dlfcn.h.
#[repr(C)]
struct DlInfo {
    dli_fname: *const c_char,
    dli_fbase: *mut c_void,
    dli_sname: *const c_char,
    dli_saddr: *mut c_void,
}

const RTLD_LAZY: c_int = 1;
const RTLD_NOLOAD: c_int = 4;

unsafe extern "C" {
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
    fn dlopen(file: *const c_char, mode: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
}

/// Returns the library or program that contains an address.
fn containing(address: *const c_void) -> Option<DlInfo> {
    let (dli_fname, dli_fbase) = (ptr::null(), ptr::null_mut());
    let mut info = DlInfo { dli_fname, dli_fbase, dli_sname: dli_fname, dli_saddr: dli_fbase };
    // SAFETY: any address, and a structure to fill.
    (unsafe { dladdr(address, &mut info) } != 0).then_some(info)
}

impl Library {
    /// Returns the library that contains `function`. A program is returned too; it has only the
    /// functions that it exports.
    pub(crate) fn new(function: *const ()) -> Option<Self> {
        let info = containing(function.cast()).filter(|info| !info.dli_fname.is_null())?;
        // SAFETY: the name of a loaded library; RTLD_NOLOAD loads nothing.
        let library = unsafe { dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) };
        if let Some(handle) = NonNull::new(library) {
            return Some(Self { handle, program: None });
        }
        // SAFETY: NULL stands for the program.
        let handle = NonNull::new(unsafe { dlopen(ptr::null(), RTLD_LAZY) })?;
        Some(Self { handle, program: Some(info.dli_fbase) })
    }

    /// # Safety
    ///
    /// The library's function of this name has the type `F`, a function pointer.
    pub(crate) unsafe fn find<F>(&self, name: &CStr) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>(), "F is a pointer") };
        // SAFETY: a loaded library and a C string.
        let address = NonNull::new(unsafe { dlsym(self.handle.as_ptr(), name.as_ptr()) })?;
        if let Some(program) = self.program
            && containing(address.as_ptr()).is_none_or(|info| info.dli_fbase != program)
        {
            return None;
        }
        // SAFETY: as the caller promised; the address is not NULL.
        Some(unsafe { transmute_copy(&address) })
    }
}

impl Drop for Library {
    /// The library stays loaded: its functions call the provider.
    fn drop(&mut self) {
        // SAFETY: opened once, closed once.
        unsafe { dlclose(self.handle.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a program that contains libcrypto statically, beside a libcrypto in a library.
    #[test]
    fn a_program_has_no_functions_of_its_libraries() {
        let program = Library::new(Library::new as *const ()).unwrap();
        let library = Library::new(dlsym as *const ()).unwrap();
        type AnyFunction = unsafe extern "C" fn();
        // SAFETY: not called.
        assert!(unsafe { program.find::<AnyFunction>(c"getpid") }.is_none());
        // SAFETY: not called.
        assert!(unsafe { library.find::<AnyFunction>(c"getpid") }.is_some());
    }
}
