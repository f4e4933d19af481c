//! Residues modulo the primes of P-256 (p of the field, n of the group) and of X25519, in four
//! limbs of 64 bits and Montgomery form (R = 2^256).
#![allow(clippy::cast_possible_truncation, reason = "parts of words")]

use core::marker::PhantomData;

use tollgate_cpu::memcheck;
use zeroize::Zeroize;

use crate::inverse::{self, invert_in_step};
use crate::mask::hidden;

/// Four limbs, the low one first.
pub(crate) type Limbs = [u64; 4];

/// A prime between 2^254 and 2^256.
pub(crate) trait Prime: Copy {
    const M: Limbs;
    /// -1/m mod 2^64.
    const K0: u64 = inverse_of_minus(Self::M[0]);
    /// 2^512 mod m.
    const RR: Limbs = power_of_two(512, &Self::M);
    /// 2^768 mod m: takes the inverse of a Montgomery form to the Montgomery form of the inverse.
    const RRR: Limbs = power_of_two(768, &Self::M);
    const INVERSE: inverse::Modulus = inverse::Modulus::new(&Self::M);

    /// Adds a multiple of m that makes limb i zero, and returns the carry into limb i + 4. Limb i
    /// is then out of use.
    #[inline(always)]
    fn clear(t: &mut [u64; 8], i: usize) -> u64 {
        let q = t[i].wrapping_mul(Self::K0);
        let (_, mut carry) = multiply_add(q, Self::M[0], t[i], 0);
        for j in 1..4 {
            (t[i + j], carry) = multiply_add(q, Self::M[j], t[i + j], carry);
        }
        carry
    }
}

/// p = 2^256 - 2^224 + 2^192 + 2^96 - 1 (FIPS 186-5 and SP 800-186, section 3.2.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct P;

impl Prime for P {
    const M: Limbs = [u64::MAX, 0xffff_ffff, 0, 0xffff_ffff_0000_0001];

    /// p = -1 mod 2^96, so q is the limb itself, and q p + q = q (2^96 + 2^192 M[3]).
    #[inline(always)]
    fn clear(t: &mut [u64; 8], i: usize) -> u64 {
        let (q, mut carry) = (t[i], 0);
        (t[i + 1], carry) = multiply_add(1, t[i + 1], q << 32, carry);
        (t[i + 2], carry) = multiply_add(1, t[i + 2], q >> 32, carry);
        (t[i + 3], carry) = multiply_add(q, Self::M[3], t[i + 3], carry);
        carry
    }
}

/// n, the number of points of the curve (SP 800-186, section 3.2.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct N;

impl Prime for N {
    const M: Limbs =
        [0xf3b9_cac2_fc63_2551, 0xbce6_faad_a717_9e84, u64::MAX, 0xffff_ffff_0000_0000];
}

/// 2^255 - 19, the prime of X25519 (RFC 7748, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct P25519;

impl Prime for P25519 {
    const M: Limbs = [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1];
}

/// A residue x, as x R mod m. Always the least one.
///
/// It may be secret, so it is neither printed nor compared with `==`, whose time depends on the
/// operands.
#[derive(Clone)]
pub(crate) struct Residue<M: Prime>(pub(crate) Limbs, PhantomData<M>);

/// An element of the field.
pub(crate) type Element = Residue<P>;

/// A factor of points, often a secret: a key, a nonce. It is passed by reference and not copied.
pub(crate) type Scalar = Residue<N>;

/// Coordinates are copied, as in registers.
impl Copy for Element {}
impl Copy for Residue<P25519> {}

impl<M: Prime> Zeroize for Residue<M> {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl<M: Prime> Residue<M> {
    pub(crate) const ZERO: Self = Self::raw([0; 4]);
    pub(crate) const ONE: Self = Self::raw(power_of_two(256, &M::M));

    /// Takes the Montgomery form of a residue, below m.
    pub(crate) const fn raw(x: Limbs) -> Self {
        Self(x, PhantomData)
    }

    /// Returns x mod m, for every x.
    pub(crate) fn new(x: &Limbs) -> Self {
        Self::raw(montgomery::<M>(x, &M::RR))
    }

    /// Returns (2^256 high + low) mod m, for all limbs.
    pub(crate) fn new_long(high: &Limbs, low: &Limbs) -> Self {
        Self::raw(montgomery::<M>(high, &M::RRR)).add(&Self::new(low))
    }

    /// Returns the least number that is x mod m, for x < 2m.
    pub(crate) fn least(x: &Limbs) -> Limbs {
        reduced::<M>(x, 0)
    }

    /// Returns the residue that 32 bytes mean, big end first, or `None` if the number is not below
    /// m.
    pub(crate) fn from_least_bytes(bytes: &[u8; 32]) -> Option<Self> {
        let x = limbs(bytes);
        Self::is_least(&x).then(|| Self::new(&x))
    }

    /// Returns whether a number is below m.
    pub(crate) fn is_least(x: &Limbs) -> bool {
        memcheck::declassified(subtracted(x, &M::M).1) != 0
    }

    /// Returns the least number of the residue.
    pub(crate) fn number(&self) -> Limbs {
        montgomery::<M>(&self.0, &[1, 0, 0, 0])
    }

    /// Returns the number's 32 bytes, big end first.
    pub(crate) fn to_bytes(&self) -> [u8; 32] {
        bytes(&self.number())
    }

    #[inline(always)]
    pub(crate) fn mul(&self, y: &Self) -> Self {
        Self::raw(montgomery::<M>(&self.0, &y.0))
    }

    #[inline(always)]
    pub(crate) fn square(&self) -> Self {
        Self::raw(montgomery_square::<M>(&self.0))
    }

    #[inline(always)]
    pub(crate) fn add(&self, y: &Self) -> Self {
        let (sum, carry) = added(&self.0, &y.0);
        Self::raw(reduced::<M>(&sum, carry))
    }

    #[inline(always)]
    pub(crate) fn sub(&self, y: &Self) -> Self {
        let (difference, below) = subtracted(&self.0, &y.0);
        let below = hidden(below);
        Self::raw(added(&difference, &M::M.map(|limb| limb & below)).0)
    }

    pub(crate) fn negated(&self) -> Self {
        Self::ZERO.sub(self)
    }

    /// Returns 1/x, or 0 for 0. Constant time.
    pub(crate) fn inverted(&self) -> Self {
        Self::raw(montgomery::<M>(&M::INVERSE.invert(&self.0), &M::RRR))
    }

    /// Returns the number x / z mod m, or 0 if z is 0, for z < m. Constant time.
    pub(crate) fn quotient(x: &Limbs, z: &Limbs) -> Limbs {
        montgomery::<M>(&Self::new(x).0, &M::INVERSE.invert(z))
    }

    /// Returns 1/x and 1/y, or 0 for 0, in less time than one after the other. Constant time.
    pub(crate) fn inverted_beside<M2: Prime>(&self, y: &Residue<M2>) -> (Self, Residue<M2>) {
        let [x, y] = invert_in_step([(&M::INVERSE, &self.0), (&M2::INVERSE, &y.0)]);
        (Self::raw(montgomery::<M>(&x, &M::RRR)), Residue::raw(montgomery::<M2>(&y, &M2::RRR)))
    }

    /// Replaces each of the residues by its inverse, and 0 by 0. Inverts only their product
    /// (Montgomery's trick). `before` has the same length and is overwritten.
    pub(crate) fn invert_all(all: &mut [Self], before: &mut [Self]) {
        let product = Self::products(all, before);
        Self::divide_all(product.inverted(), all, before);
    }

    /// The first part of [`invert_all`](Self::invert_all): returns the product to invert, of all
    /// residues but zeros.
    pub(crate) fn products(all: &[Self], before: &mut [Self]) -> Self {
        let mut product = Self::ONE;
        for (x, before) in all.iter().zip(before) {
            let next = product.mul(&x.nonzero().0);
            *before = core::mem::replace(&mut product, next);
        }
        product
    }

    /// The last part of [`invert_all`](Self::invert_all).
    pub(crate) fn divide_all(mut inverse: Self, all: &mut [Self], before: &[Self]) {
        for (x, before) in all.iter_mut().zip(before).rev() {
            let (y, zero) = x.nonzero();
            *x = inverse.mul(before);
            x.replace(zero, &Self::ZERO);
            inverse = inverse.mul(&y);
        }
    }

    /// Returns 1 in place of zero, which would spoil the product of all, and all ones for zero.
    fn nonzero(&self) -> (Self, u64) {
        let (mut y, zero) = (self.clone(), self.is_zero());
        y.replace(zero, &Self::ONE);
        (y, zero)
    }

    /// All ones if the residue is 0, else 0.
    pub(crate) fn is_zero(&self) -> u64 {
        let any = self.0.iter().fold(0, |any, limb| any | limb);
        hidden(((any | any.wrapping_neg()) >> 63).wrapping_sub(1))
    }

    /// Returns whether the residues are equal. Variable time, for public ones.
    pub(crate) fn is_vartime(&self, y: &Self) -> bool {
        self.0 == y.0
    }

    /// All ones if the residues are equal, else 0.
    pub(crate) fn equals(&self, y: &Self) -> u64 {
        self.sub(y).is_zero()
    }

    /// Becomes y if `mask` is all ones, and stays as it is if `mask` is 0.
    pub(crate) fn replace(&mut self, mask: u64, y: &Self) {
        let mask = hidden(mask);
        for (x, y) in self.0.iter_mut().zip(y.0) {
            *x ^= (*x ^ y) & mask;
        }
    }

    /// Becomes -x if `mask` is all ones.
    pub(crate) fn negate(&mut self, mask: u64) {
        let negated = self.negated();
        self.replace(mask, &negated);
    }
}

/// Reads a number, big end first.
pub(crate) fn limbs(bytes: &[u8; 32]) -> Limbs {
    let mut x = [0; 4];
    for (limb, bytes) in x.iter_mut().rev().zip(bytes.as_chunks().0) {
        *limb = u64::from_be_bytes(*bytes);
    }
    x
}

/// Returns the bytes of a number, big end first.
pub(crate) fn bytes(x: &Limbs) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (bytes, limb) in bytes.as_chunks_mut().0.iter_mut().rev().zip(x) {
        *bytes = limb.to_be_bytes();
    }
    bytes
}

/// Returns x y / R mod m, below m if x y < R m.
#[inline(always)]
fn montgomery<M: Prime>(x: &Limbs, y: &Limbs) -> Limbs {
    let mut t = [0; 8];
    for i in 0..4 {
        let mut carry = 0;
        for j in 0..4 {
            (t[i + j], carry) = multiply_add(x[j], y[i], t[i + j], carry);
        }
        t[i + 4] = carry;
    }
    divided::<M>(t)
}

/// Returns x^2 / R mod m, for x < m.
#[inline(always)]
fn montgomery_square<M: Prime>(x: &Limbs) -> Limbs {
    // products of different limbs, which occur twice
    let mut t = [0; 8];
    for i in 0..3 {
        let mut carry = 0;
        for j in i + 1..4 {
            (t[i + j], carry) = multiply_add(x[j], x[i], t[i + j], carry);
        }
        t[i + 4] = carry;
    }
    let (mut below, mut carry) = (0, 0);
    for i in 0..4 {
        let (low, high) = multiply_add(x[i], x[i], 0, 0);
        let twice = [t[2 * i] << 1 | below, t[2 * i + 1] << 1 | t[2 * i] >> 63];
        below = t[2 * i + 1] >> 63;
        (t[2 * i], carry) = multiply_add(1, twice[0], low, carry);
        (t[2 * i + 1], carry) = multiply_add(1, twice[1], high, carry);
    }
    divided::<M>(t)
}

/// Returns t / R mod m, below m if t < R m.
#[inline(always)]
fn divided<M: Prime>(mut t: [u64; 8]) -> Limbs {
    let mut top = 0;
    for i in 0..4 {
        let carry = M::clear(&mut t, i);
        (t[i + 4], top) = multiply_add(1, t[i + 4], carry, top);
    }
    reduced::<M>(&[t[4], t[5], t[6], t[7]], top)
}

/// Returns the low and the high half of x y + z + c.
#[inline(always)]
fn multiply_add(x: u64, y: u64, z: u64, c: u64) -> (u64, u64) {
    let sum = u128::from(x) * u128::from(y) + u128::from(z) + u128::from(c);
    (sum as u64, (sum >> 64) as u64)
}

/// Returns x + 2^256 top - m, or x if that is negative. The number is below 2m.
#[inline(always)]
fn reduced<M: Prime>(x: &Limbs, top: u64) -> Limbs {
    let (difference, below) = subtracted(x, &M::M);
    let keep = hidden(below & top.wrapping_sub(1));
    core::array::from_fn(|i| difference[i] ^ (difference[i] ^ x[i]) & keep)
}

/// Returns the sum and its carry.
#[inline(always)]
fn added(x: &Limbs, y: &Limbs) -> (Limbs, u64) {
    let (mut z, mut carry) = ([0; 4], 0);
    for i in 0..4 {
        (z[i], carry) = multiply_add(1, x[i], y[i], carry);
    }
    (z, carry)
}

/// Returns the difference mod 2^256, and all ones if it is negative.
#[inline(always)]
pub(crate) const fn subtracted(x: &Limbs, y: &Limbs) -> (Limbs, u64) {
    let (mut z, mut borrow, mut i) = ([0; 4], false, 0);
    while i < 4 {
        let (difference, below) = x[i].overflowing_sub(y[i]);
        let (difference, below_too) = difference.overflowing_sub(borrow as u64);
        (z[i], borrow) = (difference, below | below_too);
        i += 1;
    }
    (z, (borrow as u64).wrapping_neg())
}

/// Returns -1/m mod 2^64, for an odd m. Each step doubles the number of correct bits, from 3.
const fn inverse_of_minus(m: u64) -> u64 {
    let (mut inverse, mut step) = (m, 0);
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(m.wrapping_mul(inverse)));
        step += 1;
    }
    inverse.wrapping_neg()
}

/// Returns 2^e mod m, by doublings.
pub(crate) const fn power_of_two(e: u32, m: &Limbs) -> Limbs {
    let (mut x, mut step) = ([1, 0, 0, 0], 0);
    while step < e {
        let over = x[3] >> 63;
        let twice =
            [x[0] << 1, x[1] << 1 | x[0] >> 63, x[2] << 1 | x[1] >> 63, x[3] << 1 | x[2] >> 63];
        let (less, below) = subtracted(&twice, m);
        x = if over == 0 && below != 0 { twice } else { less };
        step += 1;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn residues<M: Prime>() -> Vec<Residue<M>> {
        let mut rng = fastrand::Rng::with_seed(5);
        let extremes = [[0; 4], [1, 0, 0, 0], M::M, [M::M[0] - 1, M::M[1], M::M[2], M::M[3]]];
        let extremes = extremes.into_iter().chain([[u64::MAX; 4]]);
        let random = core::iter::repeat_with(|| core::array::from_fn(|_| rng.u64(..)));
        extremes.chain(random.take(200)).map(|x| Residue::new(&x)).collect()
    }

    /// Doubles and adds, bit by bit.
    fn slow_product<M: Prime>(x: &Residue<M>, y: &Residue<M>) -> Residue<M> {
        let bits = y.number().into_iter().rev();
        let bits = bits.flat_map(|limb| (0..64).rev().map(move |b| limb >> b & 1 == 1));
        bits.fold(Residue::ZERO, |sum, bit| {
            let twice = sum.add(&sum);
            if bit { twice.add(x) } else { twice }
        })
    }

    fn products_and_inverses<M: Prime>() {
        let all = residues::<M>();
        for (x, y) in all.iter().zip(all.iter().rev()) {
            assert!(x.mul(y).equals(&slow_product(x, y)) != 0);
            assert!(x.square().equals(&slow_product(x, x)) != 0);
            assert!(x.sub(y).add(y).equals(x) != 0);
            assert!(Residue::new(&x.number()).equals(x) != 0);
            assert!(Residue::<M>::least(&x.number()) == x.number());
            let (above, over) = added(&x.number(), &M::M);
            assert!(over == 1 || Residue::<M>::least(&above) == x.number());
            let long = Residue::new_long(&x.number(), &y.number());
            let shift = Residue::new(&power_of_two(256, &M::M));
            assert!(long.equals(&slow_product(x, &shift).add(y)) != 0);
        }
        // the zeros, 0 and m, do not spoil the others
        let mut inverses = all.clone();
        Residue::invert_all(&mut inverses, &mut all.clone());
        for (x, inverse) in all.iter().zip(&inverses) {
            let one = if x.is_zero() == 0 { Residue::ONE } else { Residue::ZERO };
            assert!(x.mul(inverse).equals(&one) != 0);
            assert!(x.inverted().equals(inverse) != 0);
            let (number, one) = (x.number(), one.number());
            assert!(Residue::<M>::quotient(&number, &number) == one);
        }
    }

    #[test]
    fn products_and_inverses_modulo_p() {
        products_and_inverses::<P>();
    }

    #[test]
    fn products_and_inverses_modulo_n() {
        products_and_inverses::<N>();
    }

    #[test]
    fn products_and_inverses_modulo_the_prime_of_x25519() {
        products_and_inverses::<P25519>();
    }
}
