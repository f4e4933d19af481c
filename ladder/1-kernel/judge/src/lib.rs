//! Checks and times Montgomery kernels, the engine's own and those of other crates.
//!
//! The engine's tests use the same [checks](contract). The checks compare results with slow
//! integers. They use random and patterned operands up to the bounds, random bits above the digits,
//! and each lane by itself. See README.md.
//!
//! ```
//! use tollgate_judge::{judge, time};
//! use tollgate_mont::LimbKernel;
//!
//! let products = judge(LimbKernel::Portable)?; // or your own kernel
//! println!("{products} products are right");
//! # Ok::<(), tollgate_judge::Refused>(())
//! ```

pub mod contract;
mod time;

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use tollgate_mont::Exponentiate;

use crate::contract::Layout;
pub use crate::time::time;

/// A kernel broke its contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kernel} breaks the contract of kernels: {what}; correct it")]
pub struct Refused {
    kernel: &'static str,
    what: String,
}

/// Sizes of moduli in bits, and rounds of twenty products. Some sizes fill a block of digits;
/// others use only a small part of their last block.
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

/// Checks products, squares, selections and exponentiations; returns the number of products.
///
/// A kernel that panics is refused too, and the panic's message is printed.
///
/// # Errors
///
/// [`Refused`] with the first defect. Time and secrecy are not checked; README.md names
/// the tools that check them.
pub fn judge<K: Exponentiate<Word: Layout>>(kernel: K) -> Result<usize, Refused> {
    let judged = catch_unwind(AssertUnwindSafe(|| all(kernel)));
    judged.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
        // the first line of an assertion's message names the failure
        let what = text.lines().next().unwrap_or_default().to_owned();
        Refused { kernel: kernel.name(), what }
    })
}

fn all<K: Exponentiate<Word: Layout>>(kernel: K) -> usize {
    contract::selects_of(kernel, &[(32, 10), (16, 8), (5, 1)]);
    let check = |(bits, n)| contract::products(kernel, bits, contract::rounds(n), 17);
    let products = SIZES.into_iter().map(check).sum();
    for (bits, e_bits) in [(128, 1), (256, 70), (512, 130), (1024, 64)] {
        contract::exponentiation(kernel, bits, e_bits);
    }
    products
}

/// Compiles and runs the example of the guide.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct OwnKernel;
