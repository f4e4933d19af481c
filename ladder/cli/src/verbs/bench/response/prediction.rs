//! The prediction of a server's response times, by its model.

use tollgate_bench::median;
use tollgate_fleet::queue::ServiceTime;
use tollgate_fleet::simulation::quantile;
use tollgate_load::{Arrivals, Pattern, Plan};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, PerSecond, Quantity, Record, Subject, Timestamp, Unit};

use super::model::{Model, Simulated};
use crate::cells::float;
use crate::error::CliError;

const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];

/// The predicted figures of a load by number, in nanoseconds: the quantiles of the response time,
/// and the CPU time of a session.
pub(super) const FIGURES: [(&str, Quantity); 4] = [
    ("p50", word::TRANSACTION_NS[0]),
    ("p90", word::TRANSACTION_NS[1]),
    ("p99", word::TRANSACTION_NS[2]),
    ("CPU", word::SERVER_CPU_NS_PER_SESSION),
];

/// Simulated runs of each load with other arrivals.
const RUNS: u64 = 41;

/// Simulated runs with the arrivals of the plan. Their interruptions and times outside differ.
const OWN_RUNS: u64 = 15;

/// The share of the simulated runs within the interval of a prediction.
const WITHIN: f64 = 0.95;

/// A predicted figure in nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Prediction {
    /// By the formula, from the CPU time alone; `None` where the queue has no steady state, and for
    /// arrivals other than Poisson's.
    pub(super) formula: Option<f64>,
    /// By the simulation of the arrivals that the runs will have. The interval contains 95 % of the
    /// simulated runs with other arrivals of the same pattern.
    pub(super) simulated: Estimate,
}

/// Figures of simulated runs.
pub(super) struct Runs<const N: usize> {
    /// Medians of the runs with the plan's arrivals.
    pub(super) own: [f64; N],
    /// Of runs with other arrivals, with the CPU time at either end of its interval.
    low: Vec<[f64; N]>,
    high: Vec<[f64; N]>,
}

impl Model {
    /// Predicts the [`FIGURES`] of runs with this plan, an open loop.
    pub(super) fn predict(&self, plan: &Plan) -> Result<[Prediction; 4], CliError> {
        let Arrivals::Open { pattern, .. } = &plan.arrivals else {
            bail!("bench response: a closed loop has no rate of arrivals");
        };
        let service = ServiceTime::new(self.cpu_ns(), Estimate::exact(0.0)?)?;
        let rate = PerSecond::new(pattern.per_s());
        let before = 1e6 * float(plan.warm_up_ms);
        let runs = self.runs(plan, |Simulated { sessions, cpu_ns, .. }| {
            let after = sessions.iter().filter(|session| session.0 >= before);
            let mut responses: Vec<f64> = after.map(|(arrived, done)| done - arrived).collect();
            (!responses.is_empty()).then(|| {
                let [p50, p90, p99] = QUANTILES.map(|q| quantile(&mut responses, q));
                [p50, p90, p99, *cpu_ns]
            })
        })?;
        let runs = runs.ok_or_else(|| {
            error!("bench response: no session would arrive: give more --seconds")
        })?;
        let of = |number: usize| -> Result<Prediction, CliError> {
            let formula = match QUANTILES.get(number) {
                Some(q) => self.station().quantile_at_rate(*q, rate, &service).ok(),
                None => Some(self.cpu_ns()),
            };
            let formula = formula.filter(|_| matches!(pattern, Pattern::Poisson { .. }));
            Ok(Prediction {
                formula: formula.map(|found| found.point()),
                simulated: runs.estimate(number)?,
            })
        };
        Ok([of(0)?, of(1)?, of(2)?, of(3)?])
    }

    /// Simulates runs with this plan, an open loop, and takes figures of each; `None` if a run with
    /// the plan's arrivals has none.
    pub(super) fn runs<const N: usize>(
        &self,
        plan: &Plan,
        figures: impl Fn(&Simulated) -> Option<[f64; N]>,
    ) -> Result<Option<Runs<N>>, CliError> {
        let cpu_ns = self.cpu_ns().point();
        let own = |seed| Ok::<_, CliError>(figures(&self.run(plan, cpu_ns, seed)?));
        let Some(own) = (1..=OWN_RUNS).map(own).collect::<Result<Option<Vec<_>>, _>>()? else {
            return Ok(None);
        };
        let of = |number: usize| median(&own.iter().map(|run| run[number]).collect::<Vec<_>>());
        let own = core::array::from_fn(of);
        let (lowest, highest) = self.cpu_ns().interval();
        let with = |cpu_ns| -> Result<Vec<_>, CliError> {
            let run = |number: u64| {
                let plan = Plan { seed: plan.seed.wrapping_add(number), ..plan.clone() };
                Ok(figures(&self.run(&plan, cpu_ns, number)?))
            };
            (1..=RUNS).map(run).filter_map(Result::transpose).collect()
        };
        Ok(Some(Runs { own, low: with(lowest)?, high: with(highest)? }))
    }
}

impl<const N: usize> Runs<N> {
    /// Returns the figure of this number. The interval contains 95 % of the runs with other
    /// arrivals.
    pub(super) fn estimate(&self, number: usize) -> Result<Estimate, CliError> {
        let point = self.own[number];
        let all = |runs: &[[f64; N]], q| match runs {
            [] => point,
            runs => quantile(&mut runs.iter().map(|run| run[number]).collect::<Vec<_>>(), q),
        };
        let low = all(&self.low, (1.0 - WITHIN) / 2.0).min(point);
        let high = all(&self.high, f64::midpoint(1.0, WITHIN)).max(point);
        Ok(Estimate::new(point, (low, high), RUNS)?)
    }

    /// Returns the differences from the figures of another server, run by run with equal arrivals.
    pub(super) fn minus(&self, other: &Self) -> Self {
        let less = |a: &[f64; N], b: &[f64; N]| core::array::from_fn(|i| a[i] - b[i]);
        let each = |a: &[[f64; N]], b: &[[f64; N]]| {
            a.iter().zip(b).map(|(a, b)| less(a, b)).collect::<Vec<_>>()
        };
        Self {
            own: less(&self.own, &other.own),
            low: each(&self.low, &other.high),
            high: each(&self.high, &other.low),
        }
    }
}

/// Returns predicted figures as records of `subject`, from the measured records of `basis`.
pub(super) fn records(
    figures: impl IntoIterator<Item = (Quantity, Unit, Estimate)>,
    subject: &Subject,
    basis: &[Record],
) -> Vec<Record> {
    let Some(like) = basis.first() else { return Vec::new() };
    let from: Vec<String> = basis.iter().map(|record| record.subject.to_string()).collect();
    let record = |figure| {
        let kind = Kind::Predicted { by: word::FLEET_RUNG.to_owned(), from: from.clone() };
        let model = (word::MODEL.to_owned(), "simulated stages of sessions".to_owned());
        Record {
            versions: like.versions.clone(),
            commit: like.commit.clone(),
            conditions: [model].into(),
            taken_at: Timestamp::now(),
            ..Record::new(subject.clone(), figure, kind, like.machine.clone())
        }
    };
    figures.into_iter().map(record).collect()
}

#[cfg(test)]
mod tests {
    use tollgate_load::Protocol;

    use super::*;

    #[test]
    fn predictions_are_those_of_the_plan_s_arrivals() {
        let plan = |per_s, seed| Plan {
            arrivals: Arrivals::open(Pattern::Poisson { per_s }),
            warm_up_ms: 1000,
            sustain_ms: 2000,
            seed,
            ..Plan::new(Protocol::Tls13)
        };
        let model = Model::example(1e6);
        // A session that never waits takes 1 ms, and 30 us for each stage.
        let [p50, _, p99, cpu] = model.predict(&plan(5.0, 1)).unwrap();
        assert!((cpu.simulated.point() - 1.02e6).abs() < 1.0, "{:?}", cpu.simulated);
        assert_eq!(cpu.formula, Some(1e6));
        assert!((p50.simulated.point() - 1.06e6).abs() < 1.0, "{:?}", p50.simulated);
        assert!((p50.formula.unwrap() - 1e6).abs() < 1e4, "{:?}", p50.formula);
        let [busy, _, busy_p99, _] = model.predict(&plan(800.0, 1)).unwrap();
        assert!(busy.simulated.point() > p50.simulated.point());
        assert!(busy_p99.simulated.point() > p99.simulated.point());
        let [other, ..] = model.predict(&plan(800.0, 2)).unwrap();
        assert!(other.simulated.point() != busy.simulated.point(), "other arrivals");
        // Above the capacity there is no steady state, but a run has an end.
        let [over, ..] = model.predict(&plan(1500.0, 1)).unwrap();
        assert!(over.formula.is_none() && over.simulated.point() > 1e8, "{:?}", over.simulated);
        let (low, high) = over.simulated.interval();
        assert!(low <= over.simulated.point() && over.simulated.point() <= high);
    }
}
