//! `tollgate kernel plan`: the cost of each form of an operation, and the splits of batches that
//! follow from these costs.

use std::process::ExitCode;
use std::rc::Rc;

use tollgate_bench::Series;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Record, Unit};
use tollgate_report::plan as plan_table;
use tollgate_rsa::{Form, Plan, Workspace};

use super::PlanOptions as Options;
use crate::contenders::{Contender, Job, tollgate};
use crate::error::CliError;
use crate::figures::Figures;
use crate::keys::{self, Key, KeyOperation};
use crate::measure::{cycles, measure};
use crate::progress;
use crate::run::Run;
use crate::verbs::speed::rows::Row;

/// The largest batch in the table; larger batches repeat the pattern.
const REQUESTS_MAX: usize = 16;

/// One operation of each kind: private by CRT, private without CRT, and public. Each kind has its
/// own costs.
const OPERATIONS: [KeyOperation; 3] =
    [KeyOperation::Sign, KeyOperation::PrivateFull, KeyOperation::Verify];

/// Every form, in the order of the records.
const FORMS: [(Form, &str); 2] = [(Form::One, "one alone"), (Form::Lanes, "lanes")];

pub(crate) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let known = |bits: &&u32| !keys::SIZES.contains(bits);
    if let Some(bits) = options.bits.iter().find(known) {
        let sizes = keys::SIZES.map(|size| size.to_string()).join(", ");
        bail!("--bits {bits}: plans are for keys of {sizes} bits");
    }
    let json = options.written.json.as_deref();
    Run::of_verb(json, "kernel", |run| collect(options, run), plan_table::table)
}

/// Returns the records of every size and operation. After Ctrl-C, returns the records of the
/// completed rows.
fn collect(options: &Options, run: &mut Run) -> Result<Vec<Record>, CliError> {
    let mut jobs = Vec::new();
    for bits in &options.bits {
        let key = Rc::new(Key::built_in(*bits)?);
        for what in OPERATIONS {
            let row = Row::Rsa(Job::new(Rc::clone(&key), what, 1)?);
            jobs.push((row.label(), row));
        }
    }
    run.rows(options.seconds, jobs, |run, label, row| at_row(label, &row, options.seconds, run))
}

/// Returns the records of one size and operation; `None` after Ctrl-C.
fn at_row(
    label: &str,
    row: &Row,
    seconds: f64,
    run: &mut Run,
) -> Result<Option<Vec<Record>>, CliError> {
    let Row::Rsa(job) = row else { return Ok(None) };
    let contenders = FORMS.iter().map(|(form, _)| tollgate::by_form(job, *form));
    let mut contenders = contenders.collect::<Result<Vec<_>, _>>()?;
    let measured = measure(label, &mut contenders, seconds, &mut run.notes, progress::part)?;
    let Some(series) = measured else { return Ok(None) };
    let figures = Figures::of_row(&run.host, seconds);
    let mut records = Vec::new();
    for (place, (contender, (_, name))) in contenders.iter().zip(&FORMS).enumerate() {
        let kernel = contender.kernel.map(|kernel| (word::KERNEL, kernel.name()));
        let figures = figures.with([(word::FORM, name)]).with(kernel);
        let (subject, cycles) = (row.subject(contender)?, cycles(&series, place)?);
        let quantity = word::CYCLES_PER_OPERATION;
        records.push(figures.measured(&subject, quantity, Unit::Cycles, cycles));
    }
    let measured = costs(&contenders, &series);
    let operation = tollgate::operation(job.what);
    let workspace = Workspace::new()?;
    let plans = workspace.plans();
    let built_in = plans.plan(operation, job.key.ours.bits());
    let batches = Batches { figures, measured, of_forms: records.clone() };
    records.extend(batches.records(measured, None, None)?);
    records.extend(batches.records(built_in, Some(word::BUILT_IN), plans.measured_on())?);
    Ok(Some(records))
}

/// Returns the cost of lanes, as a multiple of the cost of a single operation. In each round of
/// `series`, both forms ran in turn.
fn costs(contenders: &[Contender], series: &Series) -> Plan {
    let operations = f64::from(contenders[1].batch.unwrap_or(1));
    Plan { lanes: Some(operations / series.ratio(0, 1).point()) }
}

/// Computes the cost of batches from the measured costs.
struct Batches<'a> {
    figures: Figures<'a>,
    measured: Plan,
    of_forms: Vec<Record>,
}

impl Batches<'_> {
    /// Returns a prediction for each number of requests, split by `plan`. `name` marks a plan that
    /// is not made from the measured costs; these were measured on the processor `on`.
    fn records(
        &self,
        plan: Plan,
        name: Option<&str>,
        on: Option<&str>,
    ) -> Result<Vec<Record>, CliError> {
        let first = &self.of_forms[0];
        let from = self.of_forms.iter().map(|record| record.subject.to_string()).collect();
        let kind = Kind::Predicted { by: word::OPERATION_RUNG.to_owned(), from };
        let mut records = Vec::new();
        for requests in 1..=REQUESTS_MAX {
            let cut = plan.cut(requests);
            let mut subject = first.subject.with(word::BATCH, requests)?;
            if let Some(name) = name {
                subject = subject.with(word::PLAN, name)?;
            }
            let costs = costs_text(plan, on);
            let figures = self.figures.with([(word::CUT, cut.to_string()), (word::COSTS, costs)]);
            let estimate = self.per_operation(plan, requests)?;
            let record =
                figures.measured(&subject, word::CYCLES_PER_OPERATION, Unit::Cycles, estimate);
            records.push(Record { kind: kind.clone(), ..record });
        }
        Ok(records)
    }

    /// Returns the cost of one operation in a batch of `requests`, split by `plan`.
    fn per_operation(&self, plan: Plan, requests: usize) -> Result<Estimate, CliError> {
        let batch = f64::from(u32::try_from(requests)?);
        let share = self.measured.cost(plan.cut(requests)) / batch;
        Ok(self.of_forms[0].estimate.scaled(share)?)
    }
}

/// `lanes 5.43`, and for built-in costs ` (AMD Zen 5)`.
fn costs_text(plan: Plan, on: Option<&str>) -> String {
    let costs = plan.lanes.map_or(String::new(), |cost| format!("lanes {cost:.2}"));
    on.map_or(costs.clone(), |on| format!("{costs} ({on})"))
}
