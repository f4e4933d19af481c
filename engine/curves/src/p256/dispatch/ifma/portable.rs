//! Portable kernels in place of those with IFMA, one lane after the other.

use sha2::{Digest as _, Sha512};

use super::Kernels;
use crate::batches::{LANES, by_number, by_word};
use crate::p256::digits::Odd;
use crate::p256::kernels::p256_comb_portable::p256_comb_portable;
use crate::p256::kernels::p256_field52_ifma::Lanes;
use crate::p256::kernels::p256_window_portable::p256_window_portable;
use crate::p256::point::{Affine, Point};
use crate::p256::residue::{Element, Limbs};

#[derive(Clone, Copy)]
pub(super) struct Portable;

/// Returns points in affine coordinates.
fn points([x, y]: &[Lanes; 2]) -> [Affine; LANES] {
    let (x, y) = (by_number(x), by_number(y));
    core::array::from_fn(|l| Affine { x: Element::new(&x[l]), y: Element::new(&y[l]) })
}

impl Kernels for Portable {
    type Points = [Point; LANES];
    type Neighbours = ();

    /// The kernels do not apply the signs.
    fn base_multiples(self, k: &[Odd; LANES]) -> [Point; LANES] {
        k.each_ref().map(|k| p256_comb_portable(&Odd { t: k.t, negative: 0 }))
    }

    fn multiples(self, k: &[Odd; LANES], of: &[Lanes; 2]) -> [Point; LANES] {
        let of = points(of);
        core::array::from_fn(|l| {
            p256_window_portable(&Odd { t: k[l].t, negative: 0 }, &of[l]).into()
        })
    }

    fn denominator(self, points: &[Point; LANES]) -> (Limbs, ()) {
        (points.iter().fold(Element::ONE, |product, point| product.mul(&point.z)).number(), ())
    }

    fn affine(self, points: &[Point; LANES], inverse: &Limbs, (): &()) -> [Lanes; 2] {
        let inverse = Element::new(inverse);
        let affine: [Affine; LANES] = core::array::from_fn(|l| {
            let others = points.iter().enumerate().filter(|(m, _)| *m != l);
            let inverse = others.fold(inverse, |product, (_, other)| product.mul(&other.z));
            Affine { x: points[l].x.mul(&inverse), y: points[l].y.mul(&inverse) }
        });
        [
            by_word(&affine.map(|point| point.x.number())),
            by_word(&affine.map(|point| point.y.number())),
        ]
    }

    fn difference(self, k: &Odd, of: &[Lanes; 2]) -> [Limbs; 3] {
        let [first, rest @ ..] = points(of);
        let sum = rest.iter().fold(Point::from(first), |sum, point| sum.add_affine(point));
        let multiple = p256_comb_portable(k);
        let x = sum.x.mul(&multiple.z).sub(&multiple.x.mul(&sum.z));
        let y = sum.y.mul(&multiple.z).sub(&multiple.y.mul(&sum.z));
        [x, y, sum.z.mul(&multiple.z)].map(|x| x.number())
    }

    fn sha512(self, blocks: &[[u64; LANES]; 16]) -> [[u64; LANES]; 8] {
        let hashes: [[u64; 8]; LANES] = core::array::from_fn(|l| {
            let mut block = [0_u8; 128];
            for (bytes, word) in block.as_chunks_mut().0.iter_mut().zip(blocks) {
                *bytes = word[l].to_be_bytes();
            }
            // a whole message of 97 bytes
            let hash = Sha512::digest(&block[..97]);
            core::array::from_fn(|i| u64::from_be_bytes(hash.as_chunks().0[i]))
        });
        core::array::from_fn(|i| hashes.map(|hash| hash[i]))
    }
}
