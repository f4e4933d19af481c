//! The search for two primes. Candidates are drawn independently, one by one. The first prime is p.
//! The next prime that is far enough from p is q. So p and q have the distribution of A.1.3.

use core::convert::Infallible;

use crypto_bigint::Uint;
use crypto_bigint::rand_core::{TryCryptoRng, TryRng, utils};
use crypto_primes::Flavor;
use crypto_primes::fips::{FipsOptions, is_prime};
use tollgate_cpu::memcheck;
use tollgate_cpu::wipe::wipe_stack_after;
use tollgate_mont::LimbKernel;
use zeroize::Zeroizing;

use super::{Progress, Random, derive, system_random};
use crate::error::{Error, Unavailable};
use crate::natural::{Natural, from_bytes, is_below, subtract};
use crate::parts::KeyParts;

/// The first 64 bits of the square root of 1/2, rounded up. If the first 64 bits of a candidate are
/// larger, the candidate is above sqrt(2) 2^{bits - 1}.
const SQRT_HALF: u64 = 0xb504_f333_f9de_6485;

/// The fraction of odd numbers that no small prime of `crypto-primes` divides: 1.12 / ln(17863).
const PASSES_TRIAL_DIVISION: f64 = 0.115;

/// The stack that a test of a candidate of 4096 bits may use.
const STACK_BYTES: usize = 1 << 16;

/// Returns the numbers of a new key.
pub(super) fn key_parts(
    kernel: LimbKernel,
    bits: usize,
    e: &[u8],
    random: Random<'_>,
    watch: &mut dyn FnMut(Progress),
) -> Result<KeyParts, Error> {
    let exponent = derive::Exponent::new(e);
    let mut source = Source { random, bits: bits / 2, seen: 0, limit: 20 * bits };
    loop {
        let [p, q] = primes(&mut source, &exponent, watch)?;
        if let Some(parts) = derive::key_parts(kernel, &p, &q, &exponent, bits) {
            return Ok(parts);
        } // d is at most 2^{bits / 2}: draw both primes again
    }
}

fn primes(
    source: &mut Source<'_>,
    e: &derive::Exponent,
    watch: &mut dyn FnMut(Progress),
) -> Result<[Natural; 2], Error> {
    let bits = source.bits;
    let divided = FipsOptions::with_mr_iterations(0).with_trial_division_test();
    let tested_by = rounds(bits);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "an estimate"
    )]
    // one odd number in ln(x) / 2 near x is prime
    let expected = (bits as f64 * core::f64::consts::LN_2 * PASSES_TRIAL_DIVISION) as usize;
    let (mut p, mut tested) = (None, 0);
    loop {
        let w = source.next()?;
        if !is_prime_by(&w, divided)? {
            continue;
        }
        tested += 1;
        let good = is_prime_by(&w, tested_by)? && e.fits(&w);
        let found = match p.take() {
            None if good => {
                p = Some(w);
                None
            }
            Some(p) if good && are_apart(&p, &w, bits) => Some([p, w]),
            unchanged => {
                p = unchanged;
                None
            }
        };
        let primes = if found.is_some() { 2 } else { usize::from(p.is_some()) };
        watch(Progress { tested, expected, primes });
        if let Some(found) = found {
            return Ok(found);
        }
    }
}

/// Returns the test of a candidate: as many rounds as the error bound of FIPS 186-5, C.1, needs for
/// 2^-112, 2^-128 and 2^-144 at 1024, 1536 and 2048 bits, and for 2^-100 below.
pub(super) fn rounds(bits: usize) -> FipsOptions {
    let error_bits = match bits {
        2048.. => 144,
        1536.. => 128,
        1024.. => 112,
        _ => 100,
    };
    let bits = u32::try_from(bits).expect("at most 4096");
    FipsOptions::with_error_bound(bits, error_bits).expect("primes are long enough")
}

/// Tests w, with bases from the operating system. The copies that the crate makes are on the stack,
/// which is wiped.
pub(super) fn is_prime_by(w: &[u64], options: FipsOptions) -> Result<bool, Error> {
    let mut bases = Bases { failed: None };
    let test = match w.len() {
        ..=4 => is_prime_in::<4>,
        5..=8 => is_prime_in::<8>,
        9..=16 => is_prime_in::<16>,
        17..=24 => is_prime_in::<24>,
        25..=32 => is_prime_in::<32>,
        33..=48 => is_prime_in::<48>,
        _ => is_prime_in::<64>,
    };
    let good = wipe_stack_after::<STACK_BYTES, _>(|| test(w, options, &mut bases));
    bases.failed.map_or(Ok(good), Err)
}

/// Tests w in LIMBS limbs.
fn is_prime_in<const LIMBS: usize>(w: &[u64], options: FipsOptions, bases: &mut Bases) -> bool {
    let mut words = [0; LIMBS];
    for (word, limb) in words.iter_mut().zip(w) {
        // memcheck cannot follow the crate's test, whose time depends on its number
        *word = memcheck::declassified(*limb);
    }
    is_prime(bases, Flavor::Any, &Uint::<LIMBS>::from_words(words), options)
}

/// Random numbers of the operating system for `crypto-primes`, which cannot fail there.
struct Bases {
    failed: Option<Error>,
}

impl TryRng for Bases {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        utils::next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        utils::next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        if let Err(error) = system_random(bytes) {
            bytes.fill(0); // a base of 2: the caller looks at `failed`
            self.failed = Some(error);
        }
        Ok(())
    }
}

impl TryCryptoRng for Bases {}

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

/// Candidates in the range of A.1.3.
struct Source<'a> {
    random: Random<'a>,
    /// The size of a candidate.
    bits: usize,
    /// Number of candidates so far.
    seen: usize,
    /// Maximum number of candidates: twenty per bit of the modulus. On average, more than ten of
    /// these twenty are in range. A.1.3 allows five per bit for p and ten per bit for q. Candidates
    /// out of range count too, so that a broken source ends the search.
    limit: usize,
}

impl Source<'_> {
    /// Returns the next random odd number above sqrt(2) 2^{bits - 1}. A.1.3 also draws other
    /// numbers: step 4.4 rejects those without the top bit, and step 4.3 makes even ones odd.
    fn next(&mut self) -> Result<Natural, Error> {
        let mut bytes = Zeroizing::new(vec![0; 8 * self.bits.div_ceil(64)]);
        let mut w = Zeroizing::new(vec![0; bytes.len() / 8]);
        loop {
            if self.seen == self.limit {
                return Err(Unavailable::Primes { tried: self.seen }.into());
            }
            self.seen += 1;
            (self.random)(&mut bytes)?;
            from_bytes(&mut w, &bytes);
            let (highest, top) = (w.len() - 1, (self.bits - 1) % 64);
            w[highest] = w[highest] & (u64::MAX >> (63 - top)) | 1 << top;
            w[0] |= 1;
            let out_of_range = u64::from(first_bits(&w, self.bits) < SQRT_HALF);
            if memcheck::declassified(out_of_range) == 0 {
                return Ok(w);
            }
        }
    }
}

/// Returns the 64 highest of `bits` bits.
fn first_bits(x: &[u64], bits: usize) -> u64 {
    let (high, s) = (x[x.len() - 1], bits % 64);
    if s == 0 { high } else { high << (64 - s) | x[x.len() - 2] >> s }
}
