//! X25519, and ECDH and ECDSA on P-256: one operation at a time, or eight in the lanes of vectors.
//!
//! P-256 is in the module [`p256`]. An agreement with X25519:
//!
//! ```
//! use tollgate_curves::{SecretKey, X25519};
//!
//! let curve = X25519::best()?;
//! // random bytes in a real program
//! let (ours, theirs) = (SecretKey::from_bytes(&[1; 32]), SecretKey::from_bytes(&[2; 32]));
//! let shared = curve.agree(&ours, &curve.public_key(&theirs))?;
//! assert_eq!(shared.as_bytes(), curve.agree(&theirs, &curve.public_key(&ours))?.as_bytes());
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! This crate is internal: a new version may change anything. Programs use `tollgate-queue` or
//! `tollgate-rustls`.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "kernels of x86-64 use it"))]

#[cfg(target_arch = "x86_64")]
mod batches;
#[cfg(target_arch = "x86_64")]
mod digits;
mod dispatch;
#[cfg(target_arch = "x86_64")]
mod edwards;
mod external;
#[cfg(target_arch = "x86_64")]
mod field51;
mod inverse;
#[cfg(target_arch = "x86_64")]
mod kernels;
mod keys;
mod mask;
pub mod p256;
mod residue;
mod self_test;
#[cfg(target_arch = "x86_64")]
mod tables_ifma;
#[cfg(target_arch = "x86_64")]
mod vectors;

pub use dispatch::{Unavailable, X25519};
pub use external::HaveGraviola;
pub use keys::{KEY_BYTES, LowOrder, PublicKey, SecretKey, SharedSecret};
