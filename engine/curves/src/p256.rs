//! P-256 (secp256r1): key pairs, shared secrets (ECDH) and signatures (ECDSA).
//!
//! ```
//! use tollgate_curves::p256::{Nonce, P256, PublicKey, SecretKey};
//!
//! let curve = P256::best()?;
//! // random bytes in a real program
//! let (ours, theirs) = (SecretKey::from_bytes(&[1; 32])?, SecretKey::from_bytes(&[2; 32])?);
//! let peer = PublicKey::from_bytes(&curve.public_key(&theirs).to_bytes())?;
//! let shared = curve.agree(&ours, &peer);
//! assert_eq!(shared.as_bytes(), curve.agree(&theirs, &curve.public_key(&ours)).as_bytes());
//!
//! let digest = [3; 32]; // SHA-256 of a message
//! let signature = curve.sign(&ours, &digest, Nonce::Hedged(&[4; 32]))?;
//! assert!(curve.verify(&curve.public_key(&ours), &digest, &signature));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

#[cfg(target_arch = "x86_64")]
mod digits;
mod dispatch;
mod ecdsa;
#[cfg(all(test, target_arch = "x86_64"))]
mod exceptional;
#[cfg(target_arch = "x86_64")]
mod kernels;
mod keys;
#[cfg(target_arch = "x86_64")]
mod multiples;
mod nonce;
mod point;
mod self_test;

#[cfg(target_arch = "x86_64")]
mod tables_ifma;

pub use dispatch::P256;
pub use ecdsa::{Fault, Request, SIGNATURE_BYTES, Signature, VerifyRequest};
pub use keys::{InvalidPoint, InvalidSecret, POINT_BYTES, PublicKey, SecretKey};
pub use nonce::{Hmac, Nonce};
