//! The constants of fold rows.

use super::field::Field;
use crate::shape::Shape;
use crate::word::Scalar;

/// Returns b1 = B^-1 mod m in K digits. For numbers of one tile, b1 / 2 mod m follows, for
/// [`rows52_ifma`]. More constants follow if [`fold52_halves_ifma`] folds half of the digits at
/// once. With W = K / 2, they are:
///
/// * c = B^-(W-1) mod m in K digits;
/// * three differences. Each is the upper half minus the lower half of a number of W digits. The
///   three numbers are the lower half of c, the upper half of c, and the upper half of b1. A
///   difference has W / 2 digits modulo B^(W/2), followed by a word that is 1 if it is negative.
///
/// [`rows52_ifma`]: crate::kernels::rows52_ifma
/// [`fold52_halves_ifma`]: crate::kernels::fold52_halves_ifma
pub(super) fn constants<S: Scalar>(field: &Field<'_>, shape: Shape) -> Vec<S> {
    let k = shape.k();
    let mut all = vec![S::default(); shape.fold_words()];
    let b1 = field.fold(&[1], S::BITS);
    S::pack(&mut all[..k], &b1);
    if shape.k() == shape.tile() {
        S::pack(&mut all[k..], &field.fold(&b1, 1));
    }
    if shape.folds_by_halves() {
        let w = k / 2;
        let c = (1..w - 1).fold(b1, |x, _| field.fold(&x, S::BITS));
        S::pack(&mut all[k..2 * k], &c);
        let (factors, differences) = all.split_at_mut(2 * k);
        let halves = [&factors[k..][..w], &factors[k + w..], &factors[w..k]];
        for (z, x) in differences.chunks_exact_mut(w / 2 + 1).zip(halves) {
            difference(z, x);
        }
    }
    all
}

/// z := upper half of x - lower half of x, followed by the sign.
fn difference<S: Scalar>(z: &mut [S], x: &[S]) {
    let (lower, upper) = x.split_at(x.len() / 2);
    let mut borrow = 0;
    for (z, (lower, upper)) in z.iter_mut().zip(lower.iter().zip(upper)) {
        let v = upper.bits().wrapping_sub(lower.bits()).wrapping_sub(borrow);
        *z = S::from_bits(v);
        borrow = v >> 63;
    }
    z[x.len() / 2] = S::from_bits(borrow);
}

#[cfg(test)]
mod tests {
    use num_bigint::{BigInt, BigUint};

    use super::*;
    use crate::word::Digit;

    fn number(x: &[Digit]) -> BigInt {
        x.iter().rev().fold(BigInt::ZERO, |a, x| (a << 52) + x.bits())
    }

    #[test]
    fn a_block_is_folded_by_its_inverse_power_and_its_differences() {
        let mut rng = fastrand::Rng::with_seed(5);
        for pattern in 0..4 {
            let limb = |_| if pattern == 0 { u64::MAX } else { rng.u64(..) };
            let mut m: Vec<u64> = (0..32).map(limb).collect();
            m[0] |= 1;
            let modulus = super::super::Modulus::<Digit>::new(&m, Shape::digits(2048));
            let modulus = modulus.expect("m is odd");
            let fold = modulus.fold();
            let c = number(&fold[40..80]).to_biguint().expect("no sign");
            let m: Vec<u8> = m.into_iter().flat_map(u64::to_le_bytes).collect();
            let m = BigUint::from_bytes_le(&m);
            assert!(c < m && (c << (19 * 52)) % &m == BigUint::from(1u8));
            for (i, at) in [40, 60, 20].into_iter().enumerate() {
                let e = &fold[80 + 11 * i..][..11];
                let value = number(&e[..10]) - (number(&e[10..]) << 520);
                assert_eq!(value, number(&fold[at + 10..at + 20]) - number(&fold[at..at + 10]));
            }
        }
    }
}
