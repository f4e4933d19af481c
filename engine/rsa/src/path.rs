//! The private operation: the only place that orders its steps, for every layout and batch size.
//!
//! A call runs one operation, or up to eight in lanes. A [`Layout`] defines how words
//! represent numbers, the exponentiations and the recombination. A [`Backend`] also manages the
//! memory and the stored blinding pairs. The steps (RFC 8017 §5.1.2, with blinding before and a
//! check after):
//!
//! 0. [`check_input`]: the input c must be below n. A refused request does not reach [`run`].
//! 1. Take a blinding pair (r^e, r^-1) for each operation from [`crate::blinding`]; if one of them
//!    is spent, make fresh ones for all ([`make_pairs`]).
//! 2. Blind: x := c * r^e mod n.
//! 3. Exponentiate and recombine: x := x^d mod n by CRT ([`Layout::crt`]).
//! 4. Unblind: s := x * r^-1 mod n. This precedes the check, so that the check covers it.
//! 5. Square the pair for its next use: r := r^2.
//! 6. Check: s^e mod n must equal c, which is read again from the caller's buffer, so that the
//!    check covers the first reading too.
//! 7. If the check passes, store the spare fresh pairs and return the pair to the key's pool; if it
//!    fails, drop the pair, since it may be the cause.
//! 8. Release s into the caller's buffer, or refuse with [`Error::Fault`].
//! 9. Wipe the workspace and the stack; zero the buffer of every operation that failed.
//!
//! No branch and no address depends on a secret; the time depends on sizes and public exponents.

use tollgate_cpu::memcheck;
use tollgate_cpu::wipe::wipe_stack_after;
use tollgate_mont::{Kernel, Word, carry};
use zeroize::Zeroize;

use crate::blinding::{USES, random_below};
use crate::error::{Error, Rejected};
use crate::key::{PrivateKey, PublicKey};
use crate::layout::{Backend, Base, Call, Layout, Plain, Stored, fault_points};
use crate::material::Exponent;
use crate::natural::to_bytes;
use crate::request::PrivateRequest;
use crate::workspace::{LIMBS_MAX, Workspace};

/// At least the stack that a call uses; tests/stack.rs compares. A job of libcrypto has 32 KiB.
const STACK_BYTES: usize = 12 << 10;

/// Checks that the buffer has the length of n and holds a number below n. Constant time up to the
/// verdict, which is public: the number may be a ciphertext or a message.
pub(crate) fn check_input(key: &PublicKey, buffer: &[u8]) -> Result<(), Error> {
    key.check_length(buffer)?;
    let (top, limbs) = buffer.as_rchunks();
    let limbs = limbs.iter().rev().map(|limb| u64::from_be_bytes(*limb));
    let top = top.iter().fold(0, |top, byte| top << 8 | u64::from(*byte));
    let mut borrow = 0;
    for (limb, n) in limbs.chain([top]).zip(&key.n) {
        limb.sub_borrow(*n, &mut borrow);
    }
    if memcheck::declassified(borrow) == 1 { Ok(()) } else { Err(Rejected::MessageRange.into()) }
}

/// Runs the `requests` at `at`, whose inputs are checked, in one call of `N` operations, and sets
/// their outcomes. Only the first `used` differ; the others repeat the first one to fill lanes.
pub(crate) fn run<B: Backend<N>, const N: usize>(
    workspace: &mut Workspace,
    requests: &mut [PrivateRequest<'_>],
    at: [usize; N],
    used: usize,
) {
    let checked = wipe_stack_after::<STACK_BYTES, _>(|| {
        let checked = operate::<B, N>(workspace, requests, &at, used);
        workspace.wipe();
        checked
    });
    for (operation, &i) in at[..used].iter().enumerate() {
        let outcome = match &checked {
            Ok(good) if good[operation] => Ok(()),
            Ok(_) => Err(Error::Fault),
            Err(error) => Err(error.clone()),
        };
        if outcome.is_err() {
            requests[i].buffer.zeroize();
        }
        requests[i].outcome = Some(outcome);
    }
}

/// Steps 1 to 8. Returns which operations passed the check: only their buffers hold a result. Fails
/// if there are no random bytes for fresh pairs; in this case no buffer has changed.
fn operate<B: Backend<N>, const N: usize>(
    workspace: &mut Workspace,
    requests: &mut [PrivateRequest<'_>],
    at: &[usize; N],
    used: usize,
) -> Result<[bool; N], Error> {
    let keys = at.map(|i| requests[i].key);
    let mut pairs = keys.map(|key| B::pool(key).take());
    // If any pair is spent, make fresh pairs for all operations: in lanes, one fresh pair costs as
    // much as eight.
    let spent = pairs.iter().any(|pair| pair.left == 0);
    let mut call = B::begin(workspace, &keys, spent);
    if spent {
        make_pairs(&mut call, |c| {
            keys.iter().enumerate().try_for_each(|(lane, key)| load_random(c, lane, key))
        })?;
        pairs.iter_mut().for_each(|pair| pair.left = USES);
    } else {
        for (lane, pair) in pairs.iter().enumerate() {
            B::Stored::load(call.set.blind, lane, &pair.blind);
            B::Stored::load(call.set.unblind, lane, &pair.unblind);
        }
    }
    let read_inputs = |call: &mut Call<'_, B>| {
        for (lane, &i) in at.iter().enumerate() {
            B::Plain::read(call.set.c, lane, requests[i].buffer);
        }
    };
    read_inputs(&mut call);
    compute(&mut call);
    read_inputs(&mut call);
    let good = check(&call);
    let set = call.set;
    // Store the spare pairs first: the pool hands out the pair that was returned last.
    for (lane, key) in keys.iter().enumerate().filter(|(lane, _)| good[*lane]) {
        for (blind, unblind) in set.fresh.spares() {
            B::pool(key).store_spare(|pair| {
                B::Stored::store(&mut pair.blind, blind, lane);
                B::Stored::store(&mut pair.unblind, unblind, lane);
            });
        }
    }
    for (lane, (mut pair, key)) in pairs.into_iter().zip(keys).enumerate() {
        if !good[lane] {
            continue; // drops the pair
        }
        B::Stored::store(&mut pair.blind, set.blind, lane);
        B::Stored::store(&mut pair.unblind, set.unblind, lane);
        pair.left -= 1;
        B::pool(key).give(pair);
        if lane < used {
            B::Plain::write(requests[at[lane]].buffer, set.s, lane);
        }
    }
    Ok(good)
}

/// Steps 2 to 6 without the comparison. Computes s, s^e and the squared pairs from inputs and
/// pairs. A result that fails [`check`] must not be released.
fn compute<L: Layout>(call: &mut Call<'_, L>) {
    fault_points!("input", L::Plain::LANES, call.set.c);
    fault_points!("blind", L::Plain::LANES, call.set.blind);
    fault_points!("unblind", L::Plain::LANES, call.set.unblind);
    let (kernel, set) = (call.kernel, &mut call.set);
    let c = L::operand(&set.own, set.c, set.y);
    kernel.amm(set.x, c, set.blind, set.n, call.t);
    fault_points!("blinded", L::Plain::LANES, set.x);
    L::crt(call, Exponent::D);
    let set = &mut call.set;
    kernel.amm(set.y, set.x, set.unblind, set.n, call.t);
    fault_points!("unblinded", L::Plain::LANES, set.y);
    L::reduce(kernel, set);
    // Square the pair for its next use.
    kernel.ams(set.y, set.blind, set.n, call.t);
    kernel.ams(set.u, set.unblind, set.n, call.t);
    core::mem::swap(&mut set.blind, &mut set.y);
    core::mem::swap(&mut set.unblind, &mut set.u);
    fault_points!("s", L::Plain::LANES, set.s);
    L::raise(call, Base::Result);
    fault_points!("s^e", L::Plain::LANES, call.set.power);
}

/// Returns, for each operation, whether s^e = c. Before this call, [`compute`] has set s^e, and c
/// has been read again from the requests.
fn check<L: Layout, const N: usize>(call: &Call<'_, L>) -> [bool; N] {
    let equal = equal(call.kernel, call.set.power, call.set.c);
    core::array::from_fn(|lane| memcheck::declassified(equal.lane(lane)) == u64::MAX)
}

/// Returns all ones in each lane where x = y, else zero.
fn equal<W: Word>(kernel: impl Kernel, x: &[W], y: &[W]) -> W {
    kernel.with_target_features(
        #[inline(always)]
        || carry::equal(x, y),
    )
}

/// Makes fresh pairs (r^e, r^-1), in Montgomery form, from random numbers r < n that `draw` writes.
/// The first of them becomes the call's pair; the others are
/// [`spares`](crate::fresh::Fresh::spares).
///
/// If an r has no inverse (a chance below 2^-120, for the smallest primes that are accepted) or the
/// inversion goes wrong, the first operation fails its check: its pair depends on the whole
/// inversion. A fault that hits one pair alone fails the first operation with that pair.
fn make_pairs<L: Layout>(
    call: &mut Call<'_, L>,
    mut draw: impl FnMut(&mut [L::Plain]) -> Result<(), Error>,
) -> Result<(), Error> {
    let kernel = call.kernel;
    for i in 0..call.set.fresh.count() {
        draw(call.set.c)?;
        L::raise(call, Base::Input);
        let set = &mut call.set;
        let (blind, unit) = set.fresh.pair_mut(i);
        for (z, plain) in [(blind, &*set.power), (unit, &*set.c)] {
            let x = L::operand(&set.own, plain, set.y);
            kernel.amm(z, x, set.n.rr(), set.n, call.t);
        }
    }
    let set = &mut call.set;
    set.fresh.multiply(kernel, set.n, call.t);
    kernel.amm(set.x, set.fresh.product(), set.n.plain_one(), set.n, call.t);
    L::crt(call, Exponent::Inverse);
    let set = &mut call.set;
    kernel.amm(set.fresh.product(), set.x, set.n.rr(), set.n, call.t);
    set.fresh.invert(kernel, set.n, call.t);
    set.fresh.first(set.blind, set.unblind);
    Ok(())
}

/// Draws a random number below the key's n into a lane. Not inlined: its arrays would lie on the
/// stack during the whole operation.
#[inline(never)]
fn load_random<P: Plain>(words: &mut [P], lane: usize, key: &PrivateKey) -> Result<(), Error> {
    let n = &key.public.n;
    let (mut limbs, mut bytes) = ([0; LIMBS_MAX], [0; 8 * LIMBS_MAX]);
    let (limbs, bytes) = (&mut limbs[..n.len()], &mut bytes[..8 * n.len()]);
    let drawn = random_below(limbs, n, key.bits());
    if drawn.is_ok() {
        to_bytes(bytes, limbs);
        P::read(words, lane, bytes);
    }
    bytes.zeroize();
    limbs.zeroize();
    drawn
}
