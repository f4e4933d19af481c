//! The number of each primitive that a session needs.

use std::collections::BTreeMap;

use tollgate_tls_client::{Cipher, Hash};

use crate::primitive::{HASH_BYTES, Primitive, RECORD_BYTES};

/// The number of each primitive that a session needs. A size between two measured
/// sizes counts as a share of each of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Need(BTreeMap<Primitive, f64>);

impl Need {
    /// Adds `count` of one more primitive.
    pub(crate) fn and(mut self, count: f64, primitive: Primitive) -> Self {
        *self.0.entry(primitive).or_default() += count;
        self
    }

    /// Adds `bytes` to a running hash, without finishing it.
    pub(crate) fn and_hashed(self, hash: Hash, bytes: usize) -> Self {
        let [small, large] = HASH_BYTES;
        let share = number(bytes) / f64::from(large - small);
        self.and(share, Primitive::Hash(hash, large)).and(-share, Primitive::Hash(hash, small))
    }

    /// Adds the intermediate result of a running hash: a copy and its last block.
    pub(crate) fn and_hash_ends(self, hash: Hash, count: f64) -> Self {
        self.and(count, Primitive::Hash(hash, HASH_BYTES[0]))
    }

    /// Adds the encryption of a record of `bytes` bytes.
    pub(crate) fn and_sealed(self, cipher: Cipher, bytes: usize) -> Self {
        self.and_record(bytes, |bytes| Primitive::Seal(cipher, bytes))
    }

    /// Adds the HMAC of a record of `bytes` bytes.
    pub(crate) fn and_authenticated(self, hash: Hash, bytes: usize) -> Self {
        self.and_record(bytes, |bytes| Primitive::Mac(hash, bytes))
    }

    /// Adds a primitive of records at this length, as shares of the two measured lengths.
    fn and_record(self, bytes: usize, of: impl Fn(u32) -> Primitive) -> Self {
        let [small, large] = RECORD_BYTES;
        let share = (number(bytes) - f64::from(small)) / f64::from(large - small);
        self.and(share, of(large)).and(1.0 - share, of(small))
    }

    /// Adds the decryption of a record of `bytes` bytes.
    pub(crate) fn and_opened(self, cipher: Cipher, bytes: usize) -> Self {
        self.and_record(bytes, |bytes| Primitive::Open(cipher, bytes))
    }

    /// Each primitive with its count.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (Primitive, f64)> {
        self.0.iter().map(|(&primitive, &count)| (primitive, count))
    }

    /// The primitives that belong to one part.
    pub(crate) fn of(&self, part: &str) -> Self {
        Self(self.counts().filter(|(primitive, _)| primitive.part() == part).collect())
    }
}

#[allow(clippy::cast_precision_loss, reason = "lengths of messages and records")]
const fn number(bytes: usize) -> f64 {
    bytes as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_between_are_shares_of_both() {
        let cost = |need: &Need, of: fn(Primitive) -> f64| -> f64 {
            need.counts().map(|(primitive, count)| count * of(primitive)).sum()
        };
        // A record costs 100, plus 2 for each byte. A hash costs 30, plus 3 for each byte.
        let of = |primitive| match primitive {
            Primitive::Seal(_, bytes) => 100.0 + 2.0 * f64::from(bytes),
            Primitive::Hash(_, bytes) => 30.0 + 3.0 * f64::from(bytes),
            _ => 0.0,
        };
        for bytes in [0_u16, 2, 64, 1000, 14_503, 16_384] {
            let sealed = cost(&Need::default().and_sealed(Cipher::Aes128Gcm, bytes.into()), of);
            assert!((sealed - 100.0 - 2.0 * f64::from(bytes)).abs() < 1e-6, "{bytes}: {sealed}");
            let hashed = cost(&Need::default().and_hashed(Hash::Sha256, bytes.into()), of);
            assert!((hashed - 3.0 * f64::from(bytes)).abs() < 1e-6, "{bytes}: {hashed}");
        }
    }
}
