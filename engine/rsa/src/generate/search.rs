//! The search for two primes (FIPS 186-5, A.1.3) in the same lanes.
//!
//! Candidates are drawn independently, one by one. The first prime is p. The next prime that is far
//! enough from p is q. So p and q have the distribution of A.1.3.

use tollgate_cpu::memcheck;
use tollgate_mont::{LANES, LaneKernel, LimbKernel};
use zeroize::Zeroizing;

use super::miller_rabin::{Candidate, Test, rounds};
use super::sieve::Sieve;
use super::{Progress, Random, derive};
use crate::error::{Error, Unavailable};
use crate::natural::{from_bytes, is_below, subtract};
use crate::parts::KeyParts;
use crate::runner::Runner;

/// The first 64 bits of the square root of 1/2, rounded up. If the first 64 bits of a candidate are
/// larger, the candidate is above sqrt(2) 2^{bits - 1}.
const SQRT_HALF: u64 = 0xb504_f333_f9de_6485;

/// The number of candidates per random draw.
const DRAWN: usize = 16;

/// Trial division uses the primes up to this factor times the number of bits of a candidate. At
/// this limit, one more prime costs about as much as it saves in exponentiations
/// (docs/tried-kernels.md).
const SIEVE_PER_BIT: usize = 8;

/// Returns the numbers of a new key.
pub(super) fn key_parts(
    kernel: LimbKernel,
    runner: &mut Runner<LaneKernel>,
    bits: usize,
    e: &[u8],
    random: Random<'_>,
    watch: &mut dyn FnMut(Progress),
) -> Result<KeyParts, Error> {
    let exponent = derive::Exponent::new(e);
    let mut source = Source::new(bits, random);
    let mut test = Test::new(runner, bits / 2);
    loop {
        let [p, q] = primes(&mut source, &mut test, &exponent, watch)?;
        if let Some(parts) = derive::key_parts(kernel, &p.w, &q.w, &exponent, bits) {
            return Ok(parts);
        } // d is at most 2^{bits / 2}: draw both primes again
    }
}

fn primes(
    source: &mut Source<'_>,
    test: &mut Test<'_>,
    e: &derive::Exponent,
    watch: &mut dyn FnMut(Progress),
) -> Result<[Candidate; 2], Error> {
    let (mut found, mut tested) = (Vec::with_capacity(2), 0);
    loop {
        let mut batch = Vec::with_capacity(LANES);
        while batch.len() < LANES {
            batch.push(source.next()?);
        }
        let verdicts = test.round(core::array::from_fn(|i| &batch[i]), source.random)?;
        for (candidate, good) in batch.into_iter().zip(verdicts) {
            let wanted = |found: &[Candidate]| match found {
                [] => true,
                [p] => are_apart(&p.w, &candidate.w, source.bits),
                _ => false,
            };
            if good && wanted(&found) && e.fits(&candidate.w) {
                found.push(candidate);
            }
        }
        if let [p, q] = &found[..] {
            let stand = confirm(test, [p, q], source)?;
            let mut stand = stand.into_iter();
            found.retain(|_| stand.next() == Some(true));
        }
        tested += LANES;
        watch(Progress { tested, expected: source.expected, primes: found.len() });
        if found.len() == 2 {
            return Ok(found.try_into().ok().expect("two"));
        }
    }
}

/// Runs the remaining rounds with four bases at once for each prime. Returns which of the two
/// primes pass.
fn confirm(
    test: &mut Test<'_>,
    pair: [&Candidate; 2],
    source: &mut Source<'_>,
) -> Result<[bool; 2], Error> {
    let mut stand = [true; 2];
    for _ in 0..(rounds(source.bits) - 1).div_ceil(LANES / 2) {
        let verdicts = test.round(core::array::from_fn(|lane| pair[lane % 2]), source.random)?;
        for (lane, good) in verdicts.into_iter().enumerate() {
            stand[lane % 2] &= good;
        }
    }
    Ok(stand)
}

/// Returns `true` if |p - q| > 2^{bits - 100}.
pub(super) fn are_apart(p: &[u64], q: &[u64], bits: usize) -> bool {
    let mut bound = vec![0; p.len()];
    bound[(bits - 100) / 64] = 1 << ((bits - 100) % 64);
    let is_above = |x: &[u64], y: &[u64]| {
        let mut difference = Zeroizing::new(x.to_vec());
        let is_negative = subtract(&mut difference, y, u64::MAX);
        is_below(&bound, &difference) & !is_negative
    };
    memcheck::declassified(is_above(p, q) | is_above(q, p)) != 0
}

/// Candidates that pass the sieve.
struct Source<'a> {
    random: Random<'a>,
    /// The size of a candidate.
    bits: usize,
    sieve: Sieve,
    /// Candidates not yet tested, of `bits` bits rounded up to whole limbs.
    drawn: Zeroizing<Vec<u8>>,
    /// Number of candidates so far.
    seen: usize,
    /// Maximum number of candidates: twenty per bit of the modulus. On average, more than ten of
    /// these twenty are in range. A.1.3 allows five per bit for p and ten per bit for q. Candidates
    /// out of range count too, so that a broken source ends the search.
    limit: usize,
    /// Expected number of tested candidates until two primes are found.
    expected: usize,
}

impl<'a> Source<'a> {
    /// Creates a source of the primes of a modulus of this many bits.
    fn new(modulus_bits: usize, random: Random<'a>) -> Self {
        let bits = modulus_bits / 2;
        let sieve = Sieve::new(u32::try_from(SIEVE_PER_BIT * bits).expect("at most 2^15"));
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "an estimate"
        )]
        let expected = {
            // one odd number in ln(x) / 2 near x is prime
            let odd = 2.0 * (bits as f64 * core::f64::consts::LN_2 / 2.0);
            (odd * sieve.part_that_passes()) as usize
        };
        let drawn = Zeroizing::new(Vec::new());
        Self { random, bits, sieve, drawn, seen: 0, limit: 20 * modulus_bits, expected }
    }

    /// Returns the next candidate that passes the sieve.
    fn next(&mut self) -> Result<Candidate, Error> {
        loop {
            if self.seen == self.limit {
                return Err(Unavailable::Primes { tried: self.seen }.into());
            }
            self.seen += 1;
            let w = self.draw()?;
            let out_of_range = u64::from(top(&w, self.bits) < SQRT_HALF);
            if memcheck::declassified(out_of_range) == 0 && self.sieve.passes(&w) {
                return Ok(Candidate::new(w, self.bits));
            }
        }
    }

    /// Draws a random odd number with its top bit set. A.1.3 also draws other numbers: step 4.4
    /// rejects those without the top bit, and step 4.3 makes even ones odd.
    fn draw(&mut self) -> Result<Zeroizing<Vec<u64>>, Error> {
        let limbs = self.bits.div_ceil(64);
        if self.drawn.is_empty() {
            self.drawn.resize(8 * limbs * DRAWN, 0);
            (self.random)(&mut self.drawn)?;
        }
        let rest = self.drawn.len() - 8 * limbs;
        let mut w = Zeroizing::new(vec![0; limbs]);
        from_bytes(&mut w, &self.drawn[rest..]);
        self.drawn.truncate(rest);
        let top = (self.bits - 1) % 64;
        w[limbs - 1] = w[limbs - 1] & (u64::MAX >> (63 - top)) | 1 << top;
        w[0] |= 1;
        Ok(w)
    }
}

/// Returns the 64 highest of `bits` bits.
fn top(x: &[u64], bits: usize) -> u64 {
    let (high, s) = (x[x.len() - 1], bits % 64);
    if s == 0 { high } else { high << (64 - s) | x[x.len() - 2] >> s }
}
