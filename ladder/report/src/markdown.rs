//! The signing figures as Markdown, to accompany the chart.

use tollgate_record::{Record, Unit};

use crate::figure::optional;
use crate::heading;
use crate::lookup::{MISSING, ratio};
use crate::names::who;
use crate::signing::{SIZES, Signer, Signing, key};
use crate::text::plain;

/// Returns a table of the RSA signatures per second of one core, by key size and signer. More
/// columns give the ratio of the first signer to each library, with its interval. The machine and
/// all versions follow below the table.
///
/// Columns and rows without measurements are left out. Every line ends in a line feed.
#[must_use]
pub fn speed(records: &[Record]) -> String {
    let signing = Signing(records);
    let signers = signing.signers();
    let Some(first) = signers.first() else {
        return "No RSA signature was measured.\n".to_owned();
    };
    // Tollgate is first, if it was measured.
    let libraries =
        || signers.iter().filter(|_| first.by == "tollgate").filter(|l| l.by != first.by);
    let mut headings = vec!["key".to_owned()];
    headings.extend(signers.iter().map(|signer| signing.name(signer)));
    headings.extend(libraries().map(|library| format!("relative to {}", who(library.by))));
    let sides = headings.iter().enumerate().map(|(at, _)| if at == 0 { "---" } else { "--:" });
    let mut rows = line(&headings) + &line(&sides.map(str::to_owned).collect::<Vec<_>>());
    for bits in SIZES {
        let mut cells = vec![key(bits)];
        let rate = |signer| signing.rate(bits, signer).map(|rate| rate.get());
        cells.extend(signers.iter().map(|signer| optional(rate(signer), Unit::PerSecond)));
        let times = |library: &Signer| signing.times(bits, first, library.by).map(ratio);
        cells.extend(libraries().map(|library| times(library).unwrap_or_else(|| MISSING.into())));
        if cells[1..].iter().any(|cell| cell != MISSING) {
            rows += &line(&cells);
        }
    }
    let cpu = plain(&records[0].machine.cpu);
    let date = signing.date().map_or_else(String::new, |date| format!(" on {date}"));
    let spent = signing.seconds().map_or_else(String::new, |s| format!(", {s} s for each row"));
    let times = libraries().next().map_or("", |_| {
        "; the last columns give the speed of the first column relative to each library, with 95 % \
         intervals"
    });
    format!(
        "On {cpu}: sign operations per second of one core (PKCS#1 v1.5, \
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
