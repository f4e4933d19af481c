//! The figures of a server's operations as Markdown, to accompany the chart.

use tollgate_record::{Record, Unit};

use crate::figure::optional;
use crate::heading;
use crate::lookup::{MISSING, ratio};
use crate::names::who;
use crate::rates::{Contender, OPERATIONS, Rates, name};
use crate::text::plain;

/// Returns a table of the operations per second of one core, by operation and contender. More
/// columns give the ratio of the row's first figure to each library, with its interval. The machine
/// and all versions follow below the table.
///
/// Columns without measurements are left out, and if Tollgate was measured, rows without it. Every
/// line ends in a line feed.
#[must_use]
pub fn speed(records: &[Record]) -> String {
    let rates = Rates(records);
    let contenders = rates.contenders();
    let Some(first) = contenders.first() else {
        return "No operation of a handshake was measured.\n".to_owned();
    };
    // Tollgate is first, if it was measured.
    let libraries =
        || contenders.iter().filter(|_| first.by == "tollgate").filter(|l| l.by != first.by);
    let mut headings = vec!["operation".to_owned()];
    headings.extend(contenders.iter().map(|contender| rates.name(contender)));
    headings.extend(libraries().map(|library| format!("relative to {}", who(library.by))));
    let sides = headings.iter().enumerate().map(|(at, _)| if at == 0 { "---" } else { "--:" });
    let mut rows = line(&headings) + &line(&sides.map(str::to_owned).collect::<Vec<_>>());
    for operation in &OPERATIONS {
        let mut cells = vec![name(operation)];
        let rate = |contender| rates.rate(operation, contender).map(|rate| rate.get());
        cells.extend(contenders.iter().map(|contender| optional(rate(contender), Unit::PerSecond)));
        let ours = rates.ours(operation, &contenders);
        let times = |library: &Contender| rates.times(operation, ours?, library.by).map(ratio);
        cells.extend(libraries().map(|library| times(library).unwrap_or_else(|| MISSING.into())));
        if ours.is_some() || first.by != "tollgate" && cells[1..].iter().any(|c| c != MISSING) {
            rows += &line(&cells);
        }
    }
    let cpu = plain(&records[0].machine.cpu);
    let date = rates.date().map_or_else(String::new, |date| format!(" on {date}"));
    let spent = rates.seconds().map_or_else(String::new, |s| format!(", {s} s for each row"));
    let times = libraries().next().map_or("", |_| {
        "; the last columns give the speed of the first figure relative to each library, with \
         95 % intervals"
    });
    format!(
        "On {cpu}: operations per second of one core (RSA with PKCS#1 v1.5, \
         SHA-256){times}.\n\n{rows}\nMeasured{date}, in one run on one thread{spent}:\n\n{}",
        indented(&heading::lines(records)),
    )
}

fn line(cells: &[String]) -> String {
    // A `|` in a version would start a new column.
    let cells: Vec<String> = cells.iter().map(|cell| plain(cell).replace('|', "/")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Indents each line, so that it is shown as terminal output.
fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("    {line}\n")).collect()
}
