//! An allocator that tracks the blocks in use and keeps the contents of freed blocks. Its state is
//! global for the process, so a test that reads the state runs alone.

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::alloc::System;

/// The number of bytes in use from Rust's allocator, not from libcrypto's.
static IN_USE: AtomicUsize = AtomicUsize::new(0);
/// Addresses and lengths of the blocks in use, in an open-addressing hash table.
static BLOCKS: [[AtomicUsize; 2]; 1 << 14] =
    [const { [const { AtomicUsize::new(0) }; 2] }; 1 << 14];
/// The contents of freed memory, except blocks of zeros.
static LEFT: [AtomicU8; 1 << 26] = [const { AtomicU8::new(0) }; 1 << 26];
static LEN: AtomicUsize = AtomicUsize::new(0);

struct Watching;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

// SAFETY: memory comes from `System` and returns to it.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Relaxed);
        // SAFETY: zeroed, so that all of it may be read; the caller upholds the contract of
        // `alloc`.
        let memory = unsafe { System.alloc_zeroed(layout) };
        let free = |row: &&[AtomicUsize; 2]| {
            row[0].compare_exchange(0, memory.expose_provenance(), Relaxed, Relaxed).is_ok()
        };
        if let Some(row) = rows_from(memory).find(free) {
            row[1].store(layout.size(), Relaxed);
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        if let Some(row) = rows_from(memory).find(|row| row[0].load(Relaxed) == memory.addr()) {
            row[0].store(0, Relaxed);
        }
        // SAFETY: the caller frees memory of this layout, which `alloc` has zeroed.
        let bytes = unsafe { core::slice::from_raw_parts(memory, layout.size()) };
        if bytes.iter().any(|&byte| byte != 0) {
            let at = LEN.fetch_add(bytes.len(), Relaxed);
            for (left, byte) in LEFT.iter().skip(at).zip(bytes) {
                left.store(*byte, Relaxed);
            }
        }
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Returns all slots, starting with a block's own.
fn rows_from(memory: *mut u8) -> impl Iterator<Item = &'static [AtomicUsize; 2]> {
    let first = memory.addr() / 16 % BLOCKS.len();
    BLOCKS[first..].iter().chain(&BLOCKS[..first])
}

/// Returns whether a block in use matches. Stacks, which have 128 KiB and more, are not included.
pub(crate) fn is_in_use(matches: impl Fn(&[u8]) -> bool) -> bool {
    BLOCKS.iter().any(|[at, len]| {
        let (at, len) = (at.load(Relaxed), len.load(Relaxed));
        at != 0 && len < 128 << 10 && {
            // SAFETY: a block that is in use, all of it written, by this thread.
            matches(unsafe {
                core::slice::from_raw_parts(core::ptr::with_exposed_provenance(at), len)
            })
        }
    })
}

/// Returns the number of bytes in use.
pub(crate) fn in_use() -> usize {
    IN_USE.load(Relaxed)
}

/// Returns the result of `run`, and the contents of the memory that it freed.
pub(crate) fn left_behind<T>(run: impl FnOnce() -> T) -> (T, Vec<u8>) {
    LEN.store(0, Relaxed);
    let result = run();
    let len = LEN.load(Relaxed);
    assert!(len <= LEFT.len(), "LEFT is too small for {len} bytes");
    (result, LEFT[..len].iter().map(|byte| byte.load(Relaxed)).collect())
}
