//! The number of words of a number, and the tiles in which kernels process them.

/// The number K of words, the number of words in a tile, and the radix. A shape depends only on the
/// size of a modulus, which is public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    k: usize,
    tile: usize,
    radix_bits: usize,
    r_bits: usize,
    scratch_words: usize,
}

/// Tile widths of the eight-lane kernels, the best first. 20 is the largest width that fits into 32
/// registers: 21 accumulators, one digit, and the products in flight.
pub(crate) const TILES52: [usize; 4] = [20, 15, 10, 6];

/// Tile widths of the limb kernels, the best first.
pub(crate) const TILES64: [usize; 2] = [8, 4];

/// The largest K of `Shape::digits`: 8192 bits.
pub(crate) const K_MAX: usize = 160;

// Each row of a product and its reduction adds at most 4 half products to an accumulator: a low and
// a high half of 52 bits of each. With a carry, 4 * K * 2^52 + 2^12 < 2^63, so a sign fits too.
const _: () = assert!(4 * K_MAX < 1 << 10, "an accumulator would overflow");
// The same bound for half digits of 26 bits: at most 2K + 1 products of 27 by 27 bits, and a carry.
const _: () = assert!(2 * K_MAX + 1 < 1 << 9, "a column of half digits would overflow");

/// The number of bits by which R must be longer than m for the eight-lane kernels: 64 m <= R.
pub(crate) const SLACK_BITS: usize = 6;

impl Shape {
    /// Returns the shape in limbs of a modulus of `bits` bits: m < R = 2^{64K}.
    ///
    /// # Panics
    ///
    /// If `bits` is 0 or above 8192.
    pub fn limbs(bits: usize) -> Self {
        assert!((1..=8192).contains(&bits), "a modulus has 1 to 8192 bits, not {bits}");
        Self::fewest(bits.div_ceil(64), &TILES64, 64)
    }

    /// Returns the shape in digits of a modulus of `bits` bits: 64 m <= R = 2^{52K}.
    ///
    /// # Panics
    ///
    /// If `bits` is 0 or above 8192.
    pub fn digits(bits: usize) -> Self {
        assert!((1..=8192).contains(&bits), "a modulus has 1 to 8192 bits, not {bits}");
        Self::fewest((bits + SLACK_BITS).div_ceil(52), &TILES52, 52)
    }

    /// Returns the shape of numbers in lane blocks that take `k` rows and `lanes` lanes each.
    pub(crate) const fn blocks(k: usize, lanes: usize, r_bits: usize) -> Self {
        Self { k, tile: lanes, radix_bits: 52, r_bits, scratch_words: 0 }
    }

    /// Returns the shape with the fewest words, at least `need`, in whole tiles. Of several such
    /// tile widths it takes the widest.
    fn fewest(need: usize, tiles: &[usize], radix_bits: usize) -> Self {
        let of = |&tile: &usize| {
            let k = need.next_multiple_of(tile);
            // limbs: kernels of this crate need less; those of others have room for two products
            // lanes: 9K rows, which `tiles26` needs for its half digits and their sums
            let scratch_words = if radix_bits == 64 { 4 * k + 64 } else { 9 * k };
            Self { k, tile, radix_bits, r_bits: k * radix_bits, scratch_words }
        };
        tiles.iter().map(of).min_by_key(|s| (s.k, usize::MAX - s.tile)).expect("tiles is not empty")
    }

    /// Returns K, the number of words.
    pub fn k(self) -> usize {
        self.k
    }

    /// Returns the number of words in a tile; it divides K. In lane blocks: the number of lanes of
    /// a number.
    pub fn tile(self) -> usize {
        self.tile
    }

    /// Returns log2 R.
    pub fn r_bits(self) -> usize {
        self.r_bits
    }

    /// Returns the number of bits in a word: 64 for limbs, 52 for digits.
    pub fn radix_bits(self) -> usize {
        self.radix_bits
    }

    /// Returns the largest size of a modulus of this shape, in bits.
    pub fn modulus_bits_max(self) -> usize {
        let slack = if self.radix_bits == 52 { SLACK_BITS } else { 0 };
        self.k * self.radix_bits - slack
    }

    /// Returns whether the sum of two results is a valid operand. This holds for digits in lanes.
    /// Limbs may have no slack, and results in lane blocks are larger.
    pub(crate) fn has_slack(self) -> bool {
        self.radix_bits == 52 && self.is_plain()
    }

    /// Returns whether the words of a number follow one another, as in limbs and in lanes, but not
    /// in lane blocks.
    pub(crate) fn is_plain(self) -> bool {
        self.r_bits == self.k * self.radix_bits
    }

    /// Returns whether a reduction folds half of the digits at once: only for two tiles of 20.
    pub(crate) fn folds_by_halves(self) -> bool {
        self.tile == 20 && self.k == 40
    }

    /// Returns the number of words of the fold constants for numbers in lanes: see `Modulus::fold`.
    pub(crate) fn fold_words(self) -> usize {
        if self.folds_by_halves() {
            2 * self.k + 3 * (self.tile / 2 + 1)
        } else if self.k == self.tile {
            2 * self.k
        } else {
            self.k
        }
    }

    /// Returns the number of words of scratch memory for one product with any kernel of this word
    /// type.
    pub fn scratch_words(self) -> usize {
        self.scratch_words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rsa_sizes_have_the_shapes_of_the_design() {
        // bits of a prime: K, tile
        for (bits, k, tile) in [(512, 10, 10), (1024, 20, 20), (1536, 30, 15), (2048, 40, 20)] {
            let shape = Shape::digits(bits);
            assert_eq!((shape.k, shape.tile, shape.r_bits), (k, tile, 52 * k), "{bits}");
        }
        for (bits, k, tile) in [(256, 4, 4), (512, 8, 8), (1024, 16, 8), (1536, 24, 8)] {
            let shape = Shape::limbs(bits);
            assert_eq!((shape.k, shape.tile, shape.r_bits), (k, tile, 64 * k), "{bits}");
        }
    }

    #[test]
    fn every_size_has_slack_and_whole_tiles() {
        for bits in 1..=8192 {
            let (limbs, digits) = (Shape::limbs(bits), Shape::digits(bits));
            assert!(bits <= limbs.modulus_bits_max() && limbs.k % limbs.tile == 0);
            assert!(bits <= digits.modulus_bits_max() && digits.k % digits.tile == 0);
            assert!(limbs.modulus_bits_max() <= 64 * limbs.k);
            assert!(digits.modulus_bits_max() + SLACK_BITS <= 52 * digits.k);
            assert!(digits.k <= K_MAX);
        }
    }
}
