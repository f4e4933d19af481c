//! Flips a bit of each intermediate number of an operation, or replaces the number. Does so for
//! each kernel: with one operation, and in each lane. A fault inside of a step,
//! such as an exponentiation in lane blocks, has the same effect as a replaced result.

use tollgate_mont::{LANES, LaneKernel, LimbKernel};

use super::{good_key, input};
use crate::fault::{self, Change, Flip};
use crate::{Error, Form, Plans, PrivateKey, Workspace, test_keys};

/// The points of a call on limbs or in lanes, with the number of times that the first operation of
/// a key passes them. That operation also makes its blinding pair by CRT.
const POINTS: [(&str, usize); 14] = [
    ("blind", 1),
    ("blinded", 1),
    ("h", 2),
    ("input", 1),
    ("m", 2),
    ("m_1", 2),
    ("m_1 - m_2", 2),
    ("m_2", 2),
    ("m_2 mod p", 2),
    ("q * h", 2),
    ("s", 1),
    ("s^e", 1),
    ("unblind", 1),
    ("unblinded", 1),
];

/// The points of a call in lane blocks.
const POINTS_OF_BLOCKS: [(&str, usize); 13] = [
    ("blind", 1),
    ("blinded", 1),
    ("input", 1),
    ("m", 2),
    ("m_1", 2),
    ("m_1 * a", 2),
    ("m_2", 2),
    ("m_2 * b", 2),
    ("s", 1),
    ("s^e", 1),
    ("unblind", 1),
    ("unblinded", 1),
    ("unpacked", 2),
];

/// Returns the outcome and the buffer of each of `count` operations of a key.
fn run(
    workspace: &mut Workspace,
    key: &PrivateKey,
    count: u8,
) -> Vec<(Result<(), Error>, Vec<u8>)> {
    let mut buffers: Vec<_> = (1..=count).map(|seed| input(key, seed)).collect();
    test_keys::run(workspace, key, &mut buffers).into_iter().zip(buffers).collect()
}

/// Flips a bit, and then replaces the number, at each pass of each point in each operation. The
/// check finds most of the flips. The others change nothing, because the bit is not used.
fn fail_everywhere(
    what: &str,
    workspace: &mut Workspace,
    count: u8,
    points: &[(&'static str, usize)],
) {
    let expected = run(workspace, &good_key(), count);
    assert!(expected.iter().all(|(outcome, _)| *outcome == Ok(())), "{what}");
    let passed = fault::passed(|| drop(run(workspace, &good_key(), count)));
    assert_eq!(passed, points.iter().copied().collect(), "{what}");

    let mut rng = fastrand::Rng::with_seed(15);
    let (mut found, mut flips) = (0, 0);
    for (point, passes) in passed {
        for (pass, operation) in
            (0..passes).flat_map(|pass| (0..usize::from(count)).map(move |i| (pass, i)))
        {
            for change in [Change::Bit(rng.usize(..)), Change::Number(rng.u64(..))] {
                let flip = Flip { point, pass, operation, change };
                let key = good_key();
                let (results, flipped) = fault::with(flip, || run(workspace, &key, count));
                assert!(flipped, "{what}: {flip:?} did not happen");
                let is_found = results[operation].0 == Err(Error::Fault);
                match change {
                    Change::Bit(_) => (found, flips) = (found + u32::from(is_found), flips + 1),
                    Change::Number(_) => assert!(is_found, "{what}: {flip:?} was not found"),
                }
                for (i, (result, expected)) in results.iter().zip(&expected).enumerate() {
                    if i == operation && is_found {
                        assert!(result.1.iter().all(|&b| b == 0), "{what}: {flip:?} released");
                    } else {
                        assert_eq!(result, expected, "{what}: {flip:?}, operation {i}");
                    }
                }
                assert_eq!(run(workspace, &key, count), expected, "{what}: {flip:?} stayed");
            }
        }
    }
    assert!(10 * found >= 7 * flips, "{what}: {found} of {flips} flips were found");
}

#[test]
fn alone() {
    for kernel in LimbKernel::all() {
        let mut workspace = Workspace::with_kernels(kernel, LaneKernel::Portable);
        let blocks = workspace.blocks.is_some();
        let points = if blocks { &POINTS_OF_BLOCKS[..] } else { &POINTS };
        workspace = workspace.with_plans(Plans::always(Form::One));
        let name = format!("{kernel:?}");
        fail_everywhere(&name, &mut workspace, 1, points);
    }
}

#[test]
fn in_each_lane() {
    for kernel in LaneKernel::all() {
        let mut workspace = Workspace::with_kernels(LimbKernel::best(), kernel)
            .with_plans(Plans::always(Form::Lanes));
        let count = u8::try_from(LANES).expect("eight");
        let name = format!("{kernel:?}");
        fail_everywhere(&name, &mut workspace, count, &POINTS);
    }
}
