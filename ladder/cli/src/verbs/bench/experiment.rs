//! `tollgate bench experiment`: servers with one change each, loaded in turn.

use std::path::Path;
use std::process::ExitCode;

use tollgate_bench::median_estimate;
use tollgate_load::{Naming, Outcome, Plan, Verdict};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Record, Unit};
use tollgate_report::experiment::{self as table, figures};
use tollgate_report::text::wrapped;
use tollgate_tune::{BadFile, Case, EXPERIMENTS, Experiment};

use super::options::sub_verbs::Experiment as Options;
use super::profile::Profiler;
use super::scenario::{Rounds, Scenario};
use super::setups::{self, Ran, Started, Starter, outcomes};
use super::turns::Measured;
use super::{context, plan, report};
use crate::cells::float;
use crate::error::CliError;
use crate::options::{Bench, Mode};
use crate::output::Output;
use crate::progress::{self, Progress};
use crate::read;
use crate::run::Run;

pub(super) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let Some(name) = &options.experiment else { return list() };
    let text = text(name)?;
    if options.show {
        Output::new(None)?.text(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let wrong = |why: &dyn core::fmt::Display| error!("{name}: {why}");
    let mut experiment = Experiment::from_toml(&text).map_err(|why: BadFile| wrong(&why))?;
    let mut base = setups::base(
        options.rounds.unwrap_or(experiment.rounds),
        options.seconds.unwrap_or(experiment.seconds),
    );
    base.module.clone_from(&options.module);
    base.load.drift_max = experiment.drift_max;
    if experiment.parts {
        base.mode = Mode::Profile;
    }
    let core_counts = if experiment.each_core_count { free_cores(&base)? } else { 1 };
    if experiment.each_core_count {
        experiment = experiment.on_each_core_count(core_counts);
    }
    let mut starter = Starter::new(base.clone(), experiment.client_cpu_max)?;
    for case in experiment.loads.iter().flat_map(|(_, cases)| cases) {
        let planned = starter.planned(&case.setup);
        planned.map_err(|why| wrong(&format_args!("line {}: {}: {why}", case.line, case.name)))?;
    }
    let mut run = Run::measuring(options.written.json.as_deref())?;
    let profiler = match Profiler::new(&base) {
        Ok(profiler) => profiler,
        Err(why) => {
            run.notes.add(format!("no parts: {why}"));
            None
        }
    };
    let progress = Progress::new("bench");
    let cases = experiment.loads.first().map_or(0, |(_, cases)| cases.len());
    progress::plan(experiment.loads.len(), plan::seconds(&base) * float(cases as u64));
    let (mut output, mut is_valid) = (String::new(), true);
    for (row, (label, cases)) in experiment.loads.iter().enumerate() {
        let label = if label.is_empty() { &experiment.title } else { label };
        progress::row(row, label);
        let start = |case: &Case| starter.start(case.setup.clone());
        let started: Vec<Started> = cases.iter().map(start).collect::<Result<_, _>>()?;
        let names = names(name, cases, experiment.each_core_count);
        let servers: Vec<_> = started.iter().zip(names).collect();
        let Some(mut measured) = setups::measure(base.rounds, &servers, profiler.as_ref())? else {
            break;
        };
        if experiment.columns.iter().any(|column| column.figure == figures::RESUMED) {
            let runs = measured.iter_mut().flat_map(|measured| &mut measured.outcomes);
            runs.for_each(Ran::accept_refused_sessions);
        }
        let judged = servers.iter().zip(cases).zip(&measured);
        let judged = judged.map(|((server, case), measured)| {
            judge(server, case, measured, &run, profiler.as_ref())
        });
        let mut judged: Vec<Judged> = judged.collect::<Result<_, _>>()?;
        output += &judged.iter().map(|judged| judged.verdict.as_str()).collect::<String>();
        if judged.iter().any(|judged| judged.records.is_empty()) {
            is_valid = false;
            continue;
        }
        for (((started, naming), judged), own) in servers.iter().zip(&mut judged).zip(&measured) {
            let baseline = (&measured[0], servers[0].1.by.as_str());
            judged.compare((own, naming, &started.plan), baseline)?;
            run.output.records(&judged.records)?;
        }
        let rows: Vec<table::Case> = judged.into_iter().map(|judged| judged.row).collect();
        let published: Vec<_> =
            experiment.published_parts.iter().map(|(part, n)| (part.clone(), *n)).collect();
        output += &format!("\n{}", table::table(label, &experiment.columns, &rows));
        output += &table::parts(&rows, &published);
        output.push('\n');
    }
    drop(progress);
    output.extend(experiment.note.as_deref().filter(|_| is_valid).map(wrapped));
    let code = run.end(&(report::machine(&run.host) + "\n" + &output))?;
    Ok(if is_valid { code } else { ExitCode::FAILURE })
}

/// Returns the number of cores that the client does not use.
fn free_cores(bench: &Bench) -> Result<u32, CliError> {
    let all = u32::try_from(std::thread::available_parallelism()?.get())?;
    let free = all - u32::try_from(plan::client_cores(bench).len())?;
    if free == 0 || all == 1 {
        bail!("scale: client and server would share the only core of this machine");
    }
    Ok(free)
}

fn list() -> Result<ExitCode, CliError> {
    let mut text = String::new();
    for (name, file) in EXPERIMENTS {
        let title = Experiment::from_toml(file)?.title;
        text += &format!("{name:12} {title}\n");
    }
    Output::new(None)?.text(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the text of the experiment of this name or file.
fn text(name: &str) -> Result<String, CliError> {
    if let Some((_, text)) = EXPERIMENTS.into_iter().find(|(known, _)| *known == name) {
        return Ok(text.to_owned());
    }
    if Path::new(name).extension().is_none_or(|ending| ending != "toml") {
        let known = EXPERIMENTS.map(|(name, _)| name).join(", ");
        bail!("{name}: no such experiment; give {known}, or a file that ends in .toml");
    }
    read::text(Path::new(name))
}

/// Names the servers in records: `nginx-sensitivity-memory-none-for-the-file`.
fn names(experiment: &str, cases: &[Case], each_core_count: bool) -> Vec<Naming> {
    let experiment = Path::new(experiment).file_stem().unwrap_or_default().to_string_lossy();
    let slug = |text: &str| {
        let words =
            text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join("-").to_lowercase()
    };
    let server = |case: &Case| match case.setup.server.contains("://") {
        true => "external".to_owned(),
        false => case.setup.server.clone(),
    };
    let naming = |case: &Case| {
        let base = || case.name.rsplit_once(", ").map(|(base, _)| base);
        let name = base().filter(|_| each_core_count).unwrap_or(&case.name);
        let by = format!("{}-{}-{}", server(case), slug(&experiment), slug(name));
        let cores = case.setup.cores.filter(|_| each_core_count);
        let more = cores.map(|cores| (word::SERVER_CORES, cores.to_string()));
        Naming { more: more.into_iter().collect(), ..Naming::new(&case.setup.key, by) }
    };
    cases.iter().map(naming).collect()
}

/// A case after its runs.
struct Judged {
    /// The verdict, and the counts of client and server.
    verdict: String,
    /// Empty if a run is invalid.
    records: Vec<Record>,
    row: table::Case,
}

fn judge(
    (started, naming): &(&Started, Naming),
    case: &Case,
    measured: &Measured<Ran>,
    run: &Run,
    profiler: Option<&Profiler>,
) -> Result<Judged, CliError> {
    let mut context = context(&started.bench, &run.host);
    context.conditions.insert("case".to_owned(), case.name.clone());
    let outcomes = outcomes(&measured.outcomes);
    let mut row = table::Case { name: case.name.clone(), figures: Vec::new(), parts: Vec::new() };
    row.figures
        .extend(case.published.and_then(|n| Some((figures::PAPER, Estimate::exact(n).ok()?))));
    if outcomes.is_empty() {
        let (verdict, is_valid) = verdict_of_command(&case.name, measured);
        let mut records = Vec::new();
        let subject = naming.subject(&started.plan)?;
        for (quantity, unit, figure) in [
            (word::SESSIONS_PER_S, Unit::PerSecond, median(measured, Ran::per_s)),
            (word::SERVER_CPU_NS_PER_SESSION, Unit::Nanos, median(measured, Ran::server_cpu_ns)),
            (word::CLIENT_CPU_NS_PER_SESSION, Unit::Nanos, median(measured, Ran::client_cpu_ns)),
        ] {
            let Some(estimate) = figure.filter(|_| is_valid) else { continue };
            records.push(context.measured(subject.clone(), quantity, (unit, estimate), [])?);
        }
        return Ok(Judged { verdict, records, row });
    }
    let rounds =
        Rounds { outcomes: vec![outcomes.clone()], repeated: measured.repeated, broken: None };
    let names = core::slice::from_ref(naming);
    let mut scenario = Scenario::new(case.name.clone(), rounds, names, &context)?;
    if let Some(profiler) = profiler {
        profiler.end(&started.bench, &mut scenario, &started.plan, names)?;
    }
    for record in &scenario.records {
        let part = record.subject.parameter(word::PART);
        let is_whole = record.subject.parameter(word::DETAIL).is_none();
        match part.filter(|_| record.quantity == word::CYCLES_PER_SESSION && is_whole) {
            Some(part) if part != word::PART_IDLE => {
                row.parts.push((part.to_owned(), record.estimate.point()));
            }
            None if record.quantity == word::CYCLES_PER_SESSION => {
                row.figures.push((figures::CYCLES, record.estimate));
            }
            _ => {}
        }
    }
    #[allow(clippy::cast_precision_loss, reason = "nanoseconds of a run are below 2^52")]
    let p99 = |outcome: &Outcome| Some(outcome.handshake()?.quantile_ns(0.99)? as f64);
    let resumed = |outcome: &Outcome| Some(outcome.resumed_share().unwrap_or(0.0));
    let of = |figure: &dyn Fn(&Outcome) -> Option<f64>| {
        median_estimate(&outcomes.iter().map(figure).collect::<Option<Vec<f64>>>()?)
    };
    row.figures.extend(of(&p99).map(|figure| (figures::P99, figure)));
    row.figures.extend(of(&resumed).map(|figure| (figures::RESUMED, figure)));
    let is_valid = scenario.verdict() != Verdict::Invalid;
    let records = if is_valid { scenario.records.clone() } else { Vec::new() };
    Ok(Judged { verdict: scenario.verdict_text(), records, row })
}

fn verdict_of_command(name: &str, measured: &Measured<Ran>) -> (String, bool) {
    let runs = measured.outcomes.iter().filter_map(|run| match run {
        Ran::Command(counted) => Some(counted),
        Ran::Load(_) => None,
    });
    let (mut handshakes, mut responses, mut objection) = (0, 0, None);
    for counted in runs {
        handshakes += counted.seen.handshakes;
        responses += counted.seen.requests;
        objection = objection.or(counted.objections.first());
    }
    let verdict = if objection.is_none() { "VALID" } else { "INVALID" };
    let why = objection.map_or_else(String::new, |why| format!("; {why}"));
    let text = format!(
        "{name}: {verdict}; runs of a command: {}; the server's log has {handshakes} handshakes \
         and {responses} responses{why}",
        measured.outcomes.len()
    );
    (wrapped(&text), objection.is_none())
}

fn median(measured: &Measured<Ran>, figure: fn(&Ran) -> Option<f64>) -> Option<Estimate> {
    median_estimate(&measured.outcomes.iter().map(figure).collect::<Option<Vec<f64>>>()?)
}

/// Returns the ratio of two servers: the median of the rounds.
fn ratio(
    above: &Measured<Ran>,
    below: &Measured<Ran>,
    of: fn(&Ran) -> Option<f64>,
) -> Option<Estimate> {
    let rounds = above.outcomes.iter().zip(&below.outcomes);
    let ratios = rounds.map(|(above, below)| Some(of(above)? / of(below)?));
    median_estimate(&ratios.collect::<Option<Vec<f64>>>()?)
}

impl Judged {
    /// Adds the figures, and their ratios to those of the baseline.
    fn compare(
        &mut self,
        (runs, naming, plan): (&Measured<Ran>, &Naming, &Plan),
        (baseline, against): (&Measured<Ran>, &str),
    ) -> Result<(), CliError> {
        let requests = plan.requests_per_connection;
        let scaled = |figure: Option<Estimate>, by: f64| figure?.scaled(by).ok();
        let (rate, cpu) = (median(runs, Ran::per_s), median(runs, Ran::server_cpu_ns));
        let cpu_ratio = ratio(runs, baseline, Ran::server_cpu_ns);
        let rate_ratio = ratio(runs, baseline, Ran::per_s);
        let client_ratio = ratio(runs, baseline, Ran::client_cpu_ns);
        let all = [
            (figures::RATE, rate),
            (figures::REQUEST_RATE, scaled(rate, requests)),
            (figures::CPU, cpu),
            (figures::REQUEST_CPU, scaled(cpu, 1.0 / requests)),
            (figures::CLIENT, median(runs, Ran::client_cpu_ns)),
            (figures::RATIO, cpu_ratio),
            (figures::SPEEDUP, ratio(baseline, runs, Ran::server_cpu_ns)),
            (figures::RATE_RATIO, rate_ratio),
            (figures::CLIENT_RATIO, client_ratio),
        ];
        self.row.figures.extend(all.into_iter().filter_map(|(name, of)| Some((name, of?))));
        let Some(like) = self.records.first().cloned().filter(|_| naming.by != against) else {
            return Ok(());
        };
        let subject = naming.subject(plan)?.with(word::AGAINST, against)?;
        for (quantity, figure) in [
            (word::SESSIONS_PER_S_RATIO, rate_ratio),
            (word::SERVER_CPU_RATIO, cpu_ratio),
            (word::CLIENT_CPU_RATIO, client_ratio),
        ] {
            let Some(estimate) = figure else { continue };
            let (subject, unit) = (subject.clone(), Unit::Ratio);
            self.records.push(Record { subject, quantity, unit, estimate, ..like.clone() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_experiments_of_the_program_can_be_planned() {
        let starter = Starter::new(setups::base(1, 0.5), None).unwrap();
        for (name, _) in EXPERIMENTS {
            for (_, cases) in Experiment::named(name).unwrap().loads {
                for case in &cases {
                    let (_, plan) = starter.planned(&case.setup).unwrap();
                    assert_eq!(plan.plain_share, case.setup.plain, "{name}: {}", case.name);
                }
                let names = names(name, &cases, false);
                assert!(
                    names.iter().all(|name| name
                        .subject(&Plan::new(tollgate_load::Protocol::Tls13))
                        .is_ok())
                );
            }
        }
    }
}
