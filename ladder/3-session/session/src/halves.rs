//! The halves of the key exchange with X25519MLKEM768, each measured alone.

use tollgate_record::vocabulary as word;
use tollgate_server::in_memory::Source;
use tollgate_tls_client::Group;

use crate::libcrypto::has_keys_of;
use crate::need::Need;
use crate::primitive::{Kem, Primitive};

/// The calls of libcrypto that a hybrid key exchange consists of, by detail of the part. What they
/// leave of the whole is the work of EVP: contexts, fetches, and the copies of keys between
/// providers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Halves(Vec<(&'static str, Vec<Primitive>)>);

/// The halves that only their own keys can show.
pub(crate) const ONE_HALF: &str = "this libcrypto has no ML-KEM-768 without X25519, so that half \
                                   cannot be measured alone and is part of the rest";

impl Halves {
    /// Returns the halves of a need; none if it has no hybrid key exchange. Without keys of
    /// ML-KEM-768 alone, only X25519 is measured.
    pub(crate) fn new(need: &Need, source: Source<'_>) -> Self {
        let hybrid = Primitive::Encapsulate(Kem::X25519MlKem768);
        if !need.counts().any(|(primitive, _)| primitive == hybrid) {
            return Self::default();
        }
        let x25519 = [Primitive::Generate, Primitive::Agree].map(|of| of(Group::X25519));
        let mut halves = vec![(word::DETAIL_CURVES, x25519.to_vec())];
        if has_keys_of(source, Kem::MlKem768.algorithm()) {
            halves.push((word::DETAIL_KEM_KEY, vec![Primitive::ReadKey(Kem::MlKem768)]));
            halves.push((word::DETAIL_KEM, vec![Primitive::Encapsulate(Kem::MlKem768)]));
        }
        Self(halves)
    }

    /// Returns each detail with its primitives; each is run once.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, &[Primitive])> {
        self.0.iter().map(|(detail, primitives)| (*detail, &**primitives))
    }

    pub(crate) fn primitives(&self) -> impl Iterator<Item = Primitive> {
        self.0.iter().flat_map(|(_, primitives)| primitives).copied()
    }

    /// Returns whether a half could not be measured alone.
    pub(crate) const fn lacks_one(&self) -> bool {
        self.0.len() == 1
    }
}
