//! The columns of a product that is fully unrolled, on any machine.
//!
//! Column i of the lower n adds `a_j b_(i-j) + m_j p_(i-j)` for all j < i, then `a_i b_0`; what
//! makes its lowest word zero is `m_i`, and `m_i p_0` is added. Column i of the upper n - 1 adds
//! `a_j b_(i-j) + m_j p_(i-j)` for i - n < j < n, and its lowest word is a word of the result; it
//! takes the place of an m that no column needs any more.

/// What a machine writes for the parts of a column. Its accumulator begins at zero.
pub(crate) trait Columns {
    /// Adds `a_j b_k + m_j p_k`.
    fn pair(&mut self, j: u32, k: u32);

    /// Adds `a_i b_0`; makes `m_i`, and adds `m_i p_0`, after which the lowest word is zero and
    /// goes.
    fn quotient(&mut self, i: u32);

    /// The lowest word is this one of the result, and goes.
    fn result_word(&mut self, word: u32);

    /// What is left is this word of the result, its highest, and the word above it.
    fn last_words(&mut self, word: u32);

    /// Writes all columns of a product of so many words.
    fn columns(&mut self, words: u32) {
        for i in 0..words {
            (0..i).for_each(|j| self.pair(j, i - j));
            self.quotient(i);
        }
        for i in words..2 * words - 1 {
            (i - words + 1..words).for_each(|j| self.pair(j, i - j));
            self.result_word(i - words);
        }
        self.last_words(words - 1);
    }
}
