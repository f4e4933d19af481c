//! Key generation: FIPS 186-5, A.1.3, random probable primes.
//!
//! * [`sieve`]: what small primes divide goes first.
//! * [`miller_rabin`]: rounds on eight candidates at once, a lane each.
//! * [`search`]: candidates, and the two that stand.
//! * [`derive`]: the numbers of the key.
//!
//! What time tells: how many candidates were discarded, and at which small prime each of them; they
//! are independent of the two that stay, as A.1.3 draws each anew. On the way of those two nothing
//! branches or indexes on their bits: they are divided by all small primes, raised to powers and
//! squared as often as any other. One thing is told, and accepted: more than
//! [`miller_rabin::SQUARINGS`] squarings say that a candidate less one is divisible by so high a
//! power of two, which it is for one key in 32,768.

use core::ops::RangeInclusive;

use tollgate_cpu::memcheck;
use tollgate_mont::LANES;
use zeroize::Zeroizing;

use crate::blinding::random_below;
use crate::error::{
    Error, MODULUS_BITS_MAX, MODULUS_BITS_MIN, Misuse, Prime, Rejected, Unavailable,
};
use crate::key::{PrivateKey, SECURE_BITS, bit_length, from_bytes, to_bytes};
use crate::workspace::Workspace;

pub(crate) mod derive;
mod gcd;
mod miller_rabin;
mod search;
mod sieve;
#[cfg(test)]
mod tests;

use miller_rabin::{Candidate, Test};

/// Rounds for a prime from elsewhere: a composite passes one with a chance of a quarter at most.
const CHECK_ROUNDS: usize = 64;

/// Where random bytes come from: the system, or a seed in tests.
type Random<'a> = &'a mut dyn FnMut(&mut [u8]) -> Result<(), Error>;

/// How far a generation is: see [`Generation::watched`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Candidates that were tested by exponentiation so far.
    pub tested: usize,
    /// How many that is on average when the key is done.
    pub expected: usize,
    /// Primes that stand: 0, 1 or 2.
    pub primes: usize,
}

/// What key to make, and [`run`](Self::run).
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
    /// A key of so many bits, 2048 to 8192 and even, with e = 65537.
    pub fn new(bits: usize) -> Self {
        Self { bits, e: vec![1, 0, 1], insecure: false, watch: None }
    }

    /// A key that protects nothing, for tests and old papers' tables: from 512 bits on, and e from
    /// 3 on.
    pub fn insecure(bits: usize) -> Self {
        Self { insecure: true, ..Self::new(bits) }
    }

    /// With another public exponent, big-endian: odd, above 2^16 and below 2^256.
    #[must_use]
    pub fn exponent(mut self, e: &[u8]) -> Self {
        self.e = e[e.iter().take_while(|&&byte| byte == 0).count()..].to_vec();
        self
    }

    /// Calls `watch` after each eight candidates. What it is told, an observer of the time knows.
    #[must_use]
    pub fn watched(mut self, watch: &'a mut dyn FnMut(Progress)) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Makes the key, of random bytes from the operating system.
    ///
    /// It is checked as one that is loaded, and by a pairwise consistency test: what its public
    /// half hides its private half finds.
    ///
    /// # Errors
    ///
    /// [`Misuse`] for a size or an exponent that is out of range; [`Error::Fault`] if the finished
    /// key fails its test; [`Unavailable`] without random bytes, or if these give no primes.
    pub fn run(self, workspace: &mut Workspace) -> Result<PrivateKey, Error> {
        self.run_with(workspace, &mut system_random)
    }

    fn run_with(mut self, ws: &mut Workspace, random: Random<'_>) -> Result<PrivateKey, Error> {
        self.check()?;
        let mut nobody = |_| ();
        let watch = self.watch.take().unwrap_or(&mut nobody);
        let (kernel, runner) = (ws.limbs.kernel, &mut ws.lanes);
        let key = search::key_parts(kernel, runner, self.bits, &self.e, random, watch);
        runner.wipe();
        let key = PrivateKey::from_parts(&key?)?;
        key.check_pairwise(ws)?;
        Ok(key)
    }

    fn check(&self) -> Result<(), Error> {
        let least_bits = if self.insecure { MODULUS_BITS_MIN } else { SECURE_BITS };
        if !(least_bits..=MODULUS_BITS_MAX).contains(&self.bits) || self.bits % 2 == 1 {
            return Err(Misuse::NewKeyBits { bits: self.bits, least_bits }.into());
        }
        let odd = self.e.last().is_some_and(|byte| byte % 2 == 1);
        // without leading zeros: 2^16 has 17 bits and is even; 1 is no exponent
        let bytes: RangeInclusive<usize> = if self.insecure { 1..=32 } else { 3..=32 };
        if !odd || !bytes.contains(&self.e.len()) || self.e == [1] {
            return Err(Misuse::NewKeyExponent.into());
        }
        Ok(())
    }
}

impl PrivateKey {
    /// A new key of 2048 to 8192 bits with e = 65537: [`Generation`] has more choices.
    ///
    /// # Errors
    ///
    /// As [`Generation::run`].
    pub fn generate(workspace: &mut Workspace, bits: usize) -> Result<Self, Error> {
        Generation::new(bits).run(workspace)
    }
}

impl PrivateKey {
    /// Whether p and q are prime, by 64 rounds of Miller-Rabin each: for a key from elsewhere,
    /// whose primes nobody need have drawn at random. Not part of loading: it takes as long as
    /// dozens of signatures.
    ///
    /// # Errors
    ///
    /// [`Rejected::PrimeComposite`]; [`Unavailable`] without random bytes.
    pub fn check_primes(&self, workspace: &mut Workspace) -> Result<(), Error> {
        let parts = self.to_parts();
        for (bytes, prime) in [(&parts.p, Prime::P), (&parts.q, Prime::Q)] {
            let mut limbs = Zeroizing::new(vec![0; bytes.len().div_ceil(8)]);
            from_bytes(&mut limbs, bytes);
            let bits = bit_length(&limbs);
            let candidate = Candidate::new(limbs, bits);
            let mut test = Test::new(&mut workspace.lanes, bits);
            let mut good = true;
            for _ in 0..CHECK_ROUNDS / LANES {
                let verdicts = test.round([&candidate; LANES], &mut system_random)?;
                good &= verdicts.into_iter().all(|good| good);
            }
            drop(test);
            workspace.lanes.wipe();
            if !good {
                return Err(Rejected::PrimeComposite(prime).into());
            }
        }
        Ok(())
    }

    /// The pairwise consistency test (SP 800-56B, 6.4.1.1): what the public half hides the private
    /// half finds.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`]; [`Unavailable`] without random bytes.
    pub fn check_pairwise(&self, workspace: &mut Workspace) -> Result<(), Error> {
        let mut x = Zeroizing::new(vec![0; self.public.n.len()]);
        random_below(&mut x, &self.public.n, self.bits())?;
        let mut bytes = Zeroizing::new(vec![0; self.size()]);
        to_bytes(&mut bytes, &x);
        memcheck::declassify(&bytes); // drawn for this test alone
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
