//! `tollgate bench eti10`: the improvements of \[ETI10\], measured with today's nginx and OpenSSL.
//!
//! The paper measured a session of 140 KB with RSA-1024 and AES128-SHA, and then the same session
//! with faster RSA, AES instructions and GCM. Here nginx serves these sessions. Each round runs all
//! steps, one after the other.

use std::process::ExitCode;

use tollgate_bench::median_estimate;
use tollgate_load::{Naming, Outcome, Plan, Verdict};
use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Unit};
use tollgate_report::eti10::{self as table, Step as Row};
use tollgate_server::{Certificate, KeyKind};
use tollgate_stock_servers::{Product, Running, Settings};

use super::options::sub_verbs::Eti10 as Options;
use super::profile::Profiler;
use super::scenario::{Rounds, Scenario};
use super::turns::{self, Measured};
use super::{context, plan, report};
use crate::error::CliError;
use crate::interrupt;
use crate::options::values::defaults;
use crate::options::{Bench, EngineKind, Mode, Sampling, ServerKind};
use crate::progress::{self, Progress};
use crate::run::Run;

/// The length of a response in bytes: 140 KB, as the paper counts them.
const BYTES: u64 = 140_000;

/// The variable that disables the instructions AES-NI and PCLMULQDQ in OpenSSL, and its value; see
/// `OPENSSL_ia32cap(3)`. The first word clears the bits of these instructions. The other words keep
/// all their bits; a missing word would clear them.
const MASK: (&str, &str) = ("OPENSSL_ia32cap", "~0x200000200000000:~0x0:~0x0:~0x0:~0x0");

/// The suites of the paper, with RSA key exchange.
const CBC: &str = "TLS_RSA_WITH_AES_128_CBC_SHA";
const GCM: &str = "TLS_RSA_WITH_AES_128_GCM_SHA256";

struct Step {
    /// The server's name in records.
    by: &'static str,
    suite: &'static str,
    /// The step's description in the table.
    words: &'static str,
    /// The baseline's cycles divided by this step's cycles, as published in the paper.
    published: Option<f64>,
}

impl Step {
    const fn new(
        by: &'static str,
        suite: &'static str,
        words: &'static str,
        published: Option<f64>,
    ) -> Self {
        Self { by, suite, words, published }
    }
}

/// The step without the instructions for AES.
const NO_AES: &str = "nginx-noaes";

/// The steps with the provider.
const TOLLGATE: &str = "nginx-tollgate";

/// All steps; the first one is the baseline.
const STEPS: [Step; 5] = [
    Step::new(NO_AES, CBC, "AES128-SHA, no AES instructions", Some(1.0)),
    Step::new("nginx-openssl", CBC, "AES128-SHA", None),
    Step::new(TOLLGATE, CBC, "AES128-SHA, Tollgate's RSA", Some(1.67)),
    Step::new("nginx-openssl", GCM, "AES128-GCM", None),
    Step::new(TOLLGATE, GCM, "AES128-GCM, Tollgate's RSA", Some(2.43)),
];

/// Measures the steps in turn, and prints their table and the parts of each step.
pub(super) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let bench = request(options);
    let mut run = Run::measuring(options.turns.written.json.as_deref())?;
    let plans = plan::plans(&bench)?;
    let profiler = Profiler::of(&bench)?;
    let progress = Progress::new("bench");
    progress::plan(1, plan::seconds(&bench) * f64::from(u32::try_from(STEPS.len())?));
    progress::row(0, "sessions of 140 KB");
    let servers = start(&bench)?;
    let mut rounds: Vec<Measured> = STEPS.iter().map(|_| Measured::default()).collect();
    {
        let mut targets = STEPS
            .iter()
            .zip(&servers)
            .map(|(step, server)| super::servers::of_stock(step.by, server))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(profiler) = &profiler {
            let threads = servers.iter().map(super::servers::threads_of_stock);
            profiler.look(&mut targets, threads.collect::<Result<_, _>>()?);
        }
        let plans = STEPS.iter().map(|step| plan_of(&plans, step));
        let plans: Vec<&Plan> = plans.collect::<Result<_, _>>()?;
        turns::measure(&bench, &plans, &mut targets, &mut rounds)?;
    }
    drop(progress);
    if interrupt::asked() {
        return run.end("");
    }
    let context = context(&bench, &run.host);
    let (mut scenarios, mut rows) = (Vec::new(), Vec::new());
    for (step, Measured { outcomes, repeated }) in STEPS.iter().zip(&rounds) {
        let naming = [Naming::new(KeyKind::OF_2001.to_string(), step.by)];
        let label = format!("{}, {}", step.words, step.by);
        let of = Rounds { outcomes: vec![outcomes.clone()], repeated: *repeated, broken: None };
        let mut scenario = Scenario::of(label, of, &naming, &context)?;
        if let Some(profiler) = &profiler {
            profiler.end(&bench, &mut scenario, plan_of(&plans, step)?, &naming)?;
        }
        rows.extend(row(step, &rounds[0].outcomes, outcomes, &scenario.records)?);
        run.output.records(&scenario.records)?;
        scenarios.push(scenario);
    }
    let mut text = report::machine(&run.host) + "\n";
    text.extend(scenarios.iter().map(Scenario::verdict_text));
    let is_valid = scenarios.iter().all(|scenario| scenario.verdict() != Verdict::Invalid);
    if is_valid {
        text += &format!("\n{}", table::table(&rows));
    }
    let code = run.end(&text)?;
    Ok(if is_valid { code } else { ExitCode::FAILURE })
}

fn request(options: &Options) -> Bench {
    let sampling = Sampling { flame_graphs: options.flame_graphs.clone() };
    Bench {
        mode: if options.no_profile { Mode::Rounds } else { Mode::Profile(sampling) },
        key: vec![KeyKind::OF_2001],
        suites: vec![CBC.to_owned(), GCM.to_owned()],
        bytes: BYTES,
        server: vec![ServerKind::Nginx],
        engine: vec![EngineKind::Openssl], // any number of rounds is allowed for one server
        rounds: options.turns.rounds,
        seconds: options.turns.seconds,
        module: options.module.clone(),
        ..defaults()
    }
}

/// Starts a server for each step. All servers use the same key, so that all sessions have the same
/// size.
fn start(bench: &Bench) -> Result<Vec<Running>, CliError> {
    let certificate = Certificate::SelfSigned(KeyKind::OF_2001).to_pem()?;
    let module = super::servers::provider(bench.module.as_deref())?;
    let start = |step: &Step| {
        let settings = Settings {
            module: (step.by == TOLLGATE).then(|| module.clone()),
            bodies: vec![BYTES],
            cores: plan::server_cores(bench),
            environment: (step.by == NO_AES).then(|| (MASK.0.to_owned(), MASK.1.to_owned())),
            ..Settings::new(certificate.clone())
        };
        Ok(Product::Nginx.start(&settings)?)
    };
    STEPS.iter().map(start).collect()
}

fn plan_of<'a>(plans: &'a [Plan], step: &Step) -> Result<&'a Plan, CliError> {
    let is_of = |plan: &&Plan| plan.offer.suite.as_deref() == Some(step.suite);
    plans.iter().find(is_of).ok_or_else(|| error!("a step has no plan"))
}

/// Returns the cycles of a step, and the baseline's cycles divided by them. `None` if the core
/// clock is unknown.
fn row(
    step: &Step,
    baseline: &[Outcome],
    outcomes: &[Outcome],
    records: &[Record],
) -> Result<Option<Row>, CliError> {
    let ns = |outcomes: &[Outcome]| -> Option<Vec<f64>> {
        outcomes.iter().map(Outcome::server_cpu_ns_per_session).collect()
    };
    let Some((before, after)) = ns(baseline).zip(ns(outcomes)) else { return Ok(None) };
    let is_total = |record: &&Record| {
        record.quantity == word::CYCLES_PER_SESSION
            && record.unit == Unit::Cycles
            && record.subject.parameter(word::PART).is_none()
    };
    let Some(total) = records.iter().find(is_total) else { return Ok(None) };
    let rates: Option<Vec<f64>> = outcomes.iter().map(Outcome::sessions_per_s).collect();
    let ratios: Vec<f64> =
        before.iter().zip(&after).map(|(before, after)| before / after).collect();
    let times = median_estimate(&ratios);
    let (Some(rate), Some(times)) = (rates.and_then(|all| median_estimate(&all)), times) else {
        return Ok(None);
    };
    let part = |record: &Record| {
        let part = record.subject.parameter(word::PART).filter(|part| *part != word::PART_IDLE)?;
        let is_whole = record.subject.parameter(word::DETAIL).is_none();
        is_whole.then(|| (part.to_owned(), record.estimate.point()))
    };
    Ok(Some(Row {
        words: step.words,
        cycles: total.estimate,
        per_s: rate,
        times,
        published: step.published,
        parts: records.iter().filter_map(part).collect(),
    }))
}
