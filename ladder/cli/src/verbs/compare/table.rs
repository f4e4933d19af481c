//! Two sides as text: a row for each figure, with a bar to the left or right of 1.

use std::collections::BTreeSet;

use tollgate_record::{Cycles, Nanos, Record, Unit};
use tollgate_report::text::wrapped;

use super::answer::is_ratio;
use super::change::Basis;
use super::pair::{ComparedPair, Pairs};
use super::side::{Figure, Side};
use crate::cells::{self, distinct, rate};

/// The number of columns of a bar on each side of its middle.
const HALF_BAR: u32 = 7;

/// The smallest factor that corresponds to a full half bar.
const FULL_BAR_MIN: f64 = 1.1;

pub(super) fn text(before: &Side, after: &Side, pairs: &Pairs<'_>, drift: f64) -> String {
    let mut text = wrapped(&format!("{} compared with {}", after.name, before.name));
    let longest = changes(pairs).map(|(_, ratio)| ratio.ln().abs());
    let full = longest.fold(FULL_BAR_MIN.ln(), f64::max);
    if changes(pairs).next().is_some() {
        text += &line(&["", "before", "after", "ratio", "95 % interval", "answer", ""]);
        text += &format!("{}\n", "-".repeat(100));
        let mut above = String::new();
        for pair in &pairs.pairs {
            if let ComparedPair::Changed { figure, change, answer } = pair {
                let subject = figure.subject.to_string();
                if subject != above {
                    text += &wrapped(&subject);
                    above = subject;
                }
                let (low, high) = change.ratio.interval();
                text += &line(&[
                    figure.quantity.as_str(),
                    &of_last(before.runs(figure)),
                    &of_last(after.runs(figure)),
                    &factor(change.ratio.point()),
                    &format!("[{}-{}]", factor(low), factor(high)),
                    &answer.to_string(),
                    &bar(change.ratio.point(), full),
                ]);
            }
        }
    }
    text + &notes(before, after, pairs, drift)
}

fn changes<'a>(pairs: &'a Pairs<'_>) -> impl Iterator<Item = (&'a Figure, f64)> {
    pairs.pairs.iter().filter_map(|pair| match pair {
        ComparedPair::Changed { figure, change, .. } => Some((*figure, change.ratio.point())),
        _ => None,
    })
}

fn line([name, before, after, ratio, interval, answer, bar]: &[&str; 7]) -> String {
    let line = format!(
        "  {name:<29}{before:>9}{after:>9}{ratio:>7}  {interval:<15} {answer:<10} {bar:<15}"
    );
    line.trim_end().to_owned() + "\n"
}

fn of_last(runs: &[Record]) -> String {
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

/// Returns a bar that starts in the middle. It extends to the right for an increase, and to the
/// left for a decrease.
fn bar(ratio: f64, full: f64) -> String {
    let (marks, width) = (cells::bar(ratio.ln().abs() / full, HALF_BAR), HALF_BAR as usize);
    if ratio < 1.0 { format!("{marks:>width$}|") } else { format!("{:width$}|{marks}", "") }
}

/// Returns the notes: counts, figures that are not comparable, and the basis of the intervals.
fn notes(before: &Side, after: &Side, pairs: &Pairs<'_>, drift: f64) -> String {
    let mut lines = vec![sums(pairs)];
    lines.extend(incomparable(pairs));
    lines.extend(machine(pairs, drift));
    lines.extend(bases(pairs));
    lines.extend(differences(before, after));
    lines.iter().map(|line| wrapped(line)).collect()
}

fn sums(pairs: &Pairs<'_>) -> String {
    let answers = ["faster", "slower", "more", "less", "same", "no change proven", "yardstick"];
    let counted: Vec<String> = answers
        .into_iter()
        .map(|word| (pairs.count(|answer| answer.word() == word), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let all = pairs.count(|_| true);
    let chance = if all >= 20 {
        "; of figures that did not change, one in 20 is found outside of its interval by chance"
    } else {
        ""
    };
    let counted = if all > 0 { format!(" ({})", counted.join(", ")) } else { String::new() };
    format!("figures on both sides: {all}{counted}{chance}")
}

/// Returns a line for each reason why figures are not comparable, with the number of such figures
/// and the first of them.
fn incomparable(pairs: &Pairs<'_>) -> Vec<String> {
    let mut reasons: Vec<(&str, &Figure, usize)> = Vec::new();
    for pair in &pairs.pairs {
        let ComparedPair::Incomparable { figure, why } = pair else { continue };
        match reasons.iter_mut().find(|(known, ..)| known == why) {
            Some((.., count)) => *count += 1,
            None => reasons.push((why, figure, 1)),
        }
    }
    let line = |(why, figure, count): (&str, &Figure, usize)| {
        let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        format!("not comparable: {} {}{more}: {why}", figure.subject, figure.quantity)
    };
    reasons.into_iter().map(line).collect()
}

/// Returns the drift according to yardsticks, for each rung and quantity that has yardsticks.
fn machine(pairs: &Pairs<'_>, drift: f64) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    let mut untold = false;
    for pair in &pairs.pairs {
        let ComparedPair::Changed { figure, change, answer } = pair else { continue };
        if is_ratio(figure) || change.basis.knows_the_machine() || answer.word() == "yardstick" {
            continue;
        }
        let (moved, known) = pairs.drift.moved(figure);
        untold |= !known;
        if known {
            let rung = figure.subject.area();
            let (least, most) = (factor(moved.least), factor(moved.most));
            let line = format!("{rung} {} {least} to {most}", figure.quantity);
            if !told.contains(&line) {
                told.push(line);
            }
        }
    }
    let mut lines = Vec::new();
    if !told.is_empty() {
        lines.push(format!(
            "drift of the machine between the runs, by yardsticks (third-party code that did not \
             change): {}; a figure proves only a change beyond that, a ratio within one run any \
             change",
            told.join("; ")
        ));
    }
    if untold {
        lines.push(format!(
            "no yardstick shows the drift of the machine between the runs: assumed to be {} % at \
             most (--drift); runs in turn would show it",
            factor(100.0 * drift).trim_end_matches('0').trim_end_matches('.')
        ));
    }
    lines
}

fn bases(pairs: &Pairs<'_>) -> Vec<String> {
    let bases = distinct(pairs.pairs.iter().filter_map(|pair| match pair {
        ComparedPair::Changed { change, .. } => Some(change.basis),
        _ => None,
    }));
    let has = |wanted: fn(&Basis) -> bool| bases.iter().any(wanted);
    let mut lines = Vec::new();
    for basis in &bases {
        match basis {
            Basis::Pairs(runs) => lines.push(format!(
                "intervals: the ratios of {runs} pairs of runs that were taken in turn"
            )),
            Basis::Runs(runs) => lines.push(format!(
                "intervals: {runs} runs on a side, not taken in turn: each side resampled apart"
            )),
            Basis::Exact | Basis::Intervals(_) => {}
        }
    }
    if has(|basis| matches!(basis, Basis::Intervals(_))) {
        lines.push(
            "intervals: of one run on each side; to compare pairs, take six runs or more in turn \
             (A B B A A B ...), in a folder for each side"
                .to_owned(),
        );
    }
    if has(|basis| !basis.is_enough()) {
        lines.push("fewer than six runs or samples prove no change: they cannot reach 95 %".into());
    }
    lines
}

fn differences(before: &Side, after: &Side) -> Option<String> {
    let (one, other) = (before.last().next()?, after.last().next()?);
    let mut found = Vec::new();
    let mut differ = |what: &str, one: String, other: String| {
        if one != other {
            found.push(format!("{what} {one}, then {other}"));
        }
    };
    let known = |value: Option<&String>| value.map_or("unknown", String::as_str).to_owned();
    differ("commit", known(one.commit.as_ref()), known(other.commit.as_ref()));
    let names: BTreeSet<&String> = one.versions.keys().chain(other.versions.keys()).collect();
    for name in names {
        differ(name, known(one.versions.get(name)), known(other.versions.get(name)));
    }
    let vetoed = |record: &Record| {
        let words: Vec<&str> = record.machine.vetoed.iter().map(String::as_str).collect();
        if words.is_empty() { "nothing".to_owned() } else { words.join(",") }
    };
    differ("switched off is", vetoed(one), vetoed(other));
    let clock = |record: &Record| {
        let hz = record.machine.core_clock_hz;
        hz.map_or_else(|| "unknown".to_owned(), |hz| format!("{:.2} GHz", hz.point() / 1e9))
    };
    differ("core clock", clock(one), clock(other));
    differ("system", known(one.machine.kernel.as_ref()), known(other.machine.kernel.as_ref()));
    (!found.is_empty()).then(|| format!("also different: {}", found.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_from_the_middle() {
        let full = 2.0_f64.ln();
        assert_eq!(bar(2.0, full), "       |#######");
        assert_eq!(bar(0.5, full), "#######|");
        assert_eq!(bar(1.0, full), "       |");
        assert_eq!(bar(1e9, full).len(), 15);
        assert_eq!(bar(0.7, full), "   ####|");
    }

    #[test]
    fn rows_keep_their_width_whatever_the_figures_are() {
        for ratio in [1e-12, 0.5, 1.0, 99.94, 1e12] {
            let text = factor(ratio);
            assert!(text.len() <= 6, "{text}");
            let interval = format!("[{text}-{text}]");
            let name = "server_cpu_per_session_ratio";
            let cells = [name, "1.00 µs", "1.00 µs", &text, &interval, "yardstick", &bar(2.0, 1.0)];
            assert!(line(&cells).chars().count() <= 101, "{}", line(&cells));
        }
    }
}
