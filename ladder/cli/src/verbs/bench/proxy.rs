//! `tollgate bench proxy`: the server as a TLS proxy beside HAProxy and nginx, in front of the same
//! back end.
//!
//! Each proxy runs in processes of its own. In each round all proxies take turns. The back end is
//! nginx on the client's core.

use core::net::SocketAddr;
use std::env;
use std::path::Path;
use std::process::ExitCode;

use tollgate_bench::median_estimate;
use tollgate_load::{Naming, Outcome, Plan, Verdict};
use tollgate_report::proxy::{self as table, Proxy as Row};
use tollgate_server::Certificate;
use tollgate_stock_servers::{Product, Running, Settings};

use super::options::sub_verbs::WithProvider as Options;
use super::scenario::{Rounds, Scenario};
use super::turns::{self, Measured};
use super::{context, plan, report};
use crate::error::CliError;
use crate::interrupt;
use crate::options::Bench;
use crate::progress::{self, Progress};
use crate::run::Run;

/// The loads: a name, and the number of requests on a connection.
const LOADS: [(&str, f64); 2] =
    [("new connections, 14 KB", 1.0), ("kept connections, 14 KB", 100.0)];

struct Subject {
    /// The proxy's name in records.
    by: &'static str,
    words: &'static str,
    product: Product,
    /// It loads the provider.
    has_provider: bool,
}

/// The proxies; the first one is the baseline.
const SUBJECTS: [Subject; 4] = [
    Subject {
        by: "haproxy-proxy-async-tollgate",
        words: "HAProxy, async, Tollgate's provider",
        product: Product::Haproxy,
        has_provider: true,
    },
    Subject {
        by: "tollgate-proxy",
        words: "tollgate serve",
        product: Product::Command,
        has_provider: false,
    },
    Subject {
        by: "haproxy-proxy-openssl",
        words: "HAProxy as installed",
        product: Product::Haproxy,
        has_provider: false,
    },
    Subject {
        by: "nginx-proxy-openssl",
        words: "nginx as installed",
        product: Product::Nginx,
        has_provider: false,
    },
];

/// Measures the proxies in turn with each load, and prints a table for each load.
pub(super) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let mut run = Run::measuring(options.turns.written.json.as_deref())?;
    let all = LOADS.map(|(_, requests)| request(options, requests));
    let progress = Progress::new("bench");
    let seconds = plan::seconds(&all[0]) * f64::from(u32::try_from(SUBJECTS.len())?);
    progress::plan(LOADS.len(), seconds);
    let (_backend, proxies) = start(&all[0], options)?;
    let (mut text, mut is_valid) = (String::new(), true);
    for (place, ((load, requests), bench)) in LOADS.iter().zip(&all).enumerate() {
        progress::row(place, load);
        let plans = plan::plans(bench)?;
        let mut rounds: Vec<Measured> = SUBJECTS.iter().map(|_| Measured::default()).collect();
        let targets = SUBJECTS.iter().zip(&proxies);
        let targets = targets.map(|(subject, proxy)| super::servers::of_stock(subject.by, proxy));
        let mut targets = targets.collect::<Result<Vec<_>, _>>()?;
        let same: Vec<&Plan> = SUBJECTS.iter().map(|_| &plans[0]).collect();
        turns::measure(bench, &same, &mut targets, &mut rounds)?;
        if interrupt::asked() {
            break;
        }
        let names: Vec<Naming> = SUBJECTS
            .iter()
            .map(|subject| Naming::new(options.key.to_string(), subject.by))
            .collect();
        let repeated = rounds.iter().map(|measured| measured.repeated).sum();
        let outcomes: Vec<Vec<Outcome>> =
            rounds.into_iter().map(|measured| measured.outcomes).collect();
        let rows = rows(&outcomes, *requests);
        let of = Rounds { outcomes, repeated, broken: None };
        let label = format!("{load}, {}", options.key);
        let scenario = Scenario::of(label, of, &names, &context(bench, &run.host))?;
        run.output.records(&scenario.records)?;
        text += &scenario.verdict_text();
        match rows.filter(|_| scenario.verdict() != Verdict::Invalid) {
            Some(rows) => text += &format!("\n{}\n", table::table(load, &rows)),
            None => is_valid = false,
        }
    }
    drop(progress);
    let text = report::machine(&run.host) + "\n" + &text;
    let code = run.end(&text)?;
    Ok(if is_valid { code } else { ExitCode::FAILURE })
}

fn request(options: &Options, requests_per_connection: f64) -> Bench {
    let mut bench = turns::request(&options.turns, options.key);
    bench.clients.requests_per_connection = requests_per_connection;
    bench
}

/// Starts the back end and the proxies. All proxies use the same key.
fn start(bench: &Bench, options: &Options) -> Result<(Running, Vec<Running>), CliError> {
    let certificate = Certificate::SelfSigned(options.key).to_pem()?;
    let module = super::servers::provider(options.module.as_deref())?;
    let backend = Product::Nginx.start(&Settings {
        bodies: vec![bench.bytes],
        cores: plan::client_cores(bench),
        ..Settings::new(certificate.clone())
    })?;
    let address = backend.plain_address().ok_or_else(|| error!("nginx has no plain address"))?;
    let program = env::current_exe()?;
    let start = |subject: &Subject| {
        let settings = Settings {
            module: subject.has_provider.then(|| module.clone()),
            asynchronous: subject.has_provider,
            command: (subject.product == Product::Command).then(|| command(&program, address)),
            backend: Some(address),
            bodies: vec![bench.bytes],
            cores: plan::server_cores(bench),
            ..Settings::new(certificate.clone())
        };
        Ok::<_, CliError>(subject.product.start(&settings)?)
    };
    let proxies = SUBJECTS.iter().map(start).collect::<Result<_, _>>()?;
    Ok((backend, proxies))
}

/// Returns the command of this program as a proxy. The shell writes its settings.
fn command(program: &Path, backend: SocketAddr) -> String {
    let program = program.display();
    format!(
        "cat > {{folder}}/site.toml <<'END'\n\
         address = \"127.0.0.1:{{port}}\"\n\
         access_log = \"{{log}}\"\n\
         [[certificate]]\n\
         chain = \"chain.pem\"\n\
         key = \"key.pem\"\n\
         [proxy]\n\
         backends = [\"{backend}\"]\n\
         END\n\
         exec '{program}' serve --config {{folder}}/site.toml"
    )
}

/// Returns the rows of a load; `None` if a run is invalid or has no CPU time.
fn rows(outcomes: &[Vec<Outcome>], requests: f64) -> Option<Vec<Row>> {
    let cpu = |outcomes: &[Outcome]| -> Option<Vec<f64>> {
        let of = |outcome: &Outcome| Some(outcome.server_cpu_ns_per_session()? / requests);
        outcomes.iter().map(of).collect()
    };
    let first = cpu(outcomes.first()?)?;
    let row = |(subject, outcomes): (&Subject, &Vec<Outcome>)| {
        let own = cpu(outcomes)?;
        let ratios: Vec<f64> = own.iter().zip(&first).map(|(own, first)| own / first).collect();
        let rates = outcomes.iter().map(|outcome| Some(outcome.sessions_per_s()? * requests));
        Some(Row {
            words: subject.words,
            cpu_ns: median_estimate(&own)?,
            relative: median_estimate(&ratios)?,
            per_s: median_estimate(&rates.collect::<Option<Vec<f64>>>()?)?,
        })
    };
    SUBJECTS.iter().zip(outcomes).map(row).collect()
}
