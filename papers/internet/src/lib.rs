//! Textbook Montgomery products and exponentiations, for comparison with the engine's.
//!
//! The best method depends on the processor. Here each textbook method is real code with the
//! engine's contract, [`tollgate_mont::Kernel`], so that `tollgate kernel variants` can measure it
//! on the machine at hand. All methods are scalar, in limbs of 64 bits and in safe Rust without
//! special instructions, so that they can be compared with each other. The engine's kernels are
//! faster.
//!
//! * [`Method`] is the algorithm of a product, and [`Unroll`] the unrolling of its loops. A
//!   [`Variant`] is a method with its unrolling. It provides its routines and the addresses of its
//!   code. The number of multiplications of each variant is declared and tested.
//! * [`Numbers`] are the constants of a modulus that variants need. [`VariantKernel`] is a variant
//!   with these constants, and implements `Kernel`.
//! * [`fixed_window`] and [`sliding_window_vartime`] are exponentiations by windows of 1 to 7 bits,
//!   over any kernel on limbs.
//!
//! ```
//! use tollgate_mont::{Kernel, Modulus, Shape};
//! use tollgate_variants::{Method, Numbers, Unroll, Variant};
//!
//! let m = Modulus::<u64>::new(&[0xffff_ffff_ffff_ffc5], Shape::limbs(64)).unwrap();
//! let numbers = Numbers::of(&m);
//! let kernel = Variant { method: Method::Cios, unroll: Unroll::Four }.kernel(&numbers);
//! let (mut t, mut x, mut z) = (vec![0; m.scratch_words()], vec![0; m.k()], vec![0; m.k()]);
//! let mut three = vec![0; m.k()];
//! three[0] = 3;
//! kernel.amm(&mut x, &three, m.rr(), &m, &mut t); // to Montgomery form
//! kernel.ams(&mut z, &x, &m, &mut t);
//! kernel.amm(&mut x, &z, m.plain_one(), &m, &mut t); // and back
//! assert_eq!(x[0], 9);
//! ```
#![forbid(unsafe_code)]

mod exp;
mod limbs;
mod methods;
mod numbers;
mod variant;

pub use exp::{
    PublicExponent, WIDTH_MAX, fixed_table_words, fixed_window, scratch_words, sliding_table_words,
    sliding_window_vartime,
};
pub use numbers::Numbers;
pub use variant::{Call, Method, Unroll, Variant, VariantKernel};
