//! Numbers in lane blocks: a row holds one number in eight lanes, or two numbers in four lanes
//! each.
//!
//! A number is cut into blocks of K digits of 52 bits. Block l lies in lane l of K rows. Blocks
//! begin W = 52K - 1 bits apart, one bit less than K digits hold:
//!
//! ```text
//! x = sum over l, k of row[k].lane[l] * 2^{W l + 52 k}
//! ```
//!
//! The spare bit takes the carries of a product, so a carry moves to the next lane at most once.
//! Two numbers side by side are the primes of one key. One instruction works on both.

pub(crate) mod exp;
pub(crate) mod limbs;
pub(crate) mod powers;

use zeroize::Zeroize;

use crate::shape::Shape;
use crate::word::{DIGIT, Digit, LANES, Row, Scalar, Word};

/// The layout in blocks of numbers of one size. It is public, not secret: it depends on the size
/// alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blocks {
    /// The largest size of a modulus, in bits.
    bits_max: usize,
    /// K: the number of digits in a block, and of rows in a number.
    k: usize,
    /// The number of lanes that one number takes.
    lanes: usize,
    /// The number of digits of the last block that a product uses: K, or fewer if the modulus does
    /// not fill the block. A product multiplies by these digits and removes as many in the
    /// reduction.
    last: usize,
}

/// The largest number of digits in a block.
pub(crate) const K_MAX: usize = 10;

// For each block of the multiplier, a column gains at most 4K half products of its own, and at most
// 8K from the columns above the previous block. The column also takes the sum of the same column in
// the next lane. A multiplier has at most eight blocks.
const _: () = assert!(8 * 3 * 4 * K_MAX < 1 << 10, "a column would reach 2^62");

impl Blocks {
    /// The layouts, ordered by size. The usual sizes of primes and moduli in RSA fill them.
    pub(crate) const ALL: [Self; 6] = [
        Self { bits_max: 512, k: 3, lanes: 4, last: 1 },
        Self { bits_max: 1024, k: 5, lanes: 4, last: 5 },
        Self { bits_max: 1536, k: 4, lanes: 8, last: 2 },
        Self { bits_max: 2048, k: 5, lanes: 8, last: 5 },
        Self { bits_max: 3072, k: 8, lanes: 8, last: 4 },
        Self { bits_max: 4096, k: 10, lanes: 8, last: 10 },
    ];

    /// Returns the layout for moduli of `bits` bits, of two side by side if they fit; `None` above
    /// 4096.
    pub fn of_bits(bits: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|blocks| bits <= blocks.bits_max)
    }

    /// Returns the layout for a modulus whose limbs have this shape.
    pub(crate) fn of_limbs(shape: Shape) -> Option<Self> {
        Self::of_bits(64 * shape.k()).filter(|_| shape.radix_bits() == 64)
    }

    /// Returns the layout of a shape of blocks.
    ///
    /// # Panics
    ///
    /// If no layout in lane blocks has this shape.
    pub fn of_shape(shape: Shape) -> Self {
        let found = Self::ALL.into_iter().find(|blocks| blocks.shape() == shape);
        found.expect("the shape is one of lane blocks")
    }

    /// Returns the shape of numbers in this layout.
    pub fn shape(self) -> Shape {
        Shape::blocks(self.k, self.lanes, self.r_bits())
    }

    /// Returns K, the number of rows in a number.
    pub fn k(self) -> usize {
        self.k
    }

    /// Returns the number of lanes that one number takes: eight or four.
    pub fn lanes(self) -> usize {
        self.lanes
    }

    /// Returns how many numbers share the rows: one or two.
    pub fn numbers(self) -> usize {
        LANES / self.lanes
    }

    /// Returns the number of digits of a multiplier that a product uses. The reduction removes as
    /// many.
    pub const fn rows(self) -> usize {
        (self.lanes - 1) * self.k + self.last
    }

    /// Returns the distance between the starts of two neighbouring blocks, in bits.
    const fn block_bits(self) -> usize {
        52 * self.k - 1
    }

    /// Returns log2 R: the number of bits that the reduction of a product removes.
    pub const fn r_bits(self) -> usize {
        let spare = if self.last == self.k { 1 } else { 0 };
        (self.lanes - 1) * self.block_bits() + 52 * self.last - spare
    }

    /// Returns the largest size of a modulus, in bits. A number of twice that size is split at this
    /// bit.
    pub fn bits_max(self) -> usize {
        self.bits_max
    }

    /// Returns the bit position of digit `k` of block `l`, and its number of bits.
    fn place(self, l: usize, k: usize) -> (usize, usize) {
        let inner = l + 1 < self.lanes && k + 1 == self.k;
        (self.block_bits() * l + 52 * k, if inner { 51 } else { 52 })
    }

    /// z := x + y in each number, for sums below R. The last digit of a block may use its spare
    /// bit.
    ///
    /// # Panics
    ///
    /// If z does not have K rows.
    pub fn add(self, z: &mut [Row], x: &[Row], y: &[Row]) {
        let last = self.k - 1;
        let clean = |x: Row| x.zip(x, |x, _| x & DIGIT);
        for ((z, x), y) in z.iter_mut().zip(x).zip(y) {
            *z = clean(*x).zip(clean(*y), u64::wrapping_add);
        }
        // carry once from each block into the next, then through the digits of each block
        let mut carry = Row::default();
        for l in (0..LANES).filter(|l| l % self.lanes != 0) {
            carry.0[l] = z[last].0[l - 1] >> 51;
        }
        let inner = |l: usize| l % self.lanes + 1 < self.lanes;
        (0..LANES).filter(|&l| inner(l)).for_each(|l| z[last].0[l] &= DIGIT >> 1);
        for z in &mut z[..last] {
            let sum = z.zip(carry, u64::wrapping_add);
            (*z, carry) = (clean(sum), sum.zip(sum, |sum, _| sum >> 52));
        }
        z[last] = z[last].zip(carry, u64::wrapping_add);
    }

    /// Writes a number below R into the lanes of `number`, zero-extended or cut. Its digits are
    /// clean.
    ///
    /// # Panics
    ///
    /// If there are fewer than K rows, or `number` is not in the layout.
    #[inline(never)] // its array would lie on the stack of the caller, for each call
    pub fn pack(self, rows: &mut [Row], number: usize, limbs: &[u64]) {
        let mut x = [0; LIMBS + 1]; // covers all digits, since R < 2^{64 LIMBS}
        let limbs = &limbs[..limbs.len().min(x.len())];
        x[..limbs.len()].copy_from_slice(limbs);
        for (k, row) in rows[..self.k].iter_mut().enumerate() {
            let lanes = &mut row.0[number * self.lanes..][..self.lanes];
            for (l, digit) in lanes.iter_mut().enumerate() {
                let (at, bits) = self.place(l, k);
                let (i, s) = (at / 64, at % 64);
                *digit = (x[i] >> s | x[i + 1] << 1 << (63 - s)) & (DIGIT >> (52 - bits));
            }
        }
        x[..limbs.len()].zeroize();
    }

    /// Writes the same number below R into the lanes of every number: see [`pack`](Self::pack).
    ///
    /// # Panics
    ///
    /// If there are fewer than K rows.
    pub fn pack_all(self, rows: &mut [Row], limbs: &[u64]) {
        (0..self.numbers()).for_each(|number| self.pack(rows, number, limbs));
    }

    /// Returns whether the product of two sums is still below 7m. Each sum adds two results and is
    /// below 14m.
    pub fn takes_sums(self) -> bool {
        self.r_bits() - self.bits_max >= 8
    }

    /// Reads the lanes of `number` into `limbs`, cut to the length of `limbs`. The digits may be
    /// dirty.
    ///
    /// # Panics
    ///
    /// If there are fewer than K rows, or `number` is not in the layout.
    pub fn unpack(self, limbs: &mut [u64], rows: &[Row], number: usize) {
        let (mut sum, mut base) = (0u128, 0);
        let mut limbs = limbs.iter_mut();
        for l in 0..self.lanes {
            for (k, row) in rows[..self.k].iter().enumerate() {
                let (at, _) = self.place(l, k);
                let digit = Digit(row.0[number * self.lanes + l]).bits();
                // the top digit of a block may use its spare bit: so add the digits, do not
                // join them
                sum = sum.wrapping_add(u128::from(digit) << (at - base));
                if at + 51 >= base + 64 {
                    let Some(limb) = limbs.next() else { return };
                    *limb = low(sum);
                    (sum, base) = (sum >> 64, base + 64);
                }
            }
        }
        for limb in limbs {
            (*limb, sum) = (low(sum), sum >> 64);
        }
    }
}

/// The number of limbs of the longest number, plus one.
const LIMBS: usize = 65;

#[allow(clippy::cast_possible_truncation, reason = "the low half is meant")]
fn low(x: u128) -> u64 {
    x as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moduli_leave_the_room_that_products_need() {
        for blocks in Blocks::ALL {
            // 64m <= R, or 32m <= R if the last block has one digit (see amm52_blocks_ifma)
            let slack = blocks.r_bits() - blocks.bits_max;
            assert!(slack >= if blocks.last == 1 { 5 } else { 6 }, "{blocks:?}");
            assert!(blocks.k <= K_MAX && blocks.last <= blocks.k);
        }
        assert_eq!(Blocks::of_bits(1024).map(Blocks::numbers), Some(2));
        assert_eq!(Blocks::of_bits(1025).map(Blocks::numbers), Some(1));
        assert_eq!(Blocks::of_bits(4097), None);
    }

    #[test]
    fn packing_is_the_identity_on_numbers_that_fit() {
        let mut rng = fastrand::Rng::with_seed(4);
        for blocks in Blocks::ALL {
            let len = blocks.bits_max / 64;
            let mut rows = [Row::default(); K_MAX];
            let numbers: Vec<Vec<u64>> =
                (0..blocks.numbers()).map(|_| (0..len).map(|_| rng.u64(..)).collect()).collect();
            for (i, x) in numbers.iter().enumerate() {
                blocks.pack(&mut rows, i, x);
            }
            assert!(rows.iter().flat_map(|row| row.0).all(|digit| digit <= DIGIT));
            for row in &mut rows {
                row.0.iter_mut().for_each(|digit| *digit |= rng.u64(..) << 52);
            }
            for (i, x) in numbers.iter().enumerate() {
                let mut back = vec![7; len + 1];
                blocks.unpack(&mut back, &rows, i);
                assert!(back[..len] == x[..] && back[len] == 0, "{blocks:?}");
                blocks.unpack(&mut back[..len], &rows, i);
                assert_eq!(back[..len], x[..]);
            }
        }
    }

    #[test]
    fn a_spare_bit_counts() {
        let blocks = Blocks::ALL[2];
        let mut rows = [Row::default(); K_MAX];
        // the top digit of block 0 is 2^51: as much as a 1 in the lowest digit of block 1
        rows[blocks.k - 1].0[0] = 1 << 51;
        rows[0].0[1] = 2;
        let mut limbs = vec![0; 25];
        blocks.unpack(&mut limbs, &rows, 0);
        let at = blocks.block_bits();
        assert_eq!(limbs[at / 64], 3 << (at % 64));
    }
}
