//! Key generation: FIPS 186-5, A.1.3, random probable primes.
//!
//! * [`search`]: draws candidates until two are prime, by the tests of the crate `crypto-primes`.
//! * [`derive`]: computes the numbers of the key.
//!
//! The time reveals how many candidates were discarded, and which small prime divided each of them.
//! Discarded candidates are independent of the two primes, since A.1.3 draws each candidate anew.
//!
//! For the two primes, `crypto-primes` gives this: the exponentiation of a round of Miller-Rabin
//! takes constant time. The number of squarings after it reveals how often two divides the prime
//! minus one. The constants of the Montgomery form are computed in a time that depends on the
//! prime. The crate does not wipe its copies of a candidate; they are on the stack, which is wiped
//! after each test. Everything else here takes constant time and is wiped.

use core::ops::RangeInclusive;

use crypto_primes::fips::FipsOptions;
use tollgate_cpu::memcheck;
use zeroize::Zeroizing;

use crate::blinding::random_below;
use crate::error::{
    Error, MODULUS_BITS_MAX, MODULUS_BITS_MIN, Misuse, Prime, Rejected, Unavailable,
};
use crate::key::{PrivateKey, SECURE_BITS};
use crate::natural::{natural, to_bytes};
use crate::of_thread;
use crate::workspace::Workspace;

pub(crate) mod derive;
mod gcd;
mod search;
#[cfg(test)]
mod tests;

/// The number of rounds for an untrusted prime. A composite number passes a round with a
/// probability of at most 1/4.
const CHECK_ROUNDS: usize = 64;

/// The source of random bytes: the system, or a seeded generator in tests.
type Random<'a> = &'a mut dyn FnMut(&mut [u8]) -> Result<(), Error>;

/// The progress of a generation: see [`Generation::watched`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of candidates tested by exponentiation so far: at least one.
    pub tested: usize,
    /// Expected number of tested candidates for the whole key.
    pub expected: usize,
    /// Number of primes found: 0, 1 or 2.
    pub primes: usize,
}

/// Parameters of a new key; [`run`](Self::run) generates it.
///
/// ```
/// use tollgate_rsa::{Generation, Workspace};
///
/// let mut workspace = Workspace::new()?;
/// let key = Generation::insecure(512).exponent(&[3]).run(&mut workspace)?;
/// assert_eq!((key.bits(), key.public().exponent()), (512, vec![3]));
/// # Ok::<(), tollgate_rsa::Error>(())
/// ```
pub struct Generation<'a> {
    bits: usize,
    e: Vec<u8>,
    insecure: bool,
    watch: Option<&'a mut dyn FnMut(Progress)>,
}

impl core::fmt::Debug for Generation<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Generation")
            .field("bits", &self.bits)
            .field("e", &self.e)
            .field("insecure", &self.insecure)
            .finish_non_exhaustive()
    }
}

impl<'a> Generation<'a> {
    /// Describes a key of `bits` bits with e = 65537. `bits` must be even and from 2048 to 8192.
    pub fn new(bits: usize) -> Self {
        Self { bits, e: vec![1, 0, 1], insecure: false, watch: None }
    }

    /// Describes an insecure key, for tests and for comparison with old publications. The key must
    /// have at least 512 bits, and e must be at least 3.
    pub fn insecure(bits: usize) -> Self {
        Self { insecure: true, ..Self::new(bits) }
    }

    /// Sets the public exponent, big-endian: odd, above 2^16 and below 2^256.
    #[must_use]
    pub fn exponent(mut self, e: &[u8]) -> Self {
        self.e = e[e.iter().take_while(|&&byte| byte == 0).count()..].to_vec();
        self
    }

    /// Calls `watch` after every candidate without small factors. An observer of the time knows
    /// this progress too.
    #[must_use]
    pub fn watched(mut self, watch: &'a mut dyn FnMut(Progress)) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Generates the key from random bytes of the operating system.
    ///
    /// The key is validated like a loaded one, and by a pairwise consistency test: the private half
    /// must decrypt what the public half encrypted.
    ///
    /// # Errors
    ///
    /// [`Misuse`] for a size or an exponent that is out of range; [`Error::Fault`] if the finished
    /// key fails its test; [`Unavailable`] if there are no random bytes, or they yield no primes.
    pub fn run(self, workspace: &mut Workspace) -> Result<PrivateKey, Error> {
        self.run_with(workspace, &mut system_random)
    }

    fn run_with(mut self, ws: &mut Workspace, random: Random<'_>) -> Result<PrivateKey, Error> {
        self.check()?;
        let mut nobody = |_| ();
        let watch = self.watch.take().unwrap_or(&mut nobody);
        let key = search::key_parts(ws.limbs.kernel, self.bits, &self.e, random, watch)?;
        let key = PrivateKey::from_parts(&key)?;
        key.check_pairwise(ws)?;
        Ok(key)
    }

    fn check(&self) -> Result<(), Error> {
        let least_bits = if self.insecure { MODULUS_BITS_MIN } else { SECURE_BITS };
        if !(least_bits..=MODULUS_BITS_MAX).contains(&self.bits) || self.bits % 2 == 1 {
            return Err(Misuse::NewKeyBits { bits: self.bits, least_bits }.into());
        }
        let odd = self.e.last().is_some_and(|byte| byte % 2 == 1);
        // without leading zeros: 2^16 has 17 bits and is even; 1 is not an exponent
        let bytes: RangeInclusive<usize> = if self.insecure { 1..=32 } else { 3..=32 };
        if !odd || !bytes.contains(&self.e.len()) || self.e == [1] {
            return Err(Misuse::NewKeyExponent.into());
        }
        Ok(())
    }
}

impl PrivateKey {
    /// Generates a key of 2048 to 8192 bits with e = 65537; [`Generation`] has more options.
    ///
    /// # Errors
    ///
    /// As [`Generation::run`].
    pub fn generate(bits: usize) -> Result<Self, Error> {
        of_thread::with(|workspace| Generation::new(bits).run(workspace))
    }

    /// Tests that p and q are prime, by 64 rounds of Miller-Rabin each. Use it for keys from
    /// untrusted sources, whose primes may not be random. Loading a key does not include this test,
    /// which takes as long as dozens of signatures.
    ///
    /// # Errors
    ///
    /// [`Rejected::PrimeComposite`]; [`Unavailable`] if there are no random bytes.
    pub fn check_primes(&self) -> Result<(), Error> {
        let parts = self.to_parts();
        for (bytes, prime) in [(&parts.p, Prime::P), (&parts.q, Prime::Q)] {
            let test = FipsOptions::with_mr_iterations(CHECK_ROUNDS);
            if !search::is_prime_by(&natural(bytes, bytes.len()), test)? {
                return Err(Rejected::PrimeComposite(prime).into());
            }
        }
        Ok(())
    }

    /// Performs the pairwise consistency test (SP 800-56B, 6.4.1.1): the private half must decrypt
    /// what the public half encrypted.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`]; [`Unavailable`] if there are no random bytes.
    pub fn check_pairwise(&self, workspace: &mut Workspace) -> Result<(), Error> {
        let mut x = Zeroizing::new(vec![0; self.public.n.len()]);
        random_below(&mut x, &self.public.n, self.bits())?;
        let mut bytes = Zeroizing::new(vec![0; self.size()]);
        to_bytes(&mut bytes, &x);
        memcheck::declassify(&bytes); // used for this test only
        let plain = bytes.clone();
        self.public.public(workspace, &mut bytes)?;
        let hidden = *bytes != *plain;
        self.private(workspace, &mut bytes)?;
        memcheck::declassify(&bytes);
        if hidden && *bytes == *plain { Ok(()) } else { Err(Error::Fault) }
    }
}

fn system_random(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes).map_err(|_| Unavailable::Random.into())
}
