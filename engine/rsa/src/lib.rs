//! RSA private and public operations: keys, CRT, blinding, fault check, paddings.
//!
//! * [`PrivateKey`] and [`PublicKey`] are read from PEM or DER, checked, and made ready for
//!   kernels.
//! * [`PrivateKey::generate`] makes keys; [`Generation`] has more options. The traits of [`pkcs1`]
//!   and [`pkcs8`] write and read keys, as in the crate `rsa`.
//! * Methods such as [`PrivateKey::sign_pkcs1v15`] take a message and return a vector. Those that end
//!   in `_with` take a digest, a [`Workspace`] and a buffer, and allocate nothing. A workspace holds
//!   the kernels and the scratch memory of one thread.
//! * Batches have any size and any keys ([`private_batch`], [`verify_batch`]). A [`Plan`] cuts a
//!   batch into calls of up to eight operations, in the cheapest way on the processor.
//!
//! Build programs that use this crate with `codegen-units = 1` in their release profile. With
//! Cargo's default of sixteen, batches take up to 1.13 times as long.
//!
//! Every private operation is blinded. Its result is checked with the public exponent before it is
//! released. No branch and no address depends on a secret; see `SECURITY.md` for what that covers.
//!
//! ```
//! use tollgate_rsa::{Hash, PrivateKey};
//!
//! let key = PrivateKey::generate(2048)?; // or from_pem, from_der
//! let signature = key.sign_pkcs1v15(Hash::Sha256, b"a message")?;
//! key.public().verify_pkcs1v15(Hash::Sha256, b"a message", &signature)?;
//! # Ok::<(), tollgate_rsa::Error>(())
//! ```
//!
//! Features: `keygen`, `pem` and `signature` (the traits of the crate `signature`) are on by default;
//! `legacy-hashes` adds MD5 and others, to verify old signatures. The guide for users of the crate
//! `rsa` is `docs/moving-from-rsa.md` in this crate.
//!
//! This is the public crate of the engine: its versions follow semantic versioning.
#![forbid(unsafe_code)]

mod algorithm;
mod blinding;
#[cfg(test)]
mod constant_time;
pub mod eme_pkcs1v15;
mod encode;
#[cfg(feature = "signature")]
mod encoded;
mod encryption;
mod error;
#[cfg(test)]
mod fault;
#[cfg(test)]
mod faults;
mod fresh;
#[cfg(feature = "keygen")]
mod generate;
mod hash;
mod hasher;
pub mod implicit_rejection;
mod key;
mod layout;
mod mask;
mod material;
#[cfg(feature = "legacy-hashes")]
mod mdc2;
mod mgf1;
mod natural;
pub mod oaep;
mod of_thread;
mod operations;
mod parse;
mod parts;
mod path;
#[cfg(feature = "pem")]
pub mod pem;
pub mod pkcs1v15;
mod plan;
mod plans;
pub mod premaster;
pub mod pss;
mod request;
mod runner;
mod sign;
#[cfg(test)]
mod test_keys;
mod validate;
mod workspace;

#[cfg(feature = "signature")]
pub use ::signature;
pub use error::{
    Error, Expected, Found, MODULUS_BITS_MAX, MODULUS_BITS_MIN, MODULUS_BYTES_MAX, Misuse, Prime,
    Rejected, Unavailable,
};
#[cfg(feature = "keygen")]
pub use generate::{Generation, Progress};
pub use hash::{Digest, Hash};
#[cfg(feature = "signature")]
pub use hasher::HashFunction;
pub use hasher::Hasher;
pub use implicit_rejection::RejectionKey;
pub use key::{PrivateKey, PublicKey};
pub use oaep::Oaep;
pub use operations::{private_batch, public_batch};
pub use parts::KeyParts;
pub use plan::{Cut, Form, Operation, Plan};
pub use plans::Plans;
pub use premaster::{Premaster, TlsVersions};
pub use pss::{Pss, Salt};
pub use request::{PrivateRequest, PublicRequest};
pub use sign::{VerifyRequest, verify_batch};
pub use workspace::Workspace;
pub use {pkcs1, pkcs8};

/// The guide's code, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/moving-from-rsa.md")]
struct MovingFromRsa;
