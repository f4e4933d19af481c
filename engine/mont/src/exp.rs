//! Exponentiation: a fixed window for secret exponents, bit by bit for public ones.
//!
//! Each lane has its own modulus and exponent. Inputs and results are plain; in between, numbers
//! stay in Montgomery form.

use crate::carry;
use crate::contract::Kernel;
use crate::modulus::{Modulus, Pair};
use crate::shape::Shape;
use crate::window::{self, Windows};
use crate::word::Word;

/// Exponentiations on a [`Kernel`]. The provided methods call its products and selects; a kernel
/// may replace each of them by a faster one.
///
/// Kernels on lane blocks do not implement it: a [`LimbKernel`](crate::LimbKernel) uses them for
/// exponentiations of limbs, and [`Power`](crate::Power) describes their own.
pub trait Exponentiate: Kernel {
    /// Begins exponentiations side by side: in every stream, entry i of the table := x^i in
    /// Montgomery form for all i >= 2, where x is entry 1, an operand. (Entry 0 is R mod m.)
    ///
    /// # Panics
    ///
    /// If a slice does not have its documented length, or streams differ in shape or in the
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
    /// If a slice does not have its documented length, streams differ in shape or in the size
    /// of their tables, or `top` is no multiple of w.
    fn windows<const S: usize>(
        self,
        top: usize,
        w: usize,
        streams: &mut [Windows<'_, Self::Word>; S],
    ) {
        window::plain(self, top, w, streams);
    }

    /// Words of scratch for exponentiations with moduli of this shape and exponents of `bits` bits.
    fn exp_words(self, shape: Shape, bits: usize) -> usize {
        2 * scratch_words::<Self::Word>(shape, bits)
    }

    /// z := x^e mod m, for a secret e below 2^`bits` and x < R^2 of any number of words; neither is
    /// in Montgomery form.
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
        plain(self, [pair.p(), pair.q()], bits, x, e, z, t);
    }

    /// z := x^e mod m for a *public* odd e of 64-bit words, and x < R; neither is in Montgomery
    /// form. Variable time in e alone.
    ///
    /// # Panics
    ///
    /// If z or x do not have K words, e is even in some lane, or t has fewer words than
    /// [`exp_words`](Self::exp_words) of 1 bit, or m lies in lane blocks.
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

/// Bits of a window for exponents of `bits` bits. The table of 2^w entries is read once per window,
/// so short exponents need a small one. In lanes the reads cost almost nothing, since they are
/// interleaved with squares. Counting products alone, w = 5 pays from 320 bits on.
pub(crate) const fn window_bits<W: Word>(bits: usize) -> usize {
    match bits {
        0..=32 => 2,
        33..=320 => 4,
        321..=512 if W::LANES == 1 => 4,
        _ => 5,
    }
}

/// Words of scratch for one stream, with moduli of this shape and exponents of `bits` bits.
pub(crate) fn scratch_words<W: Word>(shape: Shape, bits: usize) -> usize {
    (shape.k() << window_bits::<W>(bits)) + 2 * shape.k() + shape.scratch_words()
}

/// One exponentiation of [`exp`], on one number or eight.
pub(crate) struct Stream<'a, W: Word> {
    /// In: x in Montgomery form, K words. Out: x^e in Montgomery form, an operand but not reduced.
    pub(crate) x: &'a mut [W],
    /// e, in 64-bit words, little-endian; secret.
    pub(crate) e: &'a [W],
    /// The modulus, or the eight moduli.
    pub(crate) m: &'a Modulus<W>,
    /// [`scratch_words`] words; holds secrets afterwards.
    pub(crate) scratch: &'a mut [W],
}

/// z := x^e mod m for each modulus, x < R^2: into Montgomery form, [`exp`], and out of it.
///
/// # Panics
///
/// As [`Exponentiate::exp`].
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

/// Asserts that the words of a number follow one another: a modulus in lane blocks has the word
/// type of lanes too.
fn assert_plain(shape: Shape) {
    assert!(shape.is_plain(), "the modulus lies in lane blocks; exponentiate by `LimbKernel`");
}

/// z := x in Montgomery form mod m, an operand, for x of up to 2K words: x = `x_1` R + `x_0`.
///
/// `x_1` * R^3 / R = `x_1` R in Montgomery form, and `x_0` * R^2 / R the same of `x_0`. Both
/// products meet the contract: one operand is below R, the other below m.
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
                // below 6m: an operand
                carry::add(z, a, b);
                return;
            }
            carry::reduce(a, m.m());
            carry::reduce(b, m.m());
            carry::add_mod(z, a, b, m.m());
        },
    );
}

/// z := z out of Montgomery form, below m.
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

/// x := x^e (mod m) in each stream, in step. Independent streams, such as the primes of a key, fill
/// each other's waiting times.
///
/// `bits` is public and the same for all: exponents are below 2^bits.
///
/// Time: constant for given shapes and `bits`. Fixed window; every table entry is read each time.
///
/// # Panics
///
/// If a slice does not have its documented length, if e has fewer than `bits` bits, or `bits`
/// is 0.
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
        // so few bits use no later entry
        let within = &s.table[..s.z.len() << (bits - top)];
        kernel.select(s.z, within, s.index);
    }
    kernel.windows(top, w, &mut windows);
    for s in windows {
        s.entry.copy_from_slice(s.z);
    }
}

/// Cuts up the scratch of a stream and writes 1 and x into its table. The caller's x then holds the
/// selected entries.
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

/// z := x^e mod m for a *public* odd e: bit by bit from the top; the last product takes the plain
/// x, and so leaves the Montgomery form.
///
/// # Panics
///
/// As [`Exponentiate::exp_vartime`].
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
    // after top + 1 turns `from` is z
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
