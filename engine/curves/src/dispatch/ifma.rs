//! The calls that need AVX-512 IFMA.

use std::sync::OnceLock;

use tollgate_cpu::HaveIfma;
use zeroize::Zeroizing;

use crate::batches::{LANES, by_number, by_word};
use crate::field51::{Element, bytes, words};
use crate::kernels::comb52_mb8_ifma::{self, comb52_mb8_ifma};
use crate::kernels::comb52_sum8_ifma::{self, comb52_sum8_ifma};
use crate::kernels::field52_ifma;
use crate::kernels::ladder51_quad_ifma::ladder51_quad_ifma;
use crate::kernels::ladder52_mb8_ifma::ladder52_mb8_ifma;
use crate::kernels::quotient52_mb8_ifma::{product52_mb8_ifma, quotient52_mb8_ifma};
use crate::tables_ifma;

/// The fewest keys for which eight lanes cost less than one key after the other.
pub(super) const FEWEST_KEYS: usize = 4;
/// The same for agreements.
pub(super) const FEWEST_AGREEMENTS: usize = 3;

/// A call that needs IFMA. The calling function takes a proof of it.
macro_rules! proven {
    ($call:expr) => {
        // SAFETY: the caller's proof shows that avx512f, avx512dq, avx512vl and avx512ifma are
        // present.
        unsafe { $call }
    };
}

pub(super) fn public_key(k: &[u8; 32], _proof: HaveIfma) -> [u8; 32] {
    static TABLE: OnceLock<comb52_sum8_ifma::Table> = OnceLock::new();
    let table = TABLE.get_or_init(|| proven!(tables_ifma::sum8()));
    let lane = |x: [[u64; LANES]; 4]| Element::from_words(&x.map(|word| word[0]));
    let [x, z] = proven!(comb52_sum8_ifma(k, table)).map(lane);
    x.mul(z.inverted()).to_bytes()
}

pub(super) fn agree(k: &[u8; 32], u: Element, _proof: HaveIfma) -> [u8; 32] {
    let (x, z) = proven!(ladder51_quad_ifma(k, u));
    x.mul(z.inverted()).to_bytes()
}

pub(super) fn public_keys(k: &[&[u8; 32]; LANES], proof: HaveIfma) -> [[u8; 32]; LANES] {
    static TABLE: OnceLock<comb52_mb8_ifma::Table> = OnceLock::new();
    let table = TABLE.get_or_init(|| proven!(tables_ifma::mb8()));
    let k = Zeroizing::new(k.map(|k| comb52_mb8_ifma::with_offset(words(k))));
    let k = Zeroizing::new(by_word(&k));
    let (x, z) = proven!(comb52_mb8_ifma(&k, table));
    quotients(&x, &z, proof)
}

pub(super) fn agree_all(
    k: &[&[u8; 32]; LANES],
    peers: &[&[u8; 32]; LANES],
    proof: HaveIfma,
) -> [[u8; 32]; LANES] {
    let u = peers.map(|peer| {
        let mut u = words(peer);
        u[3] &= u64::MAX >> 1;
        u
    });
    let u = proven!(field52_ifma::element(&by_word(&u)));
    let k = Zeroizing::new(k.map(words));
    let k = Zeroizing::new(by_word(&k));
    let (x, z) = proven!(ladder52_mb8_ifma(&k, &u));
    quotients(&x, &z, proof)
}

/// Returns x / z in bytes.
fn quotients(
    x: &field52_ifma::Element,
    z: &field52_ifma::Element,
    _proof: HaveIfma,
) -> [[u8; 32]; LANES] {
    let (product, neighbours) = proven!(product52_mb8_ifma(z));
    let inverse = Element::from_words(&product).inverted().to_words();
    by_number(&proven!(quotient52_mb8_ifma(x, &inverse, &neighbours))).map(|words| bytes(&words))
}
