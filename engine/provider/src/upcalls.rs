//! Functions of the core that the provider calls to read settings and to raise errors.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::marker::PhantomData;
use core::mem::transmute_copy;
use core::ptr;
use std::ffi::CString;

use zeroize::Zeroizing;

use crate::abi::*;
use crate::jobs::Jobs;
use crate::keymgmt_cache::KeymgmtCache;
use crate::reason::Reason;

/// The libcrypto that loaded the provider, through the functions that it passed in.
pub(crate) struct Core {
    handle: *const OSSL_CORE_HANDLE,
    ask: Option<CoreGetParams>,
    new_error: Option<CoreNewError>,
    set_error_debug: Option<CoreSetErrorDebug>,
    vset_error: Option<CoreVsetError>,
    set_error_mark: Option<CoreMark>,
    pop_error_to_mark: Option<CoreMark>,
    library_context: Option<CoreGetLibctx>,
    bio_gets: Option<BioGets>,
}

/// A stream of the core.
pub(crate) struct Stream<'a>(*mut OSSL_CORE_BIO, PhantomData<&'a ()>);

impl Stream<'_> {
    /// # Safety
    ///
    /// `stream` is NULL, or a stream of the core that passed it, which lives as long as the value.
    pub(crate) unsafe fn new(stream: *mut OSSL_CORE_BIO) -> Self {
        Self(stream, PhantomData)
    }
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
    /// A libcrypto of version 3 or later passed `handle` and `table` to `OSSL_provider_init`, and
    /// the value is not used after teardown.
    pub(crate) unsafe fn new(handle: *const OSSL_CORE_HANDLE, table: *const OSSL_DISPATCH) -> Self {
        Self {
            handle,
            // SAFETY: the core's table, as the caller promised.
            ask: unsafe { find(table, &OSSL_FUNC_CORE_GET_PARAMS) },
            // SAFETY: as above.
            new_error: unsafe { find(table, &OSSL_FUNC_CORE_NEW_ERROR) },
            // SAFETY: as above.
            set_error_debug: unsafe { find(table, &OSSL_FUNC_CORE_SET_ERROR_DEBUG) },
            // SAFETY: as above.
            vset_error: unsafe { find(table, &OSSL_FUNC_CORE_VSET_ERROR) },
            // SAFETY: as above.
            set_error_mark: unsafe { find(table, &OSSL_FUNC_CORE_SET_ERROR_MARK) },
            // SAFETY: as above.
            pop_error_to_mark: unsafe { find(table, &OSSL_FUNC_CORE_POP_ERROR_TO_MARK) },
            // SAFETY: as above.
            library_context: unsafe { find(table, &OSSL_FUNC_CORE_GET_LIBCTX) },
            // SAFETY: as above.
            bio_gets: unsafe { find(table, &OSSL_FUNC_BIO_GETS) },
        }
    }

    /// Returns the job functions of this libcrypto, if they can be found.
    pub(crate) fn jobs(&self) -> Option<Jobs> {
        let function = self.new_error? as *const ();
        // SAFETY: a function that the core passed in.
        unsafe { Jobs::of_library(function) }
    }

    /// Returns the cache of this library context, if the functions can be found.
    pub(crate) fn keymgmt_cache(&self) -> Option<KeymgmtCache> {
        let function = self.new_error? as *const ();
        // SAFETY: the core's function, with the core's handle.
        let context = unsafe { (self.library_context?)(self.handle) };
        // SAFETY: a function that the core passed in, and its context.
        unsafe { KeymgmtCache::of_library(function, context) }
    }

    /// Calls `run`, and then removes the errors that it has added to the thread's queue.
    pub(crate) fn without_errors(&self, run: &mut dyn FnMut()) {
        let (Some(set_mark), Some(pop_to_mark)) = (self.set_error_mark, self.pop_error_to_mark)
        else {
            return run();
        };
        // SAFETY: the core's function, with the core's handle.
        unsafe { set_mark(self.handle) };
        run();
        // SAFETY: as above.
        unsafe { pop_to_mark(self.handle) };
    }

    /// Returns the value of a key in the provider's section of the configuration.
    pub(crate) fn setting(&self, key: &CStr) -> Option<CString> {
        let ask = self.ask?;
        let mut value: *const c_char = ptr::null();
        let question = OSSL_PARAM {
            key: key.as_ptr(),
            data_type: OSSL_PARAM_UTF8_PTR,
            data: (&raw mut value).cast::<c_void>(),
            data_size: 0,
            ..OSSL_PARAM::END
        };
        let mut questions = [question, OSSL_PARAM::END];
        // SAFETY: the core's function, with the core's handle; the array ends with a NULL key, and
        // data of this type is a variable for a pointer.
        let answered = unsafe { ask(self.handle, questions.as_mut_ptr()) };
        if answered != 1 || value.is_null() {
            return None;
        }
        // SAFETY: the core's text lives as long as the provider.
        Some(unsafe { CStr::from_ptr(value) }.to_owned())
    }

    /// Returns the next line of a stream with its end, or the beginning of a long one; `None` at
    /// the end of the stream, or if the core cannot read it.
    pub(crate) fn read_line(&self, stream: &Stream<'_>) -> Option<Zeroizing<Vec<u8>>> {
        let gets = self.bio_gets.filter(|_| !stream.0.is_null())?;
        let mut line = Zeroizing::new([0_u8; LINE_BYTES_MAX]); // perhaps of a private key
        let size = c_int::try_from(line.len()).ok()?;
        // SAFETY: the core's function, a stream of the core, and a buffer of this size.
        let count = unsafe { gets(stream.0, line.as_mut_ptr().cast(), size) };
        let count = usize::try_from(count).ok().filter(|&count| count != 0)?;
        line.get(..count).map(|line| Zeroizing::new(line.to_vec()))
    }

    /// Adds a reason to the calling thread's error queue. Its text is in the table of reasons.
    pub(crate) fn raise(&self, reason: Reason) {
        self.raise_formatted(reason, None);
    }

    /// Adds a reason with a message as its data. If the provider does not load, libcrypto shows
    /// only the message, because it would read the table of reasons only after loading.
    pub(crate) fn raise_with(&self, reason: Reason, what: &str) {
        let format = what.replace('%', "%%").replace('\0', "");
        self.raise_formatted(reason, CString::new(format).ok().as_deref());
    }

    /// Adds a reason. The format contains no conversions.
    fn raise_formatted(&self, reason: Reason, format: Option<&CStr>) {
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
        // A `va_list` that is passed by value is copied but not read.
        let mut no_arguments = [0_u64; 8];
        let arguments: *mut c_void = no_arguments.as_mut_ptr().cast();
        let format = format.map_or(ptr::null(), CStr::as_ptr);
        // SAFETY: as above; a format without conversions reads no arguments, and the memory in
        // place of a `va_list` is as large as any (24 bytes on x86-64, 32 on AArch64).
        unsafe { vset_error(self.handle, reason as u32, format, arguments) };
    }
}

/// The longest part of a line that is read at once, with a NUL. PEM has shorter lines.
const LINE_BYTES_MAX: usize = 256;

/// Returns the function of this number in a table, if the table has one.
///
/// # Safety
///
/// `table` is NULL or ends with number 0, and its function of this number has the type `F`, a
/// function pointer.
unsafe fn find<F>(mut table: *const OSSL_DISPATCH, id: &Id<F>) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*const ()>(), "F is a pointer") };
    // SAFETY: NULL, or a row up to the one with number 0, which ends the loop.
    while let Some(row) = unsafe { table.as_ref() }
        && row.function_id != 0
    {
        if row.function_id == id.number && !row.function.is_null() {
            // SAFETY: as the caller promised; the address is not NULL.
            return Some(unsafe { transmute_copy(&row.function) });
        }
        // SAFETY: this was not the last row.
        table = unsafe { table.add(1) };
    }
    None
}
