//! The Miller-Rabin test (FIPS 186-5, B.3.1), with one candidate and one base per lane.

use tollgate_cpu::memcheck;
use tollgate_mont::{
    Digit, Exponentiate, Kernel, LANES, LaneKernel, Modulus, Place, Row, Shape, Word, carry,
};
use zeroize::{Zeroize, Zeroizing};

use super::Random;
use crate::error::Error;
use crate::material::load_words;
use crate::natural::less_one;
use crate::runner::Runner;

/// The number of squarings after the first power; it is the same in every call. 2 divides w - 1 at
/// most this many times, except for one w in 2^16.
pub(super) const SQUARINGS: u64 = 16;

/// The number of words by which a base is longer than a candidate. The base is reduced modulo w, so
/// each residue has the same probability up to 2^-104. B.3.1 rejects the bases 0, 1 and w - 1.
/// Their probabilities are below 2^-250. With the base 0 a prime would fail; the bases 1 and w - 1
/// prove nothing.
const BASE_MORE_WORDS: usize = 2;

/// Returns the number of rounds for a prime of `bits` bits: at least the number that table B.1 of
/// FIPS 186-5 requires. The probability of an error is at most 2^-100. For primes of at least 1024,
/// 1536 and 2048 bits, it is at most 2^-112, 2^-128 and 2^-144, respectively.
pub(super) const fn rounds(bits: usize) -> usize {
    match bits {
        1024.. => 5,
        512.. => 9,
        _ => 17,
    }
}

/// A candidate w: its little-endian limbs, and the values that a lane needs.
pub(super) struct Candidate {
    pub(super) w: Zeroizing<Vec<u64>>,
    modulus: Modulus<Digit>,
    /// The exponent of 2 in w - 1 = 2^a m, with m odd.
    a: u64,
    m: Zeroizing<Vec<u64>>,
}

impl Candidate {
    /// Takes an odd number of `bits` bits. Constant time except for the length.
    pub(super) fn new(w: Zeroizing<Vec<u64>>, bits: usize) -> Self {
        let modulus = Modulus::new(&w, Shape::digits(bits)).expect("candidates are odd");
        let (a, m) = halvings(&w);
        Self { w, modulus, a, m }
    }
}

/// Returns a and m with w - 1 = 2^a m and m odd, for odd w above 1. Each step shifts out the lowest
/// 2^j bits if all of them are zero. The time depends on the length only.
pub(super) fn halvings(w: &[u64]) -> (u64, Zeroizing<Vec<u64>>) {
    let (mut m, mut a) = (less_one(w), 0u64);
    for j in (0..=(64 * m.len() - 1).ilog2()).rev() {
        let (limbs, bits) = ((1 << j) / 64, (1 << j) % 64);
        let low = m[..limbs].iter().fold(m[limbs] & ((1 << bits) - 1), |low, limb| low | limb);
        let zero = low.is_zero();
        a = a.wrapping_add(zero & 1 << j);
        for i in 0..m.len() {
            let at = |i: usize| m.get(i).copied().unwrap_or(0);
            let shifted = match bits {
                0 => at(i + limbs),
                _ => at(i) >> bits | at(i + 1) << (64 - bits),
            };
            m[i] = Word::pick(zero, shifted, m[i]);
        }
    }
    (a, m)
}

/// A kernel and buffers for eight candidates of one length.
pub(super) struct Test<'a> {
    kernel: LaneKernel,
    runner: &'a mut Runner<LaneKernel>,
    bits: usize,
    w: Modulus<Row>,
    exponents: Vec<Row>,
}

impl<'a> Test<'a> {
    pub(super) fn new(runner: &'a mut Runner<LaneKernel>, bits: usize) -> Self {
        Self {
            kernel: runner.kernel,
            runner,
            bits,
            w: Modulus::lanes(Shape::digits(bits)),
            exponents: vec![Row::default(); bits.div_ceil(64)],
        }
    }

    /// Runs a round with a different base in each lane; returns which candidates may be prime.
    pub(super) fn round(
        &mut self,
        lanes: [&Candidate; LANES],
        random: Random<'_>,
    ) -> Result<[bool; LANES], Error> {
        let mut a = Row::default();
        for (lane, candidate) in lanes.into_iter().enumerate() {
            let place = Place::Lane(lane);
            self.w.load(place, &candidate.modulus);
            load_words(&mut self.exponents, place, &candidate.m);
            a.set_lane(lane, candidate.a);
        }
        let (kernel, w) = (self.kernel, &self.w);
        let k = w.k();
        let base_words = k + BASE_MORE_WORDS;
        let words = base_words + 3 * k + kernel.exp_words(w.shape(), self.bits);
        let (base, rest) = self.runner.memory(words).split_at_mut(base_words);
        let (z, rest) = rest.split_at_mut(k);
        let (y, rest) = rest.split_at_mut(k);
        let (minus_one, t) = rest.split_at_mut(k);
        draw(base, random)?;
        kernel.exp(w, self.bits, base, &self.exponents, z, t);
        kernel.amm(y, z, w.rr(), w, t);
        carry::sub_mod(minus_one, w.m(), w.one(), &[]);

        let squarings = (0..LANES).map(|lane| a.lane(lane)).fold(SQUARINGS, u64::max);
        let squarings = memcheck::declassified(squarings);
        let mut good = Row::default();
        for i in 0..squarings {
            // y :== base^{2^i m}. The candidate passes if y is 1 for i = 0, or -1 for an i < a.
            z.copy_from_slice(y);
            kernel.with_target_features(
                #[inline(always)]
                || {
                    carry::reduce(z, w.m());
                    let one = if i == 0 { carry::equal(z, w.one()) } else { Row::default() };
                    let below = a.zip(a, |a, _| i.wrapping_sub(a) >> 63).mask();
                    let minus = carry::equal(z, minus_one).zip(below, |x, y| x & y);
                    good = good.zip(one, |x, y| x | y).zip(minus, |x, y| x | y);
                },
            );
            kernel.ams(y, z, w, t);
        }
        Ok(core::array::from_fn(|lane| memcheck::declassified(good.lane(lane)) == u64::MAX))
    }
}

impl Drop for Test<'_> {
    fn drop(&mut self) {
        self.w.wipe();
        self.exponents.as_mut_slice().zeroize();
    }
}

/// Fills every lane with random digits.
fn draw(rows: &mut [Row], random: Random<'_>) -> Result<(), Error> {
    let mut bytes = Zeroizing::new(vec![0; 8 * LANES * rows.len()]);
    random(&mut bytes)?;
    for (row, bytes) in rows.iter_mut().zip(bytes.as_chunks::<{ 8 * LANES }>().0) {
        for (lane, eight) in bytes.as_chunks().0.iter().enumerate() {
            row.set_lane(lane, u64::from_le_bytes(*eight));
        }
    }
    Ok(())
}
