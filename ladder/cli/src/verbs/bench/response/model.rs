//! The model of a server, from a run at its capacity and one in which hardly a session waits.

use tollgate_bench::median_estimate;
use tollgate_fleet::queue::{Discipline, Station};
use tollgate_fleet::simulation::{
    Core, EventLoop, Interruptions, Outside, Simulation, Stage, quantile,
};
use tollgate_load::{Arrivals, Latency, Outcome, Plan, Protocol, Times};
use tollgate_record::{Estimate, Nanos};

use super::interruptions::Observed;
use super::median as of_rounds;
use crate::cells::float;
use crate::error::CliError;
use crate::options::{Bench as Options, ServerKind};
use crate::verbs::bench::plan;

/// The number of equally likely times outside the server.
const PARTS: u32 = 200;

/// Simulations of the idle run. Each one corrects the error of the last.
const FITS: u32 = 8;

/// Simulations of the idle run with interruptions.
const IDLE_RUNS: u64 = 20;

/// The arrival and the end of each session of a run, in nanoseconds.
pub(super) type Sessions = Vec<(f64, f64)>;

/// A simulated run.
pub(super) struct Simulated {
    pub(super) sessions: Sessions,
    /// CPU time of a session in nanoseconds.
    pub(super) cpu_ns: f64,
    /// The number of times that a core woke up for a session.
    wakes: f64,
}

/// The times of a server's sessions.
pub(super) struct Model {
    station: Station,
    /// CPU time of a session at capacity, in nanoseconds.
    cpu_ns: Estimate,
    stages: Stages,
    /// Of a server with event loops.
    turns: Option<Turns>,
    batches: Option<Batches>,
    outside: Outside,
    core: Core,
}

/// The clients of the load generator.
struct Client {
    threads: u32,
    /// CPU time of a session at capacity, in nanoseconds.
    work_ns: f64,
    /// CPU time that a thread that slept needs in addition, in nanoseconds.
    wake_ns: f64,
}

/// The turns of a server's event loops.
#[derive(Default)]
struct Turns {
    /// The work of each in addition to that of the sessions, in nanoseconds.
    ns: f64,
    /// Their number for a session at capacity.
    at_capacity: f64,
}

/// The stages of a session.
struct Stages {
    /// The number of stages in the handshake.
    in_handshake: u32,
    /// The handshake's share of the CPU time of an idle session. The rest is that of the response.
    handshake: f64,
    /// The stage with the private-key operation.
    signs: usize,
}

/// The private-key operations of an engine that runs them in batches.
struct Batches {
    /// The time of a batch of one operation, of two, and so on, in nanoseconds.
    times_ns: Vec<f64>,
    /// The time of an operation at capacity, in nanoseconds.
    at_capacity_ns: f64,
}

/// The rounds that a model is made from.
pub(super) struct Basis<'a> {
    /// In a closed loop.
    pub(super) full: &'a [Outcome],
    /// In a closed loop with so few connections that a turn of an event loop serves one or two;
    /// empty if the server has no event loops.
    pub(super) few: &'a [Outcome],
    /// In an open loop with few sessions.
    pub(super) idle: &'a [Outcome],
    pub(super) interruptions: &'a Observed,
    /// The time of a batch of one private-key operation, of two, and so on, in nanoseconds. Empty
    /// if the server's engine runs no batches.
    pub(super) batch_ns: &'a [f64],
}

impl Model {
    /// Derives the times of a session:
    ///
    /// * a session of TLS 1.3 has two stages: until the server's Finished, and until the response;
    ///   TLS 1.2 has a stage more in the handshake. The idle rounds give their shares;
    /// * an operation in a batch costs less than one alone, and at capacity batches are largest: an
    ///   idle session costs the difference more;
    /// * a turn of an event loop has work of its own: what a session costs more with few connections,
    ///   divided by the turns that it has more;
    /// * a core that slept works longer: what an idle session costs beyond this, divided by the
    ///   number of times that a core wakes up for it. A client wakes up before each part of its work;
    /// * a client's other work is that at capacity, and what remains of the idle sessions' times passes
    ///   in the network. It varies as these times do beyond interruptions.
    ///
    /// The last two are found by simulations of the idle run.
    pub(super) fn of(options: &Options, basis: &Basis<'_>) -> Result<Self, CliError> {
        let none = || {
            error!(
                "bench response: a run has no times or no CPU time: run again, with more --seconds"
            )
        };
        let (full, idle) = (basis.full, basis.idle);
        let (cpu_ns, idle_cpu_ns) = (cpu(full).ok_or_else(none)?, cpu(idle).ok_or_else(none)?);
        let first = idle.first().ok_or_else(none)?;
        let p50 = |of: fn(&Times) -> &Latency| {
            of_rounds(idle, |round| of(round.secure_times()?).quantile_ns(0.5).map(float))
        };
        let handshake = p50(|times| &times.client_finished).ok_or_else(none)?;
        let response = p50(|times| &times.last_byte).unwrap_or(0.0);
        let times = Latency::sum(idle.iter().filter_map(Outcome::transaction));
        let times = times.ok_or_else(none)?;
        let p50_ns = times.quantile_ns(0.5).map(float).ok_or_else(none)?;
        let stages = Stages::of(&first.plan, handshake, response);
        let batches = Batches::of(full, basis.batch_ns);
        let turns = || Turns::of(full, basis.few, basis.batch_ns).unwrap_or_default();
        let turns = has_loops(options).then(turns);
        let workers = u32::try_from(plan::server_cores(options).len().max(1))?;
        let discipline = match options.kind().stock() {
            Some(_) => Discipline::OneQueue,
            None => Discipline::QueuePerCore,
        };
        let client_ns = |rounds| of_rounds(rounds, Outcome::client_cpu_ns_per_session);
        let (client_ns, idle_client_ns) = client_ns(full).zip(client_ns(idle)).ok_or_else(none)?;
        let mut client = Client {
            threads: first.plan.threads,
            work_ns: client_ns,
            wake_ns: ((idle_client_ns - client_ns) / f64::from(stages.count() + 1)).max(0.0),
        };
        let mut model = Self {
            station: Station::new(workers, discipline)?,
            cpu_ns,
            stages,
            turns,
            batches,
            outside: Outside::network(vec![0.0])?,
            core: Core::default(),
        };
        let (wake_ns, delay_ns) =
            model.fit(&mut client, &first.plan, idle_cpu_ns.point(), p50_ns)?;
        let (of_servers, of_clients) =
            (basis.interruptions.servers.of_a_core()?, basis.interruptions.clients.of_a_core()?);
        model.core = Core::new(wake_ns, of_servers)?;
        model.outside = client.outside(vec![delay_ns], of_clients.clone())?;
        let mut simulated = model.idle_times(&first.plan)?;
        let delay = |part: u32| {
            let q = (f64::from(part) + 0.5) / f64::from(PARTS);
            let more_ns = float(times.quantile_ns(q)?) - quantile(&mut simulated, q);
            Some((delay_ns + more_ns).max(0.0))
        };
        let delays_ns = (0..PARTS).map(delay).collect::<Option<Vec<_>>>().ok_or_else(none)?;
        model.outside = client.outside(delays_ns, of_clients)?;
        Ok(model)
    }

    /// Returns the response times of simulated idle runs.
    fn idle_times(&self, idle: &Plan) -> Result<Vec<f64>, CliError> {
        let mut times = Vec::new();
        for seed in 1..=IDLE_RUNS {
            let run = self.run(idle, self.cpu_ns.point(), seed)?;
            times.extend(run.sessions.iter().map(|(arrived, done)| done - arrived));
        }
        if times.is_empty() {
            bail!("bench response: no session would arrive: give more --seconds");
        }
        Ok(times)
    }

    /// Finds the time to wake up and the time in the network with which the simulated idle run has
    /// the CPU time and the median response time of the measured one. If that needs no network, the
    /// rest of the client's work is after the response, and is left out.
    fn fit(
        &mut self,
        client: &mut Client,
        idle: &Plan,
        cpu_ns: f64,
        response_ns: f64,
    ) -> Result<(f64, f64), CliError> {
        let (mut wake_ns, mut delay_ns) = (0.0_f64, 0.0_f64);
        for _ in 0..FITS {
            self.outside = client.outside(vec![delay_ns], Interruptions::default())?;
            self.core = Core::new(wake_ns, Interruptions::default())?;
            let run = self.run(idle, self.cpu_ns.point(), 1)?;
            let mut times: Vec<f64> = run.sessions.iter().map(|(at, done)| done - at).collect();
            if times.is_empty() {
                break;
            }
            wake_ns = (wake_ns + (cpu_ns - run.cpu_ns) / run.wakes.max(1.0)).max(0.0);
            delay_ns += response_ns - quantile(&mut times, 0.5);
            client.work_ns = (client.work_ns + delay_ns.min(0.0)).max(0.0);
            delay_ns = delay_ns.max(0.0);
        }
        Ok((wake_ns, delay_ns))
    }

    /// Simulates a run of the plan. Times are in nanoseconds since the run began. `seed` determines
    /// all but the arrivals, which the plan's seed determines.
    pub(super) fn run(&self, plan: &Plan, cpu_ns: f64, seed: u64) -> Result<Simulated, CliError> {
        let Arrivals::Open { pattern, .. } = &plan.arrivals else {
            bail!("bench response: a closed loop has no rate of arrivals");
        };
        let end_ns = 1e6 * float(plan.warm_up_ms + plan.sustain_ms);
        let times = pattern.times(plan.seed).map(|at| 1e9 * at.as_secs_f64());
        let times: Vec<f64> = times.take_while(|at| *at < end_ns).collect();
        let arrivals = times.iter().copied().map(Nanos::new);
        let run = match &self.turns {
            Some(turns) => self.event_loop(turns, cpu_ns)?.run(arrivals, seed),
            None => self.simulation(cpu_ns)?.run(arrivals, seed),
        };
        let cpu_ns = run.cpu_ns_per_session().unwrap_or(cpu_ns);
        let wakes = run.wakes_per_session().unwrap_or(0.0);
        let sessions = times.iter().zip(run.responses).map(|(at, response)| (*at, at + response));
        Ok(Simulated { sessions: sessions.collect(), cpu_ns, wakes })
    }

    /// Returns the CPU time of a session at capacity, in nanoseconds.
    pub(super) const fn cpu_ns(&self) -> Estimate {
        self.cpu_ns
    }

    pub(super) const fn station(&self) -> Station {
        self.station
    }

    fn simulation(&self, cpu_ns: f64) -> Result<Simulation, CliError> {
        let works = self.stages.works(cpu_ns, 0.0);
        Ok(Simulation::new(self.station, works, self.outside.clone(), self.core.clone())?)
    }

    fn event_loop(&self, turns: &Turns, cpu_ns: f64) -> Result<EventLoop, CliError> {
        let cpu_ns = (cpu_ns - turns.ns * turns.at_capacity).max(0.0);
        let (work_ns, batch_ns) = match &self.batches {
            Some(batches) => {
                let rest_ns = (cpu_ns - batches.at_capacity_ns).max(0.0);
                (self.stages.works(rest_ns, batches.times_ns[0]), batches.times_ns.clone())
            }
            None => (self.stages.works(cpu_ns, 0.0), vec![0.0]),
        };
        let stage = |(number, work_ns): (usize, f64)| {
            if self.batches.is_some() && number == self.stages.signs {
                // the key exchange before the signature costs about as much as the messages after
                // it
                Stage { work_ns: work_ns / 2.0, after_ns: Some(work_ns / 2.0) }
            } else {
                Stage { work_ns, after_ns: None }
            }
        };
        let stages = work_ns.into_iter().enumerate().map(stage).collect();
        let (workers, outside) = (self.station.cores(), self.outside.clone());
        Ok(EventLoop::new(workers, stages, batch_ns, turns.ns, outside, self.core.clone())?)
    }
}

impl Stages {
    /// Returns the stages of a plan's sessions, from the times of handshake and response.
    fn of(plan: &Plan, handshake: f64, response: f64) -> Self {
        let is_tls13 = plan.word() == Protocol::Tls13.word();
        Self {
            in_handshake: if is_tls13 { 1 } else { 2 },
            handshake: handshake / (handshake + response),
            signs: usize::from(plan.word() == Protocol::Tls12Rsa.word()),
        }
    }

    fn count(&self) -> u32 {
        self.in_handshake + u32::from(self.handshake < 1.0)
    }

    /// Returns the CPU times of the stages of a session whose stages take `rest_ns` nanoseconds
    /// without its private-key operation, which takes `operation_ns` alone. With an operation of 0
    /// ns, the time of the stage that has it is included.
    fn works(&self, rest_ns: f64, operation_ns: f64) -> Vec<f64> {
        let all_ns = rest_ns + operation_ns;
        let handshake_ns = (self.handshake * all_ns - operation_ns).clamp(0.0, rest_ns);
        let each = handshake_ns / f64::from(self.in_handshake);
        let mut works: Vec<f64> = (0..self.in_handshake).map(|_| each).collect();
        if self.handshake < 1.0 {
            works.push(rest_ns - handshake_ns);
        }
        works
    }
}

/// Returns whether the server is the embedded one, which has a listening socket and an event loop
/// for each worker.
pub(super) fn has_loops(options: &Options) -> bool {
    options.kind() == ServerKind::Openssl
}

/// Returns the CPU time of a session.
fn cpu(rounds: &[Outcome]) -> Option<Estimate> {
    let all: Option<Vec<f64>> = rounds.iter().map(Outcome::server_cpu_ns_per_session).collect();
    median_estimate(&all?).filter(|cpu| cpu.point() > 0.0)
}

impl Client {
    fn outside(
        &self,
        delays_ns: Vec<f64>,
        interruptions: Interruptions,
    ) -> Result<Outside, CliError> {
        let core = Core::new(self.wake_ns, interruptions)?;
        Ok(Outside::new(delays_ns, self.threads, self.work_ns, core)?)
    }
}

impl Turns {
    /// Returns the turns of a server at capacity, from rounds there and with few connections;
    /// `None` if the server does not count them.
    fn of(full: &[Outcome], few: &[Outcome], batch_ns: &[f64]) -> Option<Self> {
        let at = |rounds: &[Outcome]| {
            let operation_ns = Batches::of(rounds, batch_ns).map_or(0.0, |it| it.at_capacity_ns);
            let turns = of_rounds(rounds, Outcome::turns_per_session)?;
            Some((turns, cpu(rounds)?.point() - operation_ns))
        };
        Some(Self::between(at(full)?, at(few)?))
    }

    /// Returns the turns at capacity, from the turns of a session there and with few connections,
    /// and its CPU time without the private-key operation, in nanoseconds.
    fn between((at_capacity, full_ns): (f64, f64), (with_few, few_ns): (f64, f64)) -> Self {
        let more = with_few - at_capacity;
        let ns = if more > 0.0 { ((few_ns - full_ns) / more).max(0.0) } else { 0.0 };
        Self { ns, at_capacity }
    }
}

impl Batches {
    /// Returns the batches of rounds; `None` if the engine ran none.
    fn of(rounds: &[Outcome], batch_ns: &[f64]) -> Option<Self> {
        let mean = of_rounds(rounds, Outcome::operations_per_batch)?;
        (batch_ns.len() > 1).then(|| Self {
            times_ns: batch_ns.to_vec(),
            at_capacity_ns: operation_ns(batch_ns, mean),
        })
    }
}

/// Returns the time of an operation in batches of this mean size, in nanoseconds. There are two
/// sizes or more. A turn runs full batches, and one of the rest, which has any smaller size. If the
/// mean is below that of these sizes, the largest ones are missing.
fn operation_ns(batch_ns: &[f64], mean: f64) -> f64 {
    let width = float(batch_ns.len() as u64);
    let mean = mean.clamp(1.0, width);
    // the time of batches of each size up to this one, divided by their operations
    let up_to = |size: usize| {
        let operations = (1..=size as u64).sum::<u64>();
        batch_ns[..size].iter().sum::<f64>() / float(operations)
    };
    let rest = width / 2.0;
    if mean > rest {
        let (full_ns, smaller) = batch_ns.split_last().expect("a batch has sizes");
        // of all batches, those with a rest
        let share = (width - mean) / (width - rest);
        return (share * rest * up_to(smaller.len()) + (1.0 - share) * full_ns) / mean;
    }
    let largest = 2.0 * mean - 1.0;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to the width")]
    let below = largest.floor() as usize;
    let (low, high) = (up_to(below), up_to((below + 1).min(batch_ns.len())));
    (high - low).mul_add(largest.fract(), low)
}

#[cfg(test)]
impl Model {
    /// A server with one core. A session has 750 us and 250 us of work, wakes the core up twice for
    /// 10 us, and is 40 us outside.
    pub(super) fn example(cpu_ns: f64) -> Self {
        Self {
            station: Station::new(1, Discipline::QueuePerCore).unwrap(),
            cpu_ns: Estimate::exact(cpu_ns).unwrap(),
            stages: Stages { in_handshake: 1, handshake: 0.75, signs: 0 },
            turns: None,
            batches: None,
            outside: Outside::network(vec![40e3]).unwrap(),
            core: Core::new(10e3, Interruptions::default()).unwrap(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tollgate_load::Pattern;

    use super::*;

    #[test]
    fn the_stages_of_a_session_share_its_cpu_time() {
        let of = |protocol, response| Stages::of(&Plan::new(protocol), 300.0, response);
        assert_eq!(of(Protocol::Tls13, 100.0).works(1.0, 0.0), [0.75, 0.25]);
        assert_eq!(of(Protocol::Tls12X25519, 300.0).works(1.0, 0.0), [0.25, 0.25, 0.5]);
        assert_eq!(of(Protocol::Tls13, 0.0).works(1.0, 0.0), [1.0], "no request");
        assert_eq!(of(Protocol::Tls12Rsa, 100.0).signs, 1);
        assert_eq!(of(Protocol::Tls13, 100.0).signs, 0);
        // An idle session takes 400, 300 of which are of the handshake and 120 of its operation.
        assert_eq!(of(Protocol::Tls13, 100.0).works(280.0, 120.0), [180.0, 100.0]);
        // An operation longer than the handshake's share is all of it.
        assert_eq!(of(Protocol::Tls13, 300.0).works(100.0, 300.0), [0.0, 100.0]);
    }

    #[test]
    fn an_operation_at_capacity_costs_a_part_of_its_batch() {
        let of = |mean| operation_ns(&[100.0, 180.0, 200.0, 220.0], mean);
        assert_eq!([of(0.5), of(1.0)], [100.0; 2]);
        // as many batches of one as of two
        assert!((of(1.5) - 280.0 / 3.0).abs() < 1e-9);
        // batches of one to three
        assert!((of(2.0) - 80.0).abs() < 1e-9 && (of(2.0 + 1e-9) - 80.0).abs() < 1e-6);
        // two full batches, and one of one to three operations, which takes 160 on average
        assert!((of(10.0 / 3.0) - (2.0 * 220.0 + 160.0) / 10.0).abs() < 1e-9);
        assert_eq!([of(4.0), of(9.0)], [55.0; 2], "no batch is larger");
    }

    #[test]
    fn a_turn_costs_what_sessions_cost_more_with_more_of_them() {
        let turns = Turns::between((0.2, 300e3), (2.2, 340e3));
        assert_eq!((turns.ns, turns.at_capacity), (20e3, 0.2));
        // noise is no work of turns
        assert_eq!(Turns::between((0.2, 300e3), (2.2, 290e3)).ns, 0.0);
        assert_eq!(Turns::between((0.2, 300e3), (0.2, 340e3)).ns, 0.0);
    }

    /// The idle run of a model gives the model back.
    #[test]
    fn waking_and_network_are_found_from_an_idle_run() {
        let idle = Plan {
            arrivals: Arrivals::open(Pattern::Constant { per_s: 100.0 }),
            sustain_ms: 500,
            ..Plan::new(Protocol::Tls13)
        };
        let client = || Client { threads: 1, work_ns: 60e3, wake_ns: 5e3 };
        for (wake_ns, delay_ns, turns) in [
            (10e3, 40e3, None),
            (0.0, 0.0, None),
            (15e3, 80e3, Some(Turns { ns: 6e3, at_capacity: 0.1 })),
        ] {
            let mut model = Model { turns, ..Model::example(500e3) };
            model.core = Core::new(wake_ns, Interruptions::default()).unwrap();
            model.outside = client().outside(vec![delay_ns], Interruptions::default()).unwrap();
            let run = model.run(&idle, 500e3, 1).unwrap();
            let response_ns = run.sessions[3].1 - run.sessions[3].0;
            let mut asked = client();
            let found = model.fit(&mut asked, &idle, run.cpu_ns, response_ns).unwrap();
            assert!((found.0 - wake_ns).abs() < 300.0, "{wake_ns} {delay_ns}: {found:?}");
            assert!((found.1 - delay_ns).abs() < 1e3, "{wake_ns} {delay_ns}: {found:?}");
            // a response that is shorter than all this leaves out a part of the client's work
            let (_, none) = model.fit(&mut asked, &idle, run.cpu_ns, response_ns - 100e3).unwrap();
            assert!(none < 1e3 && asked.work_ns < 25e3 + delay_ns, "{none} {}", asked.work_ns);
        }
    }

    /// At low loads an operation runs alone and each stage has its own turn, so a session takes
    /// longer than at capacity.
    #[test]
    fn idle_sessions_take_operations_and_turns_alone() {
        let batches = Batches { times_ns: vec![400e3, 460e3], at_capacity_ns: 115e3 };
        let model = Model {
            turns: Some(Turns { ns: 20e3, at_capacity: 0.5 }),
            batches: Some(batches),
            core: Core::default(),
            ..Model::example(610e3)
        };
        let plan = Plan {
            arrivals: Arrivals::open(Pattern::Constant { per_s: 10.0 }),
            sustain_ms: 1000,
            ..Plan::new(Protocol::Tls13)
        };
        let run = model.run(&plan, 610e3, 1).unwrap();
        // 610 us at capacity have 115 us for the operation, which takes 400 us alone, and 10 us for
        // half a turn; alone a session has four turns, of which one accepts and one is after the
        // response
        for (arrived, done) in &run.sessions {
            let expected = 40e3 + 485e3 + 400e3 + 2.0 * 20e3;
            assert!((done - arrived - expected).abs() < 1.0, "{arrived} {done}");
        }
        assert!(!run.sessions.is_empty());
        assert!((run.cpu_ns - (885e3 + 4.0 * 20e3)).abs() < 1.0, "{}", run.cpu_ns);
    }
}
