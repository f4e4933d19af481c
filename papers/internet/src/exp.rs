//! Exponentiation by windows of any width, over any kernel on limbs: a larger table saves cycles.
//!
//! The engine's own exponentiation chooses the width by the size; here the caller chooses it.

use tollgate_mont::{Exponentiate, Kernel, Modulus, Windows, carry};

/// The widest window.
pub const WIDTH_MAX: usize = 7;

/// A public exponent, the input of [`sliding_window_vartime`], whose time and
/// memory accesses reveal it.
#[derive(Clone, Debug)]
pub struct PublicExponent(Vec<u64>);

impl PublicExponent {
    /// Declares these little-endian limbs public. Never pass a private exponent.
    #[must_use]
    pub fn declassify(e: &[u64]) -> Self {
        Self(e.to_vec())
    }

    fn bit(&self, i: usize) -> bool {
        self.0[i / 64] >> (i % 64) & 1 == 1
    }

    /// Returns the position of the highest bit, plus one; 0 for 0.
    fn bits(&self) -> usize {
        (0..64 * self.0.len()).rev().find(|&i| self.bit(i)).map_or(0, |top| top + 1)
    }
}

/// Returns the length in limbs of a fixed window's table, which holds all 2^w powers.
#[must_use]
pub const fn fixed_table_words(k: usize, width: usize) -> usize {
    k << width
}

/// Returns the length in limbs of a sliding window's table, which holds the 2^{w-1} odd powers.
#[must_use]
pub const fn sliding_table_words(k: usize, width: usize) -> usize {
    k << (width - 1)
}

/// Returns the length in limbs of the scratch for either window. It includes the `product` limbs of
/// scratch that a product needs.
#[must_use]
pub const fn scratch_words(k: usize, width: usize, product: usize) -> usize {
    fixed_table_words(k, width) + 3 * k + product
}

/// The parts of the scratch.
struct Parts<'t> {
    table: &'t mut [u64],
    z: &'t mut [u64],
    next: &'t mut [u64],
    x: &'t mut [u64],
    t: &'t mut [u64],
}

/// Returns the parts, for a table of `words` limbs.
fn cut(t: &mut [u64], k: usize, words: usize) -> Parts<'_> {
    let (table, t) = t.split_at_mut(words);
    let (z, t) = t.split_at_mut(k);
    let (next, t) = t.split_at_mut(k);
    let (x, t) = t.split_at_mut(k);
    Parts { table, z, next, x, t }
}

/// z := x^e mod m for a secret e below 2^`bits`, by fixed windows of `width` bits; x < R, z < m,
/// not in Montgomery form. Every table entry is read for each window.
///
/// # Panics
///
/// If x or z does not have K limbs, e fewer than `bits` bits, t fewer than [`scratch_words`],
/// `bits` is 0, or the width is not 1 to 7.
pub fn fixed_window<K: Exponentiate<Word = u64>>(
    kernel: K,
    width: usize,
    m: &Modulus<u64>,
    bits: usize,
    x: &[u64],
    e: &[u64],
    z: &mut [u64],
    t: &mut [u64],
) {
    check(width, m, x, z, t);
    assert!(bits > 0 && e.len() * 64 >= bits, "an exponent of 1 to {} bits", e.len() * 64);
    let k = m.k();
    let mut parts = cut(t, k, fixed_table_words(k, width));
    let Parts { table, t, .. } = &mut parts;
    table[..k].copy_from_slice(m.one());
    kernel.amm(&mut table[k..2 * k], x, m.rr(), m, t);
    for i in 2..1 << width {
        let (done, entry) = table.split_at_mut(i * k);
        if i % 2 == 0 {
            kernel.ams(&mut entry[..k], &done[i / 2 * k..][..k], m, t);
        } else {
            kernel.amm(&mut entry[..k], &done[(i - 1) * k..], &done[k..2 * k], m, t);
        }
    }
    let Parts { table, z: power, next, x: entry, t } = parts;
    let top = (bits - 1) / width * width;
    let index = window(e, top, bits - top);
    kernel.select(power, table, index);
    let mut stream = [Windows { z: power, next, entry, table, e, index, m, t }];
    kernel.windows(top, width, &mut stream);
    let [Windows { z: power, t, .. }] = stream;
    leave(kernel, z, power, m, t);
}

/// z := x^e mod m for a *public* e, by sliding windows of at most `width` bits that begin and end
/// with a one; x < R, z < m, not in Montgomery form. Variable time in e only.
///
/// # Panics
///
/// If x or z does not have K limbs, t fewer than [`scratch_words`], or the width is not 1 to 7.
pub fn sliding_window_vartime<K: Kernel<Word = u64>>(
    kernel: K,
    width: usize,
    m: &Modulus<u64>,
    x: &[u64],
    e: &PublicExponent,
    z: &mut [u64],
    t: &mut [u64],
) {
    check(width, m, x, z, t);
    let k = m.k();
    let Parts { table, z: mut power, mut next, x: squared, t } =
        cut(t, k, sliding_table_words(k, width));
    kernel.amm(&mut table[..k], x, m.rr(), m, t);
    if width > 1 {
        kernel.ams(squared, &table[..k], m, t);
    }
    for i in 1..1 << (width - 1) {
        let (done, entry) = table.split_at_mut(i * k);
        kernel.amm(&mut entry[..k], &done[(i - 1) * k..], squared, m, t); // x^{2i+1}
    }
    let (mut left, mut is_one) = (e.bits(), true);
    power.copy_from_slice(m.one());
    while left > 0 {
        let (len, entry) = next_window(e, left, width);
        // squares of 1 are skipped
        for _ in 0..if is_one { 0 } else { len } {
            kernel.ams(next, power, m, t);
            core::mem::swap(&mut power, &mut next);
        }
        match entry {
            Some(entry) if is_one => power.copy_from_slice(&table[entry * k..][..k]),
            Some(entry) => {
                kernel.amm(next, power, &table[entry * k..][..k], m, t);
                core::mem::swap(&mut power, &mut next);
            }
            None => {}
        }
        is_one = false; // the highest bit is a one
        left -= len;
    }
    leave(kernel, z, power, m, t);
}

/// Returns, for the `left` low bits of e, the length of the next window and the table position of
/// its odd power. A single zero is a window of one bit without a power.
fn next_window(e: &PublicExponent, left: usize, width: usize) -> (usize, Option<usize>) {
    if !e.bit(left - 1) {
        return (1, None);
    }
    let lowest = left.saturating_sub(width);
    let end = (lowest..left).find(|&i| e.bit(i)).expect("the highest bit is a one");
    let value = (end..left).rev().fold(0, |value, i| value << 1 | usize::from(e.bit(i)));
    (left - end, Some(value / 2))
}

/// Returns bits at..at+len of e, len <= 7; the position is public.
fn window(e: &[u64], at: usize, len: usize) -> u64 {
    let (i, s) = (at / 64, at % 64);
    let low = e[i] >> s;
    let all = match e.get(i + 1) {
        Some(&high) if s != 0 => low | high << (64 - s),
        _ => low,
    };
    all & ((1 << len) - 1)
}

fn check(width: usize, m: &Modulus<u64>, x: &[u64], z: &[u64], t: &[u64]) {
    let k = m.k();
    assert!((1..=WIDTH_MAX).contains(&width), "a window has 1 to 7 bits, not {width}");
    assert!(x.len() == k && z.len() == k, "x and z have {k} limbs");
    let need = scratch_words(k, width, m.scratch_words());
    assert!(t.len() >= need, "an exponentiation needs {need} limbs of scratch");
}

/// z := x out of Montgomery form, below m.
fn leave<K: Kernel<Word = u64>>(
    kernel: K,
    z: &mut [u64],
    x: &[u64],
    m: &Modulus<u64>,
    t: &mut [u64],
) {
    kernel.amm(z, x, m.plain_one(), m, t);
    carry::reduce(z, m.m());
}
