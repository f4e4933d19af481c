//! `tollgate compare`: two runs or two machines side by side, with the ratio of each figure.

mod change;
mod side;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use tollgate_record::vocabulary as word;
use tollgate_record::{Cycles, Nanos, Record, Unit};
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use crate::cells::rate;
use crate::error::{CONDITION_HOLDS, CliError};
use crate::output::Output;

pub(crate) use side::same_machine;

use change::{Basis, Change, change};
use side::{Figure, Side};

/// The assumed drift of the machine between two runs, as a factor. Pairs of runs in turn and ratios
/// within a run do not contain it.
const DRIFT: f64 = 1.05;

const COLUMNS: [Column; 6] = [
    Column::words("figure", 33),
    Column::figures("before", 9),
    Column::figures("after", 9),
    Column::figures("ratio", 7),
    Column::figures("95 % interval", 17),
    Column::words("change", 12),
];

#[derive(Args, Clone, Debug)]
pub(crate) struct Compare {
    /// Conditions that end the run with exit code 3, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    fail_if: Vec<Failing>,

    /// Files of records, or folders with a file for each run; every later one is compared with the
    /// first
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Texts, separated by commas, as in server/,tls13; only figures whose subject or quantity
    /// contains one of them are compared
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    only: Vec<String>,
}

/// Conditions of `--fail-if`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Failing {
    /// A figure is proven to be slower than on the first side.
    Slower,
    /// A figure is on one side only, or was measured under other conditions.
    Incomparable,
}

/// The result for a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Faster,
    Slower,
    /// Proven, and neither direction is better.
    Changed,
    Unproven,
    /// The sides are two machines.
    OtherMachine,
    /// The figure is not comparable, for this reason.
    Incomparable(String),
}

/// Compares and prints; the exit code is 3 if a condition of `--fail-if` holds.
pub(crate) fn run(options: &Compare) -> Result<ExitCode, CliError> {
    let wanted = |record: &Record| is_wanted(record, &options.only);
    let sides = options.files.iter().map(|path| Side::read(path, wanted));
    let sides = sides.collect::<Result<Vec<Side>, CliError>>()?;
    let [first, others @ ..] = &*sides else { unreachable!("clap requires a file") };
    if others.is_empty() {
        bail!("nothing to compare: give records of two runs or of two machines");
    }
    let mut text = Vec::new();
    let mut failed = false;
    for other in others {
        let rows = rows(first, other);
        failed |= options.fail_if.iter().any(|failing| {
            rows.iter().any(|(.., verdict)| match failing {
                Failing::Slower => *verdict == Verdict::Slower,
                Failing::Incomparable => matches!(verdict, Verdict::Incomparable(_)),
            })
        });
        text.push(table(first, other, &rows));
    }
    Output::new(None)?.text(&text.join("\n"))?;
    Ok(if failed { ExitCode::from(CONDITION_HOLDS) } else { ExitCode::SUCCESS })
}

/// Returns whether subject or quantity contains one of the texts; true if there are no texts.
fn is_wanted(record: &Record, only: &[String]) -> bool {
    let name = format!("{} {}", record.subject, record.quantity);
    only.is_empty() || only.iter().any(|text| name.contains(text.as_str()))
}

type Row<'a> = (&'a Figure, Option<Change>, Verdict);

/// Returns a row for each figure of the first side, then for those that only the second side has.
fn rows<'a>(before: &'a Side, after: &'a Side) -> Vec<Row<'a>> {
    let row = |figure: &'a Figure| match compared(before.runs(figure), after.runs(figure)) {
        Ok((change, false)) => (figure, Some(change), verdict(figure, &change)),
        Ok((change, true)) => (figure, Some(change), Verdict::OtherMachine),
        Err(why) => (figure, None, Verdict::Incomparable(why)),
    };
    let only = after.figures.iter().filter(|figure| before.runs(figure).is_empty());
    before.figures.iter().chain(only).map(row).collect()
}

/// Returns the change, and true if it is one between machines; or the reason why there is none.
fn compared(first: &[Record], second: &[Record]) -> Result<(Change, bool), String> {
    let before = first.last().ok_or("only the second side has it")?;
    let after = second.last().ok_or("only the first side has it")?;
    let is_other = !same_machine(&before.machine, &after.machine);
    let obstacle = first.iter().chain(second).find_map(|record| obstacle(before, record, is_other));
    obstacle.map_or(Ok(()), Err)?;
    let change = change(first, second).ok_or("a figure or the end of its interval is 0 or less")?;
    Ok((change, is_other))
}

/// Returns whether a change is proven, and for the better.
fn verdict(figure: &Figure, change: &Change) -> Verdict {
    // A figure that compares two contenders within one run does not drift.
    let is_ratio = figure.unit == Unit::Ratio;
    let drift = if is_ratio || change.basis.knows_the_machine() { 1.0 } else { DRIFT };
    let (low, high) = change.ratio.interval();
    let (is_up, is_down) = (low / drift > 1.0, high * drift < 1.0);
    if !change.basis.is_enough() || is_up == is_down {
        return Verdict::Unproven;
    }
    let is_higher_better = match (figure.unit, figure.quantity) {
        (Unit::PerSecond | Unit::PerCycle, _) => true,
        (Unit::Cycles | Unit::Nanos, _) => false,
        (_, word::SERVER_CPU_RATIO | word::RESPONSE_SERVICES_P99) => false,
        (
            _,
            word::OPERATIONS_PER_JOULE
            | word::TIMES_AS_FAST
            | word::SESSIONS_PER_S_RATIO
            | word::OPERATIONS_PER_S_RATIO,
        ) => true,
        _ => return Verdict::Changed,
    };
    if is_up == is_higher_better { Verdict::Faster } else { Verdict::Slower }
}

/// Conditions that may differ between comparable figures: they vary from run to run, describe a
/// choice of the code under test, or give the duration and number of repetitions.
const FREE: [&str; 21] = [
    "calls",
    "client_verified",
    "costs",
    "counts",
    "cut",
    "drift_max",
    "form",
    "governor",
    "groups",
    "kernel",
    "lanes",
    "limits",
    "load_average",
    "plan",
    "rounds",
    "rounds_repeated",
    "seconds_per_row",
    "sustain_ms",
    "transactions",
    "verdict",
    "warm_up_ms",
];

/// Conditions that follow from the machine.
const OF_MACHINES: [&str; 2] = ["client_cores", "server_cores"];

/// Returns the reason why the figures of two runs are not comparable, if there is one.
fn obstacle(before: &Record, after: &Record, is_other_machine: bool) -> Option<String> {
    for (side, record) in [("first", before), ("second", after)] {
        if record.conditions.get("verdict").is_some_and(|verdict| verdict == "INVALID") {
            return Some(format!("the run of the {side} side is INVALID"));
        }
    }
    let names: BTreeSet<&String> =
        before.conditions.keys().chain(after.conditions.keys()).collect();
    let value = |record: &Record, name: &String| {
        record.conditions.get(name).cloned().unwrap_or_else(|| "not recorded".to_owned())
    };
    let is_free =
        |name: &str| FREE.contains(&name) || is_other_machine && OF_MACHINES.contains(&name);
    names.into_iter().filter(|name| !is_free(name)).find_map(|name| {
        let [first, second] = [before, after].map(|record| value(record, name));
        (first != second).then(|| format!("{name} is {first}, then {second}"))
    })
}

fn table(before: &Side, after: &Side, rows: &[Row<'_>]) -> String {
    let mut text = wrapped(&format!("{} compared with {}", after.name, before.name));
    let mut lines = Vec::new();
    let mut above = None;
    for (figure, change, verdict) in rows {
        let Some(Change { ratio, .. }) = change else { continue };
        if above != Some(&figure.subject) {
            above = Some(&figure.subject);
            lines.push(vec![figure.subject.to_string()]);
        }
        let (low, high) = ratio.interval();
        lines.push(vec![
            format!("  {}", figure.quantity),
            point(before.runs(figure)),
            point(after.runs(figure)),
            factor(ratio.point()),
            format!("[{}-{}]", factor(low), factor(high)),
            match verdict {
                Verdict::Faster => "faster",
                Verdict::Slower => "slower",
                Verdict::Changed => "changed",
                Verdict::Unproven => "unproven",
                Verdict::OtherMachine | Verdict::Incomparable(_) => "-",
            }
            .to_owned(),
        ]);
    }
    // The name of a subject has a line of its own, which no column cuts.
    let drawn = grid(&COLUMNS, lines.iter().filter(|line| line.len() > 1).cloned().collect());
    let mut drawn = drawn.lines();
    text.extend(drawn.by_ref().take(2).map(|line| format!("{line}\n")));
    for line in &lines {
        match &**line {
            [subject] => text += &wrapped(subject),
            _ => text.extend(drawn.next().map(|line| format!("{line}\n"))),
        }
    }
    text + &notes(before, after, rows)
}

fn point(runs: &[Record]) -> String {
    let Some(record) = runs.last() else { return "-".to_owned() };
    let point = record.estimate.point();
    match record.unit {
        Unit::Nanos => Nanos::new(point).to_string(),
        Unit::Cycles => Cycles::new(point).to_string().replace(" cycles", ""),
        Unit::Ratio => factor(point),
        _ => rate(point),
    }
}

/// Formats a factor, such as `1.016`. Larger factors have fewer decimals.
fn factor(ratio: f64) -> String {
    match ratio {
        _ if !(0.001..1000.0).contains(&ratio) => format!("{ratio:.0e}"),
        _ if ratio >= 100.0 => format!("{ratio:.0}"),
        _ if ratio >= 10.0 => format!("{ratio:.1}"),
        _ => format!("{ratio:.3}"),
    }
}

/// Returns the basis of the intervals, and why figures are not comparable.
fn notes(before: &Side, after: &Side, rows: &[Row<'_>]) -> String {
    let mut lines = Vec::new();
    let bases: BTreeSet<Basis> =
        rows.iter().filter_map(|(_, change, _)| Some(change.as_ref()?.basis)).collect();
    for basis in &bases {
        lines.extend(match basis {
            Basis::Exact => None,
            Basis::Pairs(runs) => Some(format!("intervals: of {runs} pairs of runs in turn")),
            Basis::Runs(runs) => Some(format!(
                "intervals: of {runs} runs on a side, not taken in turn: a change counts beyond 5 \
                 %, as the machine may have drifted"
            )),
            Basis::Intervals(_) => None,
        });
    }
    if bases.iter().any(|basis| matches!(basis, Basis::Intervals(_))) {
        lines.push(
            "intervals: of one run on each side: a change of a figure that is no ratio counts \
             beyond 5 %, as the machine may have drifted; six runs in turn (A B B A A B ...), in \
             a folder for each side, show less"
                .to_owned(),
        );
    }
    if bases.iter().any(|basis| !basis.is_enough()) {
        lines.push("fewer than six runs or samples prove no change: they cannot reach 95 %".into());
    }
    let mut reasons: Vec<(&str, &Figure, usize)> = Vec::new();
    for (figure, _, verdict) in rows {
        let Verdict::Incomparable(why) = verdict else { continue };
        match reasons.iter_mut().find(|(known, ..)| known == why) {
            Some((.., count)) => *count += 1,
            None => reasons.push((why, figure, 1)),
        }
    }
    lines.extend(reasons.into_iter().map(|(why, figure, count)| {
        let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        format!("not comparable: {} {}{more}: {why}", figure.subject, figure.quantity)
    }));
    let machines = [before, after].map(|side| side.last().next().map(|record| &record.machine));
    if let [Some(first), Some(other)] = machines
        && !same_machine(first, other)
    {
        lines.push(format!("before: {}; after: {}", first.cpu, other.cpu));
    }
    lines.iter().map(|line| wrapped(line)).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use tollgate_record::{Estimate, Kind, Machine, Quantity, Timestamp};

    use super::*;

    /// Returns a rate with an interval of 1 % to each side and nine samples.
    pub(crate) fn record(subject: &str, point: f64) -> Record {
        let estimate = match point {
            0.0 => Estimate::exact(0.0).unwrap(),
            _ => Estimate::new(point, (0.99 * point, 1.01 * point), 9).unwrap(),
        };
        let figure = ("sessions_per_s".parse().unwrap(), Unit::PerSecond, estimate);
        let machine = Machine::unknown("Some Processor 9000");
        let record = Record::new(subject.parse().unwrap(), figure, Kind::Measured, machine);
        Record { taken_at: Timestamp::UNIX_EPOCH, ..record }
    }

    pub(super) fn at(record: Record, minute: i64) -> Record {
        Record { taken_at: Timestamp::from_second(60 * minute).unwrap(), ..record }
    }

    #[test]
    fn rates_and_times_are_better_in_opposite_ways_and_drift_proves_nothing() {
        let of = |quantity: Quantity, unit, interval: (f64, f64), basis| {
            let subject = "server/x".parse().unwrap();
            let ratio = Estimate::new(f64::midpoint(interval.0, interval.1), interval, 9).unwrap();
            verdict(&Figure { subject, quantity, unit }, &Change { ratio, basis })
        };
        let (rate, time) = (word::SESSIONS_PER_S, word::NS_PER_OPERATION);
        let (pairs, runs) = (Basis::Pairs(9), Basis::Runs(9));
        let (up, far, around) = ((1.02, 1.04), (1.06, 1.10), (0.99, 1.01));
        for (quantity, unit, interval, basis, expected) in [
            (rate, Unit::PerSecond, up, pairs, Verdict::Faster),
            (time, Unit::Nanos, up, pairs, Verdict::Slower),
            (word::SERVER_CPU_RATIO, Unit::Ratio, up, pairs, Verdict::Slower),
            (word::TIMES_AS_FAST, Unit::Ratio, up, pairs, Verdict::Faster),
            (word::MEAN_FILL, Unit::Count, up, pairs, Verdict::Changed),
            (rate, Unit::PerSecond, around, pairs, Verdict::Unproven),
            (rate, Unit::PerSecond, up, runs, Verdict::Unproven),
            (word::SESSIONS_PER_S_RATIO, Unit::Ratio, up, runs, Verdict::Faster),
            (rate, Unit::PerSecond, far, runs, Verdict::Faster),
            (time, Unit::Nanos, (0.90, 0.94), runs, Verdict::Faster),
            (rate, Unit::PerSecond, far, Basis::Pairs(5), Verdict::Unproven),
        ] {
            assert_eq!(of(quantity, unit, interval, basis), expected, "{quantity} {interval:?}");
        }
    }

    #[test]
    fn what_was_asked_must_be_the_same_and_what_happened_need_not() {
        let with = |name: &str, value: &str| {
            let mut record = record("server/x", 1.0);
            record.conditions.insert(name.to_owned(), value.to_owned());
            record
        };
        let before = record("server/x", 1.0);
        for (before, other, expected) in [
            (&before, with("load_average", "3.1"), None),
            (&with("kernel", "a"), with("kernel", "b"), None),
            (
                &with("connections", "16"),
                with("connections", "32"),
                Some("connections is 16, then 32"),
            ),
            (&before, with("rate", "100"), Some("rate is not recorded, then 100")),
            (&before, with("verdict", "INVALID"), Some("the run of the second side is INVALID")),
        ] {
            assert_eq!(obstacle(before, &other, false).as_deref(), expected);
        }
    }
}
