#![doc = include_str!("../README.md")]

mod algorithm;
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
