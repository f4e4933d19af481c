//! The private and the public operation, once, for one number or for eight.
//!
//! Blinding, CRT, recombination and the check run on the kernel's own words: in eight lanes, eight
//! operations of eight keys go by at once. No branch or address depends on a secret; the time
//! depends on sizes and on public exponents.
//!
//! Steps (RFC 8017 §5.1.2, with blinding around and the check behind):
//!
//! 1. x := c * r^e mod n. The pair (r^e, r^-1) comes from [`crate::blinding`].
//! 2. i.   `m_1` := x^{`d_p`} mod p, `m_2` := x^{`d_q`} mod q, side by side.
//! 3. iii. h := (`m_1` - `m_2`) * `q_inv` mod p.
//! 4. iv.  s := (`m_2` + q * h) * r^-1 mod n.
//! 5. s^e mod n must be c. Unblinding stands before the check, so that the check covers it too; c
//!    is read again from the caller's buffer, so that it covers the first reading.
//!
//! x < n < R(p)^2 holds for any two primes that fit one shape, and q * h + `m_2` < n.

use tollgate_mont::{Kernel, Modulus, Word, carry};
use zeroize::Zeroize;

use crate::error::Error;
#[cfg(test)]
use crate::fault;
use crate::fresh::Fresh;
use crate::material::{Exponent, Numbers};

/// How x^d mod n is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Modulo p and q, with exponents of half the length.
    Crt,
    /// Modulo n, with d: only to measure what CRT gives.
    Full,
}

/// A kernel and its memory: grows to the largest key it has seen, then allocates no more. Wiped
/// after each operation, and when dropped.
pub(crate) struct Runner<K: Kernel> {
    pub(crate) kernel: K,
    memory: Vec<K::Word>,
    /// Words that may hold secrets.
    used: usize,
}

/// The values of one operation on the way, K(n) words each, and the scratch behind them.
pub(crate) struct Registers<'a, W> {
    /// The input: a number below n, clean.
    pub(crate) c: &'a mut [W],
    /// The result: below n, clean.
    pub(crate) s: &'a mut [W],
    /// The blinding pair, in Montgomery form, operands: r^e.
    pub(crate) blind: &'a mut [W],
    /// And r^-1.
    pub(crate) unblind: &'a mut [W],
    x: &'a mut [W],
    y: &'a mut [W],
    u: &'a mut [W],
    rest: &'a mut [W],
}

/// Slices of K(n) words in [`Registers`].
const REGISTERS: usize = 7;

/// Slices of K(p) words that recombination needs.
const PRIME_REGISTERS: usize = 4;

impl<K: Kernel> Runner<K> {
    pub(crate) fn new(kernel: K) -> Self {
        Self { kernel, memory: Vec::new(), used: 0 }
    }

    /// So many words; holds what the last use left.
    pub(crate) fn memory(&mut self, words: usize) -> &mut [K::Word] {
        if self.memory.len() < words {
            self.wipe();
            self.memory.resize(words, K::Word::default());
        }
        self.used = self.used.max(words);
        &mut self.memory[..words]
    }

    /// Makes room for `words` words, and cuts it up for a modulus of `k` words.
    pub(crate) fn registers(&mut self, k: usize, words: usize) -> Registers<'_, K::Word> {
        let (c, rest) = self.memory(words).split_at_mut(k);
        let (s, rest) = rest.split_at_mut(k);
        let (blind, rest) = rest.split_at_mut(k);
        let (unblind, rest) = rest.split_at_mut(k);
        let (x, rest) = rest.split_at_mut(k);
        let (y, rest) = rest.split_at_mut(k);
        let (u, rest) = rest.split_at_mut(k);
        Registers { c, s, blind, unblind, x, y, u, rest }
    }

    /// Wipes what the last operation left.
    pub(crate) fn wipe(&mut self) {
        let used = &mut self.memory[..self.used];
        self.kernel.wide(
            #[inline(always)]
            || used.zeroize(),
        );
        self.used = 0;
    }

    /// Whether the last operation left nothing; for tests.
    #[cfg(test)]
    pub(crate) fn is_wiped(&self) -> bool {
        (0..K::Word::LANES).all(|lane| self.memory.iter().all(|word| word.lane(lane) == 0))
    }
}

impl<K: Kernel> Drop for Runner<K> {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// Words of memory for private operations with these numbers.
pub(crate) fn private_words<K: Kernel>(
    kernel: K,
    numbers: &Numbers<'_, K::Word>,
    method: Method,
) -> usize {
    let (n, prime) = (numbers.n, numbers.primes.pair.p());
    let crt = PRIME_REGISTERS * prime.k()
        + kernel.exp_words(prime.shape(), numbers.bits.prime).max(prime.scratch_words());
    let full = match method {
        Method::Crt => 0,
        Method::Full => kernel.exp_words(n.shape(), numbers.bits.n),
    };
    public_words(kernel, n).max(REGISTERS * n.k() + crt.max(full))
}

/// Words of memory for public operations modulo n.
pub(crate) fn public_words<K: Kernel>(kernel: K, n: &Modulus<K::Word>) -> usize {
    REGISTERS * n.k() + kernel.exp_words(n.shape(), 1).max(n.scratch_words())
}

/// s := c^d mod n, blinded; then the pair moves on (r := r^2). What [`check`] does not find good
/// must not leave.
pub(crate) fn private<K: Kernel>(
    kernel: K,
    numbers: &Numbers<'_, K::Word>,
    method: Method,
    r: &mut Registers<'_, K::Word>,
) {
    let n = numbers.n;
    #[cfg(test)]
    fault::point("input", r.c);
    #[cfg(test)]
    fault::point("blind", r.blind);
    #[cfg(test)]
    fault::point("unblind", r.unblind);
    kernel.amm(r.x, r.c, r.blind, n, r.rest);
    #[cfg(test)]
    fault::point("blinded", r.x);
    match method {
        Method::Crt => crt(kernel, numbers, Exponent::D, r),
        Method::Full => full(kernel, numbers, r),
    }
    kernel.amm(r.s, r.x, r.unblind, n, r.rest);
    #[cfg(test)]
    fault::point("unblinded", r.s);
    kernel.ams(r.y, r.blind, n, r.rest);
    kernel.ams(r.u, r.unblind, n, r.rest);
    kernel.wide(
        #[inline(always)]
        || {
            r.blind.copy_from_slice(r.y);
            r.unblind.copy_from_slice(r.u);
            carry::reduce(r.s, n.m());
        },
    );
    #[cfg(test)]
    fault::point("s", r.s);
    kernel.exp_vartime(n, r.s, numbers.e, r.x, r.rest);
    #[cfg(test)]
    fault::point("s^e", r.x);
}

/// All ones in each lane where s^e = c: after [`private`], with c read again.
pub(crate) fn check<K: Kernel>(kernel: K, r: &Registers<'_, K::Word>) -> K::Word {
    kernel.wide(
        #[inline(always)]
        || carry::equal(r.x, r.c),
    )
}

/// Makes `count` fresh pairs (r^e, r^-1), in Montgomery form, each from a random number
/// r < n that `draw` gives. They lie behind the memory of [`private_words`].
///
/// An r that is no unit (chance 2^-120 at most, for the smallest primes that are taken) or a fault
/// in the inversion shows in the check of the first operation, which has the first pair; a fault in
/// what is of one pair alone, in the first operation of that pair.
///
/// # Errors
///
/// What `draw` gives.
pub(crate) fn make_pairs<'a, K: Kernel>(
    kernel: K,
    numbers: &Numbers<'_, K::Word>,
    count: usize,
    r: &mut Registers<'a, K::Word>,
    mut draw: impl FnMut(&mut [K::Word]) -> Result<(), Error>,
) -> Result<Fresh<'a, K::Word>, Error> {
    let (n, k) = (numbers.n, numbers.n.k());
    let rest = core::mem::take(&mut r.rest);
    let (rest, memory) = rest.split_at_mut(rest.len() - Fresh::<K::Word>::words(k, count));
    r.rest = rest;
    let mut fresh = Fresh::new(k, count, memory);
    for i in 0..count {
        let (blind, unit) = fresh.pair_mut(i);
        draw(r.c)?;
        kernel.exp_vartime(n, r.c, numbers.e, r.x, r.rest);
        kernel.amm(blind, r.x, n.rr(), n, r.rest);
        kernel.amm(unit, r.c, n.rr(), n, r.rest);
    }
    fresh.multiply(kernel, n, r.rest);
    kernel.amm(r.x, fresh.product(), n.unit(), n, r.rest);
    crt(kernel, numbers, Exponent::Inverse, r);
    kernel.amm(fresh.product(), r.x, n.rr(), n, r.rest);
    fresh.invert(kernel, n, r.rest);
    Ok(fresh)
}

/// s := c^e mod n, for c < n.
pub(crate) fn public<K: Kernel>(
    kernel: K,
    n: &Modulus<K::Word>,
    e: &[K::Word],
    r: &mut Registers<'_, K::Word>,
) {
    kernel.exp_vartime(n, r.c, e, r.s, r.rest);
}

/// x := x^d mod n without CRT, for x < R; below n.
fn full<K: Kernel>(kernel: K, numbers: &Numbers<'_, K::Word>, r: &mut Registers<'_, K::Word>) {
    kernel.exp(numbers.n, numbers.bits.n, r.x, &numbers.exponents.d, r.y, r.rest);
    r.x.copy_from_slice(r.y);
    #[cfg(test)]
    fault::point("m", r.x);
}

/// x := x^d or x^-1 mod n by CRT, for x < R (dirty digits will do); below n.
fn crt<K: Kernel>(
    kernel: K,
    numbers: &Numbers<'_, K::Word>,
    exponent: Exponent,
    r: &mut Registers<'_, K::Word>,
) {
    let (primes, p) = (numbers.primes, numbers.primes.pair.p());
    let k = p.k();
    let (m_1, rest) = r.rest.split_at_mut(k);
    let (m_2, rest) = rest.split_at_mut(k);
    let (a, rest) = rest.split_at_mut(k);
    let (b, t) = rest.split_at_mut(k);

    // i. Let m_1 = x^d_p mod p and m_2 = x^d_q mod q.
    let e = numbers.exponents.modulo_primes(exponent);
    kernel.exp_pair(&primes.pair, numbers.bits.prime, r.x, e, [&mut *m_1, &mut *m_2], t);
    #[cfg(test)]
    fault::point("m_1", m_1);
    #[cfg(test)]
    fault::point("m_2", m_2);
    // iii. Let h = (m_1 - m_2) * q_inv mod p; m_2 may exceed p, and R / R of it does not.
    kernel.amm(a, m_2, p.one(), p, t);
    #[cfg(test)]
    fault::point("m_2 mod p", a);
    kernel.wide(
        #[inline(always)]
        || {
            carry::reduce(a, p.m());
            carry::sub_mod(b, m_1, a, p.m());
        },
    );
    #[cfg(test)]
    fault::point("m_1 - m_2", b);
    kernel.amm(a, b, &primes.q_inv, p, t); // h, below 3p
    #[cfg(test)]
    fault::point("h", a);
    // iv. Let m = m_2 + q * h: below n, so the product mod n is the product and nothing wraps.
    let n = numbers.n;
    kernel.wide(
        #[inline(always)]
        || {
            carry::reduce(a, p.m());
            r.x.fill(Word::splat(0));
            r.x[..k].copy_from_slice(a);
            r.u[..k].copy_from_slice(m_2);
        },
    );
    kernel.amm(r.y, r.x, &primes.q_n, n, r.rest);
    #[cfg(test)]
    fault::point("q * h", r.y);
    kernel.wide(
        #[inline(always)]
        || {
            carry::reduce(r.y, n.m());
            carry::add(r.x, r.y, &r.u[..k]);
        },
    );
    #[cfg(test)]
    fault::point("m", r.x);
}
