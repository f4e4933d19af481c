//! Many operations at once, eight to a call, each lane with its own key.

use tollgate_cpu::memcheck;
use tollgate_mont::{Digit, Kernel as _, LANES, Place, Row, Word};
use zeroize::Zeroize;

use crate::blinding::{Pair, Pool, USES, random_below};
use crate::blocks;
use crate::error::Error;
use crate::fresh::{AT_ONCE_IN_LANES, Fresh};
use crate::key::{PrivateKey, PublicKey, to_bytes};
use crate::lane::{load_bytes, store_bytes, store_digits};
use crate::material::{Bits, load_digits};
use crate::plan::{Form, Operation};
use crate::private::{
    Method, Registers, check, make_pairs, private, private_words, public, public_words,
};
use crate::single::check_input;
use crate::workspace::{LIMBS_MAX, Workspace};

/// A private operation of a batch: c becomes c^d mod n in place, or its outcome says why not.
pub struct PrivateRequest<'a> {
    key: &'a PrivateKey,
    buffer: &'a mut [u8],
    outcome: Option<Result<(), Error>>,
}

/// A public operation of a batch: x becomes x^e mod n in place, or its outcome says why not.
pub struct PublicRequest<'a> {
    key: &'a PublicKey,
    buffer: &'a mut [u8],
    outcome: Option<Result<(), Error>>,
}

macro_rules! request {
    ($request:ident, $key:ty) => {
        impl core::fmt::Debug for $request<'_> {
            /// Shows no buffer: it may hold a message.
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($request))
                    .field("key", &self.key)
                    .field("outcome", &self.outcome)
                    .finish_non_exhaustive()
            }
        }

        impl<'a> $request<'a> {
            /// A request on a buffer of the key's size, big-endian.
            pub fn new(key: &'a $key, buffer: &'a mut [u8]) -> Self {
                Self { key, buffer, outcome: None }
            }

            /// How it ended, as the single operation would have said.
            ///
            /// # Errors
            ///
            /// As the single operation.
            ///
            /// # Panics
            ///
            /// If the request was in no batch yet.
            pub fn outcome(&self) -> Result<(), Error> {
                self.outcome.clone().expect("a request has an outcome after its batch")
            }

            /// The buffer: the result, if the outcome is good.
            pub fn buffer(&mut self) -> &mut [u8] {
                self.buffer
            }
        }
    };
}

impl PrivateRequest<'_> {
    /// Fills the buffer; where that fails, its error is the outcome.
    pub(crate) fn prepare(
        &mut self,
        fill: impl FnOnce(&PrivateKey, &mut [u8]) -> Result<(), Error>,
    ) {
        self.outcome = fill(self.key, self.buffer).err().map(Err);
    }
}

request!(PrivateRequest, PrivateKey);
request!(PublicRequest, PublicKey);

/// Private operations by CRT, blinded and checked, of any keys, in any number.
///
/// Requests whose keys have one size share calls, as the workspace's [`Plan`](crate::Plan) for that
/// size says. A request that fails does not touch its neighbours; its buffer is zeroed unless its
/// input was refused. Requests that already have an outcome are left alone.
pub fn private_batch(workspace: &mut Workspace, requests: &mut [PrivateRequest<'_>]) {
    private_requests(workspace, requests, Method::Crt);
}

/// [`private_batch`] without CRT: see [`PrivateKey::private_full`].
pub fn private_full_batch(workspace: &mut Workspace, requests: &mut [PrivateRequest<'_>]) {
    private_requests(workspace, requests, Method::Full);
}

/// Public operations of any keys, in any number: see [`private_batch`].
pub fn public_batch(workspace: &mut Workspace, requests: &mut [PublicRequest<'_>]) {
    for r in &mut *requests {
        refuse(&mut r.outcome, r.key, r.buffer);
    }
    for first in 0..requests.len() {
        if requests[first].outcome.is_some() {
            continue;
        }
        let (n, bits) = (requests[first].key.digits.shape(), requests[first].key.bits);
        let alike = |r: &PublicRequest<'_>| r.outcome.is_none() && r.key.digits.shape() == n;
        let plan = workspace.plans.plan(Operation::Public, bits);
        let mut next = first;
        let company = requests[first..].iter().filter(|r| alike(r)).count();
        for (form, count) in plan.cut(company).calls() {
            let at = gather(requests, &mut next, count, alike);
            if form == Form::Lanes {
                public_lanes(workspace, requests, &at, count);
                continue;
            }
            for &i in &at[..count] {
                let r = &mut requests[i];
                r.outcome = Some(r.key.public(workspace, r.buffer));
            }
        }
    }
}

fn private_requests(
    workspace: &mut Workspace,
    requests: &mut [PrivateRequest<'_>],
    method: Method,
) {
    for r in &mut *requests {
        refuse(&mut r.outcome, &r.key.public, r.buffer);
    }
    let operation = match method {
        Method::Crt => Operation::Private,
        Method::Full => Operation::PrivateFull,
    };
    for first in 0..requests.len() {
        if requests[first].outcome.is_some() {
            continue;
        }
        let (class, bits) = (requests[first].key.class(), requests[first].key.bits());
        let alike = |r: &PrivateRequest<'_>| r.outcome.is_none() && r.key.class() == class;
        let plan = workspace.plans.plan(operation, bits);
        let mut next = first;
        let company = requests[first..].iter().filter(|r| alike(r)).count();
        for (form, count) in plan.cut(company).calls() {
            let at = gather(requests, &mut next, count, alike);
            match form {
                Form::Lanes => in_lanes(workspace, requests, &at, count, method),
                Form::Two => two(workspace, requests, [at[0], at[1]], method),
                Form::One => one(workspace, &mut requests[at[0]], method),
            }
        }
    }
    workspace.wipe();
}

/// Two requests of one class in step where that is possible, else one by one.
fn two(
    workspace: &mut Workspace,
    requests: &mut [PrivateRequest<'_>],
    at: [usize; 2],
    method: Method,
) {
    let [a, b] = requests.get_disjoint_mut(at).expect("two requests");
    match (&mut workspace.blocks, method) {
        (Some(runner), Method::Crt) if blocks::alike(a.key, b.key) => {
            let buffers = [&mut *a.buffer, &mut *b.buffer];
            let [of_a, of_b] = blocks::private(runner, [a.key, b.key], buffers);
            (a.outcome, b.outcome) = (Some(of_a), Some(of_b));
        }
        _ => {
            one(workspace, a, method);
            one(workspace, b, method);
        }
    }
}

fn one(workspace: &mut Workspace, r: &mut PrivateRequest<'_>, method: Method) {
    r.outcome = Some(match method {
        Method::Crt => r.key.private(workspace, r.buffer),
        Method::Full => r.key.private_full(workspace, r.buffer),
    });
}

/// The requests at the first `used` of `lanes`, a lane each, and their outcomes.
fn in_lanes(
    workspace: &mut Workspace,
    requests: &mut [PrivateRequest<'_>],
    lanes: &[usize; LANES],
    used: usize,
    method: Method,
) {
    let drawn = private_lanes(workspace, requests, lanes, used, method);
    let Workspace { lanes: runner, keys, .. } = workspace;
    runner.wipe();
    runner.kernel.wide(
        #[inline(always)]
        || keys.wipe(),
    );
    if let Err(error) = drawn {
        for &lane in &lanes[..used] {
            requests[lane].buffer.zeroize();
            requests[lane].outcome = Some(Err(error.clone()));
        }
    }
}

/// Gives a request without an outcome its refusal, if its input is not acceptable.
fn refuse(outcome: &mut Option<Result<(), Error>>, key: &PublicKey, buffer: &[u8]) {
    if outcome.is_none() {
        *outcome = check_input(key, buffer).err().map(Err);
    }
}

/// The next `count` requests that are alike, from `next` on, which moves behind them; the lanes
/// that stay free do the first one's work again.
fn gather<R>(
    requests: &[R],
    next: &mut usize,
    count: usize,
    alike: impl Fn(&R) -> bool,
) -> [usize; LANES] {
    let mut found = (*next..requests.len()).filter(|&i| alike(&requests[i]));
    let mut at = [0; LANES];
    for i in &mut at[..count] {
        *i = found.next().expect("as many are alike as were counted");
        *next = *i + 1;
    }
    let first = at[0];
    at[count..].fill(first);
    at
}

fn public_lanes(
    workspace: &mut Workspace,
    requests: &mut [PublicRequest<'_>],
    lanes: &[usize; LANES],
    used: usize,
) {
    let keys = &mut workspace.keys;
    keys.reshape_public(requests[lanes[0]].key.digits.shape());
    let kernel = workspace.lanes.kernel;
    kernel.wide(
        #[inline(always)]
        || {
            for (place, i) in places(lanes, |i| requests[i].key) {
                let key = requests[i].key;
                keys.load_public(place, &key.digits, &key.e, Bits::default());
            }
        },
    );
    let (n, e) = keys.public();
    let mut r = workspace.lanes.registers(n.k(), public_words(kernel, n));
    for (lane, &i) in lanes.iter().enumerate() {
        load_bytes(r.c, lane, requests[i].buffer);
    }
    public(kernel, n, e, &mut r);
    for (lane, &i) in lanes[..used].iter().enumerate() {
        store_bytes(requests[i].buffer, r.s, lane);
        requests[i].outcome = Some(Ok(()));
    }
}

/// Runs the requests at `lanes`, of which the first `used` are different, and sets their outcomes.
///
/// # Errors
///
/// `Unavailable` without random bytes; then no outcome is set.
fn private_lanes(
    workspace: &mut Workspace,
    requests: &mut [PrivateRequest<'_>],
    lanes: &[usize; LANES],
    used: usize,
    method: Method,
) -> Result<(), Error> {
    let keys = &mut workspace.keys;
    keys.reshape(requests[lanes[0]].key.class());
    let kernel = workspace.lanes.kernel;
    kernel.wide(
        #[inline(always)]
        || {
            for (place, i) in places(lanes, |i| requests[i].key) {
                let key = requests[i].key;
                keys.load_public(place, &key.public.digits, &key.public.e, key.exponent_bits());
                keys.load_secret(place, &key.digits, &key.exponents);
                if method == Method::Full {
                    keys.load_full(place, &key.exponents);
                }
            }
        },
    );
    let mut pairs = lanes.map(|i| requests[i].key.digit_pairs.take());
    // one fresh pair costs as much as eight, so all lanes get theirs
    let spent = pairs.iter().any(|pair| pair.left == 0);
    if spent {
        for (place, i) in places(lanes, |i| requests[i].key) {
            keys.load_inverse(place, &requests[i].key.exponents);
        }
    }
    let numbers = keys.numbers();
    let k = numbers.n.k();
    let for_pairs = if spent { Fresh::<Row>::words(k, AT_ONCE_IN_LANES) } else { 0 };
    let words = private_words(kernel, &numbers, method) + for_pairs;
    let mut r = workspace.lanes.registers(k, words);
    let mut made = None;
    if spent {
        let fresh = make_pairs(kernel, &numbers, AT_ONCE_IN_LANES, &mut r, |c| {
            let mut lanes = lanes.iter().enumerate();
            lanes.try_for_each(|(lane, &i)| load_random(c, lane, &requests[i].key.public))
        })?;
        fresh.first(r.blind, r.unblind);
        made = Some(fresh);
        pairs.iter_mut().for_each(|pair| pair.left = USES);
    } else {
        for (lane, pair) in pairs.iter().enumerate() {
            load_digits(r.blind, Place::Lane(lane), &pair.blind);
            load_digits(r.unblind, Place::Lane(lane), &pair.unblind);
        }
    }
    let read = |c: &mut [Row]| {
        for (lane, &i) in lanes.iter().enumerate() {
            load_bytes(c, lane, requests[i].buffer);
        }
    };
    read(r.c);
    private(kernel, &numbers, method, &mut r);
    read(r.c);
    let good = check(kernel, &r);
    let good = |lane| memcheck::declassified(good.lane(lane)) == u64::MAX;
    // before others are given back, since what comes last is used next
    for (lane, &i) in lanes.iter().enumerate().filter(|&(lane, _)| good(lane)) {
        for (blind, unblind) in made.iter().flat_map(Fresh::others) {
            requests[i].key.digit_pairs.lay_up(|pair| {
                store_digits(&mut pair.blind, blind, lane);
                store_digits(&mut pair.unblind, unblind, lane);
            });
        }
    }
    for (lane, (&i, pair)) in lanes.iter().zip(pairs).enumerate() {
        if good(lane) {
            give_back(&requests[i].key.digit_pairs, pair, &r, lane);
        } // else the pairs are dropped: they may be what is wrong
        if lane < used {
            let request = &mut requests[i];
            if good(lane) {
                store_bytes(request.buffer, r.s, lane);
                request.outcome = Some(Ok(()));
            } else {
                request.buffer.zeroize();
                request.outcome = Some(Err(Error::Fault));
            }
        }
    }
    Ok(())
}

/// Where each key goes and whose it is: once for all lanes, where they have the same.
fn places<'a, K: 'a>(
    lanes: &[usize; LANES],
    key: impl Fn(usize) -> &'a K,
) -> impl Iterator<Item = (Place, usize)> {
    let same = lanes.iter().all(|&i| core::ptr::eq(key(i), key(lanes[0])));
    let place = move |lane| if same { Place::All } else { Place::Lane(lane) };
    let count = if same { 1 } else { LANES };
    lanes[..count].iter().enumerate().map(move |(lane, &i)| (place(lane), i))
}

/// Stores a lane's squared pair and gives it back to its key.
fn give_back(pool: &Pool<Digit>, mut pair: Pair<Digit>, r: &Registers<'_, Row>, lane: usize) {
    store_digits(&mut pair.blind, r.blind, lane);
    store_digits(&mut pair.unblind, r.unblind, lane);
    pair.left -= 1;
    pool.give(pair);
}

/// A random number below n into a lane.
fn load_random(rows: &mut [Row], lane: usize, key: &PublicKey) -> Result<(), Error> {
    let mut limbs = [0; LIMBS_MAX];
    let limbs = &mut limbs[..key.n.len()];
    random_below(limbs, &key.n, key.bits)?;
    let mut bytes = [0; 8 * LIMBS_MAX];
    let bytes = &mut bytes[..8 * limbs.len()];
    to_bytes(bytes, limbs);
    load_bytes(rows, lane, bytes);
    bytes.zeroize();
    limbs.zeroize();
    Ok(())
}

#[cfg(test)]
mod tests {
    use tollgate_mont::{LaneKernel, LimbKernel};

    use super::*;
    use crate::plan::Plan;
    use crate::plans::Plans;

    /// Lanes and single operations have blinding pairs of their own: what is left of them says who
    /// ran.
    #[test]
    fn a_batch_runs_as_its_plan_says() {
        let plan = Plan { two: None, lanes: Some(4.0) };
        let plans = Plans::always(Form::Lanes).with(Operation::Private, 512, plan);
        let workspace = Workspace::with_kernels(LimbKernel::Portable, LaneKernel::best());
        let mut workspace = workspace.with_plans(plans);
        for (requests, lane_calls, alone) in
            [(3, 0, 3), (5, 1, 0), (8, 1, 0), (10, 1, 2), (13, 2, 0)]
        {
            let pem = include_str!("../../../vectors/keys/rsa-512.pem");
            let key = PrivateKey::from_pem(pem).expect("a good key");
            let mut buffers = vec![vec![0; key.size()]; requests];
            let mut batch: Vec<_> =
                buffers.iter_mut().map(|buffer| PrivateRequest::new(&key, buffer)).collect();
            private_batch(&mut workspace, &mut batch);
            batch.iter().for_each(|request| assert!(request.outcome().is_ok()));
            assert_eq!(uses(&key.digit_pairs), LANES * lane_calls, "{requests} requests");
            assert_eq!(uses(&key.limb_pairs), alone, "{requests} requests");
        }
    }

    fn uses<S: zeroize::DefaultIsZeroes>(pool: &Pool<S>) -> usize {
        let left = || pool.take().left;
        let pairs = core::iter::repeat_with(left).take_while(|left| *left > 0);
        pairs.map(|left| usize::try_from(USES - left).expect("at most 64")).sum()
    }
}
