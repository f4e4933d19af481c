//! Many operations at once, eight to a call, each lane with its own key.

use tollgate_cpu::memcheck;
use tollgate_mont::{Digit, LANES, Row, Scalar, Word};
use zeroize::Zeroize;

use crate::blinding::{Pair, USES, random_below};
use crate::blocks;
use crate::error::Error;
use crate::key::{PrivateKey, PublicKey, from_bytes, to_bytes};
use crate::material::load_digits;
use crate::private::{Method, Registers, make_pair, private, private_words, public, public_words};
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
/// Requests whose keys have one size share lanes. A request that fails does not touch its
/// neighbours; its buffer is zeroed unless its input was refused. Requests that already have an
/// outcome are left alone.
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
        let n = requests[first].key.digits.shape();
        let alike = |r: &PublicRequest<'_>| r.outcome.is_none() && r.key.digits.shape() == n;
        let (lanes, used) = gather(requests, first, alike);
        if used == 0 {
        } else if used < workspace.lanes_from {
            for &lane in &lanes[..used] {
                let r = &mut requests[lane];
                r.outcome = Some(r.key.public(workspace, r.buffer));
            }
        } else {
            public_lanes(workspace, requests, &lanes, used);
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
    for first in 0..requests.len() {
        let class = requests[first].key.class();
        let alike = |r: &PrivateRequest<'_>| r.outcome.is_none() && r.key.class() == class;
        let (lanes, used) = gather(requests, first, alike);
        if used == 0 {
        } else if used < workspace.lanes_from {
            few(workspace, requests, &lanes[..used], method);
        } else {
            let drawn = private_lanes(workspace, requests, &lanes, used, method);
            workspace.lanes.wipe();
            workspace.keys.wipe();
            if let Err(error) = drawn {
                for &lane in &lanes[..used] {
                    requests[lane].buffer.zeroize();
                    requests[lane].outcome = Some(Err(error.clone()));
                }
            }
        }
    }
}

/// Requests of one class that are too few for lanes: in step by twos where that is possible, else
/// one by one.
fn few(
    workspace: &mut Workspace,
    requests: &mut [PrivateRequest<'_>],
    at: &[usize],
    method: Method,
) {
    let mut left = at;
    while let [first, others @ ..] = left {
        left = others;
        if let (Method::Crt, [second, others @ ..]) = (method, others)
            && let Some(runner) = &mut workspace.blocks
            && blocks::alike(requests[*first].key, requests[*second].key)
        {
            let two = requests.get_disjoint_mut([*first, *second]);
            let [a, b] = two.expect("two requests");
            let buffers = [&mut *a.buffer, &mut *b.buffer];
            let [of_a, of_b] = blocks::private(runner, [a.key, b.key], buffers);
            (a.outcome, b.outcome) = (Some(of_a), Some(of_b));
            left = others;
            continue;
        }
        let r = &mut requests[*first];
        r.outcome = Some(match method {
            Method::Crt => r.key.private(workspace, r.buffer),
            Method::Full => r.key.private_full(workspace, r.buffer),
        });
    }
}

/// Gives a request without an outcome its refusal, if its input is not acceptable.
fn refuse(outcome: &mut Option<Result<(), Error>>, key: &PublicKey, buffer: &[u8]) {
    if outcome.is_none() {
        *outcome = check_input(key, buffer).err().map(Err);
    }
}

/// The first eight requests from `first` on that are alike, and how many there are; the lanes that
/// stay free do the first one's work again. None if the request at `first` is not `alike` (done).
fn gather<R>(requests: &[R], first: usize, alike: impl Fn(&R) -> bool) -> ([usize; LANES], usize) {
    let mut lanes = [first; LANES];
    let mut used = 0;
    if alike(&requests[first]) {
        let found = (first..requests.len()).filter(|&i| alike(&requests[i]));
        for (lane, i) in lanes.iter_mut().zip(found) {
            *lane = i;
            used += 1;
        }
    }
    (lanes, used)
}

fn public_lanes(
    workspace: &mut Workspace,
    requests: &mut [PublicRequest<'_>],
    lanes: &[usize; LANES],
    used: usize,
) {
    let keys = &mut workspace.keys;
    keys.reshape_public(requests[lanes[0]].key.digits.shape());
    for (lane, &i) in lanes.iter().enumerate() {
        let key = requests[i].key;
        keys.load_public(lane, &key.digits, &key.e, crate::material::Bits::default());
    }
    let (n, e) = keys.public();
    let kernel = workspace.lanes.kernel;
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
    for (lane, &i) in lanes.iter().enumerate() {
        let key = requests[i].key;
        keys.load_public(lane, &key.public.digits, &key.public.e, key.exponent_bits());
        keys.load_secret(lane, &key.digits, &key.exponents);
    }
    let numbers = keys.numbers();
    let kernel = workspace.lanes.kernel;
    let mut r = workspace.lanes.registers(numbers.n.k(), private_words(kernel, &numbers, method));

    let mut pairs = lanes.map(|i| requests[i].key.digit_pairs.take());
    if pairs.iter().any(|pair| pair.left == 0) {
        // one fresh pair costs as much as eight, so all lanes get theirs
        for (lane, &i) in lanes.iter().enumerate() {
            load_random(r.c, lane, &requests[i].key.public)?;
        }
        make_pair(kernel, &numbers, &mut r);
        pairs.iter_mut().for_each(|pair| pair.left = USES);
    } else {
        for (lane, pair) in pairs.iter().enumerate() {
            load_digits(r.blind, lane, &pair.blind);
            load_digits(r.unblind, lane, &pair.unblind);
        }
    }
    for (lane, &i) in lanes.iter().enumerate() {
        load_bytes(r.c, lane, requests[i].buffer);
    }
    let good = private(kernel, &numbers, method, &mut r);
    for (lane, (&i, pair)) in lanes.iter().zip(pairs).enumerate() {
        let good = memcheck::declassified(good.lane(lane)) == u64::MAX;
        if good {
            give_back(requests[i].key, pair, &r, lane);
        } // else the pair is dropped: it may be what is wrong
        if lane < used {
            let request = &mut requests[i];
            if good {
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

/// Stores a lane's squared pair and gives it back to its key.
fn give_back(key: &PrivateKey, mut pair: Pair<Digit>, r: &Registers<'_, Row>, lane: usize) {
    let store = |digits: &mut [Digit], rows: &[Row]| {
        for (digit, row) in digits.iter_mut().zip(rows) {
            *digit = Digit::from_bits(row.lane(lane));
        }
    };
    store(&mut pair.blind, r.blind);
    store(&mut pair.unblind, r.unblind);
    pair.left -= 1;
    key.digit_pairs.give(pair);
}

/// A big-endian number into a lane.
fn load_bytes(rows: &mut [Row], lane: usize, bytes: &[u8]) {
    let mut limbs = [0; LIMBS_MAX];
    let limbs = &mut limbs[..bytes.len().div_ceil(8)];
    from_bytes(limbs, bytes);
    load_limbs(rows, lane, limbs);
    limbs.zeroize(); // may be a message
}

/// A random number below n into a lane.
fn load_random(rows: &mut [Row], lane: usize, key: &PublicKey) -> Result<(), Error> {
    let mut limbs = [0; LIMBS_MAX];
    let limbs = &mut limbs[..key.n.len()];
    random_below(limbs, &key.n, key.bits)?;
    load_limbs(rows, lane, limbs);
    limbs.zeroize();
    Ok(())
}

fn load_limbs(rows: &mut [Row], lane: usize, limbs: &[u64]) {
    let mut digits = [Digit::default(); (LIMBS_MAX * 64).div_ceil(Digit::BITS) + 1];
    let len = digits.len().min(rows.len());
    Digit::pack(&mut digits[..len], limbs);
    rows.iter_mut().for_each(|row| row.set_lane(lane, 0));
    load_digits(rows, lane, &digits[..len]);
    digits.zeroize();
}

/// A lane into big-endian bytes.
fn store_bytes(bytes: &mut [u8], rows: &[Row], lane: usize) {
    let mut digits = [Digit::default(); (LIMBS_MAX * 64).div_ceil(Digit::BITS) + 1];
    let digits = &mut digits[..rows.len().min((LIMBS_MAX * 64).div_ceil(Digit::BITS) + 1)];
    for (digit, row) in digits.iter_mut().zip(rows) {
        *digit = Digit::from_bits(row.lane(lane));
    }
    let mut limbs = [0; LIMBS_MAX];
    let limbs = &mut limbs[..bytes.len().div_ceil(8)];
    Digit::unpack(limbs, digits);
    to_bytes(bytes, limbs);
    digits.zeroize();
    limbs.zeroize();
}
