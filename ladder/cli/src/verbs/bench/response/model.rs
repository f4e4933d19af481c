//! The model of a server, from a run at its capacity and one in which hardly a session waits.

use tollgate_bench::median_estimate;
use tollgate_fleet::queue::{Discipline, Station};
use tollgate_fleet::simulation::{EventLoop, Simulation, Stage};
use tollgate_load::{Arrivals, Latency, Outcome, Plan, Protocol, Times};
use tollgate_record::{Estimate, Nanos};

use super::median as of_rounds;
use crate::cells::float;
use crate::error::CliError;
use crate::options::{Bench as Options, ServerKind};
use crate::verbs::bench::plan;

/// The number of equally likely times outside the server.
const PARTS: u32 = 200;

/// The arrival and the end of each session of a run, in nanoseconds.
pub(super) type Sessions = Vec<(f64, f64)>;

/// The times of a server's sessions.
pub(super) struct Model {
    station: Station,
    /// CPU time of a session at capacity, in nanoseconds.
    cpu_ns: Estimate,
    stages: Stages,
    /// The server has event loops.
    has_loops: bool,
    batches: Option<Batches>,
    /// Equally likely times that a session spends outside the server, in nanoseconds.
    outside_ns: Vec<f64>,
    /// CPU time that a core that slept needs in addition, in nanoseconds.
    wake_ns: f64,
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
    /// The mean number of operations in a batch at capacity.
    mean: f64,
}

/// The rounds that a model is made from.
pub(super) struct Basis<'a> {
    /// In a closed loop.
    pub(super) full: &'a [Outcome],
    /// In an open loop with few sessions.
    pub(super) idle: &'a [Outcome],
    /// The time of a batch of one private-key operation, of two, and so on, in nanoseconds. Empty if
    /// the server's engine runs no batches.
    pub(super) batch_ns: &'a [f64],
}

impl Model {
    /// Derives the times of a session:
    ///
    /// * a session of TLS 1.3 has two stages: until the server's Finished, and until the response;
    ///   TLS 1.2 has a stage more in the handshake. The idle rounds give their shares;
    /// * an operation in a batch costs less than one alone, and at capacity batches are largest: an
    ///   idle session costs the difference more;
    /// * a core that slept works longer: what an idle session costs beyond this, divided by the
    ///   number of times that a core wakes up for it;
    /// * what remains of the idle sessions' times passes outside the server. It varies as these
    ///   times do.
    pub(super) fn of(options: &Options, basis: &Basis<'_>) -> Result<Self, CliError> {
        let none = || error!("bench response: a run has no times: run again, with more --seconds");
        let cpu = |rounds: &[Outcome]| -> Option<Estimate> {
            let all: Option<Vec<f64>> =
                rounds.iter().map(Outcome::server_cpu_ns_per_session).collect();
            median_estimate(&all?).filter(|cpu| cpu.point() > 0.0)
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
        let stages = Stages::of(&first.plan, handshake, response);
        let batches = Batches::of(full, basis.batch_ns);
        // the embedded server has a listening socket and an event loop for each worker
        let has_loops = options.kind() == ServerKind::Openssl;
        let count = f64::from(stages.count());
        // an event loop also wakes up to accept the connection, and when the client closes it
        let wakes = if has_loops { count + 2.0 } else { count };
        let alone_ns = cpu_ns.point() + batches.as_ref().map_or(0.0, Batches::saved_ns);
        let wake_ns = ((idle_cpu_ns.point() - alone_ns) / wakes).max(0.0);
        // the loop accepts before the client has made its first message
        let busy_ns = alone_ns + count * wake_ns;
        let outside = |part: u32| {
            let time = times.quantile_ns((f64::from(part) + 0.5) / f64::from(PARTS))?;
            Some((float(time) - busy_ns).max(0.0))
        };
        let outside_ns = (0..PARTS).map(outside).collect::<Option<Vec<_>>>().ok_or_else(none)?;
        let workers = u32::try_from(plan::server_cores(options).len().max(1))?;
        let discipline = match options.kind().stock() {
            Some(_) => Discipline::OneQueue,
            None => Discipline::QueuePerCore,
        };
        let station = Station::new(workers, discipline)?;
        Ok(Self { station, cpu_ns, stages, has_loops, batches, outside_ns, wake_ns })
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
        let arrivals = times.iter().copied().map(Nanos::new);
        let responses = if self.has_loops {
            self.event_loop(cpu_ns)?.run(arrivals, seed).responses
        } else {
            self.simulation(cpu_ns)?.responses(arrivals, seed)
        };
        Ok(times.iter().zip(responses).map(|(at, response)| (*at, at + response)).collect())
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
        Ok(Simulation::new(self.station, works, self.outside_ns.clone(), self.wake_ns)?)
    }

    fn event_loop(&self, cpu_ns: f64) -> Result<EventLoop, CliError> {
        let (work_ns, batch_ns) = match &self.batches {
            Some(batches) => {
                let rest_ns = (cpu_ns - batches.operation_ns()).max(0.0);
                (self.stages.works(rest_ns, batches.times_ns[0]), batches.times_ns.clone())
            }
            None => (self.stages.works(cpu_ns, 0.0), vec![0.0]),
        };
        let stage = |(number, work_ns): (usize, f64)| {
            if self.batches.is_some() && number == self.stages.signs {
                // the key exchange before the signature costs about as much as the messages after it
                Stage { work_ns: work_ns / 2.0, after_ns: Some(work_ns / 2.0) }
            } else {
                Stage { work_ns, after_ns: None }
            }
        };
        let stages = work_ns.into_iter().enumerate().map(stage).collect();
        let (workers, outside_ns) = (self.station.cores(), self.outside_ns.clone());
        Ok(EventLoop::new(workers, stages, batch_ns, outside_ns, self.wake_ns)?)
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

impl Batches {
    /// Returns the batches of rounds at capacity; `None` if the engine ran none.
    fn of(full: &[Outcome], batch_ns: &[f64]) -> Option<Self> {
        let mean = of_rounds(full, Outcome::operations_per_batch)?;
        (batch_ns.len() > 1).then(|| Self { times_ns: batch_ns.to_vec(), mean })
    }

    /// Returns the CPU time of an operation at capacity, in nanoseconds.
    fn operation_ns(&self) -> f64 {
        let size = self.mean.clamp(1.0, float(self.times_ns.len() as u64));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 8")]
        let below = size.floor() as usize;
        let above = below.min(self.times_ns.len() - 1);
        let (low, high) = (self.times_ns[below - 1], self.times_ns[above]);
        (high - low).mul_add(size.fract(), low) / size
    }

    /// Returns the time that batches save for a session at capacity, in nanoseconds.
    fn saved_ns(&self) -> f64 {
        (self.times_ns[0] - self.operation_ns()).max(0.0)
    }
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
            has_loops: false,
            batches: None,
            outside_ns: vec![40e3],
            wake_ns: 10e3,
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
        let of = |mean| Batches { times_ns: vec![100.0, 180.0, 190.0, 200.0], mean };
        assert_eq!(of(1.0).operation_ns(), 100.0);
        assert_eq!(of(2.0).operation_ns(), 90.0);
        assert_eq!(of(2.5).operation_ns(), 185.0 / 2.5);
        assert_eq!(of(4.0).operation_ns(), 50.0);
        assert_eq!(of(9.0).operation_ns(), 50.0, "no batch is larger");
        assert_eq!((of(1.0).saved_ns(), of(4.0).saved_ns()), (0.0, 50.0));
    }

    /// At low loads an operation runs alone, and a session takes longer than at capacity.
    #[test]
    fn idle_sessions_take_operations_alone() {
        let batches = Batches { times_ns: vec![400e3, 420e3, 440e3, 460e3], mean: 4.0 };
        let model = Model {
            has_loops: true,
            batches: Some(batches),
            wake_ns: 0.0,
            ..Model::example(600e3)
        };
        let plan = Plan {
            arrivals: Arrivals::open(Pattern::Constant { per_s: 10.0 }),
            sustain_ms: 1000,
            ..Plan::new(Protocol::Tls13)
        };
        let sessions = model.sessions(&plan, 600e3, 1).unwrap();
        // 600 us at capacity have 115 us for the operation, which takes 400 us alone
        for (arrived, done) in &sessions {
            assert!((done - arrived - (40e3 + 485e3 + 400e3)).abs() < 1.0, "{arrived} {done}");
        }
        assert!(!sessions.is_empty());
    }
}
