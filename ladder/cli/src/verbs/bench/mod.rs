//! `tollgate bench`: TLS sessions of a server under load; two servers take turns.

pub(crate) mod options;

mod batches;
mod command;
mod experiment;
mod external;
mod moved;
pub(super) mod out;
pub(super) mod plan;
mod platforms;
pub(super) mod report;
mod response;
pub(crate) mod rules;
pub(super) mod scenario;
mod search;
pub(super) mod servers;
pub(super) mod setups;
mod signer;
mod suites;
pub(in crate::verbs) mod times;
mod turns;
mod watch;
mod workload;

use core::slice;
use std::process::ExitCode;

use tollgate_load::{Objective, Verdict};
use tollgate_record::Record;

use crate::error::CliError;
use crate::host::Host;
use crate::interrupt;
use crate::options::{Bench as Options, BenchCommand, Mode, ServerKind};
use crate::progress::{self, Progress};
use crate::run::Run;
pub(super) use crate::verbs::explain::profile;
use profile::Profiler;

use options::SubVerb;
use out::{About, Judged};
use scenario::{Rounds, Scenario};
use watch::Watch;

/// Measures and prints: verdicts first, then the figures unless they are invalid.
pub(crate) fn run(command: &BenchCommand) -> Result<ExitCode, CliError> {
    match &command.verb {
        Some(SubVerb::Experiment(options)) => return experiment::run(options),
        Some(SubVerb::Signer(options)) => return signer::run(options),
        _ => {}
    }
    let (options, undone) = &workload::applied(&command.request()?)?;
    let options = &external::applied(options)?;
    match &options.mode {
        Mode::Response(curve) => return response::run(options, curve, undone),
        Mode::Rounds | Mode::Profile | Mode::Search(_) => {}
    }
    let mut run = run_of(options, undone)?;
    let options = &options.with_default_group(&mut run.notes);
    let watch = Watch::new(options)?;
    if let Some(objective) = options.objective() {
        return find_rate(options, objective, &mut run, &watch);
    }
    let progress = Progress::new("bench");
    let scenarios = scenarios(options, &mut run, &watch)?;
    drop(progress);
    if scenarios.iter().any(|scenario| !scenario.records.is_empty()) {
        run.output.records(&report::published(options))?;
    }
    let mut text = report::text(options, &run.host, &scenarios);
    if !options.suites.is_empty() {
        text += &format!("\n{}", suites::table(&scenarios));
    }
    let ended = run.end(&text);
    let judged: Vec<Judged<'_>> = scenarios.iter().map(Judged::scenario).collect();
    end(options, &run, &watch, &judged)?;
    let code = ended?;
    Ok(if is_invalid(&scenarios) && !interrupt::asked() { ExitCode::FAILURE } else { code })
}

fn is_invalid(scenarios: &[Scenario]) -> bool {
    let verdict = scenarios.iter().map(Scenario::verdict).max();
    verdict.is_none_or(|verdict| verdict == Verdict::Invalid)
}

/// Creates a run that measures, with notes about the parts of the workload that it omits.
fn run_of(options: &Options, undone: &[String]) -> Result<Run, CliError> {
    let mut run = Run::measuring(options.written.json.as_deref())?;
    undone.iter().for_each(|what| run.notes.add(what));
    if options.kind() == ServerKind::Gnutls {
        run.notes.add(
            "suites with RC4 and 3DES are insecure, and are measured to compare with old papers: \
             enable them on no server",
        );
    }
    Ok(run)
}

fn end(options: &Options, run: &Run, watch: &Watch, judged: &[Judged<'_>]) -> Result<(), CliError> {
    let (heading, notes) = (report::heading(options, &run.host), run.notes.lines());
    watch.end(&About { context: &run.host.context, heading: &heading, notes: &notes }, judged)
}

/// Collects the records of every key type and protocol. An invalid combination has a note instead.
/// After Ctrl-C, returns the records of the completed combinations.
pub(crate) fn collect(options: &Options, run: &mut Run) -> Result<Vec<Record>, CliError> {
    let options = options.with_default_group(&mut run.notes);
    let scenarios = scenarios(&options, run, &Watch::plain())?;
    let invalid = scenarios.iter().filter(|scenario| scenario.verdict() == Verdict::Invalid);
    invalid.for_each(|scenario| run.notes.add(scenario.verdict_text().replace('\n', " ")));
    Ok(scenarios.into_iter().flat_map(|scenario| scenario.records).collect())
}

/// Loads the servers of a request for `tollgate explain`, and samples them.
pub(super) fn profiled(options: &Options, run: &mut Run) -> Result<Vec<Scenario>, CliError> {
    let options = external::applied(options)?.with_default_group(&mut run.notes);
    scenarios(&options, run, &Watch::plain())
}

/// Finds the highest rate that meets the objective, for each key type, protocol and server, and
/// prints and draws the curves. After Ctrl-C, shows the completed curves.
fn find_rate(
    options: &Options,
    objective: Objective,
    run: &mut Run,
    watch: &Watch,
) -> Result<ExitCode, CliError> {
    let progress = Progress::new("bench");
    let keys = plan::by_key(options)?;
    let plans: usize = keys.iter().map(|(_, plans)| plans.len()).sum();
    progress::plan(plans * options.servers() as usize, plan::search_seconds(options));
    let (context, mut all) = (context(options, &run.host), Vec::new());
    'all: for (key, plans) in &keys {
        let rig = servers::Rig::start(options, *key)?;
        let names = rig.names();
        for plan in plans {
            for (server, naming) in rig.servers()?.iter_mut().zip(&names) {
                let label = format!("{} {}, {}", naming.key, plan::named(plan), naming.by);
                progress::row(all.len(), &label);
                watch.look(&label, slice::from_ref(naming), slice::from_mut(server));
                let of = (label, naming, &context);
                match search::search(plan, objective, server, of, |part| {
                    watch.part(part);
                })? {
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
    let heading = report::heading(options, &run.host);
    let ended = run.end(&(heading + "\n" + &search::text(&all)));
    end(options, run, watch, &all.iter().map(Judged::found).collect::<Vec<_>>())?;
    ended
}

/// Measures a scenario for each key type and protocol, in this order.
fn scenarios(options: &Options, run: &mut Run, watch: &Watch) -> Result<Vec<Scenario>, CliError> {
    let keys = plan::by_key(options)?;
    let mut scenarios = Vec::new();
    let profiler = Profiler::new(options)?;
    let count = keys.iter().map(|(_, plans)| plans.len()).sum();
    progress::plan(count, plan::seconds(options));
    for (key, mut plans) in keys {
        if plans.is_empty() {
            continue;
        }
        let rig = servers::Rig::start(options, key)?;
        let names = rig.names();
        if suites::is_all(&options.suites) {
            let Some(asked) = suites::ask_all(plans, &rig.servers()?)? else {
                return Ok(scenarios);
            };
            let count = scenarios.len() + asked.taken.len();
            progress::plan(count, plan::seconds(options));
            asked.refused.into_iter().for_each(|line| run.notes.add(line));
            plans = asked.taken;
        }
        for plan in &plans {
            let label = format!("{} {}", names[0].key, plan::named(plan));
            progress::row(scenarios.len(), &label);
            let loaded = rig.servers().and_then(|mut servers| {
                watch.look(&label, &names, &mut servers);
                if let Some(profiler) = &profiler {
                    profiler.look(&mut servers, rig.threads()?);
                }
                let plans = vec![plan; servers.len()];
                scenario::run(options, &plans, &mut servers, |part| watch.part(part))
            });
            let rounds = match loaded {
                Ok(Some(rounds)) => rounds,
                Ok(None) => return Ok(scenarios), // Ctrl-C: this scenario is incomplete
                Err(error) if scenarios.is_empty() => return Err(error),
                // report the scenarios before the error
                Err(error) => Rounds::broken(&error),
            };
            let mut scenario = Scenario::new(label, rounds, &names, &context(options, &run.host))?;
            if let Some(profiler) = &profiler {
                profiler.end(options, &mut scenario, plan, &names)?;
            }
            run.output.records(&scenario.records)?;
            scenarios.push(scenario);
        }
    }
    Ok(scenarios)
}

/// Returns the conditions that all records of a run share.
pub(super) fn context(options: &Options, host: &Host) -> tollgate_load::Context {
    let mut context = host.context.clone();
    context.versions.extend(installed(options));
    let conditions = &mut context.conditions;
    conditions.remove("threads"); // the plan has its own
    let cores = |cores: Vec<u32>| match cores.as_slice() {
        [] => "any".to_owned(),
        cores => plan::listed(cores),
    };
    conditions.insert("client_cores".to_owned(), cores(plan::client_cores(options)));
    if options.given.target.is_none() {
        conditions.insert("server_cores".to_owned(), cores(plan::server_cores(options)));
    }
    if let Some(probed) = &options.given.probed {
        conditions.insert("url".to_owned(), probed.site.url().to_string());
        let target = probed.site.target();
        conditions.insert("address".to_owned(), target.address().to_string());
        if let Some(agents) = &probed.agents {
            conditions.insert("agents".to_owned(), options.given.agent_count().to_string());
            let error_us = agents.clock_error().as_nanos().div_ceil(1000);
            conditions.insert("agents_clock_error_us".to_owned(), error_us.to_string());
        }
        if let Some(until) = target.consent_until() {
            conditions.insert("consent".to_owned(), format!("until {until}"));
        }
    }
    if let Some(workload) = &options.workload {
        conditions.insert("workload".to_owned(), workload.clone());
    }
    conditions.insert("drift_max".to_owned(), options.load.drift_max.to_string());
    context
}

/// Returns the installed servers and their versions, if known.
fn installed(options: &Options) -> impl Iterator<Item = (String, String)> + '_ {
    let starts = options.server.iter().filter(|_| options.given.target.is_none());
    let products = starts.filter_map(|kind| kind.stock());
    products.filter_map(|product| Some((product.to_string(), product.version()?)))
}
