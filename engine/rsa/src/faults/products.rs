//! Flips a bit in the result of a kernel call: a product, a square or a select, also within
//! exponentiations and tables.

use core::cell::Cell;

use tollgate_mont::{
    Exponentiate, Kernel, LANES, LaneKernel, LimbKernel, Modulus, Place, Scalar, Word,
};

use crate::PrivateKey;
use crate::blinding::random_below;
use crate::layout::{Plain, Words};
use crate::material::{Lanes, Numbers};
use crate::natural::from_bytes;
use crate::path::{compute, equal, make_pairs};
use crate::runner::Runner;
use crate::test_keys::key;

/// A kernel with one faulty call. It uses the provided exponentiations, which call this kernel.
#[derive(Clone, Copy, Debug)]
struct Faulty<K>(K);

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    /// The call, the lane and the bit.
    static FLIP: Cell<Option<(usize, usize, usize)>> = const { Cell::new(None) };
}

fn call<W: Word>(z: &mut [W]) {
    let calls = CALLS.replace(CALLS.get() + 1);
    if let Some((at, lane, bit)) = FLIP.get()
        && at == calls
    {
        let word = &mut z[bit / W::Scalar::BITS % z.len()];
        word.set_lane(lane, word.lane(lane) ^ 1 << (bit % W::Scalar::BITS));
    }
}

impl<K: Kernel> Kernel for Faulty<K> {
    type Word = K::Word;

    fn name(self) -> &'static str {
        self.0.name()
    }

    fn square_name(self) -> &'static str {
        self.0.square_name()
    }

    fn amm(
        self,
        z: &mut [K::Word],
        x: &[K::Word],
        y: &[K::Word],
        m: &Modulus<K::Word>,
        t: &mut [K::Word],
    ) {
        self.0.amm(z, x, y, m, t);
        call(z);
    }

    fn ams(self, z: &mut [K::Word], x: &[K::Word], m: &Modulus<K::Word>, t: &mut [K::Word]) {
        self.0.ams(z, x, m, t);
        call(z);
    }

    fn select(self, z: &mut [K::Word], table: &[K::Word], index: K::Word) {
        self.0.select(z, table, index);
        call(z);
    }
}

impl<K: Kernel> Exponentiate for Faulty<K> {}

/// Runs operations on the input `c` with one of two blinding pairs, which are made from `u` and a
/// neighbour of `u`. Returns s, and all ones in each lane that passes the check.
fn operate<K: Exponentiate<Word: Plain>>(
    kernel: K,
    numbers: Numbers<'_, K::Word>,
    u: &[K::Word],
    c: &[K::Word],
    pair: usize,
) -> (Vec<K::Word>, K::Word) {
    let mut runner = Runner::new(Faulty(kernel));
    let mut call = Words::call(&mut runner, numbers, 2);
    let mut draws = 0;
    make_pairs(&mut call, |c| {
        c.copy_from_slice(u);
        (0..K::Word::LANES).for_each(|lane| c[1].set_lane(lane, c[1].lane(lane) ^ draws));
        draws += 1;
        Ok(())
    })
    .expect("no number is drawn");
    let set = &mut call.set;
    if pair > 0 {
        let (blind, unblind) = set.fresh.spares().next().expect("two pairs");
        set.blind.copy_from_slice(blind);
        set.unblind.copy_from_slice(unblind);
    }
    set.c.copy_from_slice(c);
    compute(&mut call);
    let set = &mut call.set;
    set.c.copy_from_slice(c);
    (set.s.to_vec(), equal(kernel, set.power, set.c))
}

/// Flips a bit in each `step`-th call; no lane may pass the check with a wrong result.
fn flip_calls<K: Exponentiate<Word: Plain>>(
    kernel: K,
    numbers: Numbers<'_, K::Word>,
    key: &PrivateKey,
    step: usize,
) {
    let mut rng = fastrand::Rng::with_seed(16);
    let mut limbs = vec![0; key.public.n.len()];
    let number = |limbs: &[u64]| {
        let mut words = vec![K::Word::default(); numbers.n.k()];
        let mut scalars = vec![<K::Word as Word>::Scalar::default(); numbers.n.k()];
        <K::Word as Word>::Scalar::pack(&mut scalars, limbs);
        for (word, scalar) in words.iter_mut().zip(scalars) {
            (0..K::Word::LANES).for_each(|lane| word.set_lane(lane, scalar.bits()));
        }
        words
    };
    random_below(&mut limbs, &key.public.n, key.bits()).expect("random bytes");
    let u = number(&limbs);
    from_bytes(&mut limbs, &[7; 40]);
    let c = number(&limbs);

    CALLS.set(0);
    let (expected, good) = operate(kernel, numbers, &u, &c, 0);
    assert!((0..K::Word::LANES).all(|lane| good.lane(lane) == u64::MAX));
    let (calls, mut found) = (CALLS.get(), 0);
    assert!(calls > 1000, "{calls} calls: exponentiations are among them");
    for at in (0..calls).step_by(step) {
        let faulty = at % K::Word::LANES;
        CALLS.set(0);
        FLIP.set(Some((at, faulty, rng.usize(..))));
        let (s, good) = operate(kernel, numbers, &u, &c, at / step % 2);
        let flip = FLIP.take();
        for lane in 0..K::Word::LANES {
            if lane == faulty && good.lane(lane) == 0 {
                found += 1;
                continue;
            }
            assert_eq!(good.lane(lane), u64::MAX, "{kernel:?}: {flip:?}, lane {lane}");
            let same = s.iter().zip(&expected).all(|(s, e)| s.lane(lane) == e.lane(lane));
            assert!(same, "{kernel:?}: {flip:?}, lane {lane}: a wrong result is good");
        }
    }
    // the other flips change table entries that no window selected
    let flips = calls.div_ceil(step);
    assert!(10 * found > 7 * flips, "{kernel:?}: {found} of {flips} flips were found");
}

fn step(normal: usize) -> usize {
    if std::env::var_os("TOLLGATE_TEST_LONG").is_some() { 1 } else { normal }
}

#[test]
fn on_limbs() {
    let key = key("rsa-512");
    for kernel in LimbKernel::all() {
        if !matches!(kernel, LimbKernel::Blocks(_)) {
            flip_calls(kernel, key.numbers(), &key, step(5));
        }
    }
}

#[test]
fn in_lanes() {
    let key = key("rsa-512");
    let mut keys = Lanes::new();
    keys.reshape(key.class());
    for lane in 0..LANES {
        keys.load_public(Place::Lane(lane), key.public.digits(), &key.public.e);
        keys.load_secret(Place::Lane(lane), &key.digits, &key.exponents, key.prime_bits);
        keys.load_inverse(Place::Lane(lane), &key.exponents);
    }
    for kernel in LaneKernel::all() {
        flip_calls(kernel, keys.numbers(), &key, step(23));
    }
}
