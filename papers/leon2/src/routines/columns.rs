//! The columns of a fully unrolled product, for any machine.
//!
//! Column i of the lower n adds `a_j b_(i-j) + m_j p_(i-j)` for all j < i, then `a_i b_0`, then
//! `m_i p_0`; `m_i` makes the lowest word zero. Column i of the upper n - 1 adds `a_j b_(i-j) + m_j
//! p_(i-j)` for i - n < j < n. Its lowest word is a word of the result; it overwrites an m that no
//! later column needs.

/// Generates the code for the parts of a column, for one machine. The accumulator starts at zero.
pub(crate) trait Columns {
    /// Adds `a_j b_k + m_j p_k`.
    fn pair(&mut self, j: u32, k: u32);

    /// Adds `a_i b_0`, computes `m_i`, adds `m_i p_0`, and drops the lowest word, which is zero.
    fn quotient(&mut self, i: u32);

    /// Stores the lowest word as this word of the result, and drops it.
    fn result_word(&mut self, word: u32);

    /// Stores the last two words of the result: `word`, which is its highest word, and the word
    /// above it.
    fn last_words(&mut self, word: u32);

    /// Writes all columns of a product of `words` words.
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
