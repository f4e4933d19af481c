//! The numbers of a key, ready for a kernel: in limbs, in digits, and eight keys in rows.

use tollgate_mont::{Digit, Modulus, Pair, Place, Row, Scalar, Shape, Word};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::validate::Checked;

/// 64-bit words of a public exponent: below 2^256.
pub(crate) const E_WORDS: usize = 4;

/// The primes and what recombination needs, in one radix. Wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Primes<W: Zeroize> {
    pub(crate) pair: Pair<W>,
    /// 1/q in Montgomery form mod p.
    pub(crate) q_inv: Vec<W>,
    /// q in Montgomery form mod n: a product with h gives q*h.
    pub(crate) q_n: Vec<W>,
}

/// Secret exponents, 64-bit words, little-endian. Wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Exponents<W: Zeroize> {
    pub(crate) d: Vec<W>,
    pub(crate) d_p: Vec<W>,
    pub(crate) d_q: Vec<W>,
    /// p - 2: x to this power is x^-1 mod p.
    pub(crate) inverse_p: Vec<W>,
    /// q - 2.
    pub(crate) inverse_q: Vec<W>,
}

/// Which exponents an exponentiation modulo p and q takes.
#[derive(Clone, Copy)]
pub(crate) enum Exponent {
    /// d: a private operation.
    D,
    /// -1: what makes blinding pairs.
    Inverse,
}

impl<W: Zeroize> Exponents<W> {
    /// Those modulo p and q.
    pub(crate) fn modulo_primes(&self, exponent: Exponent) -> [&[W]; 2] {
        match exponent {
            Exponent::D => [&self.d_p, &self.d_q],
            Exponent::Inverse => [&self.inverse_p, &self.inverse_q],
        }
    }
}

/// What decides whether two keys can share a batch, and how long an operation takes. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) n: Shape,
    pub(crate) prime: Shape,
}

/// Everything an operation needs of a key (`W = u64`) or of eight (`W = Row`), borrowed.
pub(crate) struct Numbers<'a, W: Zeroize> {
    pub(crate) n: &'a Modulus<W>,
    pub(crate) e: &'a [W],
    pub(crate) primes: &'a Primes<W>,
    pub(crate) exponents: &'a Exponents<W>,
    /// Bits of n and of the longer prime, the most of all lanes.
    pub(crate) bits: Bits,
}

/// Lengths of the exponents. Public.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bits {
    pub(crate) n: usize,
    pub(crate) prime: usize,
}

impl Bits {
    pub(crate) fn max(self, other: Self) -> Self {
        Self { n: self.n.max(other.n), prime: self.prime.max(other.prime) }
    }
}

impl<S: Scalar> Primes<S> {
    /// From a checked key; `n` is its modulus in the same radix, `shape` fits both primes.
    pub(crate) fn new(key: &Checked, n: &Modulus<S>, shape: Shape) -> Self {
        let modulus = |m: &[u64]| Modulus::new(m, shape).expect("primes of a checked key are odd");
        let p = modulus(&key.p);
        let q_inv = p.enter(&key.q_inv);
        Self { pair: Pair::new(p, modulus(&key.q)), q_inv, q_n: n.enter(&key.q) }
    }
}

impl Exponents<u64> {
    /// From a checked key: exponents modulo p and q as long as the longer prime.
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
            d: key.d.to_vec(),
            d_p: extend(&key.d_p),
            d_q: extend(&key.d_q),
            inverse_p: less_two(&key.p),
            inverse_q: less_two(&key.q),
        }
    }
}

/// Eight keys of one class, a lane each.
pub(crate) struct Lanes {
    class: Class,
    n: Modulus<Row>,
    e: Vec<Row>,
    primes: Primes<Row>,
    exponents: Exponents<Row>,
    bits: Bits,
}

impl Lanes {
    /// No keys yet; the smallest shape.
    pub(crate) fn new() -> Self {
        let shape = Shape::digits(1);
        Self {
            class: Class { n: shape, prime: shape },
            n: Modulus::lanes(shape),
            e: vec![Row::default(); E_WORDS],
            primes: Primes { pair: Pair::lanes(shape), q_inv: Vec::new(), q_n: Vec::new() },
            exponents: Exponents {
                d: Vec::new(),
                d_p: Vec::new(),
                d_q: Vec::new(),
                inverse_p: Vec::new(),
                inverse_q: Vec::new(),
            },
            bits: Bits::default(),
        }
    }

    /// Makes room for public numbers; allocates only for the largest shape so far.
    pub(crate) fn reshape_public(&mut self, n: Shape) {
        self.n.reshape(n);
        self.class.n = n;
        self.bits = Bits::default();
    }

    /// Makes room for a class; allocates only for the largest so far. All lanes must be loaded
    /// again.
    pub(crate) fn reshape(&mut self, class: Class) {
        self.reshape_public(class.n);
        self.class = class;
        self.primes.pair.each_mut().into_iter().for_each(|m| m.reshape(class.prime));
        let words = |shape: Shape| (shape.k() * Digit::BITS).div_ceil(64);
        let x = &mut self.exponents;
        for (v, len) in [
            (&mut self.primes.q_inv, class.prime.k()),
            (&mut self.primes.q_n, class.n.k()),
            (&mut x.d, words(class.n)),
            (&mut x.d_p, words(class.prime)),
            (&mut x.d_q, words(class.prime)),
            (&mut x.inverse_p, words(class.prime)),
            (&mut x.inverse_q, words(class.prime)),
        ] {
            v.resize(len, Row::default());
        }
    }

    /// Overwrites the secret numbers of all eight keys. After each private batch: a key that is
    /// dropped must be gone, and [`reshape`](Self::reshape) must find nothing to leave behind.
    pub(crate) fn wipe(&mut self) {
        self.primes.pair.each_mut().into_iter().for_each(Modulus::wipe);
        let x = &mut self.exponents;
        for v in [
            &mut self.primes.q_inv,
            &mut self.primes.q_n,
            &mut x.d,
            &mut x.d_p,
            &mut x.d_q,
            &mut x.inverse_p,
            &mut x.inverse_q,
        ] {
            v.as_mut_slice().zeroize();
        }
    }

    /// Copies a public key into a lane, or all.
    #[inline(always)] // as the others: for the vectors of `Kernel::wide`
    pub(crate) fn load_public(&mut self, place: Place, n: &Modulus<Digit>, e: &[u64], bits: Bits) {
        self.n.load(place, n);
        load_words(&mut self.e, place, e);
        self.bits = self.bits.max(bits);
    }

    /// Copies the secret numbers of a key into a lane, or all: those that every operation needs.
    #[inline(always)]
    pub(crate) fn load_secret(
        &mut self,
        place: Place,
        primes: &Primes<Digit>,
        exponents: &Exponents<u64>,
    ) {
        let [p, q] = self.primes.pair.each_mut();
        p.load(place, primes.pair.p());
        q.load(place, primes.pair.q());
        load_digits(&mut self.primes.q_inv, place, &primes.q_inv);
        load_digits(&mut self.primes.q_n, place, &primes.q_n);
        let x = &mut self.exponents;
        load_words(&mut x.d_p, place, &exponents.d_p);
        load_words(&mut x.d_q, place, &exponents.d_q);
    }

    /// Copies the exponent of operations without CRT.
    #[inline(always)]
    pub(crate) fn load_full(&mut self, place: Place, exponents: &Exponents<u64>) {
        load_words(&mut self.exponents.d, place, &exponents.d);
    }

    /// Copies the exponents of inversions.
    pub(crate) fn load_inverse(&mut self, place: Place, exponents: &Exponents<u64>) {
        load_words(&mut self.exponents.inverse_p, place, &exponents.inverse_p);
        load_words(&mut self.exponents.inverse_q, place, &exponents.inverse_q);
    }

    /// n and e.
    pub(crate) fn public(&self) -> (&Modulus<Row>, &[Row]) {
        (&self.n, &self.e)
    }

    /// Whether nothing secret is left; for tests.
    #[cfg(test)]
    pub(crate) fn is_wiped(&self) -> bool {
        let x = &self.exponents;
        let moduli = [self.primes.pair.p(), self.primes.pair.q()].into_iter();
        let numbers = [&self.primes.q_inv, &self.primes.q_n, &x.d, &x.d_p, &x.d_q, &x.inverse_p];
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
            bits: self.bits,
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

/// A number, as long as the rows.
#[inline(always)]
pub(crate) fn load_digits(rows: &mut [Row], place: Place, digits: &[Digit]) {
    for (row, digit) in rows.iter_mut().zip(digits) {
        place.put(row, digit.bits());
    }
}

/// 64-bit words, zero-extended.
#[inline(always)]
pub(crate) fn load_words(rows: &mut [Row], place: Place, words: &[u64]) {
    for (j, row) in rows.iter_mut().enumerate() {
        place.put(row, words.get(j).copied().unwrap_or(0));
    }
}
