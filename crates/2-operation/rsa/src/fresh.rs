//! Fresh blinding pairs, several at once: one inversion serves them all.
//!
//! To invert modulo n costs an exponentiation modulo p and q, as much as an operation. Several
//! numbers need it once: with the inverse of their product each follows by products (P. L.
//! Montgomery, Speeding the Pollard and elliptic curve methods, 1987, §10.3.1).

use tollgate_mont::{Kernel, Modulus, Word};

/// Pairs that are made at once. More of them would save little: at eight, what an operation pays
/// for fresh pairs is a sixth of what single inversions cost.
pub(crate) const AT_ONCE: usize = 8;

/// The same in lanes, where eight operations lay up theirs: at RSA-4096 40 KB for a key.
pub(crate) const AT_ONCE_IN_LANES: usize = 4;

/// Pairs on the way, K(n) words for each number.
pub(crate) struct Fresh<'a, W> {
    k: usize,
    /// r^e, in Montgomery form.
    blinds: &'a mut [W],
    /// r, then r^-1, in Montgomery form.
    units: &'a mut [W],
    /// Products of the first r, the first two and so on; behind them room for one number.
    products: &'a mut [W],
}

impl<'a, W: Word> Fresh<'a, W> {
    /// Words of memory for `count` pairs.
    pub(crate) fn words(k: usize, count: usize) -> usize {
        (3 * count + 1) * k
    }

    /// In memory of [`words`](Self::words).
    pub(crate) fn new(k: usize, count: usize, memory: &'a mut [W]) -> Self {
        let (blinds, rest) = memory.split_at_mut(count * k);
        let (units, products) = rest.split_at_mut(count * k);
        Self { k, blinds, units, products: &mut products[..(count + 1) * k] }
    }

    /// r^e and r of pair `i`, to be written.
    pub(crate) fn pair_mut(&mut self, i: usize) -> (&mut [W], &mut [W]) {
        let k = self.k;
        (&mut self.blinds[i * k..][..k], &mut self.units[i * k..][..k])
    }

    /// Multiplies all r: see [`product`](Self::product).
    pub(crate) fn multiply<K: Kernel<Word = W>>(&mut self, kernel: K, n: &Modulus<W>, t: &mut [W]) {
        let k = self.k;
        self.products[..k].copy_from_slice(&self.units[..k]);
        for (i, r) in self.units.chunks_exact(k).enumerate().skip(1) {
            let (done, z) = self.products.split_at_mut(i * k);
            kernel.amm(&mut z[..k], &done[(i - 1) * k..], r, n, t);
        }
    }

    /// The product of all r, in Montgomery form: its inverse goes to the same place.
    pub(crate) fn product(&mut self) -> &mut [W] {
        let last = self.units.len() - self.k;
        &mut self.products[last..][..self.k]
    }

    /// Each r becomes r^-1, once [`product`](Self::product) is inverted.
    pub(crate) fn invert<K: Kernel<Word = W>>(&mut self, kernel: K, n: &Modulus<W>, t: &mut [W]) {
        let (k, count) = (self.k, self.units.len() / self.k);
        let (products, room) = self.products.split_at_mut(count * k);
        for i in (1..count).rev() {
            let (before, inverse) = products.split_at_mut(i * k);
            let (before, inverse) = (&mut before[(i - 1) * k..], &inverse[..k]);
            let r = &mut self.units[i * k..][..k];
            kernel.amm(room, inverse, before, n, t);
            kernel.amm(before, inverse, r, n, t);
            r.copy_from_slice(room);
        }
        self.units[..k].copy_from_slice(&products[..k]);
    }

    /// r^e and r^-1 of each pair.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&[W], &[W])> {
        self.blinds.chunks_exact(self.k).zip(self.units.chunks_exact(self.k))
    }
}
