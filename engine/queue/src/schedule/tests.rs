use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::toy::Doubling;

/// An operation on a schedule.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A request arrives. The numbers are its caller, key and class.
    Arrives(usize, u64, u64),
    /// A unit takes a batch.
    RunsBatch,
    /// Drops the ticket of the n-th last request.
    Drops(usize),
}

/// A waiting request and its observations.
struct Observed {
    flow: (usize, u64),
    /// The number of requests of its flow that are ahead of it, by tags.
    k: u64,
    batches: u64,
    flows: HashSet<(usize, u64)>,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        // one caller with one key floods
        3 => Just(Step::Arrives(0, 0, 0)),
        3 => (0..4_usize, 0..3_u64, 0..2_u64).prop_map(|(c, k, class)| Step::Arrives(c, k, class)),
        2 => Just(Step::RunsBatch),
        1 => (0..20_usize).prop_map(Step::Drops),
    ]
}

const CAPACITY: usize = 48;

proptest! {
    /// The bound in the module's documentation holds for any arrivals.
    #[test]
    fn no_request_waits_for_more_batches_than_the_bound(
        steps in prop::collection::vec(step(), 1..400),
        width in 1_usize..5,
    ) {
        let mut schedule = Schedule::<Doubling>::new(CAPACITY, CAPACITY / 2);
        let callers = [(); 4].map(|()| schedule.add_caller());
        let mut waiting: Vec<(usize, Observed)> = Vec::new();
        let mut batch = Batch::with_room(CAPACITY);
        for step in steps.into_iter().chain([Step::RunsBatch; CAPACITY]) {
            match step {
                Step::Arrives(caller, key, class) => {
                    let Ok((slot, mut request)) = schedule.admit(callers[caller]) else {
                        continue;
                    };
                    (request.job.key, request.job.class) = (key, class);
                    request.note_kind();
                    schedule.enqueue(slot, request, Instant::now());
                    let flow = (caller, key);
                    waiting.iter_mut().for_each(|(_, seen)| _ = seen.flows.insert(flow));
                    let mut flows: HashSet<_> = waiting.iter().map(|(_, seen)| seen.flow).collect();
                    flows.insert(flow);
                    let k = schedule.slots[slot].tag - schedule.now;
                    waiting.push((slot, Observed { flow, k, batches: 0, flows }));
                }
                Step::RunsBatch => {
                    let class = schedule.next_class().unwrap_or_default();
                    if !schedule.next_batch(class, width, &mut batch) {
                        prop_assert!(waiting.is_empty(), "all are served in the end");
                        continue;
                    }
                    prop_assert!((1..=width).contains(&batch.slots.len()));
                    let class = batch.requests[0].job.class;
                    prop_assert!(batch.requests.iter().all(|r| r.job.class == class));
                    prop_assert!(!batch.put_in_order(), "no request was moved");
                    let Batch { slots, requests, .. } = &mut batch;
                    for (slot, mut request) in slots.drain(..).zip(requests.drain(..)) {
                        let at = waiting.iter().position(|(other, _)| *other == slot).unwrap();
                        let (_, Observed { k, batches, flows, .. }) = waiting.remove(at);
                        let f = flows.len() as u64;
                        prop_assert!(batches <= (f - 1) * (k + 1) + k, "{batches}, {f}, {k}");
                        request.wipe();
                        schedule.finish(slot, request, Ok(()));
                        let (request, _) = schedule.claim(slot).unwrap();
                        schedule.release(slot, request);
                    }
                    waiting.iter_mut().for_each(|(_, seen)| seen.batches += 1);
                }
                Step::Drops(back) => {
                    let Some(at) = waiting.len().checked_sub(back + 1) else {
                        continue;
                    };
                    let (slot, _) = waiting.remove(at);
                    let mut request = schedule.abandon(slot).unwrap();
                    request.wipe();
                    schedule.release(slot, request);
                }
            }
            prop_assert_eq!(schedule.depth(), waiting.len());
            prop_assert_eq!(schedule.slots_in_use(), waiting.len());
        }
    }
}
