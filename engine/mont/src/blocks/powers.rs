//! Exponentiations of a [`BlockKernel`]: with secret exponents modulo the primes of one or two
//! keys, and with public exponents.

use super::Blocks;
use super::exp::{Base, Input, alone, exp, exp_rows, exp_vartime};
use crate::contract::Kernel;
use crate::dispatch::BlockKernel;
use crate::modulus::{Modulus, Pair};
use crate::shape::Shape;
use crate::word::Row;

/// The input and output of [`BlockKernel::powers`]: x^`e[0]` mod p and x^`e[1]` mod q.
pub struct Power<'a> {
    /// p and q.
    pub pair: &'a Pair<u64>,
    /// x, below 8pq.
    pub x: &'a [u64],
    /// The exponents; secret.
    pub e: [&'a [u64]; 2],
    /// The results, each one limb longer than p and q.
    pub z: [&'a mut [u64]; 2],
}

impl core::fmt::Debug for Power<'_> {
    /// Shows no number, since all of them may be secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Power").field("pair", &self.pair).finish_non_exhaustive()
    }
}

impl BlockKernel {
    /// Returns the rows of scratch memory for `count` (one or two) powers, with moduli of this
    /// shape and exponents of `bits` bits. Returns `None` if such moduli have no blocks, or if two
    /// powers are asked for and four moduli do not fit side by side.
    pub fn powers_rows(self, limbs: Shape, bits: usize, count: usize) -> Option<usize> {
        let blocks = match count {
            1 => Blocks::pair_of_limbs(limbs)?,
            _ => Blocks::four_of_limbs(limbs).filter(|_| count == 2)?,
        };
        Some(exp_rows(blocks, bits, 2 * count / blocks.numbers()))
    }

    /// Computes one power, or two side by side, for exponents below 2^`bits`. All moduli have the
    /// same shape. For two powers, this loads `four` with both pairs of moduli (see
    /// [`Modulus::unloaded`]). Wipe `four` afterwards.
    ///
    /// The results stay in Montgomery form: z :== x^e * R modulo p and q, below 7p and 7q. R is
    /// that of the [`Blocks`] for two primes.
    ///
    /// # Panics
    ///
    /// If the pairs have different shapes, [`powers_rows`](Self::powers_rows) returns `None`, an
    /// operand has a wrong length, `bits` is 0, or t has fewer rows than `powers_rows` returns.
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
                    let pairs = [power.raised(), Base::default()];
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
                let [m_a, m_b] = [&*a, &*b].map(|power| power.pair.four_way().expect("four fit"));
                four.load_halves(m_a, m_b);
                let pairs = [a.raised(), b.raised()];
                let [set] = exp(self, bits, [Input { m: four, pairs }], t);
                self.amm(set.next, set.z, set.m.exit_factor(), set.m, &mut []);
                a.read(set.m, set.next, 0);
                b.read(set.m, set.next, 2);
            }
            _ => panic!("{} powers do not fit side by side", powers.len()),
        }
    }
}

impl<'a> Power<'a> {
    fn raised(&self) -> Base<'a> {
        Base { x: self.x, e: self.e }
    }

    /// Reads the results from the numbers `first` and `first + 1`.
    fn read(&mut self, m: &Modulus<Row>, rows: &[Row], first: usize) {
        let blocks = Blocks::of_shape(m.shape());
        for (number, z) in (first..).zip(&mut self.z) {
            blocks.unpack(z, rows, number);
        }
    }
}

impl BlockKernel {
    /// z := x^e mod m for each of a few numbers side by side, below m. e is *public*, odd and the
    /// same for all; x < m. The time depends on e alone.
    ///
    /// # Panics
    ///
    /// If a number has a wrong length, the moduli have different shapes or no blocks, e is even, or
    /// t has fewer than 4K rows for each number.
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
