//! The calls that need AVX-512 IFMA.

use std::sync::OnceLock;

use tollgate_cpu::{HaveIfma, proven};

use crate::batches::{LANES, by_number, by_word};
use crate::digits::half_of_odd;
use crate::field51::{bytes, least, limbs, words, words_of_u};
use crate::kernels::comb52_mb8_ifma::{self, comb52_mb8_ifma};
use crate::kernels::comb52_sum8_ifma::{self, comb52_sum8_ifma};
use crate::kernels::field52_ifma;
use crate::kernels::ladder51_quad_ifma::one::ladder51_quad_ifma;
use crate::kernels::ladder51_quad_ifma::two::ladder51_two_quads_ifma;
use crate::kernels::ladder52_mb8_ifma::ladder52_mb8_ifma;
use crate::kernels::quotient52_mb8_ifma::{product52_mb8_ifma, quotient52_mb8_ifma};
use crate::residue::{P25519, Prime as _, Residue};
use crate::tables_ifma;

/// The fewest keys for which eight lanes cost less than one key after the other.
pub(super) const FEWEST_KEYS: usize = 3;
/// The same for agreements.
pub(super) const FEWEST_AGREEMENTS: usize = 3;

pub(super) fn public_key(k: &[u8; 32], proof: HaveIfma) -> [u8; 32] {
    static TABLE: OnceLock<comb52_sum8_ifma::Table> = OnceLock::new();
    let table = TABLE.get_or_init(|| proven!(proof, tables_ifma::sum8()));
    let [x, z] = proven!(proof, comb52_sum8_ifma(k, table)).map(|x| x.map(|word| word[0]));
    quotient(&x, &z)
}

pub(super) fn agree(k: &[u8; 32], peer: &[u8; 32], proof: HaveIfma) -> [u8; 32] {
    let [[x, z]] = proven!(proof, ladder51_quad_ifma(k, &[limbs(&words_of_u(peer))]));
    quotient(&least(x), &least(z))
}

/// Returns the public key of k, and the secret that k shares with a peer. A second ladder beside
/// the first takes less time than the table of the base point after it.
pub(super) fn exchange(k: &[u8; 32], peer: &[u8; 32], proof: HaveIfma) -> [[u8; 32]; 2] {
    let u = [[9, 0, 0, 0, 0], limbs(&words_of_u(peer))];
    let quotients = proven!(proof, ladder51_two_quads_ifma(k, &u));
    let x = quotients.map(|[x, _]| Residue::<P25519>::new(&least(x)));
    let mut z = quotients.map(|[_, z]| Residue::new(&least(z)));
    Residue::invert_all(&mut z, &mut [Residue::ZERO; 2]);
    core::array::from_fn(|i| bytes(&x[i].mul(&z[i]).number()))
}

/// Returns x / z in bytes, for z below the prime.
fn quotient(x: &[u64; 4], z: &[u64; 4]) -> [u8; 32] {
    bytes(&Residue::<P25519>::quotient(x, z))
}

pub(super) fn public_keys(k: &[&[u8; 32]; LANES], proof: HaveIfma) -> [[u8; 32]; LANES] {
    static TABLE: OnceLock<comb52_mb8_ifma::Table> = OnceLock::new();
    let table = TABLE.get_or_init(|| proven!(proof, tables_ifma::mb8()));
    let k = by_word(&k.map(|k| half_of_odd(&words(k))));
    let (x, z) = proven!(proof, comb52_mb8_ifma(&k, table));
    quotients(&x, &z, proof)
}

pub(super) fn agree_all(
    k: &[&[u8; 32]; LANES],
    peers: &[&[u8; 32]; LANES],
    proof: HaveIfma,
) -> [[u8; 32]; LANES] {
    let u = proven!(proof, field52_ifma::element(&by_word(&peers.map(words_of_u))));
    let k = by_word(&k.map(words));
    let (x, z) = proven!(proof, ladder52_mb8_ifma(&k, &u));
    quotients(&x, &z, proof)
}

/// Returns x / z in bytes.
fn quotients(
    x: &field52_ifma::Element,
    z: &field52_ifma::Element,
    proof: HaveIfma,
) -> [[u8; 32]; LANES] {
    let (product, neighbours) = proven!(proof, product52_mb8_ifma(z));
    let inverse = P25519::INVERSE.invert(&product);
    by_number(&proven!(proof, quotient52_mb8_ifma(x, &inverse, &neighbours)))
        .map(|words| bytes(&words))
}

#[cfg(test)]
mod tests {
    use tollgate_cpu::memcheck;

    use super::*;

    /// Valgrind runs no kernel with AVX-512, but the code around them.
    #[test]
    #[cfg_attr(debug_assertions, ignore = "overflow checks branch on secrets")]
    fn code_between_kernels_is_constant_time() {
        let name = "dispatch::ifma::tests::code_between_kernels_is_constant_time";
        tollgate_rerun::constant_time(name, || {
            let secret = Box::new([0x5b; 32]);
            memcheck::mark_secret(&secret[..]);
            let [x, z] = [half_of_odd(&words(&secret)), least(limbs(&words(&secret)))];
            core::hint::black_box((quotient(&x, &z), P25519::INVERSE.invert(&z)));
        });
    }
}
