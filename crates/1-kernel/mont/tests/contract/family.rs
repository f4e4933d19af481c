//! What limbs and lanes differ in: layout, bounds, dirt.

use num_bigint::BigUint;
use tollgate_mont::{
    Digit, Kernel, LaneKernel, LimbKernel, Modulus, Pair, Row, Scalar, Shape, Word,
};

use crate::operands::limbs;

/// What differs between the two families: layout, bounds, dirt.
pub(crate) trait Family: Kernel {
    const RADIX_BITS: usize;
    fn shape(bits: usize) -> Shape;
    fn load(shape: Shape, moduli: &[BigUint]) -> Modulus<Self::Word>;
    fn load_pair(shape: Shape, p: &[BigUint], q: &[BigUint]) -> Pair<Self::Word>;
    /// Operands are below this.
    fn operand_bound(m: &BigUint, k: usize) -> BigUint;
    /// Bits above a digit, which must not matter.
    fn dirt(rng: &mut fastrand::Rng) -> u64;
}

impl Family for LimbKernel {
    const RADIX_BITS: usize = 64;
    fn shape(bits: usize) -> Shape {
        Shape::limbs(bits)
    }
    fn load(shape: Shape, moduli: &[BigUint]) -> Modulus<u64> {
        Modulus::new(&moduli[0].to_u64_digits(), shape).unwrap()
    }
    fn load_pair(shape: Shape, p: &[BigUint], q: &[BigUint]) -> Pair<u64> {
        Pair::new(Self::load(shape, p), Self::load(shape, q))
    }
    fn operand_bound(_: &BigUint, k: usize) -> BigUint {
        BigUint::from(1u8) << (64 * k)
    }
    fn dirt(_: &mut fastrand::Rng) -> u64 {
        0
    }
}

impl Family for LaneKernel {
    const RADIX_BITS: usize = 52;
    fn shape(bits: usize) -> Shape {
        Shape::digits(bits)
    }
    fn load(shape: Shape, moduli: &[BigUint]) -> Modulus<Row> {
        let mut lanes = Modulus::lanes(shape);
        for (lane, m) in moduli.iter().enumerate() {
            lanes.load_lane(lane, &Modulus::<Digit>::new(&m.to_u64_digits(), shape).unwrap());
        }
        lanes
    }
    fn load_pair(shape: Shape, p: &[BigUint], q: &[BigUint]) -> Pair<Row> {
        let mut pair = Pair::lanes(shape);
        for (lanes, moduli) in pair.each_mut().into_iter().zip([p, q]) {
            *lanes = Self::load(shape, moduli);
        }
        pair
    }
    fn operand_bound(m: &BigUint, _: usize) -> BigUint {
        m * 8u8
    }
    fn dirt(rng: &mut fastrand::Rng) -> u64 {
        rng.u64(..) << 52
    }
}

/// One number per lane, with dirt above its digits.
pub(crate) fn spread<K: Family>(rng: &mut fastrand::Rng, k: usize, x: &[BigUint]) -> Vec<K::Word> {
    let mut z = vec![K::Word::default(); k];
    for (l, x) in x.iter().enumerate() {
        let mut scalars = vec![<K::Word as Word>::Scalar::default(); k];
        Scalar::pack(&mut scalars, &limbs(x, (K::RADIX_BITS * k).div_ceil(64)));
        for (z, s) in z.iter_mut().zip(&scalars) {
            z.set_lane(l, s.bits() | K::dirt(rng));
        }
    }
    z
}
