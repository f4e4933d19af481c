//! Numbers as limbs, or as rows with eight numbers in lanes. The same code serves both, because a
//! kernel treats each lane separately.

use core::marker::PhantomData;

use tollgate_mont::{
    Digit, Exponentiate, Kernel, LANES, LaneKernel, LimbKernel, Modulus, Place, Word, carry,
};

use super::{Backend, Base, Call, Layout, Plain, Set, fault_points};
use crate::blinding::Pool;
use crate::fresh::{AT_ONCE, AT_ONCE_IN_LANES, Fresh};
use crate::key::PrivateKey;
use crate::material::{Exponent, Numbers};
use crate::runner::Runner;
use crate::workspace::Workspace;

/// The layout of a kernel on limbs or lanes.
pub(crate) struct Words<K>(PhantomData<K>);

/// The number of slices of K(n) words in a [`Set`].
const REGISTERS: usize = 8;

/// The number of slices of K(p) words that recombination needs.
const PRIME_REGISTERS: usize = 4;

impl<K: Exponentiate<Word: Plain>> Words<K> {
    /// Returns a call in the runner's memory, with room for `fresh` new pairs.
    pub(crate) fn call<'a>(
        runner: &'a mut Runner<K>,
        numbers: Numbers<'a, K::Word>,
        fresh: usize,
    ) -> Call<'a, Self> {
        let (kernel, n, p) = (runner.kernel, numbers.n, numbers.primes.pair.p());
        let k = n.k();
        let crt = PRIME_REGISTERS * p.k()
            + kernel.exp_words(p.shape(), numbers.prime_bits).max(p.scratch_words());
        let scratch = public_scratch(kernel, n).max(crt);
        let for_fresh = Fresh::<K::Word>::words(k, fresh);
        let memory = runner.memory(REGISTERS * k + for_fresh + scratch);
        let (registers, rest) = memory.split_at_mut(REGISTERS * k);
        let (for_fresh, t) = rest.split_at_mut(for_fresh);
        let mut registers = registers.chunks_exact_mut(k);
        let mut register = || registers.next().expect("as many registers as were counted");
        let set = Set {
            own: numbers,
            n,
            c: register(),
            s: register(),
            power: register(),
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

impl<K: Exponentiate<Word: Plain>> Layout for Words<K> {
    type Kernel = K;
    type Plain = K::Word;
    type Own<'a> = Numbers<'a, K::Word>;

    fn operand<'b>(
        _own: &Numbers<'_, K::Word>,
        plain: &'b [K::Word],
        _room: &'b mut [K::Word],
    ) -> &'b [K::Word] {
        plain
    }

    fn reduce(kernel: K, set: &mut Set<'_, Self>) {
        core::mem::swap(&mut set.s, &mut set.y);
        kernel.with_target_features(
            #[inline(always)]
            || carry::reduce(set.s, set.n.m()),
        );
    }

    fn raise(call: &mut Call<'_, Self>, base: Base) {
        let set = &mut call.set;
        let x = match base {
            Base::Input => &set.c,
            Base::Result => &set.s,
        };
        call.kernel.exp_vartime(set.n, x, set.own.e, set.power, call.t);
    }

    fn crt(call: &mut Call<'_, Self>, exponent: Exponent) {
        crt(call.kernel, &mut call.set, exponent, call.t);
    }
}

/// x := x^d or x^-1 mod n, below n, for x < R. The digits of x may be dirty.
///
/// x < n < R(p)^2 holds for any two primes that fit one shape; q * h + `m_2` is below n.
fn crt<K: Exponentiate<Word: Plain>>(
    kernel: K,
    set: &mut Set<'_, Words<K>>,
    exponent: Exponent,
    t: &mut [K::Word],
) {
    let (numbers, primes, p) = (&set.own, set.own.primes, set.own.primes.pair.p());
    let k = p.k();
    let (m_1, rest) = t.split_at_mut(k);
    let (m_2, rest) = rest.split_at_mut(k);
    let (a, rest) = rest.split_at_mut(k);
    let (b, prime_t) = rest.split_at_mut(k);

    // i. Let m_1 = x^d_p mod p and m_2 = x^d_q mod q.
    let e = numbers.exponents.modulo_primes(exponent);
    let z = [&mut *m_1, &mut *m_2];
    kernel.exp_pair(&primes.pair, numbers.prime_bits, set.x, e, z, prime_t);
    fault_points!("m_1", K::Word::LANES, m_1);
    fault_points!("m_2", K::Word::LANES, m_2);
    // iii. Let h = (m_1 - m_2) * q_inv mod p; m_2 may exceed p, but its product with R mod p does
    // not.
    kernel.amm(a, m_2, p.one(), p, prime_t);
    fault_points!("m_2 mod p", K::Word::LANES, a);
    kernel.with_target_features(
        #[inline(always)]
        || {
            carry::reduce(a, p.m());
            carry::sub_mod(b, m_1, a, p.m());
        },
    );
    fault_points!("m_1 - m_2", K::Word::LANES, b);
    kernel.amm(a, b, &primes.q_inv, p, prime_t); // h, below 3p
    fault_points!("h", K::Word::LANES, a);
    // iv. Let m = m_2 + q * h. m is below n, so q * h mod n is q * h, and the sum does not wrap.
    let n = set.n;
    kernel.with_target_features(
        #[inline(always)]
        || {
            carry::reduce(a, p.m());
            set.x.fill(Word::splat(0));
            set.x[..k].copy_from_slice(a);
            set.u[..k].copy_from_slice(m_2);
        },
    );
    kernel.amm(set.y, set.x, &primes.q_n, n, t);
    fault_points!("q * h", K::Word::LANES, set.y);
    kernel.with_target_features(
        #[inline(always)]
        || {
            carry::reduce(set.y, n.m());
            carry::add(set.x, set.y, &set.u[..k]);
        },
    );
    fault_points!("m", K::Word::LANES, set.x);
}

/// Returns the number of words of scratch for products and public exponentiations modulo n.
fn public_scratch<K: Exponentiate>(kernel: K, n: &Modulus<K::Word>) -> usize {
    kernel.exp_words(n.shape(), 1).max(n.scratch_words())
}

/// Returns the number of words of memory for [`public`].
pub(crate) fn public_words<K: Exponentiate>(kernel: K, n: &Modulus<K::Word>) -> usize {
    2 * n.k() + public_scratch(kernel, n)
}

/// Returns x^e mod n, below n, for the x < n that `load` writes.
pub(crate) fn public<'a, K: Exponentiate>(
    kernel: K,
    n: &Modulus<K::Word>,
    e: &[K::Word],
    memory: &'a mut [K::Word],
    load: impl FnOnce(&mut [K::Word]),
) -> &'a [K::Word] {
    let (x, rest) = memory.split_at_mut(n.k());
    let (z, t) = rest.split_at_mut(n.k());
    load(x);
    kernel.exp_vartime(n, x, e, z, t);
    z
}

impl Backend<1> for Words<LimbKernel> {
    type Stored = u64;

    fn pool(key: &PrivateKey) -> &Pool<u64> {
        &key.limb_pairs
    }

    fn begin<'a>(
        workspace: &'a mut Workspace,
        [key]: &[&'a PrivateKey; 1],
        fresh: bool,
    ) -> Call<'a, Self> {
        Self::call(&mut workspace.limbs, key.numbers(), if fresh { AT_ONCE } else { 0 })
    }
}

impl Backend<LANES> for Words<LaneKernel> {
    type Stored = Digit;

    fn pool(key: &PrivateKey) -> &Pool<Digit> {
        &key.digit_pairs
    }

    fn begin<'a>(
        workspace: &'a mut Workspace,
        keys: &[&'a PrivateKey; LANES],
        fresh: bool,
    ) -> Call<'a, Self> {
        let Workspace { lanes: runner, keys: loaded, .. } = workspace;
        loaded.reshape(keys[0].class());
        runner.kernel.with_target_features(
            #[inline(always)]
            || {
                for (place, key) in places(keys) {
                    loaded.load_public(place, key.public.digits(), &key.public.e);
                    loaded.load_secret(place, &key.digits, &key.exponents, key.prime_bits);
                }
            },
        );
        if fresh {
            for (place, key) in places(keys) {
                loaded.load_inverse(place, &key.exponents);
            }
        }
        Self::call(runner, loaded.numbers(), if fresh { AT_ONCE_IN_LANES } else { 0 })
    }
}

/// Returns each key with its lane. A key that all lanes share is loaded once, into all lanes.
pub(crate) fn places<'k, K>(keys: &[&'k K; LANES]) -> impl Iterator<Item = (Place, &'k K)> {
    let same = keys.iter().all(|key| core::ptr::eq(*key, keys[0]));
    let place = move |lane| if same { Place::All } else { Place::Lane(lane) };
    let count = if same { 1 } else { LANES };
    keys[..count].iter().enumerate().map(move |(lane, key)| (place(lane), *key))
}
