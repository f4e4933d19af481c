#![doc = include_str!("../README.md")]

mod ecdsa_key;
mod hybrid;
mod key_exchange;
mod signing_key;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, KeyProvider, aws_lc_rs};
use rustls::pki_types::PrivateKeyDer;
use rustls::{Error, NamedGroup, sign};
use tollgate_curves::X25519;
use tollgate_curves::p256::P256;
use tollgate_kem::MlKem768;
use tollgate_kem::hybrid::X25519MlKem768;
use tollgate_queue::{PrivateJob, Queue};
use zeroize::Zeroize as _;

pub use ecdsa_key::EcdsaKey;
pub use hybrid::X25519MlKem768Group;
pub use key_exchange::{Secp256r1Group, X25519Group};
pub use signing_key::SigningKey;

/// Returns rustls's aws-lc-rs provider, except that RSA keys sign through `queue`, that keys on
/// P-256 are [`EcdsaKey`]s, and that X25519, X25519MLKEM768 and secp256r1 are [`X25519Group`],
/// [`X25519MlKem768Group`] and [`Secp256r1Group`]. The latter four are only used if they are faster
/// and pass their known-answer tests. X25519MLKEM768 is the first group, as browsers have it.
///
/// Call it once per queue: rustls keeps key providers for the life of the program, so each call
/// leaks one and its handle of the queue. End such a queue by `shut_down`, not by dropping its
/// handles. To choose other suites or groups, replace those fields of the result. [`SigningKey`]
/// alone needs no such provider and leaks nothing.
#[must_use]
pub fn provider(queue: &Queue<PrivateJob>) -> CryptoProvider {
    let others = aws_lc_rs::default_provider();
    let p256 = P256::best();
    let agrees_on_p256 = p256.is_ok_and(|curve| curve.beats_openssl() && curve.passes_test());
    // with MULX, a signature takes 1.2 times as long as that of aws-lc-rs
    let signs_with_p256 = matches!(p256, Ok(P256::Ifma(..))) && agrees_on_p256;
    let loader = KeyLoader { queue: queue.clone(), signs_with_p256, others: others.key_provider };
    // `graviola` is as fast as aws-lc-rs: both have the code of s2n-bignum
    let x25519 = Some(X25519::best()).filter(|curve| matches!(curve, X25519::Ifma(_)));
    let agrees_on_x25519 = x25519.is_some_and(X25519::passes_test);
    let hybrid = X25519MlKem768::best();
    let has_hybrid =
        agrees_on_x25519 && hybrid.ml_kem != MlKem768::Portable && hybrid.ml_kem.passes_test();
    let mut kx_groups = others.kx_groups;
    for group in &mut kx_groups {
        match group.name() {
            NamedGroup::X25519 if agrees_on_x25519 => *group = &X25519Group,
            NamedGroup::X25519MLKEM768 if has_hybrid => *group = &X25519MlKem768Group,
            NamedGroup::secp256r1 if agrees_on_p256 => *group = &Secp256r1Group,
            _ => {}
        }
    }
    // a client's first group is the one that it sends a key share of
    kx_groups.sort_by_key(|group| group.name() != NamedGroup::X25519MLKEM768);
    CryptoProvider { key_provider: Box::leak(Box::new(loader)), kx_groups, ..others }
}

/// Loads keys that sign with the engine, and passes others to another loader.
#[derive(Debug)]
struct KeyLoader {
    queue: Queue<PrivateJob>,
    signs_with_p256: bool,
    others: &'static dyn KeyProvider,
}

impl KeyProvider for KeyLoader {
    fn load_private_key(
        &self,
        mut key_der: PrivateKeyDer<'static>,
    ) -> Result<Arc<dyn sign::SigningKey>, Error> {
        if let Some(key) = signing_key::read(&key_der).transpose() {
            key_der.zeroize();
            return Ok(Arc::new(SigningKey::new(&self.queue, key?)?));
        }
        // Invalid keys on P-256 go to the other loader too, which refuses them.
        if let Some(key) = ecdsa_key::read(&key_der).filter(|_| self.signs_with_p256) {
            key_der.zeroize();
            return Ok(Arc::new(key));
        }
        self.others.load_private_key(key_der)
    }
}

/// The user's guide; its example is compiled.
#[cfg(doctest)]
#[doc = include_str!("../docs/rustls.md")]
pub struct Page;
