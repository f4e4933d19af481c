#![doc = include_str!("../README.md")]
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "kernels of x86-64 use it"))]

#[cfg(target_arch = "x86_64")]
mod batches;
#[cfg(target_arch = "x86_64")]
mod digits;
mod dispatch;
#[cfg(target_arch = "x86_64")]
mod edwards;
mod external;
mod field51;
mod inverse;
#[cfg(target_arch = "x86_64")]
mod kernels;
mod keys;
mod mask;
pub mod p256;
mod portable;
mod residue;
mod self_test;
#[cfg(target_arch = "x86_64")]
mod tables_ifma;
#[cfg(target_arch = "x86_64")]
mod vectors;

pub use dispatch::{Unavailable, X25519};
pub use external::HaveGraviola;
pub use keys::{KEY_BYTES, LowOrder, PublicKey, SecretKey, SharedSecret};
