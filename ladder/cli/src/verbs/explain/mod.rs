//! `tollgate explain`: the cost of a TLS session to a server by part, predicted and in a live
//! server.

mod options;
pub(crate) mod parts;
pub(in crate::verbs) mod profile;

use std::process::ExitCode;

use tollgate_load::{Mechanism, Plan, Verdict};
use tollgate_report::text::wrapped;
use tollgate_report::{heading, profile as profile_table, session as session_table};
use tollgate_server::Engine;
use tollgate_session::{Handshake, Session, SessionPlan};

use crate::error::CliError;
use crate::hybrid::{default_group, noted_group};
use crate::interrupt;
use crate::options::values::defaults;
use crate::options::{Bench, Mode, ServerKind};
use crate::progress::Progress;
use crate::run::Run;
use crate::verbs::bench;
use crate::verbs::bench::scenario::Scenario;

pub(crate) use options::{Explain, key, ladder};

/// The rounds of each sampled server.
const ROUNDS: u32 = 4;

pub(crate) fn run(options: &Explain) -> Result<ExitCode, CliError> {
    let group = if options.has_default_group() { default_group() } else { None };
    let plan = options.plan(group)?;
    let loads = if options.is_live() { loads(options, &plan)? } else { Vec::new() };
    let mut run = Run::measuring(options.written.json.as_deref())?;
    if options.has_default_group() && plan.sessions.iter().any(Session::is_tls13) {
        noted_group(&mut run.notes);
    }
    let mut scenarios = Vec::new();
    for load in &loads {
        let _progress = Progress::new("server");
        scenarios.extend(bench::profiled(load, &mut run)?);
    }
    let has_figures = |scenario: &Scenario| scenario.verdict() != Verdict::Invalid;
    let is_valid = scenarios.iter().all(has_figures);
    let is_explained = is_valid || scenarios.iter().any(has_figures);
    let mut records: Vec<_> =
        scenarios.iter().flat_map(|scenario| scenario.records.iter().cloned()).collect();
    // the calls of a server at a URL are not known
    if options.target.is_none() && is_explained && !interrupt::asked() {
        let progress = Progress::new("session");
        let product = options.server.and_then(ServerKind::stock);
        let server = product.map(|product| product.to_string());
        records.extend(parts::collect(server.as_deref(), &plan, &mut run)?);
        drop(progress);
    }
    let mut text = heading::lines(&records) + "\n";
    if options.is_live() {
        text.extend(scenarios.iter().map(Scenario::verdict_text));
        text += "\n";
        if is_explained {
            text += &profile_table::table(&records);
            let notes = scenarios.iter().flat_map(|scenario| &scenario.notes);
            text.extend(notes.map(|note| wrapped(note)));
        }
    } else {
        text += &session_table::table(&records);
    }
    let code = run.end(&text)?;
    Ok(if is_valid { code } else { ExitCode::FAILURE })
}

/// The loads whose servers are sampled: one for each size and handshake.
fn loads(options: &Explain, plan: &SessionPlan) -> Result<Vec<Bench>, CliError> {
    let mut loads: Vec<((u64, Handshake), Bench)> = Vec::new();
    for session in &plan.sessions {
        let of = (session.bytes, session.handshake);
        if loads.iter().any(|(known, _)| *known == of) {
            continue;
        }
        let by_session_id =
            (session.handshake == Handshake::SessionId).then_some(Mechanism::SessionId);
        let mut load = Bench {
            mode: Mode::Profile,
            server: vec![options.server.unwrap_or(ServerKind::Openssl)],
            engine: engines(plan),
            protocol: options.protocol.clone(),
            suites: options.suites.clone(),
            group: options.group.clone(),
            bytes: session.bytes,
            seconds: (options.seconds / 10.0).max(SECONDS_MIN),
            rounds: ROUNDS,
            ..defaults()
        };
        load.key = distinct_keys(plan);
        load.load.connections = options.connections;
        load.clients.mix.resumed_share = f64::from(u8::from(session.handshake != Handshake::Full));
        load.clients.mix.resume_by = by_session_id;
        load.given.target.clone_from(&options.target);
        load.given.pid.clone_from(&options.pid);
        load.given.log.clone_from(&options.log);
        loads.push((of, load.checked()?));
    }
    Ok(loads.into_iter().map(|(_, load)| load).collect())
}

/// The shortest run that can be judged.
#[allow(clippy::cast_precision_loss, reason = "200")]
const SECONDS_MIN: f64 = Plan::SUSTAIN_MS_MIN as f64 / 1000.0;

/// All engines, unless a key of the plan is for OpenSSL only.
fn engines(plan: &SessionPlan) -> Vec<Engine> {
    let is_both = |session: &Session| options::engines(session.key).len() > 1;
    if plan.sessions.iter().all(is_both) { Vec::new() } else { vec![Engine::OpenSsl] }
}

fn distinct_keys(plan: &SessionPlan) -> Vec<tollgate_server::KeyKind> {
    crate::cells::distinct(plan.sessions.iter().map(|session| session.key))
}
