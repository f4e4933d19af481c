//! The windows of several exponentiations (streams) in step.

use crate::contract::Kernel;
use crate::modulus::Modulus;
use crate::word::Word;

/// One stream of [`Exponentiate::table`](crate::Exponentiate::table) and
/// [`Exponentiate::windows`](crate::Exponentiate::windows).
pub struct Windows<'a, W: Word> {
    /// The power so far and, at the end, the result: K words.
    pub z: &'a mut [W],
    /// K words for the next product, which is then swapped with z.
    pub next: &'a mut [W],
    /// K words for the selected entry.
    pub entry: &'a mut [W],
    /// The table: entries of K words, each a valid operand.
    pub table: &'a mut [W],
    /// The exponent, in 64-bit words, little-endian; secret.
    pub e: &'a [W],
    /// The table index in each lane: the bits of e in the current window.
    pub index: W,
    /// The modulus, or the eight moduli.
    pub m: &'a Modulus<W>,
    /// [`Modulus::scratch_words`] words.
    pub t: &'a mut [W],
}

impl<W: Word> core::fmt::Debug for Windows<'_, W> {
    /// Shows no number, since all of them may be secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Windows").field("m", &self.m).finish_non_exhaustive()
    }
}

impl<W: Word> Windows<'_, W> {
    /// Swaps the last product with z, the power so far.
    pub(crate) fn turn(&mut self) {
        core::mem::swap(&mut self.z, &mut self.next);
    }

    /// Sets the index to bits at..at + w of e.
    ///
    /// Writes it with wide stores: the kernel would stall when it loads a value stored in parts.
    #[inline(always)]
    pub(crate) fn look_up<K: Kernel<Word = W>>(&mut self, kernel: K, at: usize, w: usize) {
        kernel.with_target_features(
            #[inline(always)]
            || self.index = bits_at(self.e, at, w),
        );
    }
}

/// Returns bits at..at+len (len < 64) of the exponent in each lane. The position is public.
#[inline(always)]
pub(crate) fn bits_at<W: Word>(e: &[W], at: usize, len: usize) -> W {
    let (i, s) = (at / 64, at % 64);
    let low = e[i].zip(e[i], |x, _| x >> s);
    let all = match e.get(i + 1) {
        Some(&high) if s != 0 => low.zip(high, |low, high| low | high << (64 - s)),
        _ => low,
    };
    all.zip(all, |x, _| x & ((1 << len) - 1))
}

/// Returns the positions of the lowest bits of the windows of w bits below bit `top`, in descending
/// order.
///
/// # Panics
///
/// If `top` is not a multiple of w.
pub(crate) fn below(top: usize, w: usize) -> impl Iterator<Item = usize> {
    assert!(top.is_multiple_of(w), "bits below {top} are no windows of {w} bits");
    (0..top).step_by(w).rev()
}

/// [`Exponentiate::table`](crate::Exponentiate::table): an even entry is a square, an odd entry a
/// product with x. Two streams alternate; neither then waits for its own last product.
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

/// [`Exponentiate::windows`](crate::Exponentiate::windows): first the selects, since they do not
/// wait for squares, then the squares and the product. Two streams alternate.
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
