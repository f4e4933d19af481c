#![doc = include_str!("../README.md")]

#[cfg(target_arch = "x86_64")]
mod batches;
mod digits;
mod dispatch;
mod edwards;
mod field51;
mod inverse;
mod kernels;
mod keys;
mod mask;
pub mod p256;
mod self_test;
#[cfg(target_arch = "x86_64")]
mod tables_ifma;
#[cfg(target_arch = "x86_64")]
mod vectors;

pub use dispatch::X25519;
pub use keys::{KEY_BYTES, LowOrder, PublicKey, SecretKey, SharedSecret};
