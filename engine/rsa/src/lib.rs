//! RSA private and public operations: keys, CRT, blinding, fault check, paddings.
//!
//! * [`PrivateKey`] and [`PublicKey`] are read from PEM or DER, checked, and made ready for
//!   kernels.
//! * [`PrivateKey::generate`] makes keys; [`Generation`] has more options. The traits of [`pkcs1`]
//!   and [`pkcs8`] write and read keys, as in the crate `rsa`.
//! * A [`Workspace`] holds the kernels and the scratch memory of one thread.
//! * Operations run alone (methods of the keys) or in batches of any size and any keys
//!   ([`private_batch`], [`sign_pkcs1v15_batch`]). A [`Plan`] cuts a batch into calls of up to
//!   eight operations, in the cheapest way on the processor.
//!
//! Build programs that use this crate with `codegen-units = 1` in their release profile. With
//! Cargo's default of sixteen, batches take up to 1.13 times as long
//! (METHODOLOGY, "Profiles of Cargo").
//!
//! Every private operation is blinded. Its result is checked with the public exponent before it is
//! released. No branch and no address depends on a secret; see `SECURITY.md` for what that covers.
//!
//! ```
//! use tollgate_rsa::{Hash, PrivateKey, Workspace};
//!
//! # let pem = include_str!("../../../vectors/keys/rsa-2048.pem");
//! let key = PrivateKey::from_pem(pem)?;
//! let mut workspace = Workspace::new()?;
//! let digest = Hash::Sha256.digest(b"a message");
//! let mut signature = vec![0; key.size()];
//! key.sign_pkcs1v15(&mut workspace, Hash::Sha256, digest.as_ref(), &mut signature)?;
//! key.public().verify_pkcs1v15(&mut workspace, Hash::Sha256, digest.as_ref(), &signature)?;
//! # Ok::<(), tollgate_rsa::Error>(())
//! ```
#![forbid(unsafe_code)]

mod blinding;
#[cfg(test)]
mod constant_time;
pub mod eme_pkcs1v15;
mod encode;
mod encoded;
mod encryption;
mod error;
#[cfg(test)]
mod fault;
#[cfg(test)]
mod faults;
mod fresh;
mod generate;
mod hash;
mod hasher;
pub mod implicit_rejection;
mod key;
mod layout;
mod mask;
mod material;
mod mdc2;
mod mgf1;
mod natural;
pub mod oaep;
mod operations;
mod parse;
mod parts;
mod path;
pub mod pkcs1v15;
mod plan;
mod plans;
mod pooled_key;
pub mod premaster;
pub mod pss;
mod request;
mod runner;
mod sign;
#[cfg(test)]
mod test_keys;
mod validate;
mod workspace;

pub use ::signature;
pub use error::{
    Error, Expected, Found, MODULUS_BITS_MAX, MODULUS_BITS_MIN, MODULUS_BYTES_MAX, Misuse, Prime,
    Rejected, Unavailable,
};
pub use generate::{Generation, Progress};
pub use hash::{Digest, Hash};
pub use hasher::{HashFunction, Hasher};
pub use implicit_rejection::RejectionKey;
pub use key::{PrivateKey, PublicKey};
pub use operations::{private_batch, public_batch};
pub use parts::KeyParts;
pub use plan::{Cut, Form, Operation, Plan};
pub use plans::Plans;
pub use premaster::{Premaster, TlsVersions};
pub use pss::Salt;
pub use request::{PrivateRequest, PublicRequest};
pub use sign::{VerifyRequest, sign_pkcs1v15_batch, verify_pkcs1v15_batch};
pub use workspace::Workspace;
pub use {pkcs1, pkcs8};

/// The guide's code, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/moving-from-rsa.md")]
struct MovingFromRsa;
