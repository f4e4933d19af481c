//! `tollgate bench response`: response times at shares of the capacity, predicted and measured.
//!
//! Two runs teach the prediction what it needs: a closed loop, which gives the capacity and the CPU
//! time of a session; and an open loop with few sessions at equal distances, which gives the times
//! of sessions that do not wait for each other. All predictions are made before the loads are
//! measured.

mod prediction;
mod table;

use std::process::ExitCode;

use tollgate_load::{Arrivals, Context, Naming, Outcome, Pattern, Plan, Think, Verdict};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Record, Unit};

use super::moved::Moved;
use super::out::Judged;
use super::scenario::{self, Scenario};
use super::servers::Rig;
use super::watch::Watch;
use super::{context, end, is_invalid, plan, report, run_of};
use crate::error::CliError;
use crate::interrupt;
use crate::options::{Bench as Options, ResponseCurve};
use crate::progress::{self, Progress};
use crate::run::Run;

use prediction::Model;

/// The load of a core at which sessions at equal distances do not wait for each other. At lower
/// loads, a core sleeps longer than at those of a curve, and takes longer to wake up. Several
/// workers share this load, since their sessions come at random.
const IDLE_LOAD: f64 = 0.25;

/// The load of a series of runs.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Capacity,
    /// In an open loop at [`IDLE_LOAD`].
    Idle,
    /// This share of the capacity.
    Load(f64),
    /// The capacity again after the loads.
    CapacityAfter,
}

impl At {
    fn words(self) -> String {
        match self {
            Self::Capacity => "capacity".to_owned(),
            Self::Idle => "idle".to_owned(),
            Self::Load(load) => format!("load {}", percent(load)),
            Self::CapacityAfter => "capacity after the loads".to_owned(),
        }
    }
}

/// The curve of one server.
struct Curve {
    /// `rsa-2048 tls13, openssl`.
    label: String,
    capacity_per_s: f64,
    /// The capacity after the loads, if it moved by more than `--drift-max` or no run was valid:
    /// the curve then has no points.
    moved: Option<Moved>,
    points: Vec<Point>,
}

impl Curve {
    /// Drops all figures if the capacity moved by more than this share: nobody knows which load
    /// they belong to.
    fn judge(&mut self, after_per_s: Option<f64>, drift_max: f64) {
        self.moved = Moved::judge(Some(self.capacity_per_s), after_per_s, drift_max);
        if self.moved.is_some() {
            self.points.clear();
        }
    }

    fn scenario(&self) -> &str {
        self.label.rsplit_once(", ").map_or("", |(scenario, _)| scenario)
    }

    fn by(&self) -> &str {
        self.label.rsplit_once(", ").map_or("", |(_, by)| by)
    }
}

struct Point {
    load: f64,
    per_s: f64,
    predicted: [Option<Estimate>; 4],
    /// Empty if the runs were invalid.
    measured: Vec<Record>,
}

pub(super) fn run(
    options: &Options,
    asked: &ResponseCurve,
    undone: &[String],
) -> Result<ExitCode, CliError> {
    let mut run = run_of(options, undone)?;
    let options = &options.with_default_group(&mut run.notes);
    let watch = Watch::new(options)?;
    let progress = Progress::new("bench");
    let keys = plan::by_key(options)?;
    let plans: usize = keys.iter().map(|(_, plans)| plans.len()).sum();
    let rows = plans * (3 + asked.loads.len());
    progress::plan(rows, plan::seconds(options));
    let (mut scenarios, mut curves) = (Vec::new(), Vec::new());
    'all: for (key, plans) in &keys {
        let rig = Rig::start(options, *key)?;
        let names = rig.names();
        for plan in plans {
            let mut series = Series {
                options,
                watch: &watch,
                rig: &rig,
                names: &names,
                context: context(options, &run.host),
                scenarios: &mut scenarios,
            };
            let Some(found) = series.curves(plan, asked, &mut run)? else { break 'all };
            curves.extend(found);
        }
    }
    drop(progress);
    let mut text = report::heading(options, &run.host) + "\n";
    let doubtful = |scenario: &&Scenario| scenario.verdict() != Verdict::Valid;
    scenarios.iter().filter(doubtful).for_each(|scenario| text += &scenario.verdict_text());
    text += &table::text(asked, &curves);
    let have_moved = curves.iter().any(|curve| curve.moved.is_some());
    let ended = run.end(&text);
    end(options, &run, &watch, &scenarios.iter().map(Judged::scenario).collect::<Vec<_>>())?;
    let code = ended?;
    let has_failed = have_moved || is_invalid(&scenarios);
    Ok(if has_failed && !interrupt::asked() { ExitCode::FAILURE } else { code })
}

/// The runs of one key type and protocol.
struct Series<'a> {
    options: &'a Options,
    watch: &'a Watch,
    rig: &'a Rig<'a>,
    names: &'a [Naming],
    context: Context,
    scenarios: &'a mut Vec<Scenario>,
}

impl Series<'_> {
    /// Returns the curve of each server; `None` after Ctrl-C, or if a run that the predictions need
    /// is invalid.
    fn curves(
        &mut self,
        plan: &Plan,
        asked: &ResponseCurve,
        run: &mut Run,
    ) -> Result<Option<Vec<Curve>>, CliError> {
        let label = format!("{} {}", self.names[0].key, plan::named(plan));
        let think = Think::None;
        let connections = self.options.load.connections;
        let closed = Plan { arrivals: Arrivals::Closed { think }, connections, ..plan.clone() };
        let all = vec![closed; self.names.len()];
        let Some(full) = self.measured(&label, &all, At::Capacity, run)? else { return Ok(None) };
        let rate = |rounds: &Vec<Outcome>| median(rounds, Outcome::sessions_per_s);
        let capacity: Option<Vec<f64>> = full.iter().map(rate).collect();
        let capacity = capacity.ok_or_else(|| error!("{label}: a run has no rate: run again"))?;
        let lowest = capacity.iter().copied().fold(f64::INFINITY, f64::min);
        let whole = |capacity_per_s: f64| if asked.same_rates { lowest } else { capacity_per_s };
        let at = |load: f64| -> Vec<Plan> {
            capacity
                .iter()
                .map(|&capacity_per_s| open(plan, load * whole(capacity_per_s)))
                .collect()
        };
        let workers = u32::try_from(plan::server_cores(self.options).len().max(1))?;
        let idle_load = IDLE_LOAD / f64::from(workers);
        let idle = |capacity_per_s: &f64| Plan {
            arrivals: Arrivals::open(Pattern::Constant { per_s: idle_load * capacity_per_s }),
            ..plan.clone()
        };
        let idle: Vec<Plan> = capacity.iter().map(idle).collect();
        let Some(idle) = self.measured(&label, &idle, At::Idle, run)? else {
            return Ok(None);
        };
        let models = full.iter().zip(&idle);
        let models = models.map(|(full, idle)| Model::new(self.options, full, idle));
        let models = models.collect::<Result<Vec<_>, CliError>>()?;
        let mut curves = Vec::new();
        for ((naming, &capacity), model) in self.names.iter().zip(&capacity).zip(&models) {
            let basis = self.basis(naming);
            let mut points = Vec::new();
            for &load in &asked.loads {
                let per_s = load * whole(capacity);
                let plan = open(plan, per_s);
                let predicted = model.predict(&plan)?;
                let subject = naming.subject(&plan)?.with(word::LOAD, load)?;
                let all = prediction::FIGURES.into_iter().zip(&predicted);
                let all =
                    all.filter_map(|((_, quantity), of)| Some((quantity, Unit::Nanos, (*of)?)));
                run.output.records(&prediction::records(all, &subject, &basis))?;
                points.push(Point { load, per_s, predicted, measured: Vec::new() });
            }
            let label = format!("{label}, {}", naming.by);
            curves.push(Curve { label, capacity_per_s: capacity, moved: None, points });
        }
        for (number, &load) in asked.loads.iter().enumerate() {
            let plans = at(load);
            let rounds = self.measured(&label, &plans, At::Load(load), run)?;
            if rounds.is_none() && interrupt::asked() {
                return Ok(None);
            }
            let records = self.scenarios.last().map_or(&[][..], |scenario| &scenario.records);
            for ((naming, plan), curve) in self.names.iter().zip(&plans).zip(&mut curves) {
                let subject = naming.subject(plan)?.with(word::LOAD, load)?;
                let measured = records.iter().filter(|record| record.subject == subject);
                curve.points[number].measured = measured.cloned().collect();
            }
        }
        let after = self.measured(&label, &all, At::CapacityAfter, run)?;
        if after.is_none() && interrupt::asked() {
            return Ok(None);
        }
        for (number, curve) in curves.iter_mut().enumerate() {
            let after = after.as_ref().and_then(|after| rate(&after[number]));
            curve.judge(after, self.options.load.drift_max);
        }
        Ok(Some(curves))
    }

    /// Returns the records of a server's CPU time at capacity and idle: the basis of predictions.
    fn basis(&self, naming: &Naming) -> Vec<Record> {
        let of_last = self.scenarios.iter().rev().filter(|scenario| !scenario.records.is_empty());
        let records = of_last.take(2).flat_map(|scenario| &scenario.records);
        let is_cpu = |record: &&Record| {
            record.quantity == word::SERVER_CPU_NS_PER_SESSION
                && record.subject.parameter(word::BY) == Some(&*naming.by)
        };
        records.filter(is_cpu).cloned().collect()
    }

    /// Lets the servers take turns, each with its own plan. Returns the runs of each server; `None`
    /// if one is invalid, and after Ctrl-C.
    fn measured(
        &mut self,
        label: &str,
        plans: &[Plan],
        at: At,
        run: &mut Run,
    ) -> Result<Option<Vec<Vec<Outcome>>>, CliError> {
        let label = format!("{label}, {}", at.words());
        progress::row(self.scenarios.len(), &label);
        let mut servers = self.rig.servers()?;
        self.watch.look(&label, self.names, &mut servers);
        let plans: Vec<&Plan> = plans.iter().collect();
        let tell = |part| self.watch.part(part);
        let rounds = scenario::run(self.options, &plans, &mut servers, tell)?;
        let Some(rounds) = rounds else { return Ok(None) };
        let outcomes = rounds.outcomes.clone();
        let mut scenario = Scenario::apart(label, rounds, self.names, &self.context)?;
        match at {
            At::Capacity | At::Idle => {}
            // they would have the subjects of those at capacity
            At::CapacityAfter => scenario.records.clear(),
            At::Load(load) => {
                for record in &mut scenario.records {
                    record.subject = record.subject.clone().with(word::LOAD, load)?;
                }
            }
        }
        run.output.records(&scenario.records)?;
        let is_valid = scenario.verdict() != Verdict::Invalid;
        self.scenarios.push(scenario);
        Ok(is_valid.then_some(outcomes))
    }
}

/// Returns the plan as an open loop at this rate.
fn open(plan: &Plan, per_s: f64) -> Plan {
    let arrivals = match &plan.arrivals {
        Arrivals::Open { pattern, waiting_max } => {
            Arrivals::Open { pattern: pattern.at(per_s), waiting_max: *waiting_max }
        }
        closed @ Arrivals::Closed { .. } => *closed,
    };
    Plan { arrivals, ..plan.clone() }
}

/// Returns the median over the rounds; `None` if a round lacks the figure.
fn median(rounds: &[Outcome], figure: impl Fn(&Outcome) -> Option<f64>) -> Option<f64> {
    let all: Option<Vec<f64>> = rounds.iter().map(figure).collect();
    all.filter(|all| !all.is_empty()).map(|all| tollgate_bench::median(&all))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}
