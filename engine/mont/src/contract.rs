//! The contract of a Montgomery kernel.

use crate::exp;
use crate::modulus::{Modulus, Pair};
use crate::shape::Shape;
use crate::window::{self, Windows};
use crate::word::Word;

/// A Montgomery kernel: product, square and table select on K words, in each lane; and what is made
/// of them, exponentiations, which a kernel may do in a way of its own.
///
/// R = radix^K, with the radix 2^64 of limbs or 2^52 of digits; for lane blocks see
/// [`Blocks`](crate::Blocks). `z :== x` means congruent mod m.
///
/// *Operands.* For limbs, any x < R. For digits and blocks, 64 m <= R (see [`Shape`](crate::Shape))
/// and x < 8m; digits may be dirty. Any result may be an operand again.
///
/// *Results.* K words that hold z; if x*y <= R*m then also z < 3m, so that
/// [`carry::reduce`](crate::carry::reduce) makes it canonical. (It holds when both are < 8m of
/// digits, and whenever one operand is < m.) In blocks z < 7m.
///
/// *Time.* Constant: no branch and no address depends on x, y, m, k0 or the index; K is public.
///
/// A kernel never detects a feature, never allocates, never logs.
pub trait Kernel: Copy + core::fmt::Debug {
    /// What its numbers are made of.
    type Word: Word;

    /// The kernel's name: file, function, test, benchmark row and record subject.
    fn name(self) -> &'static str;

    /// The name of what [`ams`](Self::ams) runs.
    fn square_name(self) -> &'static str;

    /// Almost Montgomery multiply: z :== x * y / R (mod m).
    ///
    /// # Panics
    ///
    /// If z, x or y have not K words, or t fewer than [`Modulus::scratch_words`].
    fn amm(
        self,
        z: &mut [Self::Word],
        x: &[Self::Word],
        y: &[Self::Word],
        m: &Modulus<Self::Word>,
        t: &mut [Self::Word],
    );

    /// Almost Montgomery square: z :== x^2 / R (mod m).
    ///
    /// # Panics
    ///
    /// If z or x have not K words, or t fewer than [`Modulus::scratch_words`].
    fn ams(
        self,
        z: &mut [Self::Word],
        x: &[Self::Word],
        m: &Modulus<Self::Word>,
        t: &mut [Self::Word],
    );

    /// z := table entry `index` of its lane, entries as long as z; every entry is read.
    ///
    /// An index beyond the table gives zero.
    ///
    /// # Panics
    ///
    /// If the table is not made of whole entries.
    fn select(self, z: &mut [Self::Word], table: &[Self::Word], index: Self::Word);

    /// Begins exponentiations side by side: in every stream, entry i of the table := x^i in
    /// Montgomery form for all i >= 2, x being entry 1, an operand. (Entry 0 is R mod m.)
    ///
    /// # Panics
    ///
    /// If a slice has not the length its description says, or streams differ in shape or in the
    /// size of their tables.
    fn table<const S: usize>(self, streams: &mut [Windows<'_, Self::Word>; S]) {
        window::table(self, streams);
    }

    /// The rest of exponentiations side by side, each with its own table: in every stream, for each
    /// window of w bits of e below bit `top` (a multiple of w), z :== z^{2^w} * `table[window]` /
    /// R^{2^w} (mod m). Every entry is read each time.
    ///
    /// # Panics
    ///
    /// If a slice has not the length its description says, streams differ in shape or in the size
    /// of their tables, or `top` is no multiple of w.
    fn windows<const S: usize>(
        self,
        top: usize,
        w: usize,
        streams: &mut [Windows<'_, Self::Word>; S],
    ) {
        window::plain(self, top, w, streams);
    }

    /// Runs `f` with the vector instructions that the kernel has, and all that is inlined into `f`
    /// too, so a closure wants `#[inline(always)]`: for what is not worth a kernel.
    #[inline(always)]
    fn wide<R>(self, f: impl FnOnce() -> R) -> R {
        f()
    }

    /// Words of scratch for exponentiations with moduli of this shape and exponents of `bits` bits.
    fn exp_words(self, shape: Shape, bits: usize) -> usize {
        2 * exp::scratch_words::<Self::Word>(shape, bits)
    }

    /// z := x^e mod m, for a secret e below 2^`bits` and x < R^2 of any number of words; neither is
    /// in Montgomery form.
    ///
    /// # Panics
    ///
    /// If z has not K words, e fewer than `bits` bits, t fewer than [`exp_words`](Self::exp_words),
    /// or `bits` is 0. For moduli in lane blocks: a [`LimbKernel`](crate::LimbKernel) takes them in
    /// limbs.
    fn exp(
        self,
        m: &Modulus<Self::Word>,
        bits: usize,
        x: &[Self::Word],
        e: &[Self::Word],
        z: &mut [Self::Word],
        t: &mut [Self::Word],
    ) {
        exp::plain(self, [m], bits, x, [e], [z], t);
    }

    /// [`exp`](Self::exp) of one x modulo p and q, side by side.
    ///
    /// # Panics
    ///
    /// As [`exp`](Self::exp).
    fn exp_pair(
        self,
        pair: &Pair<Self::Word>,
        bits: usize,
        x: &[Self::Word],
        e: [&[Self::Word]; 2],
        z: [&mut [Self::Word]; 2],
        t: &mut [Self::Word],
    ) {
        exp::plain(self, [pair.p(), pair.q()], bits, x, e, z, t);
    }

    /// z := x^e mod m for a *public* odd e of 64-bit words, and x < R; neither is in Montgomery
    /// form. Variable time in e alone.
    ///
    /// # Panics
    ///
    /// If z or x have not K words, e is even in some lane, or t has fewer words than
    /// [`exp_words`](Self::exp_words) of 1 bit. For moduli in lane blocks, as [`exp`](Self::exp).
    fn exp_vartime(
        self,
        m: &Modulus<Self::Word>,
        x: &[Self::Word],
        e: &[Self::Word],
        z: &mut [Self::Word],
        t: &mut [Self::Word],
    ) {
        exp::plain_vartime(self, m, x, e, z, t);
    }
}
