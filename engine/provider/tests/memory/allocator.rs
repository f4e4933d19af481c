//! An allocator that knows what is in use and remembers what it is given back. It is one for the
//! whole process: a test that asks it runs alone.

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::alloc::System;

/// Bytes of Rust's allocator that are in use: ours, and not libcrypto's.
static IN_USE: AtomicUsize = AtomicUsize::new(0);
/// Where the blocks in use are and how long, in the first free row from a block's own on.
static BLOCKS: [[AtomicUsize; 2]; 1 << 14] =
    [const { [const { AtomicUsize::new(0) }; 2] }; 1 << 14];
/// What was in memory that was given back, but for blocks of zeros.
static LEFT: [AtomicU8; 1 << 26] = [const { AtomicU8::new(0) }; 1 << 26];
static LEN: AtomicUsize = AtomicUsize::new(0);

struct Watching;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

// SAFETY: memory comes from `System` and goes back to it.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Relaxed);
        // SAFETY: zeroed, so that all of it may be read; the caller's promises are passed on.
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
        // SAFETY: the caller gives back memory of this layout, which `alloc` has zeroed.
        let bytes = unsafe { core::slice::from_raw_parts(memory, layout.size()) };
        if bytes.iter().any(|&byte| byte != 0) {
            let at = LEN.fetch_add(bytes.len(), Relaxed);
            for (left, byte) in LEFT.iter().skip(at).zip(bytes) {
                left.store(*byte, Relaxed);
            }
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// All rows, a block's own first.
fn rows_from(memory: *mut u8) -> impl Iterator<Item = &'static [AtomicUsize; 2]> {
    let own = memory.addr() / 16 % BLOCKS.len();
    BLOCKS[own..].iter().chain(&BLOCKS[..own])
}

/// Whether one of the blocks in use is so. Stacks are none of them: blocks of 128 KiB and more.
pub(crate) fn is_in_use(is_so: impl Fn(&[u8]) -> bool) -> bool {
    BLOCKS.iter().any(|[at, len]| {
        let (at, len) = (at.load(Relaxed), len.load(Relaxed));
        at != 0 && len < 128 << 10 && {
            // SAFETY: a block that is in use, all of it written, by this thread.
            is_so(unsafe {
                core::slice::from_raw_parts(core::ptr::with_exposed_provenance(at), len)
            })
        }
    })
}

/// How many bytes are in use.
pub(crate) fn in_use() -> usize {
    IN_USE.load(Relaxed)
}

/// What `run` returns, and what it left behind in memory that was given back.
pub(crate) fn left_behind<T>(run: impl FnOnce() -> T) -> (T, Vec<u8>) {
    LEN.store(0, Relaxed);
    let result = run();
    let len = LEN.load(Relaxed);
    assert!(len <= LEFT.len(), "more room is needed: {len} bytes");
    (result, LEFT[..len].iter().map(|byte| byte.load(Relaxed)).collect())
}
