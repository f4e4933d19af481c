//! Exponentiation: a fixed window for secret exponents, bit by bit for public ones.
//!
//! Each lane has its own modulus and exponent. Inputs and results are not in Montgomery form;
//! intermediate numbers are.

use crate::carry;
use crate::contract::Kernel;
use crate::modulus::{Modulus, Pair};
use crate::shape::Shape;
use crate::window::{self, Windows};
use crate::word::Word;

/// Exponentiations on a [`Kernel`]. The provided methods call its products and selects. A kernel
/// may replace each method by a faster one.
///
/// Kernels on lane blocks do not implement this trait. A [`LimbKernel`](crate::LimbKernel) uses
/// them for exponentiations of limbs. Their own exponentiations take a [`Power`](crate::Power).
pub trait Exponentiate: Kernel {
    /// Fills the tables of several exponentiations (streams) in step: in every stream, entry i :=
    /// x^i in Montgomery form, for all i >= 2. The caller has written entry 0, R mod m, and entry
    /// 1, x in Montgomery form.
    ///
    /// # Panics
    ///
    /// If a slice does not have its documented length, or streams differ in shape or in the
    /// size of their tables.
    fn table<const S: usize>(self, streams: &mut [Windows<'_, Self::Word>; S]) {
        window::table(self, streams);
    }

    /// Processes the windows of several exponentiations (streams) in step, each with its own table.
    /// For each window of w bits of e below bit `top`, in every stream: z :== z^{2^w} *
    /// `table[window]` / R^{2^w} (mod m). `top` is a multiple of w. Reads every entry of the table
    /// for each window.
    ///
    /// # Panics
    ///
    /// If a slice does not have its documented length, streams differ in shape or in the size
    /// of their tables, or `top` is not a multiple of w.
    fn windows<const S: usize>(
        self,
        top: usize,
        w: usize,
        streams: &mut [Windows<'_, Self::Word>; S],
    ) {
        window::plain(self, top, w, streams);
    }

    /// Returns the words of scratch memory for an exponentiation with moduli of this shape and
    /// exponents of `bits` bits.
    fn exp_words(self, shape: Shape, bits: usize) -> usize {
        2 * scratch_words::<Self::Word>(shape, bits)
    }

    /// z := x^e mod m, for a secret e below 2^`bits` and x < R^2 of any number of words. x and z
    /// are not in Montgomery form.
    ///
    /// # Panics
    ///
    /// If z does not have K words, e has fewer than `bits` bits, t has fewer than
    /// [`exp_words`](Self::exp_words), `bits` is 0, or m lies in lane blocks.
    fn exp(
        self,
        m: &Modulus<Self::Word>,
        bits: usize,
        x: &[Self::Word],
        e: &[Self::Word],
        z: &mut [Self::Word],
        t: &mut [Self::Word],
    ) {
        plain(self, [m], bits, x, [e], [z], t);
    }

    /// Computes [`exp`](Self::exp) of one x modulo p and modulo q, in step.
    ///
    /// # Panics
    ///
    /// In the same cases as [`exp`](Self::exp).
    fn exp_pair(
        self,
        pair: &Pair<Self::Word>,
        bits: usize,
        x: &[Self::Word],
        e: [&[Self::Word]; 2],
        z: [&mut [Self::Word]; 2],
        t: &mut [Self::Word],
    ) {
        plain(self, [pair.p(), pair.q()], bits, x, e, z, t);
    }

    /// z := x^e mod m for a *public* odd e of 64-bit words, and x < m. x and z are not in
    /// Montgomery form. The time depends on e alone.
    ///
    /// # Panics
    ///
    /// If z or x does not have K words, e is even in some lane, t has fewer words than
    /// [`exp_words`](Self::exp_words) for exponents of 1 bit, or m lies in lane blocks.
    fn exp_vartime(
        self,
        m: &Modulus<Self::Word>,
        x: &[Self::Word],
        e: &[Self::Word],
        z: &mut [Self::Word],
        t: &mut [Self::Word],
    ) {
        plain_vartime(self, m, x, e, z, t);
    }
}

/// Returns the number of bits in a window for exponents of `bits` bits. A short exponent has few
/// windows: a large table of 2^w entries would cost more than it saves. By the number of products,
/// w = 5 is best above 320 bits. Each window also reads the whole table; in lanes this is almost
/// free, since the reads are interleaved with squares.
pub(crate) const fn window_bits<W: Word>(bits: usize) -> usize {
    match bits {
        0..=32 => 2,
        33..=320 => 4,
        321..=512 if W::LANES == 1 => 4,
        _ => 5,
    }
}

/// Returns the words of scratch memory for one stream, with moduli of this shape and exponents of
/// `bits` bits.
pub(crate) fn scratch_words<W: Word>(shape: Shape, bits: usize) -> usize {
    (shape.k() << window_bits::<W>(bits)) + 2 * shape.k() + shape.scratch_words()
}

/// An exponentiation of one number, or of eight in lanes, for [`exp`].
pub(crate) struct Stream<'a, W: Word> {
    /// Input: x in Montgomery form, K words. Output: x^e in Montgomery form, not reduced below m.
    pub(crate) x: &'a mut [W],
    /// e, in 64-bit words, little-endian; secret.
    pub(crate) e: &'a [W],
    /// The modulus, or the eight moduli.
    pub(crate) m: &'a Modulus<W>,
    /// [`scratch_words`] words; they contain secrets afterwards.
    pub(crate) scratch: &'a mut [W],
}

/// z := x^e mod m for each modulus, for x < R^2. Converts x to Montgomery form, calls [`exp`], and
/// converts the results back.
///
/// # Panics
///
/// In the same cases as [`Exponentiate::exp`].
pub(crate) fn plain<K: Exponentiate, const S: usize>(
    kernel: K,
    m: [&Modulus<K::Word>; S],
    bits: usize,
    x: &[K::Word],
    e: [&[K::Word]; S],
    z: [&mut [K::Word]; S],
    t: &mut [K::Word],
) {
    m.iter().for_each(|m| assert_plain(m.shape()));
    let (mut z, part) = (z, t.len() / S);
    let (mut parts, mut i) = (t.chunks_exact_mut(part), 0);
    let streams = z.each_mut().map(|z| {
        let scratch = parts.next().expect("a part for each stream");
        enter(kernel, z, x, m[i], scratch);
        i += 1;
        Stream { x: z, e: e[i - 1], m: m[i - 1], scratch }
    });
    exp(kernel, bits, streams);
    for (z, m) in z.into_iter().zip(m) {
        leave(kernel, z, m, t);
    }
}

/// Asserts that the words of a number follow one another. The word type does not ensure it: a
/// modulus in lane blocks has the same type as eight moduli in lanes.
fn assert_plain(shape: Shape) {
    assert!(shape.is_plain(), "the modulus lies in lane blocks; exponentiate by `LimbKernel`");
}

/// z := x in Montgomery form mod m, for x = `x_1` R + `x_0` of up to 2K words.
///
/// `x_1` * R^3 / R is `x_1` R in Montgomery form, and `x_0` * R^2 / R is `x_0` in Montgomery form.
/// Both products meet the contract: one operand is below R, the other below m.
fn enter<K: Kernel>(
    kernel: K,
    z: &mut [K::Word],
    x: &[K::Word],
    m: &Modulus<K::Word>,
    t: &mut [K::Word],
) {
    let k = m.k();
    let (a, t) = t.split_at_mut(k);
    let (b, t) = t.split_at_mut(k);
    let (lower, upper) = x.split_at(k.min(x.len()));
    pad(z, upper);
    kernel.amm(a, z, m.upper(), m, t);
    pad(z, lower);
    kernel.amm(b, z, m.rr(), m, t);
    kernel.with_target_features(
        #[inline(always)]
        || {
            if m.shape().has_slack() {
                // the sum is below 6m, thus a valid operand
                carry::add(z, a, b);
                return;
            }
            carry::reduce(a, m.m());
            carry::reduce(b, m.m());
            carry::add_mod(z, a, b, m.m());
        },
    );
}

/// Converts z from Montgomery form; the result is below m.
fn leave<K: Kernel>(kernel: K, z: &mut [K::Word], m: &Modulus<K::Word>, t: &mut [K::Word]) {
    let (a, t) = t.split_at_mut(m.k());
    kernel.amm(a, z, m.plain_one(), m, t);
    kernel.with_target_features(
        #[inline(always)]
        || carry::reduce(a, m.m()),
    );
    z.copy_from_slice(a);
}

/// z := x, zero-extended or cut.
fn pad<W: Word>(z: &mut [W], x: &[W]) {
    z.fill(W::default());
    z.iter_mut().zip(x).for_each(|(z, &x)| *z = x);
}

/// x := x^e (mod m) in each stream, in step. The streams are independent, such as the primes of a
/// key: while one waits for a result, the core works on another.
///
/// `bits` is public and the same for all streams: exponents are below 2^bits.
///
/// Time: constant for given shapes and `bits`. The window is fixed, and each select reads every
/// table entry.
///
/// # Panics
///
/// If a slice does not have its documented length, e has fewer than `bits` bits, or `bits` is 0.
pub(crate) fn exp<K: Exponentiate, const S: usize>(
    kernel: K,
    bits: usize,
    streams: [Stream<'_, K::Word>; S],
) {
    assert!(bits > 0, "an exponent has at least one bit");
    let w = window_bits::<K::Word>(bits);
    let mut windows = streams.map(|s| start(s, w, bits));
    kernel.table(&mut windows);
    let top = (bits - 1) / w * w;
    for s in &mut windows {
        s.look_up(kernel, top, bits - top);
        // the first window has only bits - top bits: its index is within these entries
        let within = &s.table[..s.z.len() << (bits - top)];
        kernel.select(s.z, within, s.index);
    }
    kernel.windows(top, w, &mut windows);
    for s in windows {
        s.entry.copy_from_slice(s.z);
    }
}

/// Divides the scratch memory of a stream and writes 1 and x into its table. From now on the
/// selected entries overwrite the caller's x.
fn start<W: Word>(s: Stream<'_, W>, w: usize, bits: usize) -> Windows<'_, W> {
    let k = s.m.k();
    assert!(s.x.len() == k, "x has {} words; the modulus has {k}", s.x.len());
    assert!(s.e.len() * 64 >= bits, "the exponent has fewer than {bits} bits");
    assert!(
        s.scratch.len() >= scratch_words::<W>(s.m.shape(), bits),
        "an exponentiation needs more scratch: see scratch_words"
    );
    let (table, rest) = s.scratch.split_at_mut(k << w);
    let (z, rest) = rest.split_at_mut(k);
    let (next, t) = rest.split_at_mut(k);
    table[..k].copy_from_slice(s.m.one());
    table[k..2 * k].copy_from_slice(s.x);
    Windows { z, next, entry: s.x, table, e: s.e, index: W::default(), m: s.m, t }
}

/// z := x^e mod m for a *public* odd e, bit by bit from the highest. The last product multiplies by
/// the plain x; its result is therefore not in Montgomery form.
///
/// # Panics
///
/// In the same cases as [`Exponentiate::exp_vartime`].
pub(crate) fn plain_vartime<K: Kernel>(
    kernel: K,
    m: &Modulus<K::Word>,
    x: &[K::Word],
    e: &[K::Word],
    z: &mut [K::Word],
    t: &mut [K::Word],
) {
    assert_plain(m.shape());
    let lanes = |i: usize| (0..K::Word::LANES).map(move |l| e[i].lane(l));
    let any = |i: usize| lanes(i).fold(0, |any, e| any | e);
    let all = |i: usize| lanes(i / 64).fold(u64::MAX, |all, e| all & e) >> (i % 64) & 1 == 1;
    assert!(all(0), "a public exponent is odd");
    let top = (0..e.len()).rev().find(|&i| any(i) != 0).expect("the exponent is odd");
    let top = 64 * top + 63 - any(top).leading_zeros() as usize;
    let (base, t) = t.split_at_mut(m.k());
    let (next, t) = t.split_at_mut(m.k());
    kernel.amm(base, x, m.rr(), m, t);
    // the loop swaps the two buffers such that `from` is z at the end
    let (mut from, mut to) = if top.is_multiple_of(2) { (next, z) } else { (z, next) };
    let starts_with_base = top > 0 && all(top);
    from.copy_from_slice(if starts_with_base { base } else { m.one() });
    for i in (0..=top).rev() {
        if i < top {
            kernel.ams(to, from, m, t);
            (from, to) = (to, from);
        }
        if i == 0 {
            kernel.amm(to, from, x, m, t);
            (from, to) = (to, from);
        } else if !(i == top && starts_with_base) && any(i / 64) >> (i % 64) & 1 == 1 {
            kernel.amm(to, from, base, m, t);
            let bit = e[i / 64].zip(e[i / 64], |e, _| e >> (i % 64) & 1);
            carry::pick(from, bit.mask(), to);
        }
    }
    kernel.with_target_features(
        #[inline(always)]
        || carry::reduce(from, m.m()),
    );
}
