//! The calls that need AVX-512 IFMA.

use std::sync::OnceLock;

use tollgate_cpu::{HaveIfma, proven};

use crate::batches::{LANES, by_number, by_word};
use crate::digits::half_of_odd;
use crate::field51::{Element, bytes, words};
use crate::kernels::comb52_mb8_ifma::{self, comb52_mb8_ifma};
use crate::kernels::comb52_sum8_ifma::{self, comb52_sum8_ifma};
use crate::kernels::field52_ifma;
use crate::kernels::ladder51_quad_ifma::ladder51_quad_ifma;
use crate::kernels::ladder52_mb8_ifma::ladder52_mb8_ifma;
use crate::kernels::quotient52_mb8_ifma::{product52_mb8_ifma, quotient52_mb8_ifma};
use crate::tables_ifma;

/// The fewest keys for which eight lanes cost less than one key after the other.
pub(super) const FEWEST_KEYS: usize = 3;
/// The same for agreements.
pub(super) const FEWEST_AGREEMENTS: usize = 3;

pub(super) fn public_key(k: &[u8; 32], proof: HaveIfma) -> [u8; 32] {
    static TABLE: OnceLock<comb52_sum8_ifma::Table> = OnceLock::new();
    let table = TABLE.get_or_init(|| proven!(proof, tables_ifma::sum8()));
    let lane = |x: [[u64; LANES]; 4]| Element::from_words(&x.map(|word| word[0]));
    let [x, z] = proven!(proof, comb52_sum8_ifma(k, table)).map(lane);
    x.mul(z.inverted()).to_bytes()
}

pub(super) fn agree(k: &[u8; 32], u: Element, proof: HaveIfma) -> [u8; 32] {
    let (x, z) = proven!(proof, ladder51_quad_ifma(k, u));
    x.mul(z.inverted()).to_bytes()
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
    let u = peers.map(|peer| {
        let mut u = words(peer);
        u[3] &= u64::MAX >> 1;
        u
    });
    let u = proven!(proof, field52_ifma::element(&by_word(&u)));
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
    let inverse = Element::from_words(&product).inverted().to_words();
    by_number(&proven!(proof, quotient52_mb8_ifma(x, &inverse, &neighbours)))
        .map(|words| bytes(&words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edwards::{self, Multiples};
    use crate::kernels::edwards52_ifma::{Addend, Point};
    use crate::kernels::field52_ifma::{choice, element, least_words};

    /// Addends in lanes.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn in_lanes(addends: &[edwards::Addend; LANES]) -> Addend {
        let part = |part: fn(&edwards::Addend) -> Element| {
            element(&by_word(&addends.each_ref().map(|addend| part(addend).to_words())))
        };
        Addend {
            minus: part(|addend| addend.minus),
            plus: part(|addend| addend.plus),
            dxy2: part(|addend| addend.dxy2),
        }
    }

    /// u of p + q and p - q, both added as addend and as point, in the lanes of `negative` the latter.
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn sums(
        p: &[edwards::Addend; LANES],
        q: &[edwards::Addend; LANES],
        negative: u8,
    ) -> [[Element; LANES]; 2] {
        let (positive, negative) = (choice(0), choice(negative));
        let point = |of: &[edwards::Addend; LANES], sign| {
            in_lanes(&of.map(edwards::Addend::without_d)).doubled(sign)
        };
        let p = point(p, positive);
        let by_addend = p.plus_addend::<2>(&in_lanes(q), negative);
        let d2 = field52_ifma::everywhere(&edwards::d2().to_words());
        let by_point = p.plus_point(&point(q, negative), &d2);
        let u = |sum: &Point| {
            let (x, z) = sum.u();
            let [x, z] =
                [x, z].map(|x| by_number(&least_words(&x)).map(|x| Element::from_words(&x)));
            core::array::from_fn(|l| x[l].mul(z[l].inverted()))
        };
        [u(&by_addend), u(&by_point)]
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
        let neutral = edwards::Addend::NEUTRAL;
        let multiples = Multiples::<{ comb52_mb8_ifma::BITS }>::new(comb52_mb8_ifma::WINDOWS);
        for (w, window) in multiples.windows().enumerate() {
            for (round, special) in window.iter().enumerate() {
                let lane = round % LANES;
                let mut p: [_; LANES] = core::array::from_fn(|l| window[(round + l) % 32]);
                let mut q: [_; LANES] =
                    core::array::from_fn(|l| window[(3 * round + 5 * l + 1) % 32]);
                (p[lane], q[lane]) = (*special, *special);
                (p[(lane + 1) % LANES], q[(lane + 2) % LANES]) = (neutral, neutral);
                for negative in [0, 1 << lane, 0x55, 0xff] {
                    let expected: [Element; LANES] = core::array::from_fn(|l| {
                        let mut q = q[l];
                        q.negate((u64::from(negative) >> l & 1).wrapping_neg());
                        edwards::Point::NEUTRAL.add(&p[l]).add(&q).u()
                    });
                    let zero = Element::ZERO.to_bytes();
                    let is_opposite = negative >> lane & 1 == 1;
                    assert_eq!(expected[lane].to_bytes() == zero, is_opposite);
                    // three times entry e is entry 3e + 1
                    if let Some(three) = window.get(3 * round + 1) {
                        let sum = edwards::Point::NEUTRAL.add(special).add(special).add(special);
                        let three = edwards::Point::NEUTRAL.add(three);
                        assert_eq!(sum.u().to_bytes(), three.u().to_bytes());
                    }
                    let expected = expected.map(Element::to_bytes);
                    for u in proven!(proof, sums(&p, &q, negative)) {
                        assert_eq!(u.map(Element::to_bytes), expected, "window {w}, entry {round}");
                    }
                }
            }
        }
    }
}
