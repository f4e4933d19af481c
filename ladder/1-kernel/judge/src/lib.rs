//! The judge of Montgomery kernels, for kernels of others: right or refused, and timed.
//!
//! The engine's own tests judge by the same code: random and patterned operands up to their bounds,
//! dirty digits, each lane alone, against slow integers. See docs/own-kernel.md.
//!
//! ```
//! use tollgate_judge::{judge, time};
//! use tollgate_mont::LimbKernel;
//!
//! let products = judge(LimbKernel::Portable)?; // or a kernel of your own
//! println!("{products} products are right");
//! # Ok::<(), tollgate_judge::Refused>(())
//! ```
#![forbid(unsafe_code)]

#[path = "../../../../engine/mont/tests/judge/mod.rs"]
mod judge;
mod time;

use core::fmt;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use tollgate_bench::Contender;
use tollgate_mont::{Exponentiate, Kernel, Row, Word};

use crate::judge::Layout;
pub use crate::time::time;

/// A word that the judge knows how to fill: limbs, or eight numbers side by side.
pub trait Judged: Word {
    /// Judges a kernel: [`judge`] calls it.
    #[doc(hidden)]
    fn judged<K: Exponentiate<Word = Self>>(kernel: K) -> usize;

    /// Runs of products or squares: [`time`] calls it.
    #[doc(hidden)]
    fn calls<K: Kernel<Word = Self> + 'static>(
        kernel: K,
        bits: usize,
        square: bool,
    ) -> Contender<'static>;
}

macro_rules! judged {
    ($($word:ty),*) => {$(
        impl Judged for $word {
            fn judged<K: Exponentiate<Word = Self>>(kernel: K) -> usize {
                all(kernel)
            }

            fn calls<K: Kernel<Word = Self> + 'static>(
                kernel: K,
                bits: usize,
                square: bool,
            ) -> Contender<'static> {
                time::calls(kernel, bits, square)
            }
        }
    )*};
}

judged!(u64, Row);

/// Why a kernel is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    kernel: &'static str,
    what: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} breaks the contract of kernels: {}; correct it", self.kernel, self.what)
    }
}

impl core::error::Error for Refused {}

/// Sizes of moduli in bits, and rounds of twenty products: block widths full and nearly empty.
const SIZES: [(usize, usize); 12] = [
    (128, 100),
    (255, 100),
    (306, 100), // 6 digits with exactly the slack
    (512, 100),
    (521, 100),
    (774, 60), // 15 digits with exactly the slack
    (1024, 60),
    (1030, 60),
    (1536, 20),
    (2048, 20),
    (4096, 6),
    (8192, 3),
];

/// Judges products, squares, selections and exponentiations; returns the number of products.
///
/// A kernel that panics is refused too: then the message is also printed, as of any panic.
///
/// # Errors
///
/// [`Refused`] says what was wrong first. Time and secrecy are not judged: docs/own-kernel.md says
/// what judges them.
pub fn judge<K: Exponentiate<Word: Judged>>(kernel: K) -> Result<usize, Refused> {
    let judged = catch_unwind(AssertUnwindSafe(|| K::Word::judged(kernel)));
    judged.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
        // the judge's assertions have more lines where they compare: the first says what
        let what = text.lines().next().unwrap_or_default().to_owned();
        Refused { kernel: kernel.name(), what }
    })
}

fn all<K: Exponentiate<Word: Layout>>(kernel: K) -> usize {
    judge::selects_of(kernel, &[(32, 10), (16, 8), (5, 1)]);
    let products = |(bits, n)| judge::products(kernel, bits, judge::rounds(n), 17);
    let judged = SIZES.into_iter().map(products).sum();
    for (bits, e_bits) in [(128, 1), (256, 70), (512, 130), (1024, 64)] {
        judge::exponentiation(kernel, bits, e_bits);
    }
    judged
}

/// The page's code, as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/own-kernel.md")]
struct OwnKernel;
