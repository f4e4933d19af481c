//! The response times of open loops, predicted by a simulation of one core.

use tollgate_bench::median;
use tollgate_fleet::simulation::{Simulator, Steady};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Quantity, Unit};

use crate::cells::float;
use crate::error::CliError;

/// A signer that is busier than this number of cores has several workers. The model is one of a
/// core.
const CORES_MAX: f64 = 1.1;

/// Batches are full if this many of them are in flight: one runs while the next one comes.
const FULL: usize = 2;

/// A round with all requests in flight.
pub(super) struct Closed {
    /// The signer's rate, and its CPU time for an operation in nanoseconds.
    pub(super) per_s: f64,
    pub(super) cpu_ns: f64,
    /// The times of batches of each size in this process, in nanoseconds.
    pub(super) batch_ns: Vec<f64>,
}

impl Closed {
    /// Returns the time of an operation in full batches of this process.
    pub(super) fn full_ns(&self) -> f64 {
        self.batch_ns.last().map_or(f64::NAN, |full| full / float(self.batch_ns.len() as u64))
    }
}

/// Rounds with one request in flight: medians in nanoseconds.
pub(super) struct Alone {
    /// The signer's CPU time for an operation.
    pub(super) cpu_ns: f64,
    /// The response time.
    pub(super) response_ns: f64,
}

/// A signer with one worker.
pub(super) struct Model {
    core: Simulator,
    /// The part of a response time that passes outside the signer, in nanoseconds.
    outside_ns: f64,
}

impl Model {
    /// Derives the model; `None` if the signer has more workers, so few requests were in flight
    /// that batches were not full, or nothing is known. An operation that is alone has a turn for
    /// itself, before which the signer slept; a full batch shares a turn. So the difference between
    /// the two, without that of the batches, is the work of a turn, less its part of one in a full
    /// batch.
    pub(super) fn of(rounds: &[Closed], in_flight: u32, alone: &Alone) -> Option<Self> {
        let over = |of: &dyn Fn(&Closed) -> f64| median(&rounds.iter().map(of).collect::<Vec<_>>());
        let width = rounds.first().map(|round| round.batch_ns.len()).filter(|width| *width > 0)?;
        let is_full = in_flight as usize >= FULL * width;
        if !is_full || over(&|round| 1e-9 * round.per_s * round.cpu_ns) > CORES_MAX {
            return None;
        }
        let batch_ns = |size: usize| over(&|round| round.batch_ns[size]);
        let shared_ns = over(&|round| round.cpu_ns - round.full_ns()).max(0.0);
        let others = 1.0 - 1.0 / float(width as u64);
        let turn_ns = ((alone.cpu_ns - batch_ns(0) - shared_ns) / others).max(0.0);
        let work_ns = (shared_ns - turn_ns * (1.0 - others)).max(0.0);
        let turn = |size| turn_ns + batch_ns(size);
        let core = Simulator::batching(work_ns, &(0..width).map(turn).collect::<Vec<_>>());
        Some(Self {
            core: core.ok()?,
            outside_ns: (alone.response_ns - work_ns - turn_ns - batch_ns(0)).max(0.0),
        })
    }
}

/// A prediction for a rate.
pub(super) struct Predicted {
    steady: Steady,
    outside_ns: f64,
    per_s: f64,
}

impl Predicted {
    /// Returns the prediction; `None` at more than 95 % of the capacity.
    pub(super) fn new(model: &Model, per_s: f64) -> Option<Self> {
        let steady = model.core.steady(per_s).ok()?;
        Some(Self { steady, outside_ns: model.outside_ns, per_s })
    }

    pub(super) fn quantile_ns(&self, q: f64) -> f64 {
        self.outside_ns + self.steady.quantile_ns(q)
    }

    pub(super) const fn operations_per_batch(&self) -> f64 {
        self.steady.operations_per_batch
    }

    /// Returns the CPU time of the signer for an operation, in nanoseconds.
    pub(super) fn cpu_ns(&self) -> f64 {
        1e9 * self.steady.busy / self.per_s
    }

    pub(super) fn figures(&self) -> Result<[(Quantity, Unit, Estimate); 5], CliError> {
        let time = |q| Estimate::exact(self.quantile_ns(q));
        Ok([
            (word::CPU_NS_PER_OPERATION, Unit::Nanos, Estimate::exact(self.cpu_ns())?),
            (
                word::OPERATIONS_PER_BATCH,
                Unit::Ratio,
                Estimate::exact(self.operations_per_batch())?,
            ),
            (word::RESPONSE_NS_P50, Unit::Nanos, time(0.5)?),
            (word::RESPONSE_NS_P90, Unit::Nanos, time(0.9)?),
            (word::RESPONSE_NS_P99, Unit::Nanos, time(0.99)?),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(per_s: f64) -> Closed {
        let batch_ns = (1..=8).map(|size| 1e5 * f64::from(size).min(4.0)).collect();
        Closed { per_s, cpu_ns: 60e3, batch_ns }
    }

    const ALONE: Alone = Alone { cpu_ns: 124e3, response_ns: 160e3 };

    #[test]
    fn other_work_and_turns_are_the_rest_of_the_cpu_time() {
        let rounds = [closed(16e3), closed(15e3), closed(16e3)];
        let model = Model::of(&rounds, 64, &ALONE).unwrap();
        assert!((model.core.capacity_per_s() - 1e9 / 60e3).abs() < 1e-6);
        let calm = Predicted::new(&model, 1.0).unwrap();
        // 50 us in a full batch, so 10 us of other work, 2 us of which are an eighth of a turn of
        // 16 us
        assert!((calm.cpu_ns() / 124e3 - 1.0).abs() < 1e-3, "{}", calm.cpu_ns());
        assert!((calm.quantile_ns(0.5) / 160e3 - 1.0).abs() < 1e-3);
        let busy = Predicted::new(&model, 14e3).unwrap();
        assert!(busy.cpu_ns() < 100e3 && busy.operations_per_batch() > 3.0);
        assert!(busy.figures().unwrap().iter().all(|figure| figure.2.point() > 0.0));
        assert!(Predicted::new(&model, 17e3).is_none());
        // noise is no work of turns, and no time outside is below 0
        let less = Alone { cpu_ns: 90e3, response_ns: 90e3 };
        let calm = Predicted::new(&Model::of(&rounds, 64, &less).unwrap(), 1.0).unwrap();
        assert!((calm.quantile_ns(0.5) / 110e3 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn several_workers_and_keys_without_batches_have_no_prediction() {
        assert!(Model::of(&[closed(30e3)], 64, &ALONE).is_none());
        assert!(Model::of(&[], 64, &ALONE).is_none());
        let without = Closed { batch_ns: Vec::new(), ..closed(1e3) };
        assert!(Model::of(&[without], 64, &ALONE).is_none());
        // batches of eight
        assert!(Model::of(&[closed(16e3)], 15, &ALONE).is_none());
        assert!(Model::of(&[closed(16e3)], 16, &ALONE).is_some());
    }
}
