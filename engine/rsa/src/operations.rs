//! Private and public operations, single and in batches, cut into calls by the workspace's plan.

use tollgate_mont::{Kernel as _, LANES, LaneKernel, LimbKernel, Row};

use crate::error::{Error, Misuse};
use crate::key::{PrivateKey, PublicKey};
use crate::layout::{InBlocks, Plain as _, Words, places, public, public_words};
use crate::natural::{from_bytes, to_bytes};
use crate::path::{self, check_input};
use crate::plan::{Form, Operation};
use crate::request::{PrivateRequest, PublicRequest};
use crate::workspace::Workspace;

impl PrivateKey {
    /// Runs the private operation in place: c becomes c^d mod n (RFC 8017, RSASP1 and RSADP). Both
    /// numbers are big-endian, of [`size`](Self::size) bytes. The operation uses CRT; it is
    /// blinded, and checked with e.
    ///
    /// On an error the buffer is zeroed, unless the input was refused.
    ///
    /// # Errors
    ///
    /// [`Misuse::BufferLength`]; [`Rejected::MessageRange`](crate::Rejected::MessageRange) if c >=
    /// n; [`Error::Fault`] if the check failed; `Unavailable` if there are no random bytes.
    pub fn private(&self, workspace: &mut Workspace, buffer: &mut [u8]) -> Result<(), Error> {
        check_input(&self.public, buffer)?;
        let mut request = PrivateRequest::new(self, buffer);
        one(workspace, core::slice::from_mut(&mut request), 0);
        request.outcome()
    }
}

impl PublicKey {
    /// Checks that a buffer has the length of n, as signatures, ciphertexts and numbers must.
    ///
    /// # Errors
    ///
    /// [`Misuse::BufferLength`] with both lengths.
    pub fn check_length(&self, buffer: &[u8]) -> Result<(), Error> {
        Misuse::check_length(buffer.len(), self.size())
    }

    /// Runs the public operation in place: x becomes x^e mod n (RFC 8017, RSAVP1 and RSAEP). Both
    /// numbers are big-endian, of [`size`](Self::size) bytes. The time varies with e only. The
    /// workspace is not wiped afterwards: it contains x and the result until the next private
    /// operation, or until it is dropped.
    ///
    /// # Errors
    ///
    /// [`Misuse::BufferLength`]; [`Rejected::MessageRange`](crate::Rejected::MessageRange) if x >=
    /// n.
    pub fn public(&self, workspace: &mut Workspace, buffer: &mut [u8]) -> Result<(), Error> {
        check_input(self, buffer)?;
        let runner = &mut workspace.limbs;
        let kernel = runner.kernel;
        let memory = runner.memory(public_words(kernel, &self.limbs));
        let power = public(kernel, &self.limbs, &self.e, memory, |x| from_bytes(x, buffer));
        to_bytes(buffer, power);
        Ok(())
    }
}

/// Runs any number of private operations with any keys, by CRT, blinded and checked.
///
/// Requests with keys of one size share calls; the workspace's [`Plan`](crate::Plan) for that size
/// determines the calls. A request that fails does not affect others; its buffer is zeroed unless
/// its input was refused. Requests that already have an outcome are skipped.
pub fn private_batch(workspace: &mut Workspace, requests: &mut [PrivateRequest<'_>]) {
    for r in &mut *requests {
        refuse(&mut r.outcome, &r.key.public, r.buffer);
    }
    for first in 0..requests.len() {
        if requests[first].outcome.is_some() {
            continue;
        }
        let (class, bits) = (requests[first].key.class(), requests[first].key.bits());
        let alike = |r: &PrivateRequest<'_>| r.outcome.is_none() && r.key.class() == class;
        let plan = workspace.plans.plan(Operation::Private, bits);
        let mut next = first;
        let company = requests[first..].iter().filter(|r| alike(r)).count();
        for (form, count) in plan.cut(company).calls() {
            let at = gather(requests, &mut next, count, alike);
            match form {
                Form::Lanes => {
                    path::run::<Words<LaneKernel>, LANES>(workspace, requests, at, count);
                }
                Form::One => one(workspace, requests, at[0]),
            }
        }
    }
    workspace.wipe();
}

/// Runs any number of public operations with any keys: see [`private_batch`].
pub fn public_batch(workspace: &mut Workspace, requests: &mut [PublicRequest<'_>]) {
    for r in &mut *requests {
        refuse(&mut r.outcome, r.key, r.buffer);
    }
    for first in 0..requests.len() {
        if requests[first].outcome.is_some() {
            continue;
        }
        let (n, bits) = (requests[first].key.digits_shape(), requests[first].key.bits);
        let alike = |r: &PublicRequest<'_>| r.outcome.is_none() && r.key.digits_shape() == n;
        let plan = workspace.plans.plan(Operation::Public, bits);
        let mut next = first;
        let company = requests[first..].iter().filter(|r| alike(r)).count();
        for (form, count) in plan.cut(company).calls() {
            let at = gather(requests, &mut next, count, alike);
            match form {
                Form::Lanes => public_lanes(workspace, requests, &at, count),
                Form::One => {
                    let r = &mut requests[at[0]];
                    r.outcome = Some(r.key.public(workspace, r.buffer));
                }
            }
        }
    }
}

/// Runs one request, in lane blocks if its key and the workspace have them.
fn one(workspace: &mut Workspace, requests: &mut [PrivateRequest<'_>], i: usize) {
    if workspace.blocks.is_some() && requests[i].key.in_blocks.is_some() {
        path::run::<InBlocks, 1>(workspace, requests, [i], 1);
    } else {
        path::run::<Words<LimbKernel>, 1>(workspace, requests, [i], 1);
    }
}

/// Checks the input of a request without an outcome; a refusal becomes the outcome.
fn refuse(outcome: &mut Option<Result<(), Error>>, key: &PublicKey, buffer: &[u8]) {
    if outcome.is_none() {
        *outcome = check_input(key, buffer).err().map(Err);
    }
}

/// Finds the next `count` similar requests, starting at `next`, and advances `next` past them. If
/// `count` is less than the number of lanes, the remaining lanes repeat the first request.
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

/// Runs the requests at `lanes`, of which the first `used` are different, and sets their outcomes.
fn public_lanes(
    workspace: &mut Workspace,
    requests: &mut [PublicRequest<'_>],
    lanes: &[usize; LANES],
    used: usize,
) {
    let Workspace { lanes: runner, keys: loaded, .. } = workspace;
    let (kernel, keys) = (runner.kernel, lanes.map(|i| requests[i].key));
    loaded.reshape_public(keys[0].digits_shape());
    kernel.with_target_features(
        #[inline(always)]
        || {
            for (place, key) in places(&keys) {
                loaded.load_public(place, key.digits(), &key.e);
            }
        },
    );
    let (n, e) = loaded.public();
    let power = public(kernel, n, e, runner.memory(public_words(kernel, n)), |x| {
        for (lane, &i) in lanes.iter().enumerate() {
            Row::read(x, lane, requests[i].buffer);
        }
    });
    for (lane, &i) in lanes[..used].iter().enumerate() {
        Row::write(requests[i].buffer, power, lane);
        requests[i].outcome = Some(Ok(()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blinding::{Pool, USES};
    use crate::plan::Plan;
    use crate::plans::Plans;
    use crate::test_keys::{key, run};

    /// Lanes and single operations have separate blinding pairs, so the uses of the pairs tell
    /// which form ran.
    #[test]
    fn a_batch_runs_as_its_plan_says() {
        let plan = Plan { lanes: Some(4.0) };
        let plans = Plans::always(Form::Lanes).with(Operation::Private, 512, plan);
        let workspace = Workspace::with_kernels(LimbKernel::Portable, LaneKernel::best());
        let mut workspace = workspace.with_plans(plans);
        for (requests, lane_calls, alone) in
            [(3, 0, 3), (5, 1, 0), (8, 1, 0), (10, 1, 2), (13, 2, 0)]
        {
            let key = key("rsa-512");
            let outcomes = run(&mut workspace, &key, &mut vec![vec![0; key.size()]; requests]);
            assert_eq!(outcomes, vec![Ok(()); requests]);
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
