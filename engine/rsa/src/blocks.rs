//! Private operations in lane blocks: one, or two in step.
//!
//! In blocks no number is reduced on the way: every product takes what the one before gives, and
//! only the result and its check come down to numbers below n. Two operations in step exponentiate
//! four numbers side by side, in one chain of products.
//!
//! The steps are those of [`crate::private`], but for the recombination: with a = 1 mod p and 0 mod
//! q, and b the other way round, s = (`m_1` * a + `m_2` * b) * r^-1 mod n. a and b also take `m_1`
//! and `m_2` out of the Montgomery form of p and q.

use tollgate_cpu::memcheck;
use tollgate_mont::{BlockKernel, Blocks, Kernel, LimbKernel, Modulus, Power, Row, carry};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::blinding::{Pair, Pool, USES, random_below};
use crate::error::Error;
#[cfg(test)]
use crate::fault;
use crate::fresh::{AT_ONCE, Fresh};
use crate::key::{PrivateKey, from_bytes, to_bytes};
use crate::material::{Exponent, Primes};
use crate::private::Runner;
use crate::workspace::LIMBS_MAX;

/// A kernel and its memory, wiped as that of a [`Runner`] is.
pub(crate) struct BlockRunner {
    runner: Runner<BlockKernel>,
    /// Where the primes of two keys come together.
    four: Box<Modulus<Row>>,
}

impl BlockRunner {
    pub(crate) fn new(kernel: BlockKernel) -> Self {
        Self { runner: Runner::new(kernel), four: Box::new(Modulus::unloaded()) }
    }

    fn wipe(&mut self) {
        self.runner.wipe();
        self.four.wipe();
    }
}

/// What blocks need of a key beside its moduli. Wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct InBlocks {
    /// 1 mod p and 0 mod q, divided by R of the primes' blocks, in Montgomery form mod n.
    pub(crate) a: Vec<Row>,
    /// 0 mod p and 1 mod q, likewise.
    pub(crate) b: Vec<Row>,
    #[zeroize(skip)] // wipes itself
    pub(crate) pairs: Pool<Row>,
}

impl InBlocks {
    /// From the numbers of a key, whose n is `limbs` long; none where n or the primes have no
    /// blocks.
    pub(crate) fn new(
        n: &Modulus<u64>,
        limbs: usize,
        primes: &Primes<u64>,
        q_inv: &[u64],
    ) -> Option<Self> {
        let (wide, p) = (layout(n)?, primes.pair.p());
        if !wide.takes_sums() {
            return None;
        }
        let of_primes = primes.pair.blocks().or(p.blocks())?; // side by side, where two fit
        let halvings = of_primes.shape().r_bits();
        let (mut x, mut a) = (Zeroizing::new(vec![0; n.k()]), Zeroizing::new(vec![0; n.k()]));
        let (mut b, mut t) = (Zeroizing::new(vec![0; n.k()]), vec![0; n.scratch_words()]);
        x[..q_inv.len()].copy_from_slice(q_inv);
        LimbKernel::Portable.amm(&mut a, &x, &primes.q_n, n, &mut t); // q * q_inv, below n
        carry::reduce(&mut a, n.m());
        carry::sub_mod(&mut b, n.unit(), &a, n.m());
        t.zeroize();
        let enter = |x: &[u64]| n.enter_blocks(&x[..limbs], halvings);
        let pairs = Pool::new(wide.k(), 2, AT_ONCE);
        Some(Self { a: enter(&a)?, b: enter(&b)?, pairs })
    }
}

fn layout(n: &Modulus<u64>) -> Option<Blocks> {
    n.blocks().map(|set| Blocks::of_shape(set.shape()))
}

/// Whether two operations can go in step: the same sizes and public exponent, and room in a set for
/// both primes.
pub(crate) fn alike(a: &PrivateKey, b: &PrivateKey) -> bool {
    let size = |key: &PrivateKey| (key.public.limbs.shape(), key.limbs.pair.p().shape());
    let side_by_side =
        |key: &PrivateKey| key.in_blocks.is_some() && key.limbs.pair.twice().is_some();
    side_by_side(a)
        && side_by_side(b)
        && size(a) == size(b)
        && a.prime_bits == b.prime_bits
        && a.public.e == b.public.e
}

/// c := c^d mod n in each buffer, blinded and checked. For several, keys must be [`alike`].
pub(crate) fn private<const S: usize>(
    runner: &mut BlockRunner,
    keys: [&PrivateKey; S],
    mut buffers: [&mut [u8]; S],
) -> [Result<(), Error>; S] {
    let results = blinded(runner, keys, &mut buffers)
        .unwrap_or_else(|error| core::array::from_fn(|_| Err(error.clone())));
    runner.wipe();
    for (result, buffer) in results.iter().zip(buffers) {
        if result.is_err() {
            buffer.zeroize();
        }
    }
    results
}

/// An operation on its way.
struct Operation<'a> {
    key: &'a PrivateKey,
    own: &'a InBlocks,
    n: &'a Modulus<Row>,
    layout: Blocks,
    /// The number, and room for two more.
    x: &'a mut [Row],
    y: &'a mut [Row],
    u: &'a mut [Row],
    /// The input; then the result.
    c: Zeroizing<[u64; LIMBS]>,
    s: Zeroizing<[u64; LIMBS]>,
    halves: Zeroizing<[[u64; LIMBS]; 2]>,
}

/// Limbs of the longest number that has blocks, and one for what exceeds n.
const LIMBS: usize = LIMBS_MAX / 2 + 1;

fn blinded<const S: usize>(
    runner: &mut BlockRunner,
    keys: [&PrivateKey; S],
    buffers: &mut [&mut [u8]; S],
) -> Result<[Result<(), Error>; S], Error> {
    let BlockRunner { runner, four } = runner;
    let kernel = runner.kernel;
    let own = keys.map(|key| key.in_blocks.as_ref().expect("the key has blocks"));
    let n = keys.map(|key| key.public.limbs.blocks().expect("n has blocks"));
    let (k, shape) = (n[0].k(), keys[0].limbs.pair.p().shape());
    let scratch = kernel.powers_rows(shape, keys[0].prime_bits, S).expect("the primes have blocks");
    let mut pairs = own.map(|own| own.pairs.take());
    let spent = pairs.iter().any(|pair| pair.left == 0);
    let for_pairs = if spent { S * Fresh::<Row>::words(k, AT_ONCE) } else { 0 };
    let memory = runner.memory(S * 3 * k + for_pairs + scratch.max(4 * S * k));
    let (registers, rest) = memory.split_at_mut(S * 3 * k);
    let (for_pairs, t) = rest.split_at_mut(for_pairs);
    let mut registers = registers.chunks_exact_mut(k);
    let mut register = || registers.next().expect("three for each");
    let zeros = || Zeroizing::new([0; LIMBS]);
    let mut operations: [_; S] = core::array::from_fn(|i| Operation {
        key: keys[i],
        own: own[i],
        n: n[i],
        layout: Blocks::of_shape(n[i].shape()),
        x: register(),
        y: register(),
        u: register(),
        c: zeros(),
        s: zeros(),
        halves: Zeroizing::new([[0; LIMBS]; 2]),
    });
    let mut made = None;
    if spent {
        made = Some(make_pairs(kernel, &mut operations, &mut pairs, four, for_pairs, t)?);
    }
    for (o, buffer) in operations.iter_mut().zip(&*buffers) {
        from_bytes(&mut o.c[..], buffer);
    }
    let powers = powers(kernel, &mut operations, &mut pairs, four, t);
    let good: [bool; S] = core::array::from_fn(|i| {
        let (o, k) = (&mut operations[i], keys[i].public.limbs.k());
        from_bytes(&mut o.c[..], buffers[i]); // read again: the check covers the first reading
        memcheck::declassified(carry::equal(&powers[i][..k], &o.c[..k])) == u64::MAX
    });
    // before others are given back, since what comes last is used next
    for i in (0..S).filter(|&i| good[i]) {
        for (blind, unblind) in made.iter().flat_map(|made| made[i].others()) {
            own[i].pairs.lay_up(|pair| pair.write(blind, unblind));
        }
    }
    let mut results = [(); S].map(|()| Err(Error::Fault));
    for (i, mut pair) in pairs.into_iter().enumerate() {
        if good[i] {
            to_bytes(buffers[i], &operations[i].s[..]);
            pair.left -= 1;
            own[i].pairs.give(pair);
            results[i] = Ok(());
        } // else the pairs are dropped: they may be what is wrong
    }
    Ok(results)
}

/// s := c^d mod n, blinded; then each pair moves on (r := r^2). Returns s^e mod n.
fn powers<const S: usize>(
    kernel: BlockKernel,
    operations: &mut [Operation<'_>; S],
    pairs: &mut [Pair<Row>; S],
    four: &mut Modulus<Row>,
    t: &mut [Row],
) -> [Zeroizing<[u64; LIMBS]>; S] {
    #[cfg(test)]
    for (i, (o, pair)) in operations.iter_mut().zip(&mut *pairs).enumerate() {
        fault::point_of(i, "input", &mut o.c[..o.key.public.limbs.k()]);
        fault::point_of(i, "blind", &mut pair.blind);
        fault::point_of(i, "unblind", &mut pair.unblind);
    }
    for (o, pair) in operations.iter_mut().zip(&*pairs) {
        o.layout.pack_all(o.y, &o.c[..o.key.public.limbs.k()]);
        kernel.amm(o.x, o.y, &pair.blind, o.n, &mut []);
    }
    #[cfg(test)]
    fault::points("blinded", operations.each_mut().map(|o| &mut *o.x));
    crt(kernel, Exponent::D, operations, four, t);
    for (o, pair) in operations.iter_mut().zip(&mut *pairs) {
        kernel.amm(o.y, o.x, &pair.unblind, o.n, &mut []);
    }
    #[cfg(test)]
    fault::points("unblinded", operations.each_mut().map(|o| &mut *o.y));
    for (o, pair) in operations.iter_mut().zip(&mut *pairs) {
        o.layout.reduce(&mut o.s[..o.key.public.limbs.k()], o.y, 0, &o.key.public.limbs);
        kernel.amm(o.x, &pair.blind, &pair.blind, o.n, &mut []);
        kernel.amm(o.y, &pair.unblind, &pair.unblind, o.n, &mut []);
        pair.write(o.x, o.y);
    }
    let k = operations[0].key.public.limbs.k();
    #[cfg(test)]
    fault::points("s", operations.each_mut().map(|o| &mut o.s[..k]));
    let powers = raised(kernel, operations, operations.each_ref().map(|o| &o.s[..k]), t);
    #[cfg(test)]
    let mut powers = powers;
    #[cfg(test)]
    fault::points("s^e", powers.each_mut().map(|z| &mut z[..k]));
    powers
}

/// x^e mod n in each operation, for x < n.
fn raised<const S: usize>(
    kernel: BlockKernel,
    operations: &[Operation<'_>; S],
    x: [&[u64]; S],
    t: &mut [Row],
) -> [Zeroizing<[u64; LIMBS]>; S] {
    let e = &operations[0].key.public.e;
    let n = operations.each_ref().map(|o| &o.key.public.limbs);
    let mut powers = [(); S].map(|()| Zeroizing::new([0; LIMBS]));
    kernel.powers_vartime(n, x, e, powers.each_mut().map(|z| &mut z[..n[0].k()]), t);
    powers
}

/// Fresh pairs for each operation, which has the first of them: see
/// [`crate::private::make_pairs`].
fn make_pairs<'a, const S: usize>(
    kernel: BlockKernel,
    operations: &mut [Operation<'_>; S],
    pairs: &mut [Pair<Row>; S],
    four: &mut Modulus<Row>,
    memory: &'a mut [Row],
    t: &mut [Row],
) -> Result<[Fresh<'a, Row>; S], Error> {
    let k = operations[0].key.public.limbs.k();
    let mut parts = memory.chunks_exact_mut(Fresh::<Row>::words(operations[0].n.k(), AT_ONCE));
    let mut fresh = operations.each_ref().map(|o| {
        let memory = parts.next().expect("a part for each operation");
        Fresh::new(o.n.k(), AT_ONCE, memory)
    });
    for i in 0..AT_ONCE {
        for o in &mut *operations {
            let key = &o.key.public;
            random_below(&mut o.c[..key.n.len()], &key.n, key.bits)?;
        }
        let powers = raised(kernel, operations, operations.each_ref().map(|o| &o.c[..k]), t);
        for ((o, fresh), power) in operations.iter_mut().zip(&mut fresh).zip(powers) {
            let (blind, unit) = fresh.pair_mut(i);
            for (z, x) in [(blind, &power), (unit, &o.c)] {
                o.layout.pack_all(o.y, &x[..k]);
                kernel.amm(z, o.y, o.n.rr(), o.n, &mut []);
            }
        }
    }
    for (o, fresh) in operations.iter_mut().zip(&mut fresh) {
        fresh.multiply(kernel, o.n, &mut []);
        kernel.amm(o.x, fresh.product(), o.n.unit(), o.n, &mut []);
    }
    crt(kernel, Exponent::Inverse, operations, four, t);
    for ((o, fresh), pair) in operations.iter().zip(&mut fresh).zip(pairs) {
        kernel.amm(fresh.product(), o.x, o.n.rr(), o.n, &mut []);
        fresh.invert(kernel, o.n, &mut []);
        fresh.first(&mut pair.blind, &mut pair.unblind);
        pair.left = USES;
    }
    Ok(fresh)
}

/// x := x^d or x^-1 mod n, for x < 8n; below 14n.
fn crt<const S: usize>(
    kernel: BlockKernel,
    exponent: Exponent,
    operations: &mut [Operation<'_>; S],
    four: &mut Modulus<Row>,
    t: &mut [Row],
) {
    let bits = operations[0].key.prime_bits;
    for o in &mut *operations {
        o.layout.unpack(&mut o.s[..], o.x, 0);
    }
    #[cfg(test)]
    fault::points("unpacked", operations.each_mut().map(|o| &mut o.s[..o.key.public.limbs.k()]));
    let mut powers = operations.each_mut().map(|o| {
        let (e, k) = (o.key.exponents.modulo_primes(exponent), o.key.limbs.pair.p().k());
        let z = o.halves.each_mut().map(|z| &mut z[..=k]);
        Power { pair: &o.key.limbs.pair, x: &o.s[..=o.key.public.limbs.k()], e, z }
    });
    kernel.powers(bits, &mut powers, four, t);
    let k = operations[0].key.limbs.pair.p().k();
    #[cfg(test)]
    for (half, name) in ["m_1", "m_2"].into_iter().enumerate() {
        fault::points(name, operations.each_mut().map(|o| &mut o.halves[half][..k]));
    }
    for o in &mut *operations {
        let Operation { x, y, u, n, own, halves, layout, .. } = o;
        layout.pack_all(x, &halves[0][..=k]);
        kernel.amm(y, x, &own.a, n, &mut []);
        layout.pack_all(x, &halves[1][..=k]);
        kernel.amm(u, x, &own.b, n, &mut []);
    }
    #[cfg(test)]
    {
        fault::points("m_1 * a", operations.each_mut().map(|o| &mut *o.y));
        fault::points("m_2 * b", operations.each_mut().map(|o| &mut *o.u));
    }
    for o in &mut *operations {
        o.layout.add(o.x, o.y, o.u);
    }
    #[cfg(test)]
    fault::points("m", operations.each_mut().map(|o| &mut *o.x));
}
