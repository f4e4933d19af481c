//! `tollgate bench share`: what TLS costs a web server, by the share of the connections that use it.
//!
//! nginx serves HTTP with and without TLS, with OpenSSL's RSA and with Tollgate's provider. The
//! baseline of each load is a run without TLS. Rung 3 predicts each run before it is measured.

use core::time::Duration;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use tollgate_bench::median_estimate;
use tollgate_load::{Limits, Naming, Outcome, Plan, Verdict};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Record};
use tollgate_report::points::{Plane, Series, planes};
use tollgate_report::share::{self as table, Load, Row, Side};
use tollgate_server::{Certificate, Engine};
use tollgate_session::SessionPlan;
use tollgate_stock_servers::{Product, Running, Settings};

use super::options::sub_verbs::WithProvider as Options;
use super::scenario::{Rounds, Scenario};
use super::turns::{self, Measured};
use super::{context, plan, report};
use crate::cells::float;
use crate::error::CliError;
use crate::interrupt;
use crate::options::Bench;
use crate::progress::{self, Progress};
use crate::run::Run;
use crate::verbs::explain::parts;

/// Shares of the connections that use TLS; the first is the baseline.
const SHARES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// The length of a response in bytes.
const SIZES: [u64; 3] = [1024, 14 * 1024, 140 * 1024];

/// Requests on a connection.
const REQUESTS: [u32; 2] = [1, 10];

/// The servers in records; the second one has the provider.
const SERVERS: [&str; 2] = ["nginx-openssl", "nginx-tollgate"];

/// Seconds of the prediction: for the parts of all sessions, and again for the server's calls.
const PREDICTION_S: f64 = 6.0;

/// A run of each round: the server, and the share of TLS. Without TLS both servers are the same.
fn turns() -> Vec<(usize, f64)> {
    let secure = SHARES[1..].iter().flat_map(|&share| [(0, share), (1, share)]);
    [(0, SHARES[0])].into_iter().chain(secure).collect()
}

/// Predicts and measures each load, and prints a table.
pub(super) fn run(options: &Options, svg: Option<&Path>) -> Result<ExitCode, CliError> {
    let mut run = Run::measuring(options.turns.written.json.as_deref())?;
    let bench = turns::request(&options.turns, options.key);
    let predicted = predict(&bench, &mut run)?;
    let progress = Progress::new("bench");
    let seconds = plan::seconds(&bench) * float(turns().len() as u64);
    progress::plan(SIZES.len() * REQUESTS.len(), seconds);
    let servers = start(&bench, options)?;
    let (mut verdicts, mut loads, mut done) = (String::new(), Vec::new(), 0);
    'all: for bytes in SIZES {
        let secure = SERVERS.map(|server| predicted.of(server, bytes));
        // CPU time without TLS and with one request on a connection
        let mut alone = None;
        for requests in REQUESTS {
            let label = table::label(bytes, requests);
            progress::row(done, &label);
            let own = load(&bench, bytes, requests);
            let rounds = measure(&own, &servers)?;
            if interrupt::asked() {
                break 'all;
            }
            done += 1;
            let repeated = rounds.iter().map(|measured| measured.repeated).sum();
            let outcomes: Vec<Vec<Outcome>> = rounds.into_iter().map(|of| of.outcomes).collect();
            let cpu = outcomes.iter().map(|of| cpu(of)).collect::<Option<Vec<_>>>();
            let naming =
                |&(server, _): &(usize, f64)| Naming::new(options.key.to_string(), SERVERS[server]);
            let names: Vec<Naming> = turns().iter().map(naming).collect();
            let of = Rounds { outcomes, repeated, broken: None };
            let scenario = Scenario::apart(label, of, &names, &context(&own, &run.host))?;
            run.output.records(&scenario.records)?;
            verdicts += &scenario.judgement();
            let is_valid = scenario.verdict() != Verdict::Invalid;
            let Some(cpu) = cpu.filter(|_| is_valid) else { continue };
            let plain = median(&cpu[0]);
            if requests == 1 {
                alone = Some(plain);
            }
            let further = alone.map(|alone| plain - alone);
            loads.push(rows((bytes, requests), &cpu, &secure, further));
        }
    }
    drop(progress);
    if let Some(file) = svg {
        fs::write(file, drawn(&loads)).map_err(CliError::at(file))?;
    }
    let text = if loads.is_empty() { String::new() } else { format!("\n{}", table::table(&loads)) };
    let code = run.end(&(report::machine(&run.host) + "\n" + &verdicts + &text))?;
    Ok(if loads.len() == done { code } else { ExitCode::FAILURE })
}

fn load(bench: &Bench, bytes: u64, requests: u32) -> Bench {
    let mut own = Bench { bytes, ..bench.clone() };
    own.clients.requests_per_connection = requests.into();
    own
}

/// Starts both servers with the same key.
fn start(bench: &Bench, options: &Options) -> Result<[Running; 2], CliError> {
    let module = super::servers::provider(options.module.as_deref())?;
    let without = Settings {
        bodies: SIZES.into(),
        cores: plan::server_cores(bench),
        ..Settings::new(Certificate::SelfSigned(options.key).to_pem()?)
    };
    let with = Settings { module: Some(module), ..without.clone() };
    Ok([Product::Nginx.start(&without)?, Product::Nginx.start(&with)?])
}

fn measure(bench: &Bench, servers: &[Running; 2]) -> Result<Vec<Measured>, CliError> {
    let base = plan::plans(bench)?.remove(0);
    // without TLS a short connection costs nginx less than the client; the figures are CPU times
    let limits = Limits { client_cpu: 1.0, ..base.limits };
    let base = Plan { limits, ..base };
    let turns = turns();
    let of_share = |&(_, share): &(usize, f64)| Plan { plain_share: 1.0 - share, ..base.clone() };
    let plans: Vec<Plan> = turns.iter().map(of_share).collect();
    let target = |&(at, _): &(usize, f64)| super::servers::of_stock(SERVERS[at], &servers[at]);
    let mut targets = turns.iter().map(target).collect::<Result<Vec<_>, _>>()?;
    let mut rounds: Vec<Measured> = turns.iter().map(|_| Measured::default()).collect();
    turns::measure(bench, &plans.iter().collect::<Vec<_>>(), &mut targets, &mut rounds)?;
    Ok(rounds)
}

/// Returns the CPU time of a connection in each round, in nanoseconds; `None` if a run is invalid.
fn cpu(outcomes: &[Outcome]) -> Option<Vec<f64>> {
    outcomes.iter().map(Outcome::server_cpu_ns_per_session).collect()
}

/// A connection with one request as rung 3 predicts it, in nanoseconds.
struct Secure {
    total: f64,
    /// The encryption of the response.
    records: f64,
}

/// The predictions of rung 3.
struct Predicted {
    records: Vec<Record>,
    /// `None` if the core clock is unknown.
    cycles_per_ns: Option<f64>,
}

/// Predicts sessions of nginx from its calls, with each engine and size.
fn predict(bench: &Bench, run: &mut Run) -> Result<Predicted, CliError> {
    let clock = run.host.context.machine.core_clock_hz.as_ref();
    let cycles_per_ns = clock.map(|clock| clock.point() / 1e9);
    let _progress = Progress::new("session");
    let engines = [Engine::OpenSsl, Engine::Tollgate];
    let total = Duration::from_secs_f64(PREDICTION_S);
    let plan = SessionPlan::product(&bench.key, bench.protocols(), &engines, &SIZES, total);
    let plan = SessionPlan { pauses: false, ..plan };
    let records = parts::collect(Some("nginx"), &plan, run)?;
    Ok(Predicted { records, cycles_per_ns })
}

impl Predicted {
    fn of(&self, server: &str, bytes: u64) -> Option<Secure> {
        let bytes = bytes.to_string();
        let cycles = |part: Option<&str>| {
            let is_it = |record: &&Record| {
                let parameter = |name| record.subject.parameter(name);
                record.quantity == word::CYCLES_PER_SESSION
                    && matches!(record.kind, Kind::Predicted { .. })
                    && parameter(word::BY) == Some(server)
                    && parameter(word::BYTES) == Some(&*bytes)
                    && parameter(word::PART) == part
            };
            Some(self.records.iter().find(is_it)?.estimate.point() / self.cycles_per_ns?)
        };
        Some(Secure { total: cycles(None)?, records: cycles(Some(word::PART_RECORDS))? })
    }
}

fn median(all: &[f64]) -> f64 {
    median_estimate(all).map_or(f64::NAN, |all| all.point())
}

/// Returns the ratios of two runs in each round.
fn ratio(above: &[f64], below: &[f64]) -> Option<Estimate> {
    median_estimate(
        &above.iter().zip(below).map(|(above, below)| above / below).collect::<Vec<_>>(),
    )
}

/// Returns the rows of a load. Requests after the first cost what they cost without TLS, `further`,
/// and the encryption of their responses.
fn rows(
    (bytes, requests): (u64, u32),
    cpu: &[Vec<f64>],
    secure: &[Option<Secure>; 2],
    further: Option<f64>,
) -> Load {
    let plain = median(&cpu[0]);
    let side = |server: usize, share: f64, own: &[f64]| {
        let predicted = secure[server].as_ref().zip(further).map(|(secure, further)| {
            let encrypted = f64::from(requests - 1) * secure.records;
            share * (secure.total + further + encrypted) / plain + 1.0 - share
        });
        let per_s = 1e9 * f64::from(requests) / median(own);
        Some(Side { per_s, slowdown: ratio(own, &cpu[0])?, predicted })
    };
    let turns = turns();
    let row = |&share: &f64| {
        let at = |server| turns.iter().position(|turn| *turn == (server, share));
        let [without, with] = [0, 1].map(|server| at(server).map(|place| &*cpu[place]));
        Row {
            share,
            servers: [
                without.and_then(|own| side(0, share, own)),
                with.and_then(|own| side(1, share, own)),
            ],
            gain: without.zip(with).and_then(|(without, with)| ratio(without, with)),
        }
    };
    Load { bytes, requests, rows: SHARES.iter().map(row).collect() }
}

/// Draws the slowdown by share: a chart for each size.
fn drawn(loads: &[Load]) -> String {
    let series = |load: &Load, server: usize| {
        let point = |row: &Row| {
            // without TLS both servers are the same
            let side = row.servers[server].as_ref().or(row.servers[0].as_ref())?;
            Some((100.0 * row.share, side.slowdown.point()))
        };
        let name = ["OpenSSL", "Tollgate"][server];
        let requests = if load.requests == 1 { "request" } else { "requests" };
        Series {
            name: format!("{name}, {} {requests}", load.requests),
            points: load.rows.iter().filter_map(point).collect(),
        }
    };
    let plane = |bytes: &u64| {
        let own = loads.iter().filter(|load| load.bytes == *bytes);
        Plane {
            title: format!("{} KB", bytes / 1024),
            axes: ["% of the connections use TLS".to_owned(), "CPU time, relative".to_owned()],
            series: own.flat_map(|load| [series(load, 0), series(load, 1)]).collect(),
        }
    };
    planes(
        "CPU time of a connection, relative to HTTP",
        &SIZES.iter().map(plane).collect::<Vec<_>>(),
    )
}
