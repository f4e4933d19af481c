//! Numbers in lane blocks: one operation, or two in step.
//!
//! In blocks, a product accepts the unreduced results of other products. Only the result of the
//! operation and its power are reduced below n. Two operations in step exponentiate four numbers
//! side by side, in one chain of products.
//!
//! Recombination: with a = 1 mod p and 0 mod q, and b = 0 mod p and 1 mod q,
//! m = `m_1` * a + `m_2` * b mod n. a and b also take `m_1` and `m_2` out of the Montgomery form of
//! p and q.

use tollgate_mont::{BlockKernel, Blocks, Kernel as _, Modulus, Power, Row};

use super::{Backend, Base, Call, Layout, Set, fault_points};
use crate::blinding::Pool;
use crate::fresh::{AT_ONCE, Fresh};
use crate::key::PrivateKey;
use crate::material::{BlockNumbers, Exponent};
use crate::runner::BlockRunner;
use crate::workspace::Workspace;

/// The layout of a kernel on lane blocks.
pub(crate) struct InBlocks;

/// Returns whether two operations can run in step. Their keys must have the same sizes and public
/// exponent, and lane blocks for four primes side by side.
pub(crate) fn fit_in_step(a: &PrivateKey, b: &PrivateKey) -> bool {
    let size = |key: &PrivateKey| (key.public.limbs.shape(), key.limbs.pair.p().shape());
    let four_fit =
        |key: &PrivateKey| key.in_blocks.is_some() && key.limbs.pair.four_way().is_some();
    four_fit(a)
        && four_fit(b)
        && size(a) == size(b)
        && a.prime_bits == b.prime_bits
        && a.public.e == b.public.e
}

impl Workspace {
    /// Returns whether two private operations with this key can run in step: see
    /// [`Form::Two`](crate::Form::Two).
    pub fn goes_in_step(&self, key: &PrivateKey) -> bool {
        self.blocks.is_some() && fit_in_step(key, key)
    }
}

/// The numbers of a key, and memory for numbers that are converted to limbs.
pub(crate) struct Own<'a> {
    key: &'a PrivateKey,
    numbers: &'a BlockNumbers,
    layout: Blocks,
    /// x, with one limb more than n.
    long: &'a mut [u64],
    /// `m_1` and `m_2`, with one limb more than p.
    halves: [&'a mut [u64]; 2],
}

impl Layout for InBlocks {
    type Kernel = BlockKernel;
    type Plain = u64;
    type Own<'a> = Own<'a>;
    /// Memory for the primes of two keys, side by side.
    type Shared<'a> = &'a mut Modulus<Row>;

    fn operand<'b>(own: &Own<'_>, plain: &'b [u64], room: &'b mut [Row]) -> &'b [Row] {
        own.layout.pack_all(room, plain);
        room
    }

    fn reduce(_kernel: BlockKernel, set: &mut Set<'_, Self>) {
        set.own.layout.reduce(set.s, set.y, 0, &set.own.key.public.limbs);
    }

    fn raise<const SETS: usize>(call: &mut Call<'_, Self, SETS>, base: Base) {
        let key = call.sets[0].own.key;
        let numbers = call.sets.each_mut().map(|set| {
            let x = match base {
                Base::Input => &*set.c,
                Base::Result => &*set.s,
            };
            (&set.own.key.public.limbs, x, &mut *set.power)
        });
        let (n, x) = (numbers.each_ref().map(|x| x.0), numbers.each_ref().map(|x| x.1));
        let z = numbers.map(|x| x.2);
        call.kernel.powers_vartime(n, x, &key.public.e, z, call.t);
    }

    /// x is below 8n before the call, and below 14n afterwards.
    fn crt<const SETS: usize>(call: &mut Call<'_, Self, SETS>, exponent: Exponent) {
        let kernel = call.kernel;
        for set in &mut call.sets {
            set.own.layout.unpack(set.own.long, set.x, 0);
        }
        fault_points!(
            "unpacked",
            1,
            call.sets.each_mut().map(|set| &mut set.own.long[..set.c.len()])
        );
        let bits = call.sets[0].own.key.prime_bits;
        let mut powers = call.sets.each_mut().map(|set| {
            let Own { key, long, halves, .. } = &mut set.own;
            let e = key.exponents.modulo_primes(exponent);
            Power { pair: &key.limbs.pair, x: long, e, z: halves.each_mut().map(|z| &mut **z) }
        });
        kernel.powers(bits, &mut powers, call.shared, call.t);
        #[cfg(test)]
        for (half, name) in ["m_1", "m_2"].into_iter().enumerate() {
            crate::fault::points(
                name,
                1,
                call.sets.each_mut().map(|set| {
                    let half = &mut *set.own.halves[half];
                    let k = half.len() - 1;
                    &mut half[..k]
                }),
            );
        }
        for Set { own, n, x, y, u, .. } in &mut call.sets {
            own.layout.pack_all(x, own.halves[0]);
            kernel.amm(y, x, &own.numbers.a, n, call.t);
            own.layout.pack_all(x, own.halves[1]);
            kernel.amm(u, x, &own.numbers.b, n, call.t);
        }
        fault_points!("m_1 * a", 1, call.sets.each_mut().map(|set| &mut *set.y));
        fault_points!("m_2 * b", 1, call.sets.each_mut().map(|set| &mut *set.u));
        for set in &mut call.sets {
            set.own.layout.add(set.x, set.y, set.u);
        }
        fault_points!("m", 1, call.sets.each_mut().map(|set| &mut *set.x));
    }
}

/// If there are several operations, their keys must [`fit_in_step`].
impl<const S: usize> Backend<S, S> for InBlocks {
    type Stored = Row;

    fn pool(key: &PrivateKey) -> &Pool<Row> {
        &numbers(key).pairs
    }

    fn begin<'a>(
        workspace: &'a mut Workspace,
        keys: &[&'a PrivateKey; S],
        fresh: bool,
    ) -> Call<'a, Self, S> {
        let BlockRunner { rows, limbs, four } =
            workspace.blocks.as_mut().expect("the workspace has a block kernel");
        let (kernel, fresh) = (rows.kernel, if fresh { AT_ONCE } else { 0 });
        let n = keys.map(|key| key.public.limbs.blocks().expect("n has blocks"));
        let (k, n_limbs) = (n[0].k(), keys[0].public.limbs.k());
        let p = keys[0].limbs.pair.p();
        let scratch = kernel.powers_rows(p.shape(), keys[0].prime_bits, S);
        let scratch = scratch.expect("the primes have blocks").max(4 * S * k);
        let for_fresh = Fresh::<Row>::words(k, fresh);

        let memory = rows.memory(S * (5 * k + for_fresh) + scratch);
        let (registers, rest) = memory.split_at_mut(S * 5 * k);
        let (mut for_fresh, t) = rest.split_at_mut(S * for_fresh);
        let mut registers = registers.chunks_exact_mut(k);
        let mut register = || registers.next().expect("as many registers as were counted");

        let mut plain = limbs.memory(S * (4 * n_limbs + 1 + 2 * (p.k() + 1)));
        let mut limbs =
            |count| plain.split_off_mut(..count).expect("as many limbs as were counted");
        let each = for_fresh.len() / S;
        let sets = core::array::from_fn(|i| Set {
            own: Own {
                key: keys[i],
                numbers: numbers(keys[i]),
                layout: Blocks::of_shape(n[i].shape()),
                long: limbs(n_limbs + 1),
                halves: [limbs(p.k() + 1), limbs(p.k() + 1)],
            },
            n: n[i],
            c: limbs(n_limbs),
            s: limbs(n_limbs),
            power: limbs(n_limbs),
            blind: register(),
            unblind: register(),
            x: register(),
            y: register(),
            u: register(),
            fresh: Fresh::new(k, fresh, for_fresh.split_off_mut(..each).expect("a part of each")),
        });
        Call { kernel, sets, t, shared: four }
    }
}

fn numbers(key: &PrivateKey) -> &BlockNumbers {
    key.in_blocks.as_ref().expect("the key has blocks")
}
