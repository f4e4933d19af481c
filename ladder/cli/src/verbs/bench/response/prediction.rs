//! The prediction of a server's response times from its capacity and from a session that never
//! waits.

use tollgate_bench::median_estimate;
use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
use tollgate_fleet::simulation::{Simulation, quantile};
use tollgate_load::{Arrivals, Latency, Outcome, Pattern, Plan, Protocol, Times};
use tollgate_record::vocabulary as word;
use tollgate_record::{
    Estimate, Kind, Nanos, PerSecond, Quantity, Record, Subject, Timestamp, Unit,
};

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

/// The arrival and the end of each session of a run, in nanoseconds.
pub(super) type Sessions = Vec<(f64, f64)>;

/// Figures of simulated runs.
pub(super) struct Runs<const N: usize> {
    /// Of the run with the plan's arrivals.
    pub(super) own: [f64; N],
    /// Of runs with other arrivals, with the CPU time at either end of its interval.
    low: Vec<[f64; N]>,
    high: Vec<[f64; N]>,
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
        let discipline = match options.kind().stock() {
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
        let before = 1e6 * float(plan.warm_up_ms);
        let runs = self.runs(plan, |sessions| {
            let after = sessions.iter().filter(|session| session.0 >= before);
            let mut responses: Vec<f64> = after.map(|(arrived, done)| done - arrived).collect();
            (!responses.is_empty()).then(|| QUANTILES.map(|q| quantile(&mut responses, q)))
        })?;
        let runs = runs.ok_or_else(|| {
            error!("bench response: no session would arrive: give more --seconds")
        })?;
        let of = |number: usize| -> Result<Prediction, CliError> {
            let formula = self.station.quantile_at_rate(QUANTILES[number], rate, &service);
            let formula = formula.ok().filter(|_| matches!(pattern, Pattern::Poisson { .. }));
            Ok(Prediction {
                formula: formula.map(|found| found.point()),
                simulated: runs.estimate(number)?,
            })
        };
        Ok([of(0)?, of(1)?, of(2)?])
    }

    /// Simulates runs with this plan, an open loop, and takes figures of each; `None` if the run
    /// with the plan's arrivals has none.
    pub(super) fn runs<const N: usize>(
        &self,
        plan: &Plan,
        figures: impl Fn(&Sessions) -> Option<[f64; N]>,
    ) -> Result<Option<Runs<N>>, CliError> {
        let Some(own) = figures(&self.sessions(plan, self.cpu_ns.point(), plan.seed)?) else {
            return Ok(None);
        };
        let (lowest, highest) = self.cpu_ns.interval();
        let with = |cpu_ns| -> Result<Vec<_>, CliError> {
            let run = |run| self.sessions(plan, cpu_ns, plan.seed.wrapping_add(run));
            let runs = (1..=RUNS).map(|number| Ok(figures(&run(number)?)));
            runs.filter_map(Result::transpose).collect()
        };
        Ok(Some(Runs { own, low: with(lowest)?, high: with(highest)? }))
    }

    /// Simulates the run of the plan with the arrivals of this seed. Returns the arrival and the end
    /// of each session, in nanoseconds since the run began.
    pub(super) fn sessions(
        &self,
        plan: &Plan,
        cpu_ns: f64,
        seed: u64,
    ) -> Result<Sessions, CliError> {
        let Arrivals::Open { pattern, .. } = &plan.arrivals else { return Ok(Vec::new()) };
        let end_ns = 1e6 * float(plan.warm_up_ms + plan.sustain_ms);
        let times = pattern.times(seed).map(|at| 1e9 * at.as_secs_f64());
        let times: Vec<f64> = times.take_while(|at| *at < end_ns).collect();
        let server = self.simulation(cpu_ns)?;
        let responses = server.responses(times.iter().copied().map(Nanos::new), seed);
        Ok(times.iter().zip(responses).map(|(at, response)| (*at, at + response)).collect())
    }

    /// Returns the CPU time of a session at capacity, in nanoseconds.
    pub(super) fn cpu_ns(&self) -> Estimate {
        self.cpu_ns
    }

    pub(super) fn cores(&self) -> u32 {
        self.station.cores()
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
