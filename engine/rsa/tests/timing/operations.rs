//! Whole private-key operations, one and eight at a time: fixed and random messages and keys.

use tollgate_bench::{Leak, LeakPlan, Leakage};
use tollgate_mont::{Kernel, LANES, LaneKernel, LimbKernel};
use tollgate_rsa::{Form, Plans, PrivateRequest, Workspace, private_batch};

use crate::judge::judge;
use crate::keys::{KEYS, Numbers};
use crate::{BITS, INPUTS, PLAN, chosen};

/// Number of times that keys are loaded to new places.
const LAYOUTS: usize = 64;

/// Inputs of a batch of private-key operations: a message and a key's index for each.
struct Operation {
    messages: Vec<Vec<u8>>,
    keys: Vec<(usize, usize)>,
}

/// Times calls of `batch` operations; either each message or each key is fixed or random.
fn operations(
    workspace: &mut Workspace,
    numbers: &Numbers,
    batch: usize,
    of_keys: bool,
) -> Option<Leakage> {
    let mut rng = fastrand::Rng::with_seed(24);
    let size = 2 * BITS / 8;
    let message = |rng: &mut fastrand::Rng| {
        let mut message: Vec<u8> = (0..size).map(|_| rng.u8(..)).collect();
        message[0] = 0; // below every modulus
        message
    };
    let fixed = message(&mut rng);
    let empty = || Operation { messages: vec![vec![0; size]; batch], keys: vec![(0, 0); batch] };
    let mut inputs: Vec<_> = (0..INPUTS).map(|_| empty()).collect();
    let mut make = |input: &mut Operation, random: bool, rng: &mut fastrand::Rng| {
        for (buffer, key) in input.messages.iter_mut().zip(&mut input.keys) {
            let drawn = message(rng);
            let keep = of_keys || random;
            buffer.copy_from_slice(if keep { &drawn } else { &fixed });
            let class = usize::from(of_keys && random);
            *key = (class, rng.usize(..KEYS));
        }
    };
    let plan = LeakPlan {
        samples: PLAN.samples / LAYOUTS,
        time: PLAN.time / u32::try_from(LAYOUTS).unwrap(),
    };
    let mut leak = Leak::default();
    for _ in 0..LAYOUTS {
        let keys = numbers.load(&mut rng);
        let mut run = |input: &mut Operation| {
            let key = |at: &(usize, usize)| &keys.classes[at.0][at.1];
            if batch == 1 {
                key(&input.keys[0]).private(workspace, &mut input.messages[0]).unwrap();
            } else {
                let requests = input.messages.iter_mut().zip(&input.keys);
                let mut requests: Vec<_> =
                    requests.map(|(m, at)| PrivateRequest::new(key(at), m)).collect();
                private_batch(workspace, &mut requests);
                requests.iter().for_each(|request| request.outcome().unwrap());
            }
        };
        leak.look(plan, &mut rng, &mut inputs, &mut make, &mut run)?;
        leak.next_layout();
    }
    Some(leak.result())
}

/// The name of the secret input, and whether that is the key.
const SECRETS: [(&str, bool); 2] = [("Message", false), ("Key", true)];

#[test]
#[ignore = "a minute or two on a quiet machine, in a release build: ./x test --long"]
fn private_operations_one_at_a_time() {
    let numbers = Numbers::new();
    for limbs in chosen(LimbKernel::all()) {
        let mut workspace = Workspace::with_kernels(limbs, LaneKernel::Portable);
        for (secret, of_keys) in SECRETS {
            let what = format!("private operation on {}, {secret}", limbs.name());
            judge(&what, || operations(&mut workspace, &numbers, 1, of_keys));
        }
    }
}

#[test]
#[ignore = "a minute or two on a quiet machine, in a release build: ./x test --long"]
fn private_operations_in_a_batch() {
    let numbers = Numbers::new();
    for lanes in chosen(LaneKernel::all()) {
        let mut workspace = Workspace::with_kernels(LimbKernel::best(), lanes)
            .with_plans(Plans::always(Form::Lanes));
        for (secret, of_keys) in SECRETS {
            let what = format!("{LANES} private operations on {}, {secret}", lanes.name());
            judge(&what, || operations(&mut workspace, &numbers, LANES, of_keys));
        }
    }
}
