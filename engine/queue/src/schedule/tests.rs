#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::toy::{Doubler, Doubling};

/// What happens to a schedule.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A request of a caller, a key and a class comes.
    Comes(usize, u64, u64),
    /// A unit takes a batch.
    Goes,
    /// The ticket of the request that came so many before the last is dropped.
    Drops(usize),
}

/// A request in line, and what it has met.
struct Met {
    flow: (usize, u64),
    /// Requests of its flow before it, by tags.
    k: u64,
    batches: u64,
    flows: HashSet<(usize, u64)>,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        // one caller with one key floods
        3 => Just(Step::Comes(0, 0, 0)),
        3 => (0..4_usize, 0..3_u64, 0..2_u64).prop_map(|(c, k, class)| Step::Comes(c, k, class)),
        2 => Just(Step::Goes),
        1 => (0..20_usize).prop_map(Step::Drops),
    ]
}

const CAPACITY: usize = 48;

proptest! {
    /// The bound that the module states, for whatever comes and goes.
    #[test]
    fn nobody_waits_for_more_batches_than_promised(
        steps in prop::collection::vec(step(), 1..400),
        width in 1_usize..5,
    ) {
        let unit = Doubler::new(width);
        let mut schedule = Schedule::<Doubling>::new(CAPACITY, CAPACITY / 2);
        let callers = [(); 4].map(|()| schedule.add_caller());
        let mut line: Vec<(usize, Met)> = Vec::new();
        let mut batch = Batch::with_room(CAPACITY);
        for step in steps.into_iter().chain([Step::Goes; CAPACITY]) {
            match step {
                Step::Comes(caller, key, class) => {
                    let Ok((slot, mut request)) = schedule.admit(callers[caller]) else {
                        continue;
                    };
                    (request.job.key, request.job.class) = (key, class);
                    request.note_kind();
                    schedule.enqueue(slot, request, Instant::now());
                    let flow = (caller, key);
                    line.iter_mut().for_each(|(_, met)| _ = met.flows.insert(flow));
                    let mut flows: HashSet<_> = line.iter().map(|(_, met)| met.flow).collect();
                    flows.insert(flow);
                    let k = schedule.slots[slot].tag - schedule.now;
                    line.push((slot, Met { flow, k, batches: 0, flows }));
                }
                Step::Goes => {
                    if !schedule.next_batch(&unit, &mut batch) {
                        prop_assert!(line.is_empty(), "all in line are served in the end");
                        continue;
                    }
                    prop_assert!((1..=width).contains(&batch.slots.len()));
                    let class = batch.requests[0].job.class;
                    prop_assert!(batch.requests.iter().all(|r| r.job.class == class));
                    prop_assert!(!batch.put_in_order(), "nobody moved one");
                    let Batch { slots, requests, .. } = &mut batch;
                    for (slot, mut request) in slots.drain(..).zip(requests.drain(..)) {
                        let at = line.iter().position(|(other, _)| *other == slot).unwrap();
                        let (_, Met { k, batches, flows, .. }) = line.remove(at);
                        let f = flows.len() as u64;
                        prop_assert!(batches <= (f - 1) * (k + 1) + k, "{batches}, {f}, {k}");
                        request.wipe();
                        schedule.finish(slot, request, Ok(()));
                        let (request, _) = schedule.claim(slot).unwrap();
                        schedule.release(slot, request);
                    }
                    line.iter_mut().for_each(|(_, met)| met.batches += 1);
                }
                Step::Drops(back) => {
                    let Some(at) = line.len().checked_sub(back + 1) else {
                        continue;
                    };
                    let (slot, _) = line.remove(at);
                    let mut request = schedule.abandon(slot).unwrap();
                    request.wipe();
                    schedule.release(slot, request);
                }
            }
            prop_assert_eq!(schedule.depth(), line.len());
            prop_assert_eq!(schedule.slots_in_use(), line.len());
        }
    }
}
