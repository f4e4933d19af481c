//! The calls that need AVX-512 IFMA.

use std::sync::OnceLock;

use tollgate_cpu::{HaveIfma, proven};

use crate::batches::{LANES, by_number, by_word};
use crate::digits::half_of_odd;
use crate::field51::{bytes, least, limbs, words, words_of_u};
use crate::kernels::comb52_mb8_ifma::{self, comb52_mb8_ifma};
use crate::kernels::comb52_sum8_ifma::{self, comb52_sum8_ifma};
use crate::kernels::field52_ifma;
use crate::kernels::ladder51_quad_ifma::ladder51_quad_ifma;
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
    let [x, z] = proven!(proof, ladder51_quad_ifma(k, &limbs(&words_of_u(peer)))).map(least);
    quotient(&x, &z)
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
    use crate::edwards::{self, Element, Multiples};
    use crate::kernels::edwards52_ifma::Point;
    use crate::kernels::field52_ifma::{choice, least_words};

    /// u of p + q and p - q, both added as addend and as point, in the lanes of `negative` the
    /// latter.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn sums(
        p: &[edwards::Addend; LANES],
        q: &[edwards::Addend; LANES],
        negative: u8,
    ) -> [[[u8; 32]; LANES]; 2] {
        let (positive, negative) = (choice(0), choice(negative));
        let point = |of: &[edwards::Addend; LANES], sign| {
            tables_ifma::addend(&of.map(edwards::Addend::without_d)).doubled(sign)
        };
        let p = point(p, positive);
        let by_addend = p.plus_addend::<2>(&tables_ifma::addend(q), negative);
        let by_point = p.plus_point(&point(q, negative), &tables_ifma::same(edwards::d2()));
        let u = |sum: &Point| {
            let (x, z) = sum.u();
            let [x, z] = [x, z].map(|x| by_number(&least_words(&x)));
            core::array::from_fn(|l| quotient(&x[l], &z[l]))
        };
        [u(&by_addend), u(&by_point)]
    }

    /// u of the sum of points, 0 for the neutral one: (1 + y) / (1 - y).
    fn u(points: &[edwards::Addend]) -> [u8; 32] {
        let points = points.iter().map(edwards::Point::from);
        let sum = points.reduce(|sum, point| sum.add(&point, &edwards::d2())).expect("points");
        let (y2, z2) = (sum.plus.add(&sum.minus), sum.z.add(&sum.z));
        bytes(&z2.add(&y2).mul(&z2.sub(&y2).inverted()).number())
    }

    /// In each window of the table an entry is added to itself, and to its negative, in one lane,
    /// while the other lanes add different entries.
    #[test]
    #[allow(clippy::print_stdout, reason = "announces what did not run")]
    fn equal_and_opposite_points() {
        let Some(proof) = HaveIfma::check() else {
            println!("not run: no IFMA");
            return;
        };
        let (one, zero) = (Element::ONE, Element::ZERO);
        let neutral = edwards::Addend { minus: one, plus: one, dxy2: zero };
        let multiples = Multiples::<{ comb52_mb8_ifma::BITS }>::new(comb52_mb8_ifma::WINDOWS);
        for (w, window) in multiples.windows().enumerate() {
            for (round, special) in window.iter().enumerate() {
                let lane = round % LANES;
                let mut p: [_; LANES] = core::array::from_fn(|l| window[(round + l) % 32]);
                let mut q: [_; LANES] =
                    core::array::from_fn(|l| window[(3 * round + 5 * l + 1) % 32]);
                (p[lane], q[lane]) = (*special, *special);
                (p[(lane + 1) % LANES], q[(lane + 2) % LANES]) = (neutral, neutral);
                // three times entry e is entry 3e + 1
                if let Some(three) = window.get(3 * round + 1) {
                    assert_eq!(u(&[*special; 3]), u(&[*three]));
                }
                for negative in [0, 1 << lane, 0x55, 0xff] {
                    let expected: [_; LANES] = core::array::from_fn(|l| {
                        let edwards::Addend { minus, plus, dxy2 } = q[l];
                        let opposite =
                            edwards::Addend { minus: plus, plus: minus, dxy2: dxy2.negated() };
                        u(&[p[l], if negative >> l & 1 == 1 { opposite } else { q[l] }])
                    });
                    let is_opposite = negative >> lane & 1 == 1;
                    assert_eq!(expected[lane] == [0; 32], is_opposite);
                    for u in proven!(proof, sums(&p, &q, negative)) {
                        assert_eq!(u, expected, "window {w}, entry {round}");
                    }
                }
            }
        }
    }

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
