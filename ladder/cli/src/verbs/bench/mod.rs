//! `tollgate bench`: TLS sessions of a server under load, the two engines in turn.

pub(crate) mod options;

mod client_certificate;
mod clients;
mod connections;
mod external;
mod metrics;
mod out;
mod paper_table;
mod plan;
mod report;
mod resumed;
mod rounds;
mod scenario;
mod servers;
mod slo;
mod suites;
mod sweep;
mod times;
mod url;
mod watch;
mod workload;

use core::slice;
use std::process::ExitCode;

use tollgate_load::{Objective, Verdict};
use tollgate_record::Record;
use tollgate_rivals::Client;

use crate::error::CliError;
use crate::host::Host;
use crate::interrupt;
use crate::options::{Bench as Options, ServerKind};
use crate::progress::Progress;
use crate::run::Run;

pub(crate) use url::Probed;

use out::{About, Judged};
use rounds::Rounds;
use scenario::Scenario;
use watch::Watch;

/// Measures and prints: verdicts first, then the figures of what is not invalid.
///
/// # Errors
///
/// Nothing can be measured.
pub(crate) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let workload::Applied { options, undone } = &workload::applied(options)?;
    plan::check_once(options)?;
    suites::check(options)?;
    let options = &url::applied(options)?;
    if options.client != [Client::Minimal] {
        return clients::run(options, undone);
    }
    if let Some(span) = options.sweep_cores {
        return sweep::run(options, span, undone);
    }
    let mut run = Run::measuring(options.written.json.as_deref())?;
    undone.iter().cloned().for_each(|what| run.notes.add(what));
    let watch = Watch::of(options)?;
    let progress = Progress::new("bench");
    if let Some(objective) = options.clients.slo {
        return search(options, objective, &mut run, (progress, &watch));
    }
    let scenarios = scenarios(options, &mut run, (&progress, &watch))?;
    drop(progress);
    if scenarios.iter().any(|scenario| !scenario.records.is_empty()) {
        run.output.records(&paper_table::published(options))?;
    }
    let mut text = report::text(options, &run.host, &scenarios);
    if !options.suites.is_empty() {
        text += &format!("\n{}", suites::table(&scenarios));
    }
    let ended = run.end(&text);
    let judged: Vec<Judged<'_>> = scenarios.iter().map(Judged::scenario).collect();
    end(options, &run, &watch, &judged)?;
    let invalid = scenarios.iter().any(|scenario| scenario.verdict() == Verdict::Invalid);
    ended.map(|code| if invalid && !interrupt::asked() { ExitCode::FAILURE } else { code })
}

/// Writes what is known at the end only.
fn end(options: &Options, run: &Run, watch: &Watch, judged: &[Judged<'_>]) -> Result<(), CliError> {
    let (heading, notes) = (report::heading(options, &run.host), run.notes());
    watch.end(&About { host: &run.host, heading: &heading, notes: &notes }, judged)
}

/// The records of every key and protocol that the options ask for; what is invalid has none, and a
/// note instead. After Ctrl-C those that were done.
///
/// # Errors
///
/// Nothing can be measured.
pub(crate) fn collect(
    options: &Options,
    run: &mut Run,
    progress: &Progress,
) -> Result<Vec<Record>, CliError> {
    let scenarios = scenarios(options, run, (progress, &Watch::plain()))?;
    let invalid = scenarios.iter().filter(|scenario| scenario.verdict() == Verdict::Invalid);
    invalid.for_each(|scenario| run.notes.add(scenario.verdict_text().replace('\n', " ")));
    Ok(scenarios.into_iter().flat_map(|scenario| scenario.records).collect())
}

/// Finds the highest rate that meets the objective, for each key, protocol and server; then prints
/// and draws. After Ctrl-C those that were done.
fn search(
    options: &Options,
    objective: Objective,
    run: &mut Run,
    (progress, watch): (Progress, &Watch),
) -> Result<ExitCode, CliError> {
    let plans = plan::plans(options)?;
    let keys = if options.target.is_some() { &options.key[..1] } else { &options.key };
    let searches = keys.len() * plans.len() * options.servers() as usize;
    progress.plan(searches, plan::search_seconds(options));
    let (context, mut all) = (context(options, &run.host), Vec::new());
    'all: for key in keys {
        let rig = servers::Rig::start(options, *key)?;
        let names = rig.names();
        for plan in &plans {
            for (server, naming) in rig.servers()?.iter_mut().zip(&names) {
                let label = format!("{} {}, {}", naming.key, plan::named(plan), naming.by);
                progress.row(all.len(), &label);
                watch.look(&label, slice::from_ref(naming), slice::from_mut(server));
                let of = (label, naming, &context);
                match slo::search(plan, objective, server, of, |part| watch.part(&progress, part))?
                {
                    Some(found) => {
                        run.output.records(found.record.as_slice())?;
                        all.push(found);
                    }
                    None => break 'all,
                }
            }
        }
    }
    drop(progress);
    slo::draw(options, &all)?;
    let heading = report::heading(options, &run.host);
    let ended = run.end(&(heading + "\n" + &slo::text(&all)));
    end(options, run, watch, &all.iter().map(Judged::found).collect::<Vec<_>>())?;
    ended
}

/// One scenario for each key and protocol, in this order.
fn scenarios(
    options: &Options,
    run: &mut Run,
    (progress, watch): (&Progress, &Watch),
) -> Result<Vec<Scenario>, CliError> {
    let plans = plan::plans(options)?;
    let mut scenarios = Vec::new();
    let keys = if options.target.is_some() { &options.key[..1] } else { &options.key };
    progress.plan(keys.len() * plans.len(), plan::seconds(options));
    for key in keys {
        let rig = servers::Rig::start(options, *key)?;
        let names = rig.names();
        let mut plans = plans.clone();
        if suites::is_all(&options.suites) {
            let Some(asked) = suites::ask_all(plans, &rig.servers()?)? else {
                return Ok(scenarios);
            };
            progress.plan(keys.len() * asked.taken.len(), plan::seconds(options));
            asked.refused.into_iter().for_each(|line| run.notes.add(line));
            plans = asked.taken;
        }
        for plan in &plans {
            let label = label(options, &format!("{} {}", names[0].key, plan::named(plan)));
            progress.row(scenarios.len(), &label);
            let loaded = rig.servers().and_then(|mut servers| {
                watch.look(&label, &names, &mut servers);
                rounds::run(options, plan, &mut servers, |part| watch.part(progress, part))
            });
            let rounds = match loaded {
                Ok(Some(rounds)) => rounds,
                Ok(None) => return Ok(scenarios), // Ctrl-C: this scenario is not whole
                Err(error) if scenarios.is_empty() => return Err(error),
                // What was found before it is told all the same.
                Err(error) => Rounds::broken(&error),
            };
            let scenario = Scenario::of(label, rounds, &names, &context(options, &run.host))?;
            run.output.records(&scenario.records)?;
            scenarios.push(scenario);
        }
    }
    Ok(scenarios)
}

/// What a scenario is called: a sweep has one for each number of cores.
fn label(options: &Options, name: &str) -> String {
    match (options.sweep_cores, options.server_cores.len()) {
        (Some(_), cores) => format!("{name}, cores: {cores}"),
        (None, _) => name.to_owned(),
    }
}

/// What all records of a run share.
fn context(options: &Options, host: &Host) -> tollgate_load::Context {
    let mut context = host.context();
    context.versions.extend(installed(options));
    let conditions = &mut context.conditions;
    conditions.remove("threads"); // the plan has its own
    let cores = |cores: Vec<u32>| match cores.as_slice() {
        [] => "any".to_owned(),
        cores => cores.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
    };
    conditions.insert("client_cores".to_owned(), cores(plan::client_cores(options)));
    if options.target.is_none() {
        conditions.insert("server_cores".to_owned(), cores(plan::server_cores(options)));
        if options.server == ServerKind::Rustls {
            conditions.insert("server_threads".to_owned(), options.connections.to_string());
        }
    }
    if let Some(probed) = &options.given.probed {
        conditions.insert("url".to_owned(), probed.site.url().to_string());
        let target = probed.site.target();
        conditions.insert("address".to_owned(), target.address().to_string());
        if let Some(shown) = probed.site.client_certificate() {
            conditions.insert("client_certificate".to_owned(), shown.key().to_owned());
        }
        if let Some(until) = target.consent_until() {
            conditions.insert("consent".to_owned(), format!("until {until}"));
        }
    }
    if let Some(workload) = &options.workload {
        conditions.insert("workload".to_owned(), workload.clone());
    }
    conditions.insert("drift_max".to_owned(), options.drift_max.to_string());
    context
}

/// The stock server and its version, if it tells one.
fn installed(options: &Options) -> Option<(String, String)> {
    let product = options.server.stock().filter(|_| options.target.is_none())?;
    Some((product.to_string(), product.version()?))
}
