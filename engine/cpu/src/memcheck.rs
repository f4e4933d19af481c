//! Valgrind client requests by hand: mark secrets as undefined, so that memcheck reports every
//! branch and address that depends on them.
//!
//! Outside valgrind each call costs a handful of instructions and changes nothing: the preamble
//! rotates a register by 3 + 13 + 61 + 51 = 128 bits, that is, back to where it was, and
//! `xchg rbx, rbx` is the request's mark. Protocol: `valgrind.h` and `memcheck.h` of valgrind 3,
//! "magic instruction sequence" for amd64.
//!
//! The compiler sees only a shared reference go by, so a value that it knows may still sit in a
//! register, or be folded into the code, behind the call. Secrets of a test come from a generator
//! or go through [`core::hint::black_box`], and live on the heap.

/// `VG_USERREQ__RUNNING_ON_VALGRIND`.
const RUNNING_ON_VALGRIND: u64 = 0x1001;
/// `VG_USERREQ__COUNT_ERRORS`.
const COUNT_ERRORS: u64 = 0x1201;
/// `VG_USERREQ__MAKE_MEM_UNDEFINED`: tool base 'M' 'C', request 1.
const MAKE_MEM_UNDEFINED: u64 = 0x4d43_0001;
/// `VG_USERREQ__MAKE_MEM_DEFINED`: tool base 'M' 'C', request 2.
const MAKE_MEM_DEFINED: u64 = 0x4d43_0002;

/// Whether this program runs under valgrind, whatever the tool.
#[inline]
#[must_use]
pub fn running_on_valgrind() -> bool {
    request(RUNNING_ON_VALGRIND, 0, 0) != 0
}

/// Tells memcheck that `bytes` are secret: from here on it reports every conditional jump and every
/// address that depends on them (`MAKE_MEM_UNDEFINED`). The bytes themselves stay as they are.
#[inline]
pub fn mark_secret(bytes: &[u8]) {
    request(MAKE_MEM_UNDEFINED, bytes.as_ptr().addr() as u64, bytes.len() as u64);
}

/// [`mark_secret`] for limbs or digits.
#[inline]
pub fn mark_secret_words(words: &[u64]) {
    request(MAKE_MEM_UNDEFINED, words.as_ptr().addr() as u64, size_of_val(words) as u64);
}

/// Tells memcheck that `bytes` may be known to everyone (`MAKE_MEM_DEFINED`): a result before it is
/// compared, or a value whose release is the point of the operation.
#[inline]
pub fn declassify(bytes: &[u8]) {
    request(MAKE_MEM_DEFINED, bytes.as_ptr().addr() as u64, bytes.len() as u64);
}

/// [`declassify`] for limbs or digits.
#[inline]
pub fn declassify_words(words: &[u64]) {
    request(MAKE_MEM_DEFINED, words.as_ptr().addr() as u64, size_of_val(words) as u64);
}

/// `word`, secret from here on, wherever the compiler keeps it: see [`mark_secret`].
#[inline]
#[must_use]
pub fn secret(word: u64) -> u64 {
    mark_secret_words(core::slice::from_ref(&word));
    // SAFETY: a reference is valid to read. Volatile: the value comes from where it was marked.
    unsafe { core::ptr::read_volatile(&raw const word) }
}

/// `word`, known to everyone from here on: what a public decision is taken by, such as whether a
/// check held. Works on the value itself, wherever the compiler keeps it.
#[inline]
#[must_use]
pub fn declassified(word: u64) -> u64 {
    if !cfg!(feature = "memcheck") {
        return word;
    }
    declassify_words(core::slice::from_ref(&word));
    // SAFETY: a reference is valid to read. Volatile: the value comes from where it was
    // declassified.
    unsafe { core::ptr::read_volatile(&raw const word) }
}

/// Errors that the running valgrind tool has reported so far in this process; 0 outside valgrind.
///
/// A constant-time test reads it before and after the operation under test and expects the same
/// number. Memcheck counts a place in the code each time it errs there.
#[inline]
#[must_use]
pub fn count_errors() -> u64 {
    // valgrind answers with an unsigned int.
    request(COUNT_ERRORS, 0, 0) & 0xffff_ffff
}

/// One client request; answers 0 outside valgrind.
#[cfg(all(target_arch = "x86_64", feature = "memcheck"))]
#[inline(never)] // one copy of the sequence
fn request(code: u64, address: u64, bytes: u64) -> u64 {
    let request: [u64; 6] = [code, address, bytes, 0, 0, 0];
    let mut answer: u64 = 0;
    // SAFETY: outside valgrind the sequence rotates rdi by 128 bits in all and exchanges rbx with
    // itself: nothing but the flags changes. Inside, valgrind reads the six words at rax, answers
    // in rdx, and changes what it knows about memory, never the memory. No stack is used.
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

/// Without the feature, and on other architectures, there is no such request.
#[cfg(not(all(target_arch = "x86_64", feature = "memcheck")))]
#[inline]
fn request(_code: u64, _address: u64, _bytes: u64) -> u64 {
    0
}
