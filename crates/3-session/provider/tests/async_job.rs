//! Operations within an `ASYNC_JOB`, as servers in the mode `SSL_MODE_ASYNC` call them: on a stack
//! of 32 KiB without a guard page, which libcrypto fixes.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(non_camel_case_types, reason = "C names")]

mod host;

use core::ffi::{c_int, c_void};
use core::hint::black_box;
use core::ptr;

use host::libcrypto;
use host::{DEMAND, Host, pem};

#[repr(C)]
struct ASYNC_JOB {
    _opaque: [u8; 0],
}

#[repr(C)]
struct ASYNC_WAIT_CTX {
    _opaque: [u8; 0],
}

#[link(name = "crypto")]
unsafe extern "C" {
    fn ASYNC_WAIT_CTX_new() -> *mut ASYNC_WAIT_CTX;
    fn ASYNC_WAIT_CTX_free(context: *mut ASYNC_WAIT_CTX);
    fn ASYNC_start_job(
        job: *mut *mut ASYNC_JOB,
        context: *mut ASYNC_WAIT_CTX,
        result: *mut c_int,
        run: unsafe extern "C" fn(*mut c_void) -> c_int,
        argument: *mut c_void,
        size: usize,
    ) -> c_int;
}

/// `ASYNC_FINISH` of `openssl/async.h`.
const FINISHED: c_int = 3;
/// `STACKSIZE` of libcrypto's `async_posix.h`.
const STACK_BYTES: usize = 32 * 1024;
/// Of the stack, what may lie above the place where the job begins to measure, and what the
/// measuring itself takes.
const TOP_BYTES: usize = 3 * 1024;
const OWN_BYTES: usize = 256;
const PAINT: u8 = 0xa5;

/// Runs `operation` as a job; the bytes of stack that it took at most.
fn stack_of_job(operation: &mut dyn FnMut()) -> usize {
    struct Job<'a> {
        operation: &'a mut dyn FnMut(),
        stack_bytes: usize,
    }
    unsafe extern "C" fn run(argument: *mut c_void) -> c_int {
        // SAFETY: libcrypto passes a copy of the pointer that it was given.
        let job = unsafe { argument.cast::<*mut Job<'_>>().read() };
        // SAFETY: the caller's job, which it does not touch meanwhile.
        let job = unsafe { &mut *job };
        let here = 0_u8;
        // The compiler shall not conclude that nobody else writes below.
        let top = black_box(ptr::from_ref(&here).cast_mut());
        let span = OWN_BYTES..STACK_BYTES - TOP_BYTES;
        for depth in span.clone() {
            // SAFETY: the job's own stack, below everything that is on it.
            unsafe { top.wrapping_sub(depth).write_volatile(PAINT) };
        }
        (job.operation)();
        let untouched = span.clone().rev().take_while(|&depth| {
            // SAFETY: as above.
            let byte = unsafe { top.wrapping_sub(depth).read_volatile() };
            byte == PAINT
        });
        job.stack_bytes = span.end - untouched.count();
        1
    }
    let mut job = Job { operation, stack_bytes: 0 };
    let mut argument = ptr::from_mut(&mut job);
    let (mut handle, mut result) = (ptr::null_mut(), 0);
    // SAFETY: no arguments.
    let context = unsafe { ASYNC_WAIT_CTX_new() };
    // SAFETY: places for the answers; the argument is copied, and what it points to outlives the
    // job, which never pauses.
    let status = unsafe {
        ASYNC_start_job(
            &mut handle,
            context,
            &mut result,
            run,
            ptr::from_mut(&mut argument).cast(),
            size_of::<*mut Job<'_>>(),
        )
    };
    assert_eq!((status, result), (FINISHED, 1));
    // SAFETY: freed once.
    unsafe { ASYNC_WAIT_CTX_free(context) };
    job.stack_bytes
}

#[test]
fn operations_leave_half_of_a_job_s_stack() {
    let host = Host::builtin();
    for name in ["rsa-2048.pem", "rsa-8192.pem"] {
        let key = host.key(&pem(name));
        let sign = |params: &[_]| {
            host.sign(&key, DEMAND, c"SHA256", params, b"a message").unwrap();
        };
        let decrypt = |params: &[_]| {
            let size = key_size(&key);
            let operation = host.operation(&key, DEMAND);
            operation.init(libcrypto::EVP_PKEY_decrypt_init_ex, params).unwrap();
            operation.run(libcrypto::EVP_PKEY_decrypt, &vec![1; size]).unwrap();
        };
        let mut mode = 7;
        let mut version = 0x0303;
        let tls = [
            libcrypto::int(c"pad-mode", &mut mode),
            libcrypto::uint(c"tls-client-version", &mut version),
        ];
        let operations: [(&str, &mut dyn FnMut()); 5] = [
            ("import and sign", &mut || sign(&[])),
            ("sign", &mut || sign(&[])),
            ("PSS", &mut || sign(&[(c"pad-mode", c"pss")])),
            ("decrypt", &mut || decrypt(&[])),
            ("TLS", &mut || decrypt(&tls)),
        ];
        for (what, operation) in operations {
            let stack_bytes = stack_of_job(operation);
            assert!(stack_bytes < STACK_BYTES / 2, "{name}: {what}: {stack_bytes} bytes of stack");
        }
    }
}

fn key_size(key: &host::Key) -> usize {
    // SAFETY: a key.
    usize::try_from(unsafe { libcrypto::EVP_PKEY_get_size(key.0) }).unwrap()
}
