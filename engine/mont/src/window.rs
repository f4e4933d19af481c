//! The windows of an exponentiation, in each of some streams.

use crate::contract::Kernel;
use crate::exp::bits_at;
use crate::modulus::Modulus;
use crate::word::Word;

/// One stream of [`Kernel::table`] and [`Kernel::windows`].
pub struct Windows<'a, W: Word> {
    /// The power so far, K words: an operand, and then the result.
    pub z: &'a mut [W],
    /// K words where the next product goes; then z and this change places.
    pub next: &'a mut [W],
    /// K words where the entry goes.
    pub entry: &'a mut [W],
    /// Entries of K words, operands.
    pub table: &'a mut [W],
    /// The exponent, in 64-bit words, little-endian; secret.
    pub e: &'a [W],
    /// The entry to multiply by, of each lane: the bits of e in the window.
    pub index: W,
    /// The modulus, or the eight moduli.
    pub m: &'a Modulus<W>,
    /// [`Modulus::scratch_words`] words.
    pub t: &'a mut [W],
}

impl<W: Word> core::fmt::Debug for Windows<'_, W> {
    /// Shows no number: all may be secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Windows").field("m", &self.m).finish_non_exhaustive()
    }
}

impl<W: Word> Windows<'_, W> {
    /// What was computed last becomes the power so far.
    pub(crate) fn turn(&mut self) {
        core::mem::swap(&mut self.z, &mut self.next);
    }

    /// Takes the index from bits at..at + w of e.
    ///
    /// Written as a whole: a copy in quarters holds up the kernel that reads it.
    #[inline(always)]
    pub(crate) fn look_up<K: Kernel<Word = W>>(&mut self, kernel: K, at: usize, w: usize) {
        kernel.wide(
            #[inline(always)]
            || self.index = bits_at(self.e, at, w),
        );
    }
}

/// Where the windows of w bits below bit `top` begin, from the top.
///
/// # Panics
///
/// If they do not end at bit 0.
pub(crate) fn below(top: usize, w: usize) -> impl Iterator<Item = usize> {
    assert!(top.is_multiple_of(w), "bits below {top} are no windows of {w} bits");
    (0..top).step_by(w).rev()
}

/// [`Kernel::table`]: an even entry is a square, an odd one a product with x; in turn where there
/// are two streams, so that neither waits for itself.
pub(crate) fn table<K: Kernel, const S: usize>(kernel: K, streams: &mut [Windows<'_, K::Word>; S]) {
    let k = streams[0].z.len();
    for i in 2..streams[0].table.len() / k {
        for s in &mut *streams {
            let (done, entry) = s.table.split_at_mut(i * k);
            if i.is_multiple_of(2) {
                kernel.ams(&mut entry[..k], &done[i / 2 * k..][..k], s.m, s.t);
            } else {
                kernel.amm(&mut entry[..k], &done[(i - 1) * k..], &done[k..2 * k], s.m, s.t);
            }
        }
    }
}

/// [`Kernel::windows`]: entries first, since reading does not wait for the squares; then squares
/// and product, in turn where there are two streams.
pub(crate) fn plain<K: Kernel, const S: usize>(
    kernel: K,
    top: usize,
    w: usize,
    streams: &mut [Windows<'_, K::Word>; S],
) {
    for at in below(top, w) {
        for s in &mut *streams {
            s.look_up(kernel, at, w);
            kernel.select(s.entry, s.table, s.index);
        }
        for _ in 0..w {
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
}
