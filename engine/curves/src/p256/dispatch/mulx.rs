//! The calls that need MULX, ADCX and ADOX, and AVX2 for tables.

use std::sync::OnceLock;

use tollgate_cpu::{HaveAdxBmi2, HaveAvx2};

use crate::p256::digits::{Odd, signed_digits_vartime};
use crate::p256::kernels::p256_comb_mulx::{self, ENTRIES, WINDOWS, p256_comb_mulx};
use crate::p256::kernels::p256_points64_mulx::{
    Modified, add_affine, double, moved, odd_multiples,
};
use crate::p256::kernels::p256_window_mulx::p256_window_mulx;
use crate::p256::multiples::{self, windows_of_four};
use crate::p256::point::{Affine, Point};
use crate::residue::{Element, Scalar};

/// The features of these kernels.
pub(super) type Proof = (HaveAdxBmi2, HaveAvx2);

/// Returns k G. k is not zero.
pub(super) fn base_multiple(k: &Scalar, proof: Proof) -> Point {
    odd_base_multiple(&Odd::new(k), proof)
}

pub(super) fn odd_base_multiple(k: &Odd, proof: Proof) -> Point {
    Point::from_jacobian(p256_comb_mulx(k, &windows_of_four()[63], windows(), proof))
}

/// Returns k P. k is not zero.
pub(super) fn multiple(k: &Scalar, point: &Affine, proof: Proof) -> Point {
    odd_multiple(&Odd::new(k), point, proof)
}

pub(super) fn odd_multiple(k: &Odd, point: &Affine, proof: Proof) -> Point {
    Point::from_jacobian(p256_window_mulx(k, point, proof))
}

/// Returns the windows of `p256_comb_mulx` below the top one.
fn windows() -> &'static [[Affine; ENTRIES]] {
    static MULTIPLES: OnceLock<Vec<Affine>> = OnceLock::new();
    let multiples = || multiples::odd_multiples(p256_comb_mulx::BITS, WINDOWS);
    MULTIPLES.get_or_init(multiples).as_chunks().0
}

/// Returns u G + v P. Its Z is zero if the point is neutral, or if two points that were added are
/// equal or opposite, which happens only by intent. Variable time.
pub(super) fn sum_vartime(u: &Scalar, v: &Scalar, p: &Affine, proof: HaveAdxBmi2) -> Point {
    // a digit of eight bits means one of 64 odd multiples of G, one of five bits one of 8 of P
    let base = &windows()[0];
    let mut multiples = [*p; 8];
    let curve = odd_multiples(&mut multiples, proof);
    let u = signed_digits_vartime::<8>(&u.number());
    let v = signed_digits_vartime::<5>(&v.number());
    let mut sum: Option<Modified> = None;
    for (u, v) in u.into_iter().zip(v).rev() {
        if let Some(sum) = &mut sum {
            double(sum, proof);
        }
        let of_base = (u != 0).then(|| moved(entry(base, u), &curve, proof));
        let of_point = (v != 0).then(|| *entry(&multiples, v));
        for (mut addend, digit) in
            of_base.map(|p| (p, u)).into_iter().chain(of_point.map(|p| (p, v)))
        {
            if digit < 0 {
                addend.y = addend.y.negated();
            }
            match &mut sum {
                Some(sum) => add_affine::<true>(sum, &addend, proof),
                None => {
                    let Affine { x, y } = addend;
                    sum = Some(Modified { x, y, z: Element::ONE, t: curve.a });
                }
            }
        }
    }
    let sum = sum.map_or([Element::ZERO; 3], |sum| [sum.x, sum.y, sum.z.mul(&curve.z)]);
    Point::from_jacobian(sum)
}

/// Returns the entry of an odd digit's absolute value.
fn entry(table: &[Affine], digit: i8) -> &Affine {
    &table[usize::from(digit.unsigned_abs() / 2)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::p256::exceptional::beyond_the_contract;

    /// The proofs of the kernels end where they say.
    #[test]
    #[allow(clippy::print_stdout, reason = "announces what did not run")]
    fn opposite_points_give_zero() {
        let (Some(limbs), Some(tables)) = (HaveAdxBmi2::check(), HaveAvx2::check()) else {
            println!("not run: no MULX or no AVX2");
            return;
        };
        let ([comb, window], proof) = (beyond_the_contract(), (limbs, tables));
        assert!(odd_base_multiple(&comb, proof).z.is_vartime(&Element::ZERO));
        assert!(odd_multiple(&window, &Affine::base(), proof).z.is_vartime(&Element::ZERO));
    }
}
