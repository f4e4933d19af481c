//! Exponentiations in lane blocks with a fixed window, of one set of numbers or of two sets in
//! alternation.
//!
//! The next product of a set waits for the carries at the end of the previous one. Independent work
//! fills the wait: the product of the other set or, for a single set, reading a part of the table.

use super::Blocks;
use super::limbs::canonical;
use crate::contract::Kernel;
use crate::modulus::{Modulus, Pair};
use crate::window::bits_at;
use crate::word::Row;

/// A kernel on lane blocks.
pub(crate) trait WindowKernel: Kernel<Word = Row> {
    /// z := z^{2^squares} * table[index] / R^{2^squares} in a set. Overwrites its y and next.
    fn window(self, set: &mut Set<'_>, squares: usize, index: &Row);
}

pub(super) fn alone(m: &Modulus<u64>) -> &Modulus<Row> {
    m.blocks().expect("there are blocks of this size")
}

/// z := x^e mod m, below m, for x < R^2. R is that of the limbs.
pub(crate) fn one(
    kernel: impl WindowKernel,
    m: &Modulus<u64>,
    bits: usize,
    x: &[u64],
    e: &[u64],
    z: &mut [u64],
    t: &mut [Row],
) {
    let [set] = exp(kernel, bits, [Input::one(alone(m), x, e)], t);
    leave(kernel, set, [(m, z)]);
}

/// Does the same as [`one`], modulo p and modulo q.
pub(crate) fn pair(
    kernel: impl WindowKernel,
    pair: &Pair<u64>,
    bits: usize,
    x: &[u64],
    e: [&[u64]; 2],
    z: [&mut [u64]; 2],
    t: &mut [Row],
) {
    let ([p, q], [z_p, z_q], [e_p, e_q]) = ([pair.p(), pair.q()], z, e);
    if let Some(m) = pair.blocks() {
        let [set] = exp(kernel, bits, [Input { m, x, e }], t);
        leave(kernel, set, [(p, z_p), (q, z_q)]);
    } else {
        let inputs = [(p, e_p), (q, e_q)].map(|(m, e)| Input::one(alone(m), x, e));
        let [set_p, set_q] = exp(kernel, bits, inputs, t);
        leave(kernel, set_p, [(p, z_p)]);
        leave(kernel, set_q, [(q, z_q)]);
    }
}

/// Converts the numbers of a set from Montgomery form; the results are below m.
fn leave<const N: usize>(
    kernel: impl WindowKernel,
    set: Set<'_>,
    numbers: [(&Modulus<u64>, &mut [u64]); N],
) {
    kernel.amm(set.next, set.z, set.m.plain_one(), set.m, &mut []);
    let blocks = Blocks::of_shape(set.m.shape());
    for (i, (m, z)) in numbers.into_iter().enumerate() {
        canonical(z, set.next, i, blocks, m);
    }
}

/// The input of one set: x, and its exponent for each number.
pub(super) struct Input<'a> {
    pub(super) m: &'a Modulus<Row>,
    pub(super) x: &'a [u64],
    pub(super) e: [&'a [u64]; 2],
}

impl<'a> Input<'a> {
    /// Returns the input of a set with a single number; another number has no exponent.
    pub(super) fn one(m: &'a Modulus<Row>, x: &'a [u64], e: &'a [u64]) -> Self {
        Self { m, x, e: [e, &[]] }
    }
}

/// The registers of one set.
pub(crate) struct Set<'a> {
    pub(crate) m: &'a Modulus<Row>,
    /// The power, in Montgomery form.
    pub(crate) z: &'a mut [Row],
    /// Buffer for the next power.
    pub(crate) next: &'a mut [Row],
    /// The entry to multiply by.
    pub(crate) y: &'a mut [Row],
    pub(crate) table: &'a mut [Row],
    /// The exponents, in the lanes of their numbers.
    e: &'a mut [Row],
}

/// Returns the number of bits in a window. A short exponent has few windows: a large table of 2^w
/// entries would cost more than it saves.
const fn window_bits(bits: usize) -> usize {
    match bits {
        0..=32 => 2,
        33..=320 => 4,
        _ => 5,
    }
}

/// Returns the number of rows of scratch memory that `sets` sets need.
pub(crate) fn exp_rows(blocks: Blocks, bits: usize, sets: usize) -> usize {
    sets * (((3 + (1 << window_bits(bits))) * blocks.k()) + bits.div_ceil(64))
}

/// Returns the sets with z = x^e in Montgomery form, below 7m. All sets have the same shape.
pub(super) fn exp<'a, const S: usize>(
    kernel: impl WindowKernel,
    bits: usize,
    inputs: [Input<'a>; S],
    t: &'a mut [Row],
) -> [Set<'a>; S] {
    assert!(bits > 0, "an exponent has at least one bit");
    let (blocks, w) = (Blocks::of_shape(inputs[0].m.shape()), window_bits(bits));
    let k = blocks.k();
    let mut parts = t.chunks_exact_mut(exp_rows(blocks, bits, 1));
    let mut sets = inputs.map(|input| {
        let t = parts.next().expect("scratch for each set");
        let (table, t) = t.split_at_mut(k << w);
        let (z, t) = t.split_at_mut(k);
        let (next, t) = t.split_at_mut(k);
        let (y, e) = t.split_at_mut(k);
        for number in 0..blocks.numbers() {
            load_exponent(e, number * blocks.lanes(), blocks.lanes(), input.e[number], bits);
        }
        let mut set = Set { m: input.m, z, next, y, table, e };
        set.enter(kernel, blocks, input.x);
        set
    });
    for i in 2..1 << w {
        sets.iter_mut().for_each(|set| set.fill(kernel, i));
    }
    let top = (bits - 1) / w * w;
    for set in &mut sets {
        kernel.select(set.z, set.table, bits_at(set.e, top, bits - top));
    }
    for at in (0..top).step_by(w).rev() {
        let index = kernel.with_target_features(
            #[inline(always)]
            || sets.each_ref().map(|set| bits_at(set.e, at, w)),
        );
        if let ([set], [index]) = (&mut sets[..], &index[..]) {
            kernel.window(set, w, index);
        } else {
            windows(kernel, &mut sets, w, &index);
        }
    }
    sets
}

/// Writes the words of an exponent into the lanes of its number.
fn load_exponent(rows: &mut [Row], first: usize, lanes: usize, e: &[u64], bits: usize) {
    assert!(e.is_empty() || e.len() * 64 >= bits, "the exponent has fewer than {bits} bits");
    for (j, row) in rows.iter_mut().enumerate() {
        row.0[first..][..lanes].fill(e.get(j).copied().unwrap_or(0));
    }
}

/// z := z^{2^squares} * table[index] / R^{2^squares} in each set, with one call for each product.
/// The select is before the squares because it does not depend on them. Two alternating sets are
/// slower if they select in parts (docs/tried-kernels.md).
pub(crate) fn windows(
    kernel: impl WindowKernel,
    sets: &mut [Set<'_>],
    squares: usize,
    index: &[Row],
) {
    for (set, index) in sets.iter_mut().zip(index) {
        kernel.select(set.y, set.table, *index);
    }
    for _ in 0..squares {
        sets.iter_mut().for_each(|set| set.square(kernel));
    }
    for set in sets {
        kernel.amm(set.next, set.z, set.y, set.m, &mut []);
        core::mem::swap(&mut set.z, &mut set.next);
    }
}

impl Set<'_> {
    /// Writes the first two entries of the table: 1 and x, in Montgomery form. x is below 14m.
    ///
    /// Some layouts cannot multiply numbers up to 14m (see [`Blocks::takes_sums`]). They need one
    /// more product.
    fn enter(&mut self, kernel: impl WindowKernel, blocks: Blocks, x: &[u64]) {
        let m = self.m;
        let (a, rest) = self.table.split_at_mut(blocks.k());
        let sum = &mut rest[..blocks.k()];
        let half = blocks.bits_max() / 64;
        let (lower, upper) = x.split_at(x.len().min(half));
        blocks.pack_all(self.z, upper);
        kernel.amm(a, self.z, m.upper(), m, &mut []);
        blocks.pack_all(self.z, lower);
        kernel.amm(self.next, self.z, m.rr(), m, &mut []);
        blocks.add(sum, a, self.next);
        if !blocks.takes_sums() {
            kernel.amm(self.z, sum, m.one(), m, &mut []);
            sum.copy_from_slice(self.z);
        }
        a.copy_from_slice(m.one());
    }

    /// Computes entry `i` of the table from lower entries.
    fn fill(&mut self, kernel: impl WindowKernel, i: usize) {
        let k = self.z.len();
        let (done, entry) = self.table.split_at_mut(i * k);
        let (x, y) = if i.is_multiple_of(2) { (i / 2, i / 2) } else { (i - 1, 1) };
        kernel.amm(&mut entry[..k], &done[x * k..][..k], &done[y * k..][..k], self.m, &mut []);
    }

    fn square(&mut self, kernel: impl WindowKernel) {
        kernel.amm(self.next, self.z, self.z, self.m, &mut []);
        core::mem::swap(&mut self.z, &mut self.next);
    }
}

/// z := x^e mod m. e is public and odd; x < R. `t` has 4K rows.
pub(crate) fn exp_vartime(
    kernel: impl WindowKernel,
    m: &Modulus<u64>,
    x: &[u64],
    e: &[u64],
    z: &mut [u64],
    t: &mut [Row],
) {
    let set = alone(m);
    let blocks = Blocks::of_shape(set.shape());
    let bit = |i: usize| e[i / 64] >> (i % 64) & 1 == 1;
    assert!(bit(0), "a public exponent is odd");
    let top = (0..e.len() * 64).rev().find(|&i| bit(i)).unwrap_or(0);
    let (plain, t) = t.split_at_mut(blocks.k());
    let (base, t) = t.split_at_mut(blocks.k());
    let (mut power, t) = t.split_at_mut(blocks.k());
    let mut next = &mut t[..blocks.k()];
    blocks.pack_all(plain, x);
    kernel.amm(base, plain, set.rr(), set, &mut []);
    power.copy_from_slice(if top == 0 { set.one() } else { base });
    for i in (0..top).rev() {
        kernel.amm(next, power, power, set, &mut []);
        core::mem::swap(&mut power, &mut next);
        if i > 0 && bit(i) {
            kernel.amm(next, power, base, set, &mut []);
            core::mem::swap(&mut power, &mut next);
        }
    }
    // the last product multiplies by the plain x: its result is not in Montgomery form
    kernel.amm(next, power, plain, set, &mut []);
    canonical(z, next, 0, blocks, m);
}
