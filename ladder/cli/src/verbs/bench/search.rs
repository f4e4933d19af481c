//! `tollgate bench search`: the highest rate at which a server meets an objective, and its curve.

use tollgate_load::{
    Arrivals, Context, Curve, Error, Naming, Objective, Plan, Server, Step, StepResult,
};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Record, Unit};
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use crate::cells::{float, or_dash};
use crate::error::CliError;
use crate::interrupt;

pub(super) struct Found {
    /// `rsa-2048 tls13, openssl`.
    pub(super) label: String,
    pub(super) curve: Curve,
    pub(super) record: Option<Record>,
}

impl Found {
    /// Returns the lines of a drawing, with their names: arrivals per second, and a time in
    /// nanoseconds. Steps without a time are left out.
    pub(super) fn lines(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        let points = |of: fn(&Step) -> Option<u64>| {
            let point = |step: &Step| Some((step.offered_per_s, float(of(step)?)));
            let points = self.curve.steps.iter().filter_map(point);
            points.filter(|point| point.0 > 0.0 && point.1 > 0.0).collect()
        };
        vec![
            ("p50".to_owned(), points(|step| step.p50_ns)),
            (self.curve.objective.name(), points(|step| step.quantile_ns)),
        ]
    }
}

const COLUMNS: [Column; 8] = [
    Column::figures("offered/s", 9),
    Column::figures("done/s", 8),
    Column::figures("p50", 9),
    Column::figures("quantile", 9),
    Column::words("", 10),
    Column::figures("runs", 4),
    Column::figures("client", 6),
    Column::words("quantile, log; | the limit", BAR),
];

const BAR: usize = 30;

/// Searches; returns `None` after Ctrl-C.
pub(super) fn search(
    plan: &Plan,
    objective: Objective,
    server: &mut Server<'_>,
    (label, naming, context): (String, &Naming, &Context),
    mut progress: impl FnMut(f64),
) -> Result<Option<Found>, CliError> {
    // the number of rates is an estimate
    let mut tell = |steps: usize| {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        progress((f64::from(steps) / STEPS).min(1.0));
    };
    let found = tollgate_load::search(plan, objective, server, &interrupt::asked, &mut tell);
    let curve = match found {
        Ok(curve) => curve,
        Err(Error::Stopped) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let record = record(plan, &curve, naming, context)?;
    Ok(Some(Found { label, curve, record }))
}

/// Approximate number of rates of a search.
const STEPS: f64 = 10.0;

/// Returns the record of the highest rate; `None` if the client was the bottleneck.
fn record(
    plan: &Plan,
    curve: &Curve,
    naming: &Naming,
    context: &Context,
) -> Result<Option<Record>, CliError> {
    let (Some(met), Some(above), false) =
        (curve.met_per_s, curve.above_per_s, curve.client_is_limit)
    else {
        return Ok(None);
    };
    // the rate is the result, so it is no parameter of the subject
    let closed = Plan { arrivals: Plan::new(plan.protocol).arrivals, ..plan.clone() };
    let Arrivals::Open { pattern, .. } = &plan.arrivals else { return Ok(None) };
    let objective = curve.objective.to_string().replace('=', ":");
    let subject = naming
        .subject(&closed)
        .and_then(|subject| subject.with(word::ARRIVALS, pattern.word()))
        .and_then(|subject| subject.with(word::SLO, objective))?;
    let runs: u32 = curve.steps.iter().map(|step| step.runs).sum();
    let estimate = Estimate::new(met, (met, above), u64::from(runs))?;
    let more = [
        ("connections", plan.connections.to_string()),
        ("loop", "open".to_owned()),
        ("seed", plan.seed.to_string()),
        ("step_ms_min", plan.sustain_ms.to_string()),
        ("steps", curve.steps.len().to_string()),
        ("threads", plan.threads.to_string()),
    ];
    let more = more.map(|(name, value)| (name.to_owned(), value));
    let figure = (Unit::PerSecond, estimate);
    Ok(Some(context.measured(subject, word::SESSIONS_PER_S_WITHIN, figure, more)?))
}

pub(super) fn text(all: &[Found]) -> String {
    let mut text = String::new();
    for found in all {
        text += &wrapped(&format!("{}: {}", found.label, answer(&found.curve)));
        text += "\n";
        let rows = found.curve.steps.iter().map(|step| row(step, &found.curve)).collect();
        text += &grid(&COLUMNS, rows);
        text += "\n";
    }
    text + &wrapped(
        "offered/s, done/s: arrivals and sessions per second; p50, quantile: of the time from the \
         intended start, waiting included; runs: of this rate, until one side led by two; client: \
         the share of its core that the busiest client thread used. -: longer than any time, since \
         so many arrivals were dropped or gave up.",
    )
}

/// Describes the highest rate that meets the objective.
pub(super) fn answer(curve: &Curve) -> String {
    let objective = curve.objective;
    let met = curve.met_per_s.map_or_else(|| "no rate".to_owned(), |met| format!("{met:.0} per s"));
    match (curve.above_per_s, curve.client_is_limit) {
        (Some(above), true) => format!(
            "{objective} is met at {met}; at {above:.0} the client is the limit: the server may do \
             better; give the client more threads and cores of their own (--client-cores)"
        ),
        (Some(above), false) => {
            format!(
                "{objective} is met up to {met} [{:.0} to {above:.0}]",
                curve.met_per_s.unwrap_or(0.0)
            )
        }
        (None, _) => {
            format!("{objective} is met at {met}, and no rate was found at which it is not")
        }
    }
}

fn row(step: &Step, curve: &Curve) -> Vec<String> {
    vec![
        format!("{:.0}", step.offered_per_s),
        format!("{:.0}", step.achieved_per_s),
        or_dash(step.p50_ns, milliseconds),
        or_dash(step.quantile_ns, milliseconds),
        judged(step).to_owned(),
        step.runs.to_string(),
        format!("{:.0} %", 100.0 * step.client_busy),
        bar(step.quantile_ns, curve.objective),
    ]
}

const fn judged(step: &Step) -> &'static str {
    match step.result {
        StepResult::Met => "met",
        StepResult::Missed => "missed",
        StepResult::ClientLimited => "client",
    }
}

fn milliseconds(ns: u64) -> String {
    format!("{:.2} ms", float(ns) / 1e6)
}

/// Returns a bar on a logarithmic scale from a hundredth of the limit to ten times the limit. The
/// limit is at two thirds of the width.
fn bar(ns: Option<u64>, objective: Objective) -> String {
    let limit = 2 * BAR / 3;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a share of a line"
    )]
    let length = ns.map_or(BAR, |ns| {
        let decades = (ns as f64 / objective.limit().as_nanos() as f64).log10() + 2.0;
        ((decades / 3.0).clamp(0.0, 1.0) * BAR as f64) as usize
    });
    (0..BAR)
        .map(|at| match () {
            () if at == limit => '|',
            () if at < length => '#',
            () => ' ',
        })
        .collect::<String>()
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> Curve {
        let step = |offered_per_s, quantile_ns, judged| Step {
            offered_per_s,
            achieved_per_s: offered_per_s,
            p50_ns: Some(1_000_000),
            quantile_ns,
            result: judged,
            runs: 2,
            client_busy: 0.25,
        };
        Curve {
            objective: "p99=20ms".parse().unwrap(),
            steps: vec![
                step(100.0, Some(2_000_000), StepResult::Met),
                step(900.0, None, StepResult::Missed),
            ],
            met_per_s: Some(100.0),
            above_per_s: Some(900.0),
            client_is_limit: false,
            capacity_per_s: 1000.0,
        }
    }

    #[test]
    fn the_answer_stands_above_its_curve_and_its_record_has_the_interval() {
        let plan = Plan {
            arrivals: Arrivals::open(tollgate_load::Pattern::Poisson { per_s: 1.0 }),
            ..Plan::new(tollgate_load::Protocol::Tls13)
        };
        let naming = Naming::new("rsa-2048", "openssl");
        let context = Context {
            machine: tollgate_record::Machine::unknown("a machine"),
            versions: std::collections::BTreeMap::new(),
            commit: None,
            conditions: std::collections::BTreeMap::new(),
        };
        let record = record(&plan, &curve(), &naming, &context).unwrap().unwrap();
        let subject = record.subject.to_string();
        assert_eq!(
            subject,
            "server/rsa-2048/tls13?arrivals=poisson&by=openssl&bytes=14336&slo=p99:20ms"
        );
        assert_eq!(record.estimate.interval(), (100.0, 900.0));
        let found = Found { label: "rsa-2048 tls13, x".to_owned(), curve: curve(), record: None };
        let text = text(&[found]);
        assert!(text.contains("p99=20ms is met up to 100 per s [100 to 900]"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(text.contains("2.00 ms") && text.contains("missed"), "{text}");
    }

    #[test]
    fn where_the_client_is_the_limit_there_is_no_record_and_it_is_said() {
        let curve = Curve { client_is_limit: true, ..curve() };
        assert!(answer(&curve).contains("the client is the limit"), "{}", answer(&curve));
    }

    #[test]
    fn bars_grow_and_show_the_limit() {
        let objective = "p99=20ms".parse().unwrap();
        let lengths = [200_000, 2_000_000, 200_000_000]
            .map(|ns| bar(Some(ns), objective).chars().filter(|c| *c == '#').count());
        assert_eq!(lengths, [0, 10, 29]);
        assert_eq!(bar(None, objective).chars().count(), BAR);
        assert_eq!(bar(Some(1), objective).chars().nth(20), Some('|'));
    }
}
