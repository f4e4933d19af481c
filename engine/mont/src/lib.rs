//! Montgomery kernels, one file each; their contract, dispatch and exponentiation.
//!
//! A number is a slice of [`Word`]s. Words are [`u64`] limbs (radix 2^64, one number) or [`Row`]s
//! of digits (radix 2^52; eight numbers side by side, or one or two in lane [`Blocks`]). Code
//! above the kernels is generic over words. It computes one exponentiation on limbs, or eight on
//! rows; each lane has its own modulus and exponent.
//!
//! * [`Kernel`] is the contract, in one sentence per operation. [`Exponentiate`] builds
//!   exponentiations on it. [`Modulus`] holds the constants of m. [`Shape`] is the number of words
//!   and their radix.
//! * [`LimbKernel`], [`BlockKernel`] and [`LaneKernel`] are the kernels of this build. Only
//!   `dispatch.rs` chooses among them.
//! * [`carry`] holds the operations that need no kernel: sums, differences and the final
//!   subtractions of m.
//!
//! ```
//! use tollgate_mont::{Kernel, LimbKernel, Modulus, Shape};
//!
//! let kernel = LimbKernel::best();
//! let m = Modulus::<u64>::new(&[0xffff_ffff_ffff_ffc5], Shape::limbs(64)).unwrap();
//! let (mut t, mut x, mut z) = (vec![0; m.scratch_words()], vec![0; m.k()], vec![0; m.k()]);
//! let mut three = vec![0; m.k()];
//! three[0] = 3;
//! kernel.amm(&mut x, &three, m.rr(), &m, &mut t); // to Montgomery form
//! kernel.ams(&mut z, &x, &m, &mut t);
//! kernel.amm(&mut x, &z, m.plain_one(), &m, &mut t); // and back
//! assert_eq!(x[0], 9);
//! ```
//!
//! This crate is internal: a new version may change anything. Programs use `tollgate-rsa`.

mod blocks;
pub mod carry;
mod contract;
mod dispatch;
mod exp;
mod kernels;
mod modulus;
mod shape;
#[cfg(target_arch = "x86_64")]
mod vectors;
mod window;
mod word;

pub use blocks::Blocks;
pub use blocks::powers::Power;
pub use contract::Kernel;
pub use dispatch::{BlockKernel, LaneKernel, LimbKernel};
pub use exp::Exponentiate;
pub use modulus::{Modulus, NotOdd, Pair};
pub use shape::Shape;
pub use window::Windows;
pub use word::{Digit, LANES, Place, Row, Scalar, Word};
