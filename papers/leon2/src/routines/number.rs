//! Numbers, and slow reference arithmetic that follows the definitions.

/// A number below 2^(32n), lowest word first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number(Vec<u32>);

impl Number {
    /// Creates a number of these words, lowest first.
    #[must_use]
    pub fn new(words: Vec<u32>) -> Self {
        Self(words)
    }

    /// Creates a small number with `words` words.
    #[must_use]
    pub fn small(value: u32, words: usize) -> Self {
        let mut all = vec![0; words];
        if let Some(lowest) = all.first_mut() {
            *lowest = value;
        }
        Self(all)
    }

    /// Returns the words, lowest first.
    pub fn words(&self) -> &[u32] {
        &self.0
    }

    /// Returns the number of bits up to the highest that is set.
    pub fn bits(&self) -> u32 {
        let highest = self.0.iter().rposition(|&word| word != 0);
        highest.map_or(0, |i| {
            u32::try_from(32 * i).unwrap_or(u32::MAX) + 32 - self.0[i].leading_zeros()
        })
    }

    /// Returns whether a bit is set.
    pub fn bit(&self, bit: u32) -> bool {
        self.0.get(bit as usize / 32).is_some_and(|word| word >> (bit % 32) & 1 != 0)
    }

    fn is_below(&self, other: &Self) -> bool {
        self.0.iter().rev().lt(other.0.iter().rev())
    }

    fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (word, &less) in self.0.iter_mut().zip(&other.0) {
            let (first, one) = word.overflowing_sub(less);
            let (second, two) = first.overflowing_sub(borrow.into());
            (*word, borrow) = (second, one || two);
        }
    }

    /// Returns 2 self mod p, for self below p.
    fn doubled(&self, p: &Self) -> Self {
        let mut carry = 0;
        let mut doubled = Self(self.0.clone());
        for word in &mut doubled.0 {
            (*word, carry) = (*word << 1 | carry, *word >> 31);
        }
        if carry != 0 || !doubled.is_below(p) {
            doubled.subtract(p);
        }
        doubled
    }

    /// Returns 2^(64n) mod p, where n is the number of words of p. A product with it converts a
    /// number to Montgomery form.
    #[must_use]
    pub fn square_of_r(p: &Self) -> Self {
        // The greatest power of two below p, or 1; p has its highest bit in word n - 1.
        let start = p.bits().saturating_sub(1);
        let mut power = Self::small(0, p.0.len());
        if let Some(word) = power.0.get_mut(start as usize / 32) {
            *word = 1 << (start % 32);
        }
        let to = 64 * u32::try_from(p.0.len()).unwrap_or(u32::MAX / 64);
        (start..to).fold(power, |power, _| power.doubled(p))
    }

    /// Returns -1 / p mod 2^64, for odd p; the lower half is -1 / p mod 2^32.
    #[must_use]
    pub fn n0(p: &Self) -> u64 {
        let lowest = p.0.iter().take(2).rev().fold(0, |limb, &word| limb << 32 | u64::from(word));
        // Each step doubles the correct bits: 3, 6, 12, 24, 48, 96.
        let step = |x: u64, _| x.wrapping_mul(2_u64.wrapping_sub(lowest.wrapping_mul(x)));
        (0..5).fold(lowest, step).wrapping_neg()
    }
}
