//! Exponentiations in lane blocks: one set of numbers or two by turns, a fixed window.
//!
//! A product in blocks ends with carries that nothing of the same set can hide. What does not wait
//! for them does: the product of the other set, or for one set alone a part of the window's table.

use super::{Blocks, canonical};
use crate::contract::Kernel;
use crate::dispatch::BlockKernel;
use crate::exp::bits_at;
use crate::modulus::{Modulus, Pair};
use crate::shape::Shape;
use crate::word::Row;

/// x^`e[0]` mod p and x^`e[1]` mod q, as [`BlockKernel::powers`] takes them.
pub struct Power<'a> {
    /// p and q.
    pub pair: &'a Pair<u64>,
    /// x, below 8pq.
    pub x: &'a [u64],
    /// The exponents; secret.
    pub e: [&'a [u64]; 2],
    /// Where the powers go: a limb more than p and q have.
    pub z: [&'a mut [u64]; 2],
}

impl core::fmt::Debug for Power<'_> {
    /// Shows no number: all may be secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Power").field("pair", &self.pair).finish_non_exhaustive()
    }
}

impl BlockKernel {
    /// Rows of scratch for `count` powers, one or two, with moduli of this shape and exponents of
    /// `bits` bits; none if such moduli have no blocks, or four of them do not fit side by side.
    pub fn powers_rows(self, limbs: Shape, bits: usize, count: usize) -> Option<usize> {
        let blocks = match count {
            1 => Blocks::pair_of_limbs(limbs)?,
            _ => Blocks::four_of_limbs(limbs).filter(|_| count == 2)?,
        };
        Some(exp_rows(blocks, bits, 2 * count / blocks.numbers()))
    }

    /// One power, or two side by side, of pairs of one shape, for exponents below 2^`bits`. `four`
    /// is where the moduli of two come together, see [`Modulus::unloaded`]; wipe it afterwards.
    ///
    /// The results stay in Montgomery form: z :== x^e * R modulo p and q, R of the primes'
    /// [`Blocks`] for two, z below 7p and 7q.
    ///
    /// # Panics
    ///
    /// If the pairs have different shapes or [`powers_rows`](Self::powers_rows) knows none, an
    /// operand has a wrong length, `bits` is 0, or t has fewer rows than that.
    pub fn powers(
        self,
        bits: usize,
        powers: &mut [Power<'_>],
        four: &mut Modulus<Row>,
        t: &mut [Row],
    ) {
        let shape = powers[0].pair.p().shape();
        for power in &*powers {
            assert!(power.pair.p().shape() == shape, "powers side by side have one shape");
            assert!(power.z.iter().all(|z| z.len() == shape.k() + 1), "z has a limb more than p");
        }
        match powers {
            [power] => match power.pair.blocks() {
                Some(m) => {
                    let pairs = [power.raised(), Raised::default()];
                    let [set] = exp(self, bits, [Input { m, pairs }], t);
                    power.read(set.m, set.z, 0);
                }
                None => {
                    let [p, q] = [power.pair.p(), power.pair.q()];
                    let inputs = [(p, power.e[0]), (q, power.e[1])]
                        .map(|(m, e)| Input::one(alone(m), power.x, e));
                    for (z, set) in power.z.iter_mut().zip(exp(self, bits, inputs, t)) {
                        Blocks::of_shape(set.m.shape()).unpack(z, set.z, 0);
                    }
                }
            },
            [a, b] => {
                let [m_a, m_b] = [&*a, &*b].map(|power| power.pair.twice().expect("four fit"));
                four.load_halves(m_a, m_b);
                let pairs = [a.raised(), b.raised()];
                let [set] = exp(self, bits, [Input { m: four, pairs }], t);
                self.amm(set.next, set.z, set.m.exit(), set.m, &mut []);
                a.read(set.m, set.next, 0);
                b.read(set.m, set.next, 2);
            }
            _ => panic!("{} powers do not fit side by side", powers.len()),
        }
    }
}

impl<'a> Power<'a> {
    fn raised(&self) -> Raised<'a> {
        Raised { x: self.x, e: self.e }
    }

    /// Takes the powers from the numbers `first` and its neighbour.
    fn read(&mut self, m: &Modulus<Row>, rows: &[Row], first: usize) {
        let blocks = Blocks::of_shape(m.shape());
        for (number, z) in (first..).zip(&mut self.z) {
            blocks.unpack(z, rows, number);
        }
    }
}

impl BlockKernel {
    /// z := x^e mod m in each of a few numbers side by side, for one *public* odd e and x < m;
    /// below m. Variable time in e alone.
    ///
    /// # Panics
    ///
    /// If a number has a wrong length, the moduli have different shapes or no blocks, e is even, or
    /// t has fewer than 4K rows for each.
    pub fn powers_vartime<const S: usize>(
        self,
        m: [&Modulus<u64>; S],
        x: [&[u64]; S],
        e: &[u64],
        z: [&mut [u64]; S],
        t: &mut [Row],
    ) {
        let first = m[0].shape();
        for ((m, x), z) in m.iter().zip(x).zip(&z) {
            assert!(m.shape() == first && x.len() == m.k() && z.len() == m.k(), "K limbs of each");
        }
        exp_vartime(self, m, x, e, z, t);
    }
}

fn alone(m: &Modulus<u64>) -> &Modulus<Row> {
    m.blocks().expect("there are blocks of this size")
}

/// z := x^e mod m, below m, x < R^2 (R of the limbs).
pub(crate) fn one(
    kernel: BlockKernel,
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

/// The same modulo p and q.
pub(crate) fn pair(
    kernel: BlockKernel,
    pair: &Pair<u64>,
    bits: usize,
    x: &[u64],
    e: [&[u64]; 2],
    z: [&mut [u64]; 2],
    t: &mut [Row],
) {
    let ([p, q], [z_p, z_q], [e_p, e_q]) = ([pair.p(), pair.q()], z, e);
    if let Some(m) = pair.blocks() {
        let pairs = [Raised { x, e }, Raised::default()];
        let [set] = exp(kernel, bits, [Input { m, pairs }], t);
        leave(kernel, set, [(p, z_p), (q, z_q)]);
    } else {
        let inputs = [(p, e_p), (q, e_q)].map(|(m, e)| Input::one(alone(m), x, e));
        let [set_p, set_q] = exp(kernel, bits, inputs, t);
        leave(kernel, set_p, [(p, z_p)]);
        leave(kernel, set_q, [(q, z_q)]);
    }
}

/// Out of Montgomery form, below m, for the numbers of a set.
fn leave<const N: usize>(
    kernel: BlockKernel,
    set: Set<'_>,
    numbers: [(&Modulus<u64>, &mut [u64]); N],
) {
    kernel.amm(set.next, set.z, set.m.unit(), set.m, &mut []);
    let blocks = Blocks::of_shape(set.m.shape());
    for (i, (m, z)) in numbers.into_iter().enumerate() {
        canonical(z, set.next, i, blocks, m);
    }
}

/// x, and what it is raised to modulo each of a pair.
#[derive(Clone, Copy, Default)]
struct Raised<'a> {
    x: &'a [u64],
    e: [&'a [u64]; 2],
}

/// What one set raises: numbers 2i and 2i + 1 are pair i.
struct Input<'a> {
    m: &'a Modulus<Row>,
    pairs: [Raised<'a>; 2],
}

impl<'a> Input<'a> {
    /// A number alone; where it stands twice, only the first counts.
    fn one(m: &'a Modulus<Row>, x: &'a [u64], e: &'a [u64]) -> Self {
        Self { m, pairs: [Raised { x, e: [e, &[]] }, Raised::default()] }
    }
}

/// A set on its way.
pub(crate) struct Set<'a> {
    pub(crate) m: &'a Modulus<Row>,
    /// The power, in Montgomery form.
    pub(crate) z: &'a mut [Row],
    /// The next one.
    pub(crate) next: &'a mut [Row],
    /// What the window multiplies by.
    pub(crate) y: &'a mut [Row],
    pub(crate) table: &'a mut [Row],
    /// The exponents, in the lanes of their numbers.
    e: &'a mut [Row],
}

/// Bits of a window: the table of 2^w entries is read once per window, so short exponents want a
/// short one.
const fn window_bits(bits: usize) -> usize {
    match bits {
        0..=32 => 2,
        33..=320 => 4,
        _ => 5,
    }
}

/// Rows of scratch for so many sets.
pub(crate) fn exp_rows(blocks: Blocks, bits: usize, sets: usize) -> usize {
    sets * (((3 + (1 << window_bits(bits))) * blocks.k()) + bits.div_ceil(64))
}

/// x^e in Montgomery form, below 7m, in each set; all sets have one shape.
fn exp<'a, const S: usize>(
    kernel: BlockKernel,
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
            let of_pair = input.pairs[number / 2].e[number % 2];
            load_exponent(e, number * blocks.lanes(), blocks.lanes(), of_pair, bits);
        }
        let mut set = Set { m: input.m, z, next, y, table, e };
        set.enter(kernel, blocks, input.pairs.map(|pair| pair.x));
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
        let index = kernel.wide(
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

/// The words of an exponent into the lanes of its number.
fn load_exponent(rows: &mut [Row], first: usize, lanes: usize, e: &[u64], bits: usize) {
    assert!(e.is_empty() || e.len() * 64 >= bits, "the exponent has fewer than {bits} bits");
    for (j, row) in rows.iter_mut().enumerate() {
        row.0[first..][..lanes].fill(e.get(j).copied().unwrap_or(0));
    }
}

/// z := z^{2^squares} * table[index] / R^{2^squares} in each set, a call for each product. The
/// reading does not wait for the squares, so it stands before them: where two sets go by turns it
/// costs more in parts (METHODOLOGY).
pub(crate) fn windows(kernel: BlockKernel, sets: &mut [Set<'_>], squares: usize, index: &[Row]) {
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
    /// The first two entries of the table: 1 and x, in Montgomery form; x below 14m.
    ///
    /// 14m is too much for the blocks that leave the least room (`Blocks`): one product more.
    fn enter(&mut self, kernel: BlockKernel, blocks: Blocks, x: [&[u64]; 2]) {
        let m = self.m;
        let (a, rest) = self.table.split_at_mut(blocks.k());
        let sum = &mut rest[..blocks.k()];
        let half = blocks.bits_max() / 64;
        let halves = x.map(|x| x.split_at(x.len().min(half)));
        (0..blocks.numbers()).for_each(|i| blocks.pack(self.z, i, halves[i / 2].1));
        kernel.amm(a, self.z, m.upper(), m, &mut []);
        (0..blocks.numbers()).for_each(|i| blocks.pack(self.z, i, halves[i / 2].0));
        kernel.amm(self.next, self.z, m.rr(), m, &mut []);
        blocks.add(sum, a, self.next);
        if !blocks.takes_sums() {
            kernel.amm(self.z, sum, m.one(), m, &mut []);
            sum.copy_from_slice(self.z);
        }
        a.copy_from_slice(m.one());
    }

    /// Entry `i` of the table, from those below it.
    fn fill(&mut self, kernel: BlockKernel, i: usize) {
        let k = self.z.len();
        let (done, entry) = self.table.split_at_mut(i * k);
        let (x, y) = if i.is_multiple_of(2) { (i / 2, i / 2) } else { (i - 1, 1) };
        kernel.amm(&mut entry[..k], &done[x * k..][..k], &done[y * k..][..k], self.m, &mut []);
    }

    fn square(&mut self, kernel: BlockKernel) {
        kernel.amm(self.next, self.z, self.z, self.m, &mut []);
        core::mem::swap(&mut self.z, &mut self.next);
    }
}

/// z := x^e mod m in each number of a step, for one public odd e and x < R. `t` has 4K rows for
/// each.
pub(crate) fn exp_vartime<const S: usize>(
    kernel: BlockKernel,
    m: [&Modulus<u64>; S],
    x: [&[u64]; S],
    e: &[u64],
    z: [&mut [u64]; S],
    t: &mut [Row],
) {
    let (sets, blocks) = (m.map(alone), Blocks::of_shape(alone(m[0]).shape()));
    let bit = |i: usize| e[i / 64] >> (i % 64) & 1 == 1;
    assert!(bit(0), "a public exponent is odd");
    let top = (0..e.len() * 64).rev().find(|&i| bit(i)).unwrap_or(0);
    let mut parts = t.chunks_exact_mut(4 * blocks.k());
    let mut rows = core::array::from_fn::<_, S, _>(|i| {
        let t = parts.next().expect("scratch for each number");
        let (plain, t) = t.split_at_mut(blocks.k());
        let (base, t) = t.split_at_mut(blocks.k());
        let (power, next) = t.split_at_mut(blocks.k());
        blocks.pack_all(plain, x[i]);
        kernel.amm(base, plain, sets[i].rr(), sets[i], &mut []);
        power.copy_from_slice(if top == 0 { sets[i].one() } else { base });
        (plain, base, power, next)
    });
    for i in (0..top).rev() {
        for ((_, _, power, next), m) in rows.iter_mut().zip(sets) {
            kernel.amm(next, power, power, m, &mut []);
            core::mem::swap(power, next);
        }
        if i > 0 && bit(i) {
            for ((_, base, power, next), m) in rows.iter_mut().zip(sets) {
                kernel.amm(next, power, base, m, &mut []);
                core::mem::swap(power, next);
            }
        }
    }
    for (i, ((plain, _, power, next), z)) in rows.into_iter().zip(z).enumerate() {
        // the last product takes the plain x, and so leaves the Montgomery form
        kernel.amm(next, power, plain, sets[i], &mut []);
        canonical(z, next, 0, blocks, m[i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_number() {
        let shape = Shape::limbs(64);
        let [p, q] = [101, 103].map(|m| Modulus::new(&[m], shape).expect("m is odd"));
        let (mut z_p, mut z_q) = ([211; 5], [211; 5]);
        let (pair, z) = (&Pair::new(p, q), [&mut z_p[..], &mut z_q]);
        let power = Power { pair, x: &[211], e: [&[211], &[211]], z };
        let text = format!("{power:?}");
        assert!(text.contains("Power") && !text.contains("211"), "{text}");
    }
}
