//! The prediction of a server's response times, in closed form.

use tollgate_bench::median_estimate;
use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
use tollgate_load::{Arrivals, Latency, Outcome, Pattern, Plan};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, PerSecond, Quantity, Record, Subject, Timestamp, Unit};

use crate::cells::float;
use crate::error::CliError;
use crate::options::Bench as Options;
use crate::verbs::bench::plan;

const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];

/// The predicted figures of a load by number, in nanoseconds: the quantiles of the response time,
/// and the CPU time of a session.
pub(super) const FIGURES: [(&str, Quantity); 4] = [
    ("p50", word::TRANSACTION_NS[0]),
    ("p90", word::TRANSACTION_NS[1]),
    ("p99", word::TRANSACTION_NS[2]),
    ("CPU", word::SERVER_CPU_NS_PER_SESSION),
];

/// The times of a server's sessions.
pub(super) struct Model {
    pub(super) station: Station,
    /// CPU time of a session at capacity, in nanoseconds.
    pub(super) cpu_ns: Estimate,
    /// The time of a session that does not wait, beyond its CPU time, in nanoseconds.
    outside_ns: f64,
}

impl Model {
    /// Derives the times from rounds at capacity, and from rounds in which hardly a session waits.
    pub(super) fn new(
        options: &Options,
        full: &[Outcome],
        idle: &[Outcome],
    ) -> Result<Self, CliError> {
        let none = || {
            error!(
                "bench response: a run has no times or no CPU time: run again, with more --seconds"
            )
        };
        let all: Option<Vec<f64>> = full.iter().map(Outcome::server_cpu_ns_per_session).collect();
        let cpu_ns = all.and_then(|all| median_estimate(&all)).filter(|cpu| cpu.point() > 0.0);
        let cpu_ns = cpu_ns.ok_or_else(none)?;
        let times = Latency::sum(idle.iter().filter_map(Outcome::transaction));
        let idle_ns = times.and_then(|times| times.quantile_ns(0.5)).map(float).ok_or_else(none)?;
        let workers = u32::try_from(plan::server_cores(options).len().max(1))?;
        let discipline = match options.kind().stock() {
            Some(_) => Discipline::OneQueue,
            None => Discipline::QueuePerCore,
        };
        let outside_ns = (idle_ns - cpu_ns.point()).max(0.0);
        Ok(Self { station: Station::new(workers, discipline)?, cpu_ns, outside_ns })
    }

    /// Predicts the [`FIGURES`] of runs with this plan, an open loop; `None` where the queue has no
    /// steady state, and the times also for arrivals other than Poisson's.
    pub(super) fn predict(&self, plan: &Plan) -> Result<[Option<Estimate>; 4], CliError> {
        let Arrivals::Open { pattern, .. } = &plan.arrivals else {
            bail!("bench response: a closed loop has no rate of arrivals");
        };
        let service = ServiceTime::new(self.cpu_ns, Estimate::exact(0.0)?)?;
        let rate = PerSecond::new(pattern.per_s());
        let is_poisson = matches!(pattern, Pattern::Poisson { .. });
        let of = |q: f64| {
            let found = self.station.quantile_at_rate(q, rate, &service).ok();
            let Some(found) = found.filter(|_| is_poisson) else { return Ok::<_, CliError>(None) };
            let (low, high) = found.interval();
            let [point, low, high] = [found.point(), low, high].map(|ns| ns + self.outside_ns);
            Ok(Some(Estimate::new(point, (low, high), found.samples())?))
        };
        let [p50, p90, p99] = QUANTILES.map(of);
        Ok([p50?, p90?, p99?, Some(self.cpu_ns)])
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
        let model = (word::MODEL.to_owned(), "one queue for each core, in closed form".to_owned());
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
    fn predictions_are_those_of_the_rate() {
        let plan = |per_s| Plan {
            arrivals: Arrivals::open(Pattern::Poisson { per_s }),
            ..Plan::new(Protocol::Tls13)
        };
        let model = Model {
            station: Station::new(1, Discipline::QueuePerCore).unwrap(),
            cpu_ns: Estimate::exact(1e6).unwrap(),
            outside_ns: 50e3,
        };
        let [p50, _, p99, cpu] = model.predict(&plan(5.0)).unwrap().map(Option::unwrap);
        assert_eq!(cpu.point(), 1e6);
        assert!((p50.point() - 1.05e6).abs() < 1e4, "{p50:?}");
        let [busy, _, busy_p99, _] = model.predict(&plan(700.0)).unwrap().map(Option::unwrap);
        assert!(busy.point() > p50.point() && busy_p99.point() > p99.point());
        // above the capacity there is no steady state
        let [over, .., cpu] = model.predict(&plan(1500.0)).unwrap();
        assert!(over.is_none() && cpu.is_some());
    }
}
