//! `tollgate bench signer`: the rate of a signer with all connections busy, the time of a request
//! that is alone, and the response times at shares of the rate.
//!
//! Each round has a closed loop, a few batches of the same operation in this process, a closed loop
//! with one request in flight, and the open loops. The ratio of the rates compares neighbours in
//! time.

mod cases;
mod connection;
mod counters;
mod stream;

use std::process::ExitCode;
use std::rc::Rc;

use tollgate_bench::median_estimate;
use tollgate_load::{
    Arrivals, Limits, Outcome, Pattern, Plan, Protocol, Requester, Server, Target, Verdict, pin,
    processes_cpu, run_requests,
};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Record, Topic, Unit};
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;
use tollgate_server::KeyKind;

use super::options::signer::{Address, Signer as Options};
use super::plan::{cores, milliseconds};
use super::scenario::{Rounds, Scenario, is_unsteady};
use super::{batches, report, times};
use crate::cells::{float, or_dash, rate};
use crate::error::CliError;
use crate::figures::{Figures, subject};
use crate::interrupt;
use crate::progress::{self, Progress};
use crate::run::Run;

use cases::Cases;
use connection::Connection;
use counters::Page;
use stream::Opener;

/// The warm-up, as a share of the measured seconds.
const WARM_UP_PART: f64 = 0.5;

/// Maximum repetitions of a run whose rate was not steady.
const REPEATS: u32 = 3;

const COLUMNS: [Column; 9] = [
    Column::words("load", 9),
    Column::figures("ops/s", 6),
    Column::figures("95 % interval", 15),
    Column::figures("CPU", 8),
    Column::figures("of batches", 10),
    Column::figures("batch", 5),
    Column::figures("p50", 7),
    Column::figures("p90", 7),
    Column::figures("p99", 7),
];

/// The load of a run.
#[derive(Clone, Copy, PartialEq)]
enum At {
    /// All requests in flight.
    Closed,
    /// One request in flight.
    Alone,
    /// Random arrivals at this share of the closed loop's rate.
    Load(f64),
}

/// The runs of one load.
struct Row {
    at: At,
    outcomes: Vec<Outcome>,
    /// The operations of a second of the signer's CPU time in each round of a closed loop, divided
    /// by those of this process in full batches; empty without batches or CPU time.
    of_batches: Vec<f64>,
}

/// Measures the signer, and prints the verdict and the table.
pub(super) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let mut run = Run::measuring(options.written.json.as_deref())?;
    let cases = Rc::new(Cases::new(&options.key, options.operation)?);
    let plan = closed(options);
    plan.check()?;
    pin(&plan, 0)?;
    let mut load = Load::new(options, &cases)?;
    let progress = Progress::new("bench");
    let runs = 2 + options.loads.len();
    let seconds = (1.0 + WARM_UP_PART) * options.seconds;
    progress::plan(runs * options.rounds as usize, seconds);
    let rows = load.rounds(options, &plan, &cases)?;
    drop(progress);
    let Some(rows) = rows else { return run.end("") };
    let label = format!(
        "{}, {}, {} connections with {} in flight each",
        cases.key_name(),
        cases.operation.name(),
        options.connections,
        options.in_flight
    );
    let outcomes = rows.iter().map(|row| row.outcomes.clone()).collect();
    let rounds = Rounds { outcomes, repeated: load.repeated, broken: None };
    let figures = Figures::of_row(&run.host, seconds * f64::from(options.rounds)).with([
        ("signer", options.address.to_string()),
        ("client_cores", super::plan::listed(&plan.cores)),
    ]);
    let mut records = Vec::new();
    for row in &rows {
        records.extend(row.records(options, &cases, &figures)?);
    }
    let scenario = Scenario::judged(label, rounds, &run.host.context, |_, _| Ok(records))?;
    run.output.records(&scenario.records)?;
    let mut text = report::machine(&run.host) + &wrapped(&words(options, &plan)) + "\n";
    text += &scenario.judgement();
    let is_valid = scenario.verdict() != Verdict::Invalid;
    if is_valid {
        text += &table(&rows, load.cpu_of.is_some());
    } else {
        text +=
            "an INVALID run gives no figures: follow the advice in the findings, and run again\n";
    }
    let code = run.end(&text)?;
    Ok(if is_valid { code } else { ExitCode::FAILURE })
}

fn words(options: &Options, plan: &Plan) -> String {
    let core = match plan.cores.first() {
        Some(core) => format!("on core {core}"),
        None => "not pinned".to_owned(),
    };
    format!(
        "plan: {}; client: a thread {core}, checks every signature with the public key; {} rounds, \
         {} s of each run count",
        options.address, options.rounds, options.seconds
    )
}

/// Returns the plan with all requests in flight.
fn closed(options: &Options) -> Plan {
    let core = options.client_cores.map_or_else(|| cores(&[], |_| 0), |core| vec![core]);
    Plan {
        connections: options.connections * options.in_flight,
        cores: core,
        warm_up_ms: milliseconds(WARM_UP_PART * options.seconds),
        sustain_ms: milliseconds(options.seconds),
        // a signature that is refused or wrong makes a run invalid
        limits: Limits { errors: 0.0, ..Limits::default() },
        ..Plan::new(Protocol::Tls13)
    }
}

/// The connections, and what is read of the signer.
struct Load {
    requesters: Vec<Box<dyn Requester>>,
    target: Target,
    /// The signer's process.
    cpu_of: Option<u32>,
    page: Option<Page>,
    repeated: u32,
}

impl Load {
    fn new(options: &Options, cases: &Rc<Cases>) -> Result<Self, CliError> {
        let target = Target::new(match options.address {
            Address::Tls(address) => address,
            Address::Unix(_) => ([127, 0, 0, 1], 0).into(), // this machine
        })?;
        let opener = Opener::new(&options.address, &options.tls)?;
        let (mut requesters, mut cpu_of) = (Vec::<Box<dyn Requester>>::new(), options.pid);
        for number in 0..options.connections as usize {
            let stream = interrupt::ends_at_once(|| opener.open())?;
            let next = number * cases::COUNT / options.connections as usize;
            let connection = Connection::new(stream, Rc::clone(cases), next)?;
            cpu_of = cpu_of.or_else(|| connection.process());
            requesters.push(Box::new(connection));
        }
        Ok(Self { requesters, target, cpu_of, page: options.metrics.map(Page), repeated: 0 })
    }

    /// Runs all rounds; `None` after Ctrl-C. A run that is invalid ends the rounds.
    fn rounds(
        &mut self,
        options: &Options,
        plan: &Plan,
        cases: &Cases,
    ) -> Result<Option<Vec<Row>>, CliError> {
        let loads = options.loads.iter().copied().map(At::Load);
        let row = |at| Row { at, outcomes: Vec::new(), of_batches: Vec::new() };
        let mut rows: Vec<Row> =
            [At::Closed, At::Alone].into_iter().chain(loads).map(row).collect();
        let all = rows.len();
        for round in 0..options.rounds {
            let mut whole = 0.0;
            for (place, row) in rows.iter_mut().enumerate() {
                progress::row(round as usize * all + place, &named(row.at));
                let plan = match row.at {
                    At::Closed => plan.clone(),
                    At::Alone => Plan { connections: 1, ..plan.clone() },
                    At::Load(load) => Plan {
                        arrivals: Arrivals::open(Pattern::Poisson { per_s: load * whole }),
                        seed: u64::from(round) + 1,
                        ..plan.clone()
                    },
                };
                let Some(outcome) = self.steady(&plan)? else { return Ok(None) };
                let is_invalid = outcome.verdict == Verdict::Invalid;
                if row.at == At::Closed && !is_invalid {
                    whole = outcome.sessions_per_s().unwrap_or(0.0);
                    let full_ns = cases.bits().map(|bits| batches::full_ns(KeyKind::Rsa { bits }));
                    let times =
                        full_ns.transpose()?.flatten().zip(outcome.server_cpu_ns_per_session());
                    row.of_batches.extend(times.map(|(full_ns, cpu_ns)| full_ns / cpu_ns));
                }
                row.outcomes.push(outcome);
                if is_invalid {
                    return Ok(Some(rows));
                }
            }
        }
        Ok(Some(rows))
    }

    /// Runs a plan, again if its rate was not steady; `None` after Ctrl-C.
    fn steady(&mut self, plan: &Plan) -> Result<Option<Outcome>, CliError> {
        let mut outcome = self.once(plan)?;
        for _ in 0..REPEATS {
            if !outcome.as_ref().is_some_and(is_unsteady) {
                break;
            }
            outcome = self.once(plan)?;
            self.repeated += 1;
        }
        Ok(outcome)
    }

    fn once(&mut self, plan: &Plan) -> Result<Option<Outcome>, CliError> {
        let mut server = Server::new("signer", self.target.clone());
        if let Some(process) = self.cpu_of {
            server = server.with_cpu(move || processes_cpu(&[process]));
        }
        if let Some(page) = self.page {
            server = server.with_referee(page.counter()).with_counts(move || page.server_counts());
        }
        let part = &mut |_, part| progress::part(part);
        // a request that is alone has the first connection
        let used = self.requesters.len().min(plan.connections as usize);
        let requesters = &mut self.requesters[..used];
        match run_requests(plan, requesters, &mut server, &interrupt::asked, part) {
            Ok(outcome) => Ok(Some(outcome)),
            Err(_) if interrupt::asked() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn named(at: At) -> String {
    match at {
        At::Closed => "closed".to_owned(),
        At::Alone => "alone".to_owned(),
        At::Load(load) => format!("{:.0} %", 100.0 * load),
    }
}

impl Row {
    /// Returns the median over the rounds; `None` if a round lacks the figure.
    fn median(&self, figure: impl Fn(&Outcome) -> Option<f64>) -> Option<Estimate> {
        let all: Option<Vec<f64>> = self.outcomes.iter().map(figure).collect();
        all.and_then(|all| median_estimate(&all))
    }

    /// Returns the median over the rounds of a quantile; `None` if a round has none.
    fn quantile_ns(&self, q: f64) -> Option<u64> {
        let of = |outcome: &Outcome| outcome.transaction()?.quantile_ns(q);
        let mut all: Vec<u64> = self.outcomes.iter().map(of).collect::<Option<_>>()?;
        all.sort_unstable();
        all.get(all.len() / 2).copied()
    }

    fn cells(&self) -> Vec<String> {
        let per_s = self.median(Outcome::sessions_per_s);
        let interval = |per_s: Estimate| {
            let (low, high) = per_s.interval();
            format!("[{}-{}]", rate(low), rate(high))
        };
        let point = |estimate: Option<Estimate>| estimate.map(|estimate| estimate.point());
        let cpu = point(self.median(Outcome::server_cpu_ns_per_session));
        let batch = point(self.median(Outcome::operations_per_batch));
        let of_batches = point(median_estimate(&self.of_batches));
        let time = |q| or_dash(self.quantile_ns(q), times::short);
        [
            named(self.at),
            or_dash(per_s, |per_s| rate(per_s.point())),
            or_dash(per_s, interval),
            or_dash(cpu, |ns| format!("{:.1} µs", ns / 1e3)),
            or_dash(of_batches, |share| format!("{:.1} %", 100.0 * share)),
            or_dash(batch, |batch| format!("{batch:.1}")),
        ]
        .into_iter()
        .chain([0.5, 0.9, 0.99].map(time))
        .collect()
    }

    fn records(
        &self,
        options: &Options,
        cases: &Cases,
        figures: &Figures<'_>,
    ) -> Result<Vec<Record>, CliError> {
        let path = format!("signer/{}/{}", cases.key_name(), cases.operation.name());
        let of = |connections: u32, in_flight: u32| {
            let parameters = [(word::CONNECTIONS, connections), ("in_flight", in_flight)];
            subject(Topic::from(&*path), parameters)
        };
        let (all, alone) = (of(options.connections, options.in_flight)?, of(1, 1)?);
        if self.at == At::Alone && all == alone {
            return Ok(Vec::new()); // the closed loop has this subject
        }
        let subject = match self.at {
            At::Closed => all,
            At::Alone => alone,
            At::Load(load) => all.with(word::LOAD, load)?,
        };
        let of_batches = median_estimate(&self.of_batches);
        let time = |q| {
            let of = |outcome: &Outcome| outcome.transaction()?.quantile_ns(q).map(float);
            self.median(of)
        };
        let all = [
            (word::OPERATIONS_PER_S, Unit::PerSecond, self.median(Outcome::sessions_per_s)),
            (
                word::CPU_NS_PER_OPERATION,
                Unit::Nanos,
                self.median(Outcome::server_cpu_ns_per_session),
            ),
            (word::OPERATIONS_PER_S_RATIO, Unit::Ratio, of_batches),
            (word::OPERATIONS_PER_BATCH, Unit::Ratio, self.median(Outcome::operations_per_batch)),
            (word::RESPONSE_NS_P50, Unit::Nanos, time(0.5)),
            (word::RESPONSE_NS_P90, Unit::Nanos, time(0.9)),
            (word::RESPONSE_NS_P99, Unit::Nanos, time(0.99)),
        ];
        let record = |(quantity, unit, estimate): (_, _, Option<Estimate>)| {
            estimate.map(|estimate| figures.measured(&subject, quantity, unit, estimate))
        };
        Ok(all.into_iter().filter_map(record).collect())
    }
}

fn table(rows: &[Row], has_cpu: bool) -> String {
    let mut text = "\n".to_owned() + &grid(&COLUMNS, rows.iter().map(Row::cells).collect());
    text += &wrapped(
        "load: closed, all requests in flight; alone, one request in flight; or random arrivals at \
         this share of the closed loop's rate; ops/s: operations per second, the median of the \
         rounds; CPU: of the signer's process for an operation, user and system; of batches: \
         operations of a second of this CPU time, divided by those of a core that runs full \
         batches and nothing else; batch: operations that the engine runs at once, on average; \
         p50, p90, p99: from the request, with arrivals from the intended start, to the answer",
    );
    if !has_cpu {
        text += &wrapped("the signer's process is not known, so there is no CPU time: give --pid");
    }
    text
}
