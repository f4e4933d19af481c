//! A window of an exponentiation, in each of some streams.

use crate::contract::Kernel;
use crate::modulus::Modulus;
use crate::word::Word;

/// One stream of [`Kernel::windows`].
pub struct Window<'a, W: Word> {
    /// The power so far, K words: an operand, and then the result.
    pub z: &'a mut [W],
    /// K words where the next product goes; then z and this change places.
    pub next: &'a mut [W],
    /// K words where the entry goes.
    pub entry: &'a mut [W],
    /// Entries of K words, operands.
    pub table: &'a [W],
    /// The entry to multiply by, of each lane; secret, and below the number of entries.
    pub index: W,
    /// The modulus, or the eight moduli.
    pub m: &'a Modulus<W>,
    /// [`Modulus::scratch_words`] words.
    pub t: &'a mut [W],
}

impl<W: Word> core::fmt::Debug for Window<'_, W> {
    /// Shows no number: all may be secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Window").field("m", &self.m).finish_non_exhaustive()
    }
}

impl<W: Word> Window<'_, W> {
    /// What was computed last becomes the power so far.
    pub(crate) fn turn(&mut self) {
        core::mem::swap(&mut self.z, &mut self.next);
    }
}

/// [`Kernel::windows`]: entries first, since reading does not wait for the squares; then squares
/// and product, in turn where there are two streams.
pub(crate) fn plain<K: Kernel, const S: usize>(
    kernel: K,
    squares: usize,
    streams: &mut [Window<'_, K::Word>; S],
) {
    for s in &mut *streams {
        kernel.select(s.entry, s.table, s.index);
    }
    for _ in 0..squares {
        for s in &mut *streams {
            kernel.ams(s.next, s.z, s.m, s.t);
            s.turn();
        }
    }
    for s in &mut *streams {
        kernel.amm(s.next, s.z, s.entry, s.m, s.t);
        s.turn();
    }
}
