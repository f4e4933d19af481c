//! Fresh blinding pairs, several at once, with one inversion for all.
//!
//! An inversion modulo n costs as much as an operation: an exponentiation modulo p and q. The
//! inverse of a product gives the inverse of each factor by further products (P. L. Montgomery,
//! Speeding the Pollard and elliptic curve methods, 1987, §10.3.1).

use tollgate_mont::{Kernel, Modulus, Word};

/// The number of pairs made at once. An operation's share of the cost of fresh pairs is then a
/// sixth of its share with one inversion for each pair. More pairs at once would save little.
pub(crate) const AT_ONCE: usize = 8;

/// The number of pairs made at once for each lane. The pairs of eight lanes take 40 KB for a key of
/// 4096 bits.
pub(crate) const AT_ONCE_IN_LANES: usize = 4;

/// Pairs in the making. Each number has K(n) words.
pub(crate) struct Fresh<'a, W> {
    k: usize,
    /// r^e, in Montgomery form.
    blinds: &'a mut [W],
    /// r, then r^-1, in Montgomery form.
    units: &'a mut [W],
    /// The prefix products of the r; the last K(n) words are scratch.
    products: &'a mut [W],
}

impl<'a, W: Word> Fresh<'a, W> {
    /// Returns the number of words of memory for `count` pairs.
    pub(crate) fn words(k: usize, count: usize) -> usize {
        if count == 0 { 0 } else { (3 * count + 1) * k }
    }

    /// Takes memory of the size that [`words`](Self::words) returns.
    pub(crate) fn new(k: usize, count: usize, memory: &'a mut [W]) -> Self {
        let (blinds, rest) = memory.split_at_mut(count * k);
        let (units, products) = rest.split_at_mut(count * k);
        Self { k, blinds, units, products }
    }

    /// Returns the number of pairs.
    pub(crate) fn count(&self) -> usize {
        self.units.len() / self.k
    }

    /// Returns the places of r^e and r of pair `i`.
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

    /// Returns the product of all r, in Montgomery form; the caller replaces it by its inverse.
    pub(crate) fn product(&mut self) -> &mut [W] {
        let last = self.units.len() - self.k;
        &mut self.products[last..][..self.k]
    }

    /// Replaces each r by r^-1, from the last to the first. [`product`](Self::product) must have
    /// been inverted before.
    pub(crate) fn invert<K: Kernel<Word = W>>(&mut self, kernel: K, n: &Modulus<W>, t: &mut [W]) {
        let (k, count) = (self.k, self.count());
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

    /// Copies the first pair. The caller uses this pair at once. The pair depends on the whole
    /// inversion; the check of its operation therefore checks the inversion.
    pub(crate) fn first(&self, blind: &mut [W], unblind: &mut [W]) {
        blind.copy_from_slice(&self.blinds[..self.k]);
        unblind.copy_from_slice(&self.units[..self.k]);
    }

    /// Returns the other pairs. They are stored once the first one has passed its check.
    pub(crate) fn spares(&self) -> impl Iterator<Item = (&[W], &[W])> {
        self.blinds.chunks_exact(self.k).zip(self.units.chunks_exact(self.k)).skip(1)
    }
}

#[cfg(test)]
mod tests {
    use tollgate_mont::{LANES, LaneKernel, LimbKernel};

    use super::*;
    use crate::blinding::{Pool, USES};
    use crate::test_keys::{self, run};
    use crate::{Form, Plans, Workspace};

    /// Returns the remaining uses of all pairs in a pool, and their r^e.
    fn pairs<S: zeroize::DefaultIsZeroes>(
        pool: &Pool<S>,
        bits: impl Fn(&S) -> u64,
    ) -> Vec<(u32, Vec<u64>)> {
        let taken: Vec<_> =
            core::iter::repeat_with(|| pool.take()).take_while(|pair| pair.left > 0).collect();
        let seen = taken.iter().map(|pair| (pair.left, pair.blind.iter().map(&bits).collect()));
        let seen = seen.collect();
        taken.into_iter().for_each(|pair| pool.give(pair));
        seen
    }

    /// One inversion makes this many pairs, which differ and are correct. When they are spent,
    /// others replace them.
    #[test]
    fn every_pair_of_an_inversion_is_used_until_spent() {
        let forms = [(Form::One, 1, AT_ONCE), (Form::Lanes, LANES, AT_ONCE_IN_LANES)];
        for (limbs, (form, together, at_once)) in
            LimbKernel::all().into_iter().flat_map(|limbs| forms.map(|form| (limbs, form)))
        {
            let mut workspace =
                Workspace::with_kernels(limbs, LaneKernel::best()).with_plans(Plans::always(form));
            let in_blocks = workspace.blocks.is_some();
            let key = test_keys::key("rsa-1024");
            let mut run = |times: usize| {
                for _ in 0..times {
                    let outcomes = run(&mut workspace, &key, &mut vec![vec![7; 128]; together]);
                    assert!(outcomes.iter().all(Result::is_ok));
                }
            };
            let seen = || match form {
                Form::Lanes => pairs(&key.digit_pairs, |digit| digit.0),
                _ if in_blocks => {
                    let blocks = key.in_blocks.as_ref().expect("the key has blocks");
                    pairs(&blocks.pairs, |row| row.0[0])
                }
                _ => pairs(&key.limb_pairs, |limb| *limb),
            };
            run(1);
            let made = seen();
            assert_eq!(made.len(), together * at_once, "{limbs:?}, {form:?}");
            let left: u32 = made.iter().map(|(left, _)| left).sum();
            let total = together * at_once * usize::try_from(USES).expect("few");
            assert_eq!(usize::try_from(left), Ok(total - together), "{limbs:?}, {form:?}");
            let mut blinds: Vec<_> = made.into_iter().map(|(_, blind)| blind).collect();
            blinds.sort_unstable();
            blinds.dedup();
            assert_eq!(blinds.len(), together * at_once, "{limbs:?}, {form:?}: all differ");
            run(total / together - 1);
            assert_eq!(seen(), [], "{limbs:?}, {form:?}");
            run(1);
            let others = seen();
            assert_eq!(others.len(), together * at_once, "{limbs:?}, {form:?}");
            assert!(others.iter().all(|(_, blind)| !blinds.contains(blind)), "fresh ones");
        }
    }

    /// Tests an odd size of the modulus, another public exponent, and a modulus without lane
    /// blocks. Each turn removes the used pair; the next operation then takes another one.
    #[test]
    fn every_pair_is_correct_for_keys_of_any_kind() {
        for name in ["rsa-2047", "rsa-2048-e3", "rsa-8192"] {
            let limbs = LimbKernel::best();
            for (limbs, form, together, at_once) in [
                (limbs, Form::One, 1, AT_ONCE),
                (limbs.on_limbs(), Form::One, 1, AT_ONCE),
                (limbs, Form::Lanes, LANES, AT_ONCE_IN_LANES),
            ] {
                let key = test_keys::key(name);
                let mut workspace = Workspace::with_kernels(limbs, LaneKernel::best())
                    .with_plans(Plans::always(form));
                for turn in 0..at_once {
                    let mut buffers = vec![vec![7; key.size()]; together];
                    let good = run(&mut workspace, &key, &mut buffers).iter().all(Result::is_ok);
                    assert!(good, "{name}, {limbs:?}, {form:?}, pair {turn}");
                    for _ in 0..together {
                        let in_blocks =
                            key.in_blocks.as_ref().map(|in_blocks| in_blocks.pairs.take().left);
                        let others = [key.limb_pairs.take().left, key.digit_pairs.take().left];
                        let left = others.into_iter().chain(in_blocks).max().expect("three pools");
                        assert_eq!(left, USES - 1, "each pair was used once");
                    }
                }
            }
        }
    }
}
