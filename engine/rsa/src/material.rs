//! The numbers of a key in the form that kernels read: limbs, digits, or eight keys in rows.

use tollgate_mont::{
    Blocks, Digit, Kernel as _, LimbKernel, Modulus, Pair, Place, Row, Scalar, Shape, Word, carry,
};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::blinding::Pool;
use crate::fresh::AT_ONCE;
use crate::validate::Checked;

/// The number of 64-bit words of a public exponent, which is below 2^256.
pub(crate) const E_WORDS: usize = 4;

/// The primes and the constants of recombination, in one radix. Wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Primes<W: Zeroize> {
    pub(crate) pair: Pair<W>,
    /// 1/q in Montgomery form mod p.
    pub(crate) q_inv: Vec<W>,
    /// q in Montgomery form mod n: a product with h gives q*h.
    pub(crate) q_n: Vec<W>,
}

/// Secret exponents, 64-bit words, little-endian. Wiped when dropped.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Exponents<W: Zeroize> {
    pub(crate) d_p: Vec<W>,
    pub(crate) d_q: Vec<W>,
    /// p - 2: x to this power is x^-1 mod p.
    pub(crate) inverse_p: Vec<W>,
    /// q - 2.
    pub(crate) inverse_q: Vec<W>,
}

/// The exponents of an exponentiation modulo p and q.
#[derive(Clone, Copy)]
pub(crate) enum Exponent {
    /// d: a private operation.
    D,
    /// -1: an inversion, for blinding pairs.
    Inverse,
}

impl<W: Zeroize> Exponents<W> {
    /// Returns the exponents modulo p and q.
    pub(crate) fn modulo_primes(&self, exponent: Exponent) -> [&[W]; 2] {
        match exponent {
            Exponent::D => [&self.d_p, &self.d_q],
            Exponent::Inverse => [&self.inverse_p, &self.inverse_q],
        }
    }
}

/// The sizes of a key, which are public. Keys of one class can share lanes, and their operations
/// take the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) n: Shape,
    pub(crate) prime: Shape,
}

/// The numbers of one key (`W = u64`) or of eight keys (`W = Row`) that an operation needs,
/// borrowed.
#[derive(Clone, Copy)]
pub(crate) struct Numbers<'a, W: Zeroize> {
    pub(crate) n: &'a Modulus<W>,
    pub(crate) e: &'a [W],
    pub(crate) primes: &'a Primes<W>,
    pub(crate) exponents: &'a Exponents<W>,
    /// The length in bits of the longest prime in all lanes; public.
    pub(crate) prime_bits: usize,
}

impl<S: Scalar> Primes<S> {
    /// Converts a checked key; `n` is its modulus in the same radix, `shape` fits both primes.
    pub(crate) fn new(key: &Checked, n: &Modulus<S>, shape: Shape) -> Self {
        let modulus = |m: &[u64]| Modulus::new(m, shape).expect("primes of a checked key are odd");
        let p = modulus(&key.p);
        let q_inv = p.enter(&key.q_inv);
        Self { pair: Pair::new(p, modulus(&key.q)), q_inv, q_n: n.enter(&key.q) }
    }
}

impl Exponents<u64> {
    /// Converts a checked key. The exponents modulo p and q get the length of the longer prime.
    pub(crate) fn new(key: &Checked) -> Self {
        let len = key.p.len().max(key.q.len());
        let extend = |x: &[u64]| {
            let mut z = vec![0; len];
            z[..x.len()].copy_from_slice(x);
            z
        };
        let less_two = |p: &[u64]| {
            let (mut z, mut borrow) = (extend(p), 0);
            for (i, z) in z.iter_mut().enumerate() {
                *z = z.sub_borrow(if i == 0 { 2 } else { 0 }, &mut borrow);
            }
            z
        };
        Self {
            d_p: extend(&key.d_p),
            d_q: extend(&key.d_q),
            inverse_p: less_two(&key.p),
            inverse_q: less_two(&key.q),
        }
    }
}

/// The numbers of a key that lane blocks need in addition to its moduli. Wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct BlockNumbers {
    /// 1 mod p and 0 mod q, divided by R of the primes' blocks, in Montgomery form mod n.
    pub(crate) a: Vec<Row>,
    /// 0 mod p and 1 mod q, likewise.
    pub(crate) b: Vec<Row>,
    #[zeroize(skip)] // wipes itself when it is dropped
    pub(crate) pairs: Pool<Row>,
}

impl BlockNumbers {
    /// Converts the numbers of a key whose n has `limbs` limbs; `None` if n or the primes have no
    /// blocks.
    pub(crate) fn new(
        n: &Modulus<u64>,
        limbs: usize,
        primes: &Primes<u64>,
        q_inv: &[u64],
    ) -> Option<Self> {
        let (of_n, p) = (Blocks::of_shape(n.blocks()?.shape()), primes.pair.p());
        if !of_n.takes_sums() {
            return None;
        }
        let of_primes = primes.pair.blocks().or(p.blocks())?; // side by side, if two fit
        let halvings = of_primes.shape().r_bits();
        let (mut x, mut a) = (Zeroizing::new(vec![0; n.k()]), Zeroizing::new(vec![0; n.k()]));
        let (mut b, mut t) = (Zeroizing::new(vec![0; n.k()]), vec![0; n.scratch_words()]);
        x[..q_inv.len()].copy_from_slice(q_inv);
        LimbKernel::Portable.amm(&mut a, &x, &primes.q_n, n, &mut t); // q * q_inv, below n
        carry::reduce(&mut a, n.m());
        carry::sub_mod(&mut b, n.plain_one(), &a, n.m());
        t.zeroize();
        let enter = |x: &[u64]| n.enter_blocks(&x[..limbs], halvings);
        let pairs = Pool::new(of_n.k(), 2, AT_ONCE);
        Some(Self { a: enter(&a)?, b: enter(&b)?, pairs })
    }
}

/// Eight keys of one class, a lane each.
pub(crate) struct Lanes {
    class: Class,
    n: Modulus<Row>,
    e: Vec<Row>,
    primes: Primes<Row>,
    exponents: Exponents<Row>,
    prime_bits: usize,
    /// `true` if secret numbers were loaded after the last wipe.
    is_loaded: bool,
}

impl Lanes {
    /// Creates the memory for eight keys, with the smallest shape and no keys.
    pub(crate) fn new() -> Self {
        let shape = Shape::digits(1);
        Self {
            class: Class { n: shape, prime: shape },
            n: Modulus::lanes(shape),
            e: vec![Row::default(); E_WORDS],
            primes: Primes { pair: Pair::lanes(shape), q_inv: Vec::new(), q_n: Vec::new() },
            exponents: Exponents::default(),
            prime_bits: 0,
            is_loaded: false,
        }
    }

    /// Makes room for public numbers. Allocates only if the shape is the largest so far.
    pub(crate) fn reshape_public(&mut self, n: Shape) {
        self.n.reshape(n);
        self.class.n = n;
    }

    /// Makes room for a class of keys. Allocates only if the class is the largest so far. All lanes
    /// must then be loaded again.
    pub(crate) fn reshape(&mut self, class: Class) {
        self.reshape_public(class.n);
        (self.class, self.prime_bits) = (class, 0);
        self.primes.pair.each_mut().into_iter().for_each(|m| m.reshape(class.prime));
        let (k, words) = (class.prime.k(), (class.prime.k() * Digit::BITS).div_ceil(64));
        for (v, len) in self.secrets().into_iter().zip([k, class.n.k(), words, words, words, words])
        {
            v.resize(len, Row::default());
        }
    }

    /// Returns all secret numbers except the primes.
    fn secrets(&mut self) -> [&mut Vec<Row>; 6] {
        let Primes { q_inv, q_n, .. } = &mut self.primes;
        let Exponents { d_p, d_q, inverse_p, inverse_q } = &mut self.exponents;
        [q_inv, q_n, d_p, d_q, inverse_p, inverse_q]
    }

    /// Overwrites the secret numbers of all eight keys, if any were loaded. Every call must end
    /// with this, because the secrets of a dropped key must not remain. [`reshape`](Self::reshape)
    /// may also free memory that contains them.
    pub(crate) fn wipe(&mut self) {
        if !self.is_loaded {
            return;
        }
        self.primes.pair.each_mut().into_iter().for_each(Modulus::wipe);
        self.secrets().into_iter().for_each(|v| v.as_mut_slice().zeroize());
        self.is_loaded = false;
    }

    /// Copies a public key into a lane, or into all.
    #[inline(always)] // like the others: for `Kernel::with_target_features`
    pub(crate) fn load_public(&mut self, place: Place, n: &Modulus<Digit>, e: &[u64]) {
        self.n.load(place, n);
        load_words(&mut self.e, place, e);
    }

    /// Copies the secret numbers that every operation with a key needs into a lane, or into all.
    #[inline(always)]
    pub(crate) fn load_secret(
        &mut self,
        place: Place,
        primes: &Primes<Digit>,
        exponents: &Exponents<u64>,
        prime_bits: usize,
    ) {
        self.is_loaded = true;
        self.prime_bits = self.prime_bits.max(prime_bits);
        let [p, q] = self.primes.pair.each_mut();
        p.load(place, primes.pair.p());
        q.load(place, primes.pair.q());
        load_digits(&mut self.primes.q_inv, place, &primes.q_inv);
        load_digits(&mut self.primes.q_n, place, &primes.q_n);
        let x = &mut self.exponents;
        load_words(&mut x.d_p, place, &exponents.d_p);
        load_words(&mut x.d_q, place, &exponents.d_q);
    }

    /// Copies the exponents of inversions.
    pub(crate) fn load_inverse(&mut self, place: Place, exponents: &Exponents<u64>) {
        load_words(&mut self.exponents.inverse_p, place, &exponents.inverse_p);
        load_words(&mut self.exponents.inverse_q, place, &exponents.inverse_q);
    }

    /// Returns n and e.
    pub(crate) fn public(&self) -> (&Modulus<Row>, &[Row]) {
        (&self.n, &self.e)
    }

    /// Returns whether nothing secret is left; for tests.
    #[cfg(test)]
    pub(crate) fn is_wiped(&self) -> bool {
        let x = &self.exponents;
        let moduli = [self.primes.pair.p(), self.primes.pair.q()].into_iter();
        let numbers = [&self.primes.q_inv, &self.primes.q_n, &x.d_p, &x.d_q, &x.inverse_p];
        moduli
            .flat_map(|m| m.m().iter().chain(m.rr()))
            .chain(numbers.into_iter().flatten())
            .chain(&x.inverse_q)
            .all(|row| *row == Row::default())
    }

    pub(crate) fn numbers(&self) -> Numbers<'_, Row> {
        Numbers {
            n: &self.n,
            e: &self.e,
            primes: &self.primes,
            exponents: &self.exponents,
            prime_bits: self.prime_bits,
        }
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.n.zeroize();
        self.primes.zeroize();
        self.exponents.zeroize();
    }
}

/// Copies a number into its place in the rows.
#[inline(always)]
pub(crate) fn load_digits(rows: &mut [Row], place: Place, digits: &[Digit]) {
    for (row, digit) in rows.iter_mut().zip(digits) {
        place.put(row, digit.bits());
    }
}

/// Copies 64-bit words into their place in the rows, zero-extended.
#[inline(always)]
pub(crate) fn load_words(rows: &mut [Row], place: Place, words: &[u64]) {
    for (j, row) in rows.iter_mut().enumerate() {
        place.put(row, words.get(j).copied().unwrap_or(0));
    }
}
