//! Numbers in lane blocks: one operation.
//!
//! In blocks, a product accepts the unreduced results of other products. Only the result of the
//! operation and its power are reduced below n.
//!
//! Recombination: with a = 1 mod p and 0 mod q, and b = 0 mod p and 1 mod q,
//! m = `m_1` * a + `m_2` * b mod n. a and b also take `m_1` and `m_2` out of the Montgomery form of
//! p and q.

use tollgate_mont::{BlockKernel, Blocks, Kernel as _, Power, Row};

use super::{Backend, Base, Call, Layout, Set, fault_points};
use crate::blinding::Pool;
use crate::fresh::{AT_ONCE, Fresh};
use crate::key::PrivateKey;
use crate::material::{BlockNumbers, Exponent};
use crate::runner::BlockRunner;
use crate::workspace::Workspace;

/// The layout of a kernel on lane blocks.
pub(crate) struct InBlocks;

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

    fn operand<'b>(own: &Own<'_>, plain: &'b [u64], room: &'b mut [Row]) -> &'b [Row] {
        own.layout.pack_all(room, plain);
        room
    }

    fn reduce(_kernel: BlockKernel, set: &mut Set<'_, Self>) {
        set.own.layout.reduce(set.s, set.y, 0, &set.own.key.public.limbs);
    }

    fn raise(call: &mut Call<'_, Self>, base: Base) {
        let set = &mut call.set;
        let x = match base {
            Base::Input => &*set.c,
            Base::Result => &*set.s,
        };
        let public = &set.own.key.public;
        call.kernel.power_vartime(&public.limbs, x, &public.e, set.power, call.t);
    }

    /// x is below 8n before the call, and below 14n afterwards.
    fn crt(call: &mut Call<'_, Self>, exponent: Exponent) {
        let (kernel, Set { own, n, x, y, u, .. }) = (call.kernel, &mut call.set);
        let Own { key, numbers, layout, long, halves } = own;
        layout.unpack(long, x, 0);
        fault_points!("unpacked", 1, &mut long[..key.public.limbs.k()]);
        let e = key.exponents.modulo_primes(exponent);
        let z = halves.each_mut().map(|z| &mut **z);
        let power = Power { pair: &key.limbs.pair, x: long, e, z };
        kernel.power(key.prime_bits, power, call.t);
        fault_points!("m_1", 1, &mut halves[0][..key.limbs.pair.p().k()]);
        fault_points!("m_2", 1, &mut halves[1][..key.limbs.pair.p().k()]);
        layout.pack_all(x, halves[0]);
        kernel.amm(y, x, &numbers.a, n, call.t);
        layout.pack_all(x, halves[1]);
        kernel.amm(u, x, &numbers.b, n, call.t);
        fault_points!("m_1 * a", 1, y);
        fault_points!("m_2 * b", 1, u);
        layout.add(x, y, u);
        fault_points!("m", 1, x);
    }
}

impl Backend<1> for InBlocks {
    type Stored = Row;

    fn pool(key: &PrivateKey) -> &Pool<Row> {
        &numbers(key).pairs
    }

    fn begin<'a>(
        workspace: &'a mut Workspace,
        [key]: &[&'a PrivateKey; 1],
        fresh: bool,
    ) -> Call<'a, Self> {
        let BlockRunner { rows, limbs } =
            workspace.blocks.as_mut().expect("the workspace has a block kernel");
        let (kernel, fresh) = (rows.kernel, if fresh { AT_ONCE } else { 0 });
        let n = key.public.limbs.blocks().expect("n has blocks");
        let (k, n_limbs, p) = (n.k(), key.public.limbs.k(), key.limbs.pair.p());
        let scratch = kernel.power_rows(p.shape(), key.prime_bits);
        let scratch = scratch.expect("the primes have blocks").max(4 * k);
        let for_fresh = Fresh::<Row>::words(k, fresh);

        let memory = rows.memory(5 * k + for_fresh + scratch);
        let (registers, rest) = memory.split_at_mut(5 * k);
        let (for_fresh, t) = rest.split_at_mut(for_fresh);
        let mut registers = registers.chunks_exact_mut(k);
        let mut register = || registers.next().expect("as many registers as were counted");

        let mut plain = limbs.memory(4 * n_limbs + 1 + 2 * (p.k() + 1));
        let mut limbs =
            |count| plain.split_off_mut(..count).expect("as many limbs as were counted");
        let set = Set {
            own: Own {
                key,
                numbers: numbers(key),
                layout: Blocks::of_shape(n.shape()),
                long: limbs(n_limbs + 1),
                halves: [limbs(p.k() + 1), limbs(p.k() + 1)],
            },
            n,
            c: limbs(n_limbs),
            s: limbs(n_limbs),
            power: limbs(n_limbs),
            blind: register(),
            unblind: register(),
            x: register(),
            y: register(),
            u: register(),
            fresh: Fresh::new(k, fresh, for_fresh),
        };
        Call { kernel, set, t }
    }
}

fn numbers(key: &PrivateKey) -> &BlockNumbers {
    key.in_blocks.as_ref().expect("the key has blocks")
}
