//! The table of `tollgate bench experiment`: a row for each case, and the columns that its file
//! names.

use tollgate_record::{Estimate, Unit};

use crate::figure::number;
use crate::grid;
use crate::lookup::MISSING;
use crate::table::{Row, Table};

/// A column that a file may name.
#[derive(Debug)]
pub struct Column {
    /// The name in the file.
    pub word: &'static str,
    /// The figure in the column.
    pub figure: &'static str,
    heading: &'static str,
    width: usize,
    form: Form,
    note: &'static str,
}

/// The form of a cell.
#[derive(Debug)]
enum Form {
    Number(Unit),
    Percent,
    /// Relative to the first row, which has none.
    Ratio,
    /// Half the length of a ratio's interval.
    Shows,
    /// More or less, if a ratio's interval excludes 1.
    Effect,
}

/// The figures of cases. Those of requests are the figures of connections, over their requests.
pub mod figures {
    /// Connections per second.
    pub const RATE: &str = "rate";
    /// Requests per second.
    pub const REQUEST_RATE: &str = "request-rate";
    /// CPU time of the server for a connection, in nanoseconds.
    pub const CPU: &str = "cpu";
    /// CPU time of the server for a request, in nanoseconds.
    pub const REQUEST_CPU: &str = "request-cpu";
    /// Core cycles of the server for a connection.
    pub const CYCLES: &str = "cycles";
    /// The CPU time, divided by that of the baseline.
    pub const RATIO: &str = "ratio";
    /// The CPU time of the baseline, divided by that of the case.
    pub const SPEEDUP: &str = "speedup";
    /// The rate, divided by that of the baseline.
    pub const RATE_RATIO: &str = "rate-ratio";
    /// The 99th percentile of the time of handshakes, in nanoseconds.
    pub const P99: &str = "p99";
    /// The share of resumed sessions.
    pub const RESUMED: &str = "resumed";
    /// CPU time of the client for a connection, in nanoseconds.
    pub const CLIENT: &str = "client";
    /// The CPU time of the client, divided by that with the baseline.
    pub const CLIENT_RATIO: &str = "client-ratio";
    /// The published ratio.
    pub const PAPER: &str = "paper";
}

use figures as of;

const fn column(
    (word, figure): (&'static str, &'static str),
    (heading, width): (&'static str, usize),
    form: Form,
    note: &'static str,
) -> Column {
    Column { word, figure, heading, width, form, note }
}

/// The columns that a file may name.
const COLUMNS: [Column; 15] = [
    column(
        (of::RATE, of::RATE),
        ("sess/s", 7),
        Form::Number(Unit::PerSecond),
        "sess/s: connections per second",
    ),
    column(
        (of::REQUEST_RATE, of::REQUEST_RATE),
        ("req/s", 7),
        Form::Number(Unit::PerSecond),
        "req/s: requests per second",
    ),
    column(
        (of::CPU, of::CPU),
        ("CPU", 8),
        Form::Number(Unit::Nanos),
        "CPU: of all processes of the server for one connection, user and system",
    ),
    column(
        (of::REQUEST_CPU, of::REQUEST_CPU),
        ("CPU", 8),
        Form::Number(Unit::Nanos),
        "CPU: of all processes of the server for one request, user and system",
    ),
    column(
        (of::CYCLES, of::CYCLES),
        ("cycles", 8),
        Form::Number(Unit::Cycles),
        "cycles: of the server's cores for one connection",
    ),
    column(
        (of::RATIO, of::RATIO),
        ("relative", 19),
        Form::Ratio,
        "relative: CPU time to that of the first row in the same round",
    ),
    column(
        (of::SPEEDUP, of::SPEEDUP),
        ("times", 19),
        Form::Ratio,
        "times: connections in the same CPU time, relative to the first row in the same round",
    ),
    column(
        (of::RATE_RATIO, of::RATE_RATIO),
        ("rate, relative", 19),
        Form::Ratio,
        "rate, relative: to the first row in the same round",
    ),
    column(
        ("shows", of::RATIO),
        ("shows", 6),
        Form::Shows,
        "shows: half the length of this interval, below which an effect would not be seen",
    ),
    column(
        ("effect", of::RATIO),
        ("effect", 12),
        Form::Effect,
        "effect: none shown, if the interval contains 1",
    ),
    column(
        (of::P99, of::P99),
        ("p99", 8),
        Form::Number(Unit::Nanos),
        "p99: of the time of handshakes",
    ),
    column(
        (of::RESUMED, of::RESUMED),
        ("resumed", 8),
        Form::Percent,
        "resumed: share of the sessions",
    ),
    column(
        (of::CLIENT, of::CLIENT),
        ("client", 8),
        Form::Number(Unit::Nanos),
        "client: CPU time of the client for one connection, with all its processes",
    ),
    column(
        (of::CLIENT_RATIO, of::CLIENT_RATIO),
        ("client, relative", 19),
        Form::Ratio,
        "client, relative: CPU time to that of the first row in the same round",
    ),
    column(
        (of::PAPER, of::PAPER),
        ("paper", 6),
        Form::Number(Unit::Ratio),
        "paper: the published ratio",
    ),
];

impl Column {
    /// Returns the column of this name.
    #[must_use]
    pub fn named(word: &str) -> Option<&'static Self> {
        COLUMNS.iter().find(|column| column.word == word)
    }

    /// Lists all names.
    #[must_use]
    pub fn words() -> String {
        COLUMNS.iter().map(|column| column.word).collect::<Vec<_>>().join(", ")
    }

    fn cell(&self, found: Option<&Estimate>, is_baseline: bool) -> String {
        let (Some(figure), false) = (found, self.is_relative() && is_baseline) else {
            return MISSING.to_owned();
        };
        let (point, (low, high)) = (figure.point(), figure.interval());
        match self.form {
            Form::Number(unit) => number(point, unit),
            Form::Percent => format!("{:.1} %", 100.0 * point),
            Form::Ratio => format!("{point:.3} [{low:.3}-{high:.3}]"),
            Form::Shows => format!("{:.1} %", 50.0 * (high - low)),
            Form::Effect if low <= 1.0 && high >= 1.0 => "none shown".to_owned(),
            Form::Effect => {
                let percent = 100.0 * (point - 1.0);
                format!("{:.1} % {}", percent.abs(), if percent > 0.0 { "more" } else { "less" })
            }
        }
    }

    const fn is_relative(&self) -> bool {
        matches!(self.form, Form::Ratio | Form::Shows | Form::Effect)
    }
}

/// A case with its figures by name.
#[derive(Clone, Debug)]
pub struct Case {
    /// The change.
    pub name: String,
    /// The figures that were measured or published.
    pub figures: Vec<(&'static str, Estimate)>,
    /// Core cycles of a connection by part; empty without a profile.
    pub parts: Vec<(String, f64)>,
}

/// Returns a row for each case; the first one is the baseline.
#[must_use]
pub fn table(load: &str, columns: &[&Column], cases: &[Case]) -> String {
    let figures = columns.iter().map(|column| grid::Column::figures(column.heading, column.width));
    let name = grid::Column::words("", 30).headed(load.to_owned());
    let row = |(place, case): (usize, &Case)| {
        let cell = |column: &&Column| {
            let found = case.figures.iter().find(|(name, _)| *name == column.figure);
            column.cell(found.map(|(_, figure)| figure), place == 0)
        };
        Row::new(case.name.clone(), columns.iter().map(cell).collect())
    };
    let mut notes: Vec<&str> = columns.iter().map(|column| column.note).collect();
    notes.push("medians of the rounds, ratios with 95 % intervals");
    let columns: Vec<grid::Column> = [name].into_iter().chain(figures).collect();
    let rows = cases.iter().enumerate().map(row).collect();
    Table { columns, rows, notes: vec![notes.join("; ")] }.text()
}

/// Returns the cycles of each case by part, and those of the paper; the part `other` of the paper
/// is the sum of all parts that it does not have. Empty if a case has no parts.
#[must_use]
pub fn parts(cases: &[Case], published: &[(String, f64)]) -> String {
    if cases.is_empty() || cases.iter().any(|case| case.parts.is_empty()) {
        return String::new();
    }
    let heading = |place: usize| grid::Column::figures("", 8).headed(format!("row {place}"));
    let mut columns = vec![grid::Column::words("cycles by part", 24)];
    columns.extend((1..=cases.len()).map(heading));
    columns.push(grid::Column::figures("paper", 8));
    let mut words: Vec<&str> = Vec::new();
    for (word, _) in cases.iter().flat_map(|case| &case.parts) {
        if !words.contains(&word.as_str()) {
            words.push(word);
        }
    }
    let paper = |word: &str| published.iter().find(|(part, _)| part == word).map(|(_, n)| *n);
    let row = |name: &str, takes: &dyn Fn(&str) -> bool, paper: Option<f64>| {
        let sum = |case: &Case| -> f64 {
            case.parts.iter().filter(|(part, _)| takes(part)).map(|(_, cycles)| cycles).sum()
        };
        let cells = cases.iter().map(|case| number(sum(case), Unit::Cycles));
        let paper = paper.map_or_else(|| MISSING.to_owned(), |n| number(n, Unit::Cycles));
        Row::new(name, cells.chain([paper]).collect())
    };
    let mut rows: Vec<Row> =
        words.iter().map(|word| row(word, &|part| part == *word, paper(word))).collect();
    if let Some(other) = paper("other") {
        rows.push(row("other than the paper's", &|part| paper(part).is_none(), Some(other)));
    }
    let whole = published.iter().map(|(_, cycles)| cycles).sum();
    rows.push(row("sum", &|_| true, (!published.is_empty()).then_some(whole)));
    let notes = vec!["row 1, 2 and so on: the rows of the table above".to_owned()];
    format!("\n{}", Table { columns, rows, notes }.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(point: f64, interval: (f64, f64)) -> Estimate {
        Estimate::new(point, interval, 6).unwrap()
    }

    #[test]
    fn an_effect_is_shown_only_if_the_interval_excludes_1() {
        let effect = Column::named("effect").unwrap();
        for (low, point, high, words) in [
            (0.97, 0.99, 1.01, "none shown"),
            (1.0, 1.02, 1.04, "none shown"),
            (1.01, 1.03, 1.05, "3.0 % more"),
            (0.7, 0.75, 0.8, "25.0 % less"),
        ] {
            assert_eq!(effect.cell(Some(&estimate(point, (low, high))), false), words);
        }
        let ratio = estimate(1.0, (1.0, 1.0));
        assert_eq!(effect.cell(Some(&ratio), true), "-", "the baseline has none");
    }

    #[test]
    fn cases_stand_beside_the_paper() {
        let case = |name: &str, cycles: f64, times: f64| Case {
            name: name.to_owned(),
            figures: vec![
                (figures::CYCLES, estimate(cycles, (cycles, cycles))),
                (figures::SPEEDUP, estimate(times, (0.9 * times, 1.1 * times))),
                (figures::PAPER, estimate(2.43, (2.43, 2.43))),
            ],
            parts: vec![("rsa".to_owned(), 0.25 * cycles), ("system".to_owned(), 0.75 * cycles)],
        };
        let columns = ["cycles", "speedup", "resumed", "paper"];
        let columns = columns.map(|word| Column::named(word).unwrap());
        let cases = [case("AES128-SHA", 4e6, 1.0), case("AES128-GCM", 1e6, 4.0)];
        let published = [("rsa".to_owned(), 2.17e6), ("other".to_owned(), 4.21e6)];
        let text = table("140 KB", &columns, &cases) + &parts(&cases, &published);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for row in [
            "140 KB cycles times resumed paper",
            "AES128-SHA 4.00M - - 2.43",
            "AES128-GCM 1.00M 4.000 [3.600-4.400] - 2.43",
            "rsa 1.00M 250k 2.17M system 3.00M 750k -",
            "other than the paper's 3.00M 750k 4.21M sum 4.00M 1.00M 6.38M",
        ] {
            assert!(words.contains(row), "{row}\n{text}");
        }
    }
}
