//! The prediction of a server's response times from its capacity and from a session that never
//! waits.

use tollgate_bench::median_estimate;
use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
use tollgate_fleet::simulation::{Simulation, quantile};
use tollgate_load::{Arrivals, Latency, Outcome, Pattern, Plan, Protocol, Times};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Nanos, PerSecond, Record, Subject, Timestamp, Unit};

use super::median as of_rounds;
use crate::cells::float;
use crate::error::CliError;
use crate::options::Bench as Options;
use crate::verbs::bench::plan;

pub(super) const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];

/// Simulated runs of each load.
const RUNS: u64 = 41;

/// The number of equally likely times outside the server.
const PARTS: u32 = 200;

/// The share of the simulated runs within the interval of a prediction.
const WITHIN: f64 = 0.95;

/// A predicted quantile in nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Prediction {
    /// By the formula, from the CPU time alone; `None` where the queue has no steady state, and for
    /// arrivals other than Poisson's.
    pub(super) formula: Option<f64>,
    /// By the simulation of the arrivals that the runs will have. The interval contains 95 % of the
    /// simulated runs with other arrivals of the same pattern.
    pub(super) simulated: Estimate,
}

/// The times of a server's sessions.
pub(super) struct Model {
    station: Station,
    /// CPU time of a session at capacity, in nanoseconds.
    cpu_ns: Estimate,
    /// Each stage's share of the CPU time.
    shares: Vec<f64>,
    /// Equally likely times that a session spends outside the server, in nanoseconds.
    outside_ns: Vec<f64>,
    /// CPU time that a core that slept needs in addition, in nanoseconds.
    wake_ns: f64,
}

impl Model {
    /// Derives the times of a session from rounds at capacity and rounds in which hardly a session
    /// waits:
    ///
    /// * a session of TLS 1.3 has two stages: until the server's Finished, and until the response;
    ///   TLS 1.2 has a stage more in the handshake. The idle rounds give their shares;
    /// * a core that slept works longer: the CPU time of an idle session is that at capacity, plus
    ///   the time to wake up before each stage;
    /// * what remains of the idle sessions' times passes outside the server. It varies as these
    ///   times do.
    pub(super) fn of(
        options: &Options,
        full: &[Outcome],
        idle: &[Outcome],
    ) -> Result<Self, CliError> {
        let none = || error!("bench response: a run has no times: run again, with more --seconds");
        let cpu = |rounds: &[Outcome]| -> Option<Estimate> {
            let all: Option<Vec<f64>> =
                rounds.iter().map(Outcome::server_cpu_ns_per_session).collect();
            median_estimate(&all?).filter(|cpu| cpu.point() > 0.0)
        };
        let (cpu_ns, idle_cpu_ns) = (cpu(full).ok_or_else(none)?, cpu(idle).ok_or_else(none)?);
        let first = idle.first().ok_or_else(none)?;
        let p50 = |of: fn(&Times) -> &Latency| {
            of_rounds(idle, |round| of(round.secure_times()?).quantile_ns(0.5).map(float))
        };
        let handshake = p50(|times| &times.client_finished).ok_or_else(none)?;
        let response = p50(|times| &times.last_byte).unwrap_or(0.0);
        let times = Latency::sum(idle.iter().filter_map(Outcome::transaction));
        let times = times.ok_or_else(none)?;
        let shares = shares(&first.plan, handshake, response);
        let stages = float(shares.len() as u64);
        let wake_ns = ((idle_cpu_ns.point() - cpu_ns.point()) / stages).max(0.0);
        let busy_ns = cpu_ns.point() + stages * wake_ns;
        let outside = |part: u32| {
            let time = times.quantile_ns((f64::from(part) + 0.5) / f64::from(PARTS))?;
            Some((float(time) - busy_ns).max(0.0))
        };
        let outside_ns = (0..PARTS).map(outside).collect::<Option<Vec<_>>>().ok_or_else(none)?;
        let workers = u32::try_from(plan::server_cores(options).len().max(1))?;
        // the embedded server has a listening socket for each worker
        let discipline = match options.server.stock() {
            Some(_) => Discipline::OneQueue,
            None => Discipline::QueuePerCore,
        };
        let station = Station::new(workers, discipline)?;
        Ok(Self { station, cpu_ns, shares, outside_ns, wake_ns })
    }

    /// Predicts p50, p90 and p99 of runs with this plan, an open loop.
    pub(super) fn predict(&self, plan: &Plan) -> Result<[Prediction; 3], CliError> {
        let Arrivals::Open { pattern, .. } = &plan.arrivals else {
            bail!("bench response: a closed loop has no rate of arrivals");
        };
        let service = ServiceTime::new(self.cpu_ns, Estimate::exact(0.0)?)?;
        let rate = PerSecond::new(pattern.per_s());
        let seeds = || (1..=RUNS).map(|run| plan.seed.wrapping_add(run));
        let runs = |cpu_ns, seeds: &mut dyn Iterator<Item = u64>| -> Result<_, CliError> {
            let server = self.simulation(cpu_ns)?;
            let run = |seed| quantiles(&server, pattern, seed, plan);
            Ok(seeds.filter_map(run).collect::<Vec<_>>())
        };
        let (lowest, highest) = self.cpu_ns.interval();
        let low = runs(lowest, &mut seeds())?;
        let high = runs(highest, &mut seeds())?;
        let own = runs(self.cpu_ns.point(), &mut [plan.seed].into_iter())?;
        let own = own.first().ok_or_else(|| {
            error!("bench response: no session would arrive: give more --seconds")
        })?;
        let of = |number: usize| -> Result<Prediction, CliError> {
            let all = |runs: &[[f64; 3]], q| {
                quantile(&mut runs.iter().map(|run| run[number]).collect::<Vec<_>>(), q)
            };
            let point = own[number];
            let low = all(&low, (1.0 - WITHIN) / 2.0).min(point);
            let high = all(&high, f64::midpoint(1.0, WITHIN)).max(point);
            let formula = self.station.quantile_at_rate(QUANTILES[number], rate, &service);
            let formula = formula.ok().filter(|_| matches!(pattern, Pattern::Poisson { .. }));
            Ok(Prediction {
                formula: formula.map(|found| found.point()),
                simulated: Estimate::new(point, (low, high), RUNS)?,
            })
        };
        Ok([of(0)?, of(1)?, of(2)?])
    }

    fn simulation(&self, cpu_ns: f64) -> Result<Simulation, CliError> {
        let work_ns = self.shares.iter().map(|share| share * cpu_ns).collect();
        Ok(Simulation::new(self.station, work_ns, self.outside_ns.clone(), self.wake_ns)?)
    }
}

/// Returns the shares of a session's stages, from the times of handshake and response.
fn shares(plan: &Plan, handshake: f64, response: f64) -> Vec<f64> {
    let in_handshake = if plan.word() == Protocol::Tls13.word() { 1 } else { 2 };
    let each = handshake / float(in_handshake) / (handshake + response);
    let mut shares: Vec<f64> = (0..in_handshake).map(|_| each).collect();
    if response > 0.0 {
        shares.push(response / (handshake + response));
    }
    shares
}

/// Simulates a run of the plan with the arrivals of this seed. Returns the quantiles of the sessions
/// that arrive after the warm-up; `None` if there is no such session.
fn quantiles(server: &Simulation, pattern: &Pattern, seed: u64, plan: &Plan) -> Option<[f64; 3]> {
    let [warm_up, measured] = [plan.warm_up_ms, plan.sustain_ms].map(|ms| float(ms) / 1e3);
    let times = pattern.times(seed).map(|at| at.as_secs_f64());
    let times: Vec<f64> = times.take_while(|at| *at < warm_up + measured).collect();
    let before = times.partition_point(|at| *at < warm_up);
    let arrivals = times.into_iter().map(|at| Nanos::new(1e9 * at));
    let mut responses = server.responses(arrivals, seed).split_off(before);
    (!responses.is_empty()).then(|| QUANTILES.map(|q| quantile(&mut responses, q)))
}

/// Returns predictions as records of `subject`, from the measured records of `basis`.
pub(super) fn records(
    predicted: &[Prediction; 3],
    subject: &Subject,
    basis: &[Record],
) -> Vec<Record> {
    let Some(like) = basis.first() else { return Vec::new() };
    let from: Vec<String> = basis.iter().map(|record| record.subject.to_string()).collect();
    let record = |(quantity, prediction): (_, &Prediction)| {
        let figure = (quantity, Unit::Nanos, prediction.simulated);
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
    word::TRANSACTION_NS.into_iter().zip(predicted).map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stages_of_a_session_share_its_cpu_time() {
        let of = |protocol, response| shares(&Plan::new(protocol), 300.0, response);
        assert_eq!(of(Protocol::Tls13, 100.0), [0.75, 0.25]);
        assert_eq!(of(Protocol::Tls12X25519, 300.0), [0.25, 0.25, 0.5]);
        assert_eq!(of(Protocol::Tls13, 0.0), [1.0], "no request");
    }

    fn model(cpu_ns: f64) -> Model {
        Model {
            station: Station::new(1, Discipline::QueuePerCore).unwrap(),
            cpu_ns: Estimate::exact(cpu_ns).unwrap(),
            shares: vec![0.75, 0.25],
            outside_ns: vec![40e3],
            wake_ns: 10e3,
        }
    }

    #[test]
    fn predictions_are_those_of_the_plan_s_arrivals() {
        let plan = |per_s, seed| Plan {
            arrivals: Arrivals::open(Pattern::Poisson { per_s }),
            warm_up_ms: 1000,
            sustain_ms: 2000,
            seed,
            ..Plan::new(Protocol::Tls13)
        };
        let model = model(1e6);
        // A session that never waits takes 1 ms, and 30 us for each stage.
        let [p50, _, p99] = model.predict(&plan(5.0, 1)).unwrap();
        assert!((p50.simulated.point() - 1.06e6).abs() < 1.0, "{:?}", p50.simulated);
        assert!((p50.formula.unwrap() - 1e6).abs() < 1e4, "{:?}", p50.formula);
        let [busy, _, busy_p99] = model.predict(&plan(800.0, 1)).unwrap();
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
