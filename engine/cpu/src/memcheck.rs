//! Valgrind client requests. They mark secrets as undefined; memcheck then reports every branch and
//! address that depends on a secret.
//!
//! A request is a sequence of instructions that valgrind recognises. Its preamble rotates a
//! register by 3 + 13 + 61 + 51 = 128 bits, which restores the value; then `xchg rbx, rbx` marks
//! the request. Outside valgrind, a call costs only these instructions and has no effect. For the
//! protocol, see "magic instruction sequence" for amd64 in `valgrind.h` and `memcheck.h` of
//! valgrind 3.
//!
//! The functions take a shared reference. After a call, the compiler may therefore still use a
//! known value from a register, or as a constant. To prevent this, tests take secrets from a
//! generator or pass them through [`core::hint::black_box`], and keep them on the heap.
//!
//! The requests are compiled with debug assertions only, so that no release contains them. `cargo
//! memcheck` runs tests of the release build with debug assertions in this crate alone.

/// True if the requests are compiled; otherwise the functions of this module have no effect.
pub const IS_COMPILED: bool = cfg!(all(target_arch = "x86_64", debug_assertions));

/// `VG_USERREQ__RUNNING_ON_VALGRIND`.
const RUNNING_ON_VALGRIND: u64 = 0x1001;
/// `VG_USERREQ__COUNT_ERRORS`.
const COUNT_ERRORS: u64 = 0x1201;
/// `VG_USERREQ__MAKE_MEM_UNDEFINED`: tool base 'M' 'C', request 1.
const MAKE_MEM_UNDEFINED: u64 = 0x4d43_0001;
/// `VG_USERREQ__MAKE_MEM_DEFINED`: tool base 'M' 'C', request 2.
const MAKE_MEM_DEFINED: u64 = 0x4d43_0002;

/// Returns `true` if this program runs under valgrind, with any tool.
#[inline]
#[must_use]
pub fn running_on_valgrind() -> bool {
    request(RUNNING_ON_VALGRIND, 0, 0) != 0
}

/// Marks bytes, limbs or digits as secret: from now on memcheck reports every conditional jump and
/// every address that depends on them (`MAKE_MEM_UNDEFINED`). Their values do not change.
#[inline]
pub fn mark_secret<T: Copy>(values: &[T]) {
    request(MAKE_MEM_UNDEFINED, values.as_ptr().addr() as u64, size_of_val(values) as u64);
}

/// Marks bytes, limbs or digits as public (`MAKE_MEM_DEFINED`). Use this function for a result
/// before a test compares the result, or for a value that the operation releases.
#[inline]
pub fn declassify<T: Copy>(values: &[T]) {
    request(MAKE_MEM_DEFINED, values.as_ptr().addr() as u64, size_of_val(values) as u64);
}

/// Returns `word`, marked as secret: see [`mark_secret`].
#[inline]
#[must_use]
pub fn secret(word: u64) -> u64 {
    mark_secret(core::slice::from_ref(&word));
    // SAFETY: a reference is valid to read. The volatile read takes the marked value from memory.
    unsafe { core::ptr::read_volatile(&raw const word) }
}

/// Returns `word`, marked as public. Use this function for a value on which a public decision
/// depends, such as the outcome of a check.
#[inline]
#[must_use]
pub fn declassified(word: u64) -> u64 {
    if !IS_COMPILED {
        return core::hint::black_box(word); // hides from the compiler how `word` was computed
    }
    declassify(core::slice::from_ref(&word));
    // SAFETY: a reference is valid to read. The volatile read takes the public value from memory.
    unsafe { core::ptr::read_volatile(&raw const word) }
}

/// Returns the number of errors that valgrind has reported in this process so far; 0 outside
/// valgrind.
///
/// A constant-time test calls this function before and after the operation under test, and expects
/// the same number from both calls. If one code location causes an error repeatedly, memcheck
/// counts every repetition.
#[inline]
#[must_use]
pub fn count_errors() -> u64 {
    // valgrind answers with an unsigned int.
    request(COUNT_ERRORS, 0, 0) & 0xffff_ffff
}

/// Makes a client request; returns 0 outside valgrind.
#[cfg(all(target_arch = "x86_64", debug_assertions))]
#[inline(never)] // one copy of the sequence
fn request(code: u64, address: u64, bytes: u64) -> u64 {
    let request: [u64; 6] = [code, address, bytes, 0, 0, 0];
    let mut answer: u64 = 0;
    // SAFETY: outside valgrind the sequence rotates rdi by 128 bits in total and exchanges rbx with
    // itself: only the flags change. Under valgrind, valgrind reads the six words at rax and writes
    // its answer to rdx. It changes its records about memory, never the memory. No stack is used.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") request.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

/// Does nothing without debug assertions, and on other architectures.
#[cfg(not(all(target_arch = "x86_64", debug_assertions)))]
#[inline]
fn request(_code: u64, _address: u64, _bytes: u64) -> u64 {
    0
}
