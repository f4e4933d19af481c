//! Jobs of libcrypto (`ASYNC_start_job(3)`, `ASYNC_WAIT_CTX_new(3)`), in the libcrypto that loaded
//! us.
//!
//! The functions are looked for at run time, beside a function that the core passed in: a link to
//! libcrypto would bring a second one into a process that has another version. Where one is
//! missing, as in a program that holds libcrypto itself, no job is ever seen to run.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute_copy;
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicU8;
use std::sync::Arc;

use crate::bell::{Bell, Callback};
use crate::counters::Counters;
use crate::provider::catch;

/// `ASYNC_JOB`.
#[repr(C)]
struct AsyncJob {
    opaque: [u8; 0],
}

/// `ASYNC_WAIT_CTX`.
#[repr(C)]
struct WaitContext {
    opaque: [u8; 0],
}

type Cleanup = unsafe extern "C" fn(*mut WaitContext, *const c_void, c_int, *mut c_void);
type CurrentJob = unsafe extern "C" fn() -> *mut AsyncJob;
type WaitContextOf = unsafe extern "C" fn(*mut AsyncJob) -> *mut WaitContext;
type PauseJob = unsafe extern "C" fn() -> c_int;
type WaitFd =
    unsafe extern "C" fn(*mut WaitContext, *const c_void, *mut c_int, *mut *mut c_void) -> c_int;
type SetWaitFd =
    unsafe extern "C" fn(*mut WaitContext, *const c_void, c_int, *mut c_void, Cleanup) -> c_int;
type CallbackOf = unsafe extern "C" fn(
    *mut WaitContext,
    *mut Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    *mut *mut c_void,
) -> c_int;

/// What a provider needs of them.
pub(crate) struct Jobs {
    current_job: CurrentJob,
    wait_context: WaitContextOf,
    pause_job: PauseJob,
    wait_fd: WaitFd,
    set_wait_fd: SetWaitFd,
    /// Since 3.0; a fork of libcrypto may do without.
    callback: Option<CallbackOf>,
}

/// The job on whose stack the caller runs.
pub(crate) struct Running<'a> {
    jobs: &'a Jobs,
    job: *mut AsyncJob,
}

impl Jobs {
    /// Those of the library that a function is of.
    ///
    /// # Safety
    ///
    /// The function is one that libcrypto passed to the provider, which it outlives.
    pub(crate) unsafe fn beside(function: *const ()) -> Option<Self> {
        let library = Library::of(function)?;
        Some(Self {
            // SAFETY: libcrypto's function of this name has this type: async.h.
            current_job: unsafe { library.find(c"ASYNC_get_current_job") }?,
            // SAFETY: as above.
            wait_context: unsafe { library.find(c"ASYNC_get_wait_ctx") }?,
            // SAFETY: as above.
            pause_job: unsafe { library.find(c"ASYNC_pause_job") }?,
            // SAFETY: as above.
            wait_fd: unsafe { library.find(c"ASYNC_WAIT_CTX_get_fd") }?,
            // SAFETY: as above.
            set_wait_fd: unsafe { library.find(c"ASYNC_WAIT_CTX_set_wait_fd") }?,
            // SAFETY: as above.
            callback: unsafe { library.find(c"ASYNC_WAIT_CTX_get_callback") },
        })
    }

    /// The job that the caller is in.
    pub(crate) fn running(&self) -> Option<Running<'_>> {
        // SAFETY: libcrypto's function, which takes nothing.
        let job = unsafe { (self.current_job)() };
        (!job.is_null()).then_some(Running { jobs: self, job })
    }
}

/// Where in a wait context our bell hangs: libcrypto compares addresses.
static KEY: AtomicU8 = AtomicU8::new(0);

impl Running<'_> {
    /// The bell that its owner waits for: made once for a wait context, which owns it, so that it
    /// ends with it.
    ///
    /// None where nobody would hear: without a wait context, without a descriptor, and in a child
    /// of the process that made the bell.
    pub(crate) fn bell(&self, counters: &Arc<Counters>) -> Option<&Bell> {
        // SAFETY: the job that runs.
        let context = unsafe { (self.jobs.wait_context)(self.job) };
        if context.is_null() {
            return None;
        }
        let key = ptr::from_ref(&KEY).cast();
        let (mut fd, mut bell) = (-1, ptr::null_mut());
        // SAFETY: a wait context that lives while its job runs, and places for the answers.
        let found = unsafe { (self.jobs.wait_fd)(context, key, &mut fd, &mut bell) };
        if found == 1 {
            // SAFETY: what hangs there was hung up below, and stays until the cleanup.
            let bell = unsafe { &*bell.cast::<Bell>() };
            return bell.is_here().then_some(bell);
        }
        let bell = Box::new(Bell::new(counters).ok()?);
        let fd = bell.descriptor();
        let bell = Box::into_raw(bell);
        // SAFETY: as above; the cleanup takes the bell back, once.
        let hung = unsafe { (self.jobs.set_wait_fd)(context, key, fd, bell.cast(), clean_up) };
        if hung != 1 {
            // SAFETY: nobody else has it.
            drop(unsafe { Box::from_raw(bell) });
            return None;
        }
        // SAFETY: it stays until the cleanup, which a job that runs is before.
        Some(unsafe { &*bell })
    }

    /// How the owner wants to be told, if not by the descriptor.
    pub(crate) fn callback(&self) -> Option<Callback> {
        let ask = self.jobs.callback?;
        // SAFETY: the job that runs.
        let context = unsafe { (self.jobs.wait_context)(self.job) };
        let (mut function, mut argument) = (None, ptr::null_mut());
        // SAFETY: a wait context that lives while its job runs, and places for the answers.
        let is_set = unsafe { ask(context, &mut function, &mut argument) } == 1;
        // SAFETY: the owner set them for each other, to be called while the wait context lives.
        function.filter(|_| is_set).map(|function| unsafe { Callback::new(function, argument) })
    }

    /// Gives control back to the owner until it starts the job again; false if that is impossible.
    /// True may come at once, where pauses are blocked.
    pub(crate) fn pause(&self) -> bool {
        // SAFETY: on the stack of the job. If it is never started again, nothing here is dropped.
        unsafe { (self.jobs.pause_job)() == 1 }
    }
}

/// The wait context is freed: nobody will come back to the jobs that were paused in it.
unsafe extern "C" fn clean_up(
    _context: *mut WaitContext,
    _key: *const c_void,
    _fd: c_int,
    bell: *mut c_void,
) {
    catch((), || {
        // SAFETY: the box that was hung up, whose end this is.
        let bell = unsafe { Box::from_raw(bell.cast::<Bell>()) };
        if bell.is_here() { bell.close() } else { bell.close_elsewhere() }
    });
}

/// A library that is loaded.
struct Library(NonNull<c_void>);

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

impl Library {
    fn of(function: *const ()) -> Option<Self> {
        let (dli_fname, dli_fbase) = (ptr::null(), ptr::null_mut());
        let mut info = DlInfo { dli_fname, dli_fbase, dli_sname: dli_fname, dli_saddr: dli_fbase };
        // SAFETY: any address, and a place for the answer.
        let found = unsafe { dladdr(function.cast(), &mut info) };
        if found == 0 || info.dli_fname.is_null() {
            return None;
        }
        // SAFETY: the name of a library that is loaded; nothing is loaded by this.
        let library = unsafe { dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) };
        NonNull::new(library).map(Self)
    }

    /// # Safety
    ///
    /// The library's function of this name has the type `F`, a function pointer.
    unsafe fn find<F>(&self, name: &CStr) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>(), "F is a pointer") };
        // SAFETY: a library that is loaded, and a text.
        let address = unsafe { dlsym(self.0.as_ptr(), name.as_ptr()) };
        // SAFETY: the caller's promise, and the address is not NULL.
        (!address.is_null()).then(|| unsafe { transmute_copy(&address) })
    }
}

impl Drop for Library {
    /// It stays without us: its functions call us.
    fn drop(&mut self) {
        // SAFETY: opened once, closed once.
        unsafe { dlclose(self.0.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::Library;

    /// As one that holds libcrypto itself: dlopen does not give the program, and there is nothing
    /// to close.
    #[test]
    fn a_program_is_no_library() {
        assert!(Library::of(Library::of as *const ()).is_none());
    }
}
