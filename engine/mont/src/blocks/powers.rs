//! Exponentiations of a [`BlockKernel`]: with secret exponents modulo the primes of a key, and with
//! public exponents.

use super::Blocks;
use super::exp::{Input, alone, exp, exp_rows, exp_vartime};
use crate::dispatch::BlockKernel;
use crate::modulus::{Modulus, Pair};
use crate::shape::Shape;
use crate::word::Row;

/// The input and output of [`BlockKernel::power`]: x^`e[0]` mod p and x^`e[1]` mod q.
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
    /// Returns the rows of scratch memory for a power, with moduli of this shape and exponents of
    /// `bits` bits. Returns `None` if such moduli have no blocks.
    pub fn power_rows(self, limbs: Shape, bits: usize) -> Option<usize> {
        let blocks = Blocks::of_limbs(limbs)?;
        Some(exp_rows(blocks, bits, 2 / blocks.numbers()))
    }

    /// Computes a power, for exponents below 2^`bits`. The results stay in Montgomery form: z :==
    /// x^e * R modulo p and q, below 7p and 7q. R is that of the [`Blocks`] of the primes.
    ///
    /// # Panics
    ///
    /// If [`power_rows`](Self::power_rows) returns `None`, an operand has a wrong length, `bits` is
    /// 0, or t has fewer rows than `power_rows` returns.
    pub fn power(self, bits: usize, power: Power<'_>, t: &mut [Row]) {
        let Power { pair, x, e, z } = power;
        assert!(z.iter().all(|z| z.len() == pair.p().k() + 1), "z has a limb more than p");
        if let Some(m) = pair.blocks() {
            let [set] = exp(self, bits, [Input { m, x, e }], t);
            let blocks = Blocks::of_shape(m.shape());
            for (number, z) in z.into_iter().enumerate() {
                blocks.unpack(z, set.z, number);
            }
            return;
        }
        let inputs = [(pair.p(), e[0]), (pair.q(), e[1])].map(|(m, e)| Input::one(alone(m), x, e));
        for (z, set) in z.into_iter().zip(exp(self, bits, inputs, t)) {
            Blocks::of_shape(set.m.shape()).unpack(z, set.z, 0);
        }
    }

    /// z := x^e mod m, below m. e is *public* and odd; x < m. The time depends on e alone.
    ///
    /// # Panics
    ///
    /// If a number has a wrong length, m has no blocks, e is even, or t has fewer than 4K rows.
    pub fn power_vartime(
        self,
        m: &Modulus<u64>,
        x: &[u64],
        e: &[u64],
        z: &mut [u64],
        t: &mut [Row],
    ) {
        assert!(x.len() == m.k() && z.len() == m.k(), "x and z have K limbs");
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
