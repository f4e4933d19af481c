#![doc = include_str!("../README.md")]

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
