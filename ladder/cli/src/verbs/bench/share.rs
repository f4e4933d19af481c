//! `tollgate bench share`: what TLS costs a web server, by the share of the connections that use it.
//!
//! nginx serves HTTP with and without TLS, with OpenSSL's RSA and with Tollgate's provider. The
//! baseline of each load is a run without TLS. Rung 3 predicts each run before it is measured.

use std::fs;
use std::process::ExitCode;

use tollgate_bench::median_estimate;
use tollgate_load::{Limits, Naming, Outcome, Plan, Verdict};
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Record};
use tollgate_report::points::{Plane, Series, planes};
use tollgate_report::share::{self as table, Load, Row, Side};
use tollgate_server::{Certificate, KeyKind};
use tollgate_stock_servers::{Product, Running, Settings, module};

use super::options::sub_verbs::Share as Options;
use super::scenario::{Rounds, Scenario};
use super::turns::{self, Measured};
use super::{context, plan, report};
use crate::cells::float;
use crate::error::CliError;
use crate::interrupt;
use crate::options::{Bench, Session};
use crate::progress::{self, Progress};
use crate::run::Run;
use crate::verbs::session::parts;

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
pub(super) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let mut run = Run::measuring(options.turns.written.json.as_deref())?;
    let bench = turns::request(&options.turns, options.key);
    let predicted = predict(&bench, &mut run)?;
    let progress = Progress::new("bench");
    let seconds = plan::seconds(&bench) * float(turns().len() as u64);
    progress::plan(SIZES.len() * REQUESTS.len(), seconds);
    let servers = start(&bench, options)?;
    let (mut verdicts, mut loads, mut is_valid) = (String::new(), Vec::new(), true);
    let mut plain_alone = f64::NAN;
    let all = SIZES.iter().flat_map(|&bytes| REQUESTS.map(|requests| (bytes, requests)));
    for (place, (bytes, requests)) in all.enumerate() {
        let label = table::label(bytes, requests);
        progress::row(place, &label);
        let own = load(&bench, bytes, requests);
        let rounds = measure(&own, &servers)?;
        if interrupt::asked() {
            break;
        }
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
        let Some(cpu) = cpu.filter(|_| scenario.verdict() != Verdict::Invalid) else {
            is_valid = false;
            continue;
        };
        let known = |server| predicted.of(server, bytes);
        let plain = median(&cpu[0]);
        // of the same size, and one request on a connection
        if requests == REQUESTS[0] {
            plain_alone = plain;
        }
        let further = plain - plain_alone;
        loads.push(rows((bytes, requests, further), &cpu, SERVERS.map(known)));
    }
    drop(progress);
    if let Some(file) = &options.svg {
        fs::write(file, drawn(&loads)).map_err(CliError::at(file))?;
    }
    let text = if loads.is_empty() { String::new() } else { format!("\n{}", table::table(&loads)) };
    let code = run.end(&(report::machine(&run.host) + "\n" + &verdicts + &text))?;
    Ok(if is_valid { code } else { ExitCode::FAILURE })
}

fn load(bench: &Bench, bytes: u64, requests: u32) -> Bench {
    let mut own = Bench { bytes, ..bench.clone() };
    own.clients.requests_per_connection = requests.into();
    own
}

/// Starts both servers with the same key.
fn start(bench: &Bench, options: &Options) -> Result<[Running; 2], CliError> {
    let module = match &options.module {
        Some(module) => module.clone(),
        None => module().map_err(|error| error!("{error}: --module FILE"))?,
    };
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

/// What rung 3 knows of one connection with one request, in nanoseconds.
#[derive(Clone, Copy)]
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
    key: KeyKind,
}

/// Predicts sessions of nginx from its calls, with each engine and size.
fn predict(bench: &Bench, run: &mut Run) -> Result<Predicted, CliError> {
    let clock = run.host.context.machine.core_clock_hz.as_ref();
    let cycles_per_ns = clock.map(|clock| clock.point() / 1e9);
    let request = parts::request(bench, PREDICTION_S);
    let records = match request {
        Some(request) => {
            let _progress = Progress::new("session");
            let request = Session { bytes: SIZES.into(), ..request };
            parts::collect_with_calls(Some("nginx"), &request, run)?
        }
        None => Vec::new(),
    };
    Ok(Predicted { records, cycles_per_ns, key: bench.key[0] })
}

impl Predicted {
    fn of(&self, server: &str, bytes: u64) -> Option<Secure> {
        let bytes = bytes.to_string();
        let cycles = |part: Option<&str>| {
            let is_it = |record: &&Record| {
                let parameter = |name| record.subject.parameter(name);
                record.quantity == word::CYCLES_PER_SESSION
                    && matches!(record.kind, Kind::Predicted { .. })
                    && record
                        .subject
                        .key()
                        .is_some_and(|key| key.to_string() == self.key.to_string())
                    && parameter(word::BY) == Some(server)
                    && parameter(word::BYTES) == Some(&*bytes)
                    && parameter(word::PART) == part
            };
            Some(self.records.iter().find(is_it)?.estimate.point() / self.cycles_per_ns?)
        };
        let records = cycles(Some(word::PART_RECORDS))?;
        Some(Secure { total: cycles(None)?, records })
    }
}

fn median(all: &[f64]) -> f64 {
    median_estimate(all).map_or(f64::NAN, |all| all.point())
}

/// Returns the rows of a load. Requests after the first cost what they cost without TLS, `further`,
/// and the encryption of their responses.
fn rows(
    (bytes, requests, further): (u64, u32, f64),
    cpu: &[Vec<f64>],
    predicted: [Option<Secure>; 2],
) -> Load {
    let plain = median(&cpu[0]);
    let encrypted = f64::from(requests - 1);
    let side = |place: usize, (server, share): (usize, f64)| {
        let ratios: Vec<f64> =
            cpu[place].iter().zip(&cpu[0]).map(|(own, plain)| own / plain).collect();
        let of = |secure: Secure| {
            let one = secure.total + further + encrypted * secure.records;
            share * one / plain + 1.0 - share
        };
        Some(Side {
            per_s: 1e9 * f64::from(requests) / median(&cpu[place]),
            slowdown: median_estimate(&ratios)?,
            predicted: predicted[server].map(of).filter(|ratio| ratio.is_finite()),
        })
    };
    let turns = turns();
    let row = |&share: &f64| {
        let at = |server| turns.iter().position(|turn| *turn == (server, share));
        let of = |server| at(server).and_then(|place| side(place, turns[place]));
        let gain = at(0).zip(at(1)).and_then(|(without, with)| {
            let rounds = cpu[without].iter().zip(&cpu[with]);
            median_estimate(&rounds.map(|(without, with)| without / with).collect::<Vec<_>>())
        });
        Row { share, servers: [of(0), of(1)], gain }
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
