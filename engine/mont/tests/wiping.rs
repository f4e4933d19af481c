//! Freed memory contains no secret: neither creating nor dropping a modulus leaves its value there.
//! This covers every radix, single moduli and pairs.
#![allow(unsafe_code, reason = "an allocator that looks at freed memory")]
#![allow(clippy::unwrap_used, reason = "tests")]

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::alloc::System;

use tollgate_mont::{Blocks, Digit, Modulus, Pair, Row, Scalar, Shape};

/// Words that must not be in freed memory; 0 means none.
static SECRETS: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];
/// The number of such words found.
static FOUND: AtomicUsize = AtomicUsize::new(0);

struct Watching;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

// SAFETY: memory is allocated and freed by `System`.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller meets the same requirements. Zeroed memory may be read later.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if layout.align() >= 8 {
            // SAFETY: the caller gives back memory of this layout, which `alloc` has zeroed.
            let words =
                unsafe { core::slice::from_raw_parts(memory.cast::<u64>(), layout.size() / 8) };
            let secret =
                |word: &&u64| **word != 0 && SECRETS.iter().any(|s| s.load(Relaxed) == **word);
            FOUND.fetch_add(words.iter().filter(secret).count(), Relaxed);
        }
        // SAFETY: the caller meets the same requirements.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Returns the number of words of secrets that `f` leaves in freed memory.
fn left_behind(secrets: &[u64], f: impl FnOnce()) -> usize {
    for (i, secret) in SECRETS.iter().enumerate() {
        secret.store(secrets.get(i).copied().unwrap_or(0), Relaxed);
    }
    let before = FOUND.load(Relaxed);
    f();
    FOUND.load(Relaxed) - before
}

/// A single test, since the allocator would also check the memory of concurrent tests.
#[test]
fn moduli_leave_nothing_behind() {
    let mut rng = fastrand::Rng::with_seed(5);
    for bits in [512, 1024, 2048, 4096, 5000] {
        let mut m: Vec<u64> = (0..usize::div_ceil(bits, 64)).map(|_| rng.u64(1 << 60..)).collect();
        m[0] |= 1;
        if bits % 64 != 0 {
            *m.last_mut().unwrap() = 1;
        }
        // limbs, digits, and digits in blocks from the middle of m
        let mut digits = [Digit::default(); 20];
        Digit::pack(&mut digits, &m);
        let mut rows = [Row::default(); 10];
        let blocks = Blocks::of_bits(bits).map_or(0, |blocks| {
            blocks.pack(&mut rows, 0, &m);
            blocks.k()
        });
        let secrets: Vec<u64> = (m[2..8].iter().copied())
            .chain(digits[3..9].iter().map(|digit| digit.0))
            .chain(rows[..blocks].iter().map(|row| row.0[1]))
            .collect();

        // memory that is not wiped is found
        let words = m[..4].to_vec();
        assert_eq!(left_behind(&secrets, || drop(words)), 2, "the test can fail");

        let found = left_behind(&secrets, || {
            let limbs = Modulus::<u64>::new(&m, Shape::limbs(bits)).unwrap();
            drop(Pair::new(limbs.clone(), limbs));
        });
        assert_eq!(found, 0, "{bits} bits, limbs");
        let found = left_behind(&secrets, || {
            drop(Modulus::<Digit>::new(&m, Shape::digits(bits)).unwrap());
        });
        assert_eq!(found, 0, "{bits} bits, digits");
    }
}
