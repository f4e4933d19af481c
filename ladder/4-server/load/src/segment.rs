//! The part of a plan that one process runs.

use serde::{Deserialize, Serialize};

use crate::arrivals::Arrivals;
use crate::plan::Plan;

/// The threads of a plan with the numbers from `from` to below `to`.
///
/// The number of a thread determines its connections, its arrivals and its random streams. The
/// segments of a plan are therefore together exactly its load, with any number of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// The first thread.
    pub from: u32,
    /// The thread after the last one; above `from`.
    pub to: u32,
}

impl Segment {
    /// Returns all threads of a plan.
    pub(crate) const fn whole(plan: &Plan) -> Self {
        Self { from: 0, to: plan.threads }
    }

    /// Splits the threads of a plan into this many segments. Their sizes differ by one thread at
    /// most; `None` if there are fewer threads than segments, or no segments.
    #[must_use]
    pub fn split(plan: &Plan, parts: u32) -> Option<Vec<Self>> {
        let each = plan.threads.checked_div(parts).filter(|&each| each > 0)?;
        let more = plan.threads % parts;
        let begin = |part: u32| part * each + part.min(more);
        Some((0..parts).map(|part| Self { from: begin(part), to: begin(part + 1) }).collect())
    }

    pub(crate) const fn threads(self) -> core::ops::Range<u32> {
        self.from..self.to
    }

    pub(crate) const fn is_of(self, plan: &Plan) -> bool {
        self.from < self.to && self.to <= plan.threads
    }

    /// Returns a plan with the size of this segment, to estimate what this machine needs for it.
    pub(crate) fn size(self, plan: &Plan) -> Plan {
        let threads = self.to.saturating_sub(self.from);
        // connections of a thread: thread, thread + threads, ...
        let of_thread = |thread| plan.connections.saturating_sub(thread).div_ceil(plan.threads);
        let mut size = plan.clone();
        (size.threads, size.connections) = (threads, self.threads().map(of_thread).sum());
        if let Arrivals::Open { pattern, .. } = &mut size.arrivals {
            let share = f64::from(threads) / f64::from(plan.threads);
            *pattern = pattern.at(pattern.per_s() * share);
        }
        size
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::collections::BTreeMap;
    use std::time::Instant;

    use proptest::prelude::*;

    use super::*;
    use crate::arrivals::Pattern;
    use crate::generator::{Generator, Next};
    use crate::offer::Protocol;
    use crate::schedule::Schedule;

    fn plan(connections: u32, threads: u32) -> Plan {
        let arrivals = Arrivals::open(Pattern::Poisson { per_s: 1e5 });
        Plan { arrivals, connections, threads, plain_share: 0.3, ..Plan::new(Protocol::Tls13) }
    }

    /// Returns the arrivals of the first 10 ms by number, with intended start and kind.
    fn arrivals(plan: &Plan, segments: &[Segment]) -> BTreeMap<u64, (Duration, bool)> {
        let schedule = Schedule::new(plan, Instant::now());
        let mut all = BTreeMap::new();
        for thread in segments.iter().flat_map(|segment| segment.threads()) {
            let mut generator = Generator::new(plan, thread);
            generator.begin(&schedule);
            while let Some(next) = generator.next(schedule.start + Duration::from_millis(10)) {
                let Next::Begins { task, .. } = next else { panic!("enough connections") };
                let value = (task.intended - schedule.start, task.is_plain);
                assert_eq!(all.insert(task.number, value), None, "arrivals belong to one segment");
            }
        }
        all
    }

    #[test]
    fn the_union_of_segments_is_the_plan() {
        let single = plan(4000, 1);
        let whole = arrivals(&single, &[Segment::whole(&single)]);
        let plain = whole.values().filter(|(_, is_plain)| *is_plain).count();
        // the standard deviation is 15
        assert!(whole.len() > 800 && plain.abs_diff(3 * whole.len() / 10) < 75, "{plain}");
        for (threads, parts) in [(2, 2), (4, 4), (7, 3), (12, 4)] {
            let plan = plan(4000, threads);
            assert_eq!(arrivals(&plan, &Segment::split(&plan, parts).unwrap()), whole);
        }
    }

    proptest! {
        #[test]
        fn a_plan_that_was_sent_is_the_same_in_all_bits(
            per_s in 0.001..1e7_f64, plain_share in 0.0..1.0_f64, seed: u64
        ) {
            let arrivals = Arrivals::open(Pattern::Poisson { per_s });
            let plan = Plan { arrivals, plain_share, seed, ..Plan::new(Protocol::Tls13) };
            let again: Plan = serde_json::from_slice(&serde_json::to_vec(&plan).unwrap()).unwrap();
            prop_assert_eq!((again.hash(), again), (plan.hash(), plan));
        }

        #[test]
        fn threads_and_connections_are_split_exactly(
            connections in 1_u32..2000, threads in 1_u32..200, parts in 0_u32..50
        ) {
            prop_assume!(threads <= connections);
            let plan = plan(connections, threads);
            let Some(all) = Segment::split(&plan, parts) else {
                prop_assert!(parts == 0 || parts > threads);
                return Ok(());
            };
            prop_assert_eq!(all.len(), parts as usize);
            prop_assert!(all.iter().all(|segment| segment.is_of(&plan)));
            let numbers: Vec<u32> = all.iter().flat_map(|segment| segment.threads()).collect();
            prop_assert_eq!(numbers, (0..threads).collect::<Vec<_>>());
            let sizes = || all.iter().map(|segment| segment.size(&plan));
            prop_assert_eq!(sizes().map(|size| size.connections).sum::<u32>(), connections);
            let rate: f64 = sizes().map(|size| match size.arrivals {
                Arrivals::Open { pattern, .. } => pattern.per_s(),
                Arrivals::Closed { .. } => 0.0,
            }).sum();
            prop_assert!((rate - 1e5).abs() < 1e-3);
        }
    }
}
