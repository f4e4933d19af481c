//! One table of everything that the publications printed, with our figures beside it.

use std::collections::BTreeSet;

use tollgate_published::{Compare, Ours, Paper, Row, Table, Value};
use tollgate_record::{Kind, PerSecond, Record, Subject};
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

/// Our figure of a row.
struct Found<'a> {
    value: Value,
    /// The value is an upper bound.
    at_most: bool,
    record: Option<&'a Record>,
}

/// Returns the tables of these publications.
pub(super) fn text(papers: &[&Paper], records: &[Record]) -> String {
    let mut text = String::new();
    let mut used = BTreeSet::new();
    for paper in papers {
        let gap = if text.is_empty() { "" } else { "\n" };
        text += gap;
        text += &wrapped(&format!("[{}] {}", paper.key, paper.title));
        for table in &paper.tables {
            text += &format!("\n{}", block(paper, table, records, &mut used));
        }
    }
    let used: Vec<String> = used.into_iter().collect();
    let from = match used.as_slice() {
        [] => String::new(),
        used => format!("; others are the newest records of {}", used.join(", ")),
    };
    let note = format!(
        "ours: a figure of papers/ is computed now{from}; \"run\": not on record, the command \
         measures it; error: ours / published - 1; ratio: ours / published"
    );
    text + "\n" + &wrapped(&note)
}

/// Returns one table, and below it what differs and the command.
fn block(paper: &Paper, table: &Table, records: &[Record], used: &mut BTreeSet<String>) -> String {
    let unit = if table.unit.is_empty() { String::new() } else { format!(", {}", table.unit) };
    let mut text = wrapped(&format!("{}: {}{unit}", table.at, table.what));
    let found: Vec<Option<Found<'_>>> =
        table.rows.iter().map(|row| find(paper, row, records)).collect();
    for record in found.iter().flatten().filter_map(|found| found.record) {
        used.insert(format!("{} ({})", record.machine.cpu, record.taken_at.strftime("%Y-%m-%d")));
    }
    let rows: Vec<(&Row, &Option<Found<'_>>)> = table.rows.iter().zip(&found).collect();
    text += &match table.clocks_mhz.is_empty() {
        true => by_row(table, &rows),
        false => by_clock(table, &rows),
    };
    text += &wrapped(&format!("differs: {}", table.differs));
    text += &format!("run: {}\n", table.command);
    for row in table.rows.iter().filter(|row| row.command.is_some() || row.differs.is_some()) {
        let differs = row.differs.as_deref().unwrap_or("as above");
        let command = row.command.as_ref().unwrap_or(&table.command);
        text += &wrapped(&format!("{}: {differs}; run: {command}", row.what));
    }
    text
}

/// Returns a line for each row: published, ours, and the error or the ratio.
fn by_row(table: &Table, rows: &[(&Row, &Option<Found<'_>>)]) -> String {
    let is_short = |(row, found): &(&Row, &Option<Found<'_>>)| {
        let ours = found.as_ref().map_or(0, |found| shown(&found.value).chars().count());
        row.value.as_ref().is_none_or(|value| shown(value).chars().count() <= 14) && ours <= 14
    };
    if !rows.iter().all(is_short) {
        let line = |(row, found): &(&Row, &Option<Found<'_>>)| {
            let published = row.value.as_ref().map(shown).unwrap_or_default();
            let ours = found.as_ref().map_or_else(|| "run".to_owned(), |found| shown(&found.value));
            wrapped(&format!("{}: {published}; ours: {ours}", row.what))
        };
        return rows.iter().map(line).collect();
    }
    let compared = match table.compare {
        Some(Compare::Error) => "error",
        Some(Compare::Ratio) => "ratio",
        None => "",
    };
    let columns = [
        Column::words("", 48),
        Column::figures("published", 14),
        Column::figures("ours", 14),
        Column::figures(compared, 9),
    ];
    let cells = |(row, found): &(&Row, &Option<Found<'_>>)| {
        let published = row.value.as_ref().map(shown).unwrap_or_default();
        let name = match &row.role {
            Some(role) => format!("{}: {role}", row.what),
            None => row.what.clone(),
        };
        let Some(found) = found else {
            return vec![name, published, "run".to_owned(), String::new()];
        };
        let ours = match &found.value {
            Value::Number(number) => short(number / scale(table, found)),
            Value::Text(text) => text.clone(),
        };
        let mark = if found.at_most { "< " } else { "" };
        vec![name, published, format!("{mark}{ours}"), compare(table, row, found)]
    };
    grid(&columns, rows.iter().map(cells).collect())
}

/// Returns two lines for each row, with a column for each clock: published milliseconds, and our
/// cycles as milliseconds at the same clock.
fn by_clock(table: &Table, rows: &[(&Row, &Option<Found<'_>>)]) -> String {
    let mut columns = vec![Column::words("bits", 11), Column::words("by", 9)];
    columns.extend(table.clocks_mhz.iter().enumerate().map(|(place, clock)| {
        let unit = if place == 0 { " MHz" } else { "" };
        Column::figures("", 7).headed(format!("{clock}{unit}"))
    }));
    let mut lines = Vec::new();
    for (row, found) in rows {
        let line = |name: &str, by: &str, cells: Vec<String>| {
            [vec![name.to_owned(), by.to_owned()], cells].concat()
        };
        let published = row.values.iter().map(|ms| format!("{ms:.2}")).collect();
        lines.push(line(&row.what, "published", published));
        let Some(Found { value: Value::Number(cycles), .. }) = found else {
            lines.push(line("", "ours", vec!["run".to_owned()]));
            continue;
        };
        let at = |clock: &f64| {
            let ms = cycles / (clock * 1e3);
            if ms >= 0.095 { format!("{ms:.2}") } else { format!("{ms:.4}") }
        };
        lines.push(line("", "ours", table.clocks_mhz.iter().map(at).collect()));
    }
    grid(&columns, lines)
}

/// Returns our figure of a row, computed or from the records.
fn find<'a>(paper: &Paper, row: &Row, records: &'a [Record]) -> Option<Found<'a>> {
    let found = |value| Found { value, at_most: false, record: None };
    match row.ours.as_ref()? {
        Ours::Computed { computed, at_most } => {
            let value = match paper.folder.as_str() {
                "itanium" => tollgate_itanium::computed(computed),
                "leon2" => tollgate_leon2::study::computed(computed),
                _ => tollgate_internet::computed(computed).map(Value::Number),
            };
            Some(Found { at_most: *at_most, ..found(value?) })
        }
        Ours::Setting { text } => Some(found(Value::Text(text.clone()))),
        Ours::Recorded { subject, quantity, over } => {
            let record = newest(records, subject, quantity)?;
            let divisor = match over {
                Some(over) => newest(records, over, quantity)?.estimate.point(),
                None => 1.0,
            };
            let value = Value::Number(record.estimate.point() / divisor);
            Some(Found { record: Some(record), ..found(value) })
        }
    }
}

/// Returns the newest record of a figure. A record with more parameters counts if none has exactly
/// these.
fn newest<'a>(records: &'a [Record], subject: &str, quantity: &str) -> Option<&'a Record> {
    let wanted: Subject = subject.parse().ok()?;
    let of_quantity = |record: &&Record| {
        record.quantity.as_str() == quantity && !matches!(record.kind, Kind::Published { .. })
    };
    let has_all = |record: &&Record| {
        record.subject.topic() == wanted.topic()
            && wanted.parameters().all(|(key, value)| record.subject.parameter(key) == Some(value))
    };
    let ours = || records.iter().filter(of_quantity);
    let exact = ours().filter(|record| record.subject == wanted);
    let exact = exact.max_by_key(|record| record.taken_at);
    exact.or_else(|| ours().filter(has_all).max_by_key(|record| record.taken_at))
}

/// Returns the units of a record in one unit of the table; 1 for a computed figure.
fn scale(table: &Table, found: &Found<'_>) -> f64 {
    if found.record.is_some() { table.scale } else { 1.0 }
}

fn compare(table: &Table, row: &Row, found: &Found<'_>) -> String {
    let (Some(published), Value::Number(ours)) = (row.number(), &found.value) else {
        return String::new();
    };
    let ratio = ours / scale(table, found) / published;
    match table.compare {
        _ if found.at_most => String::new(),
        Some(Compare::Error) => format!("{:+.1} %", 100.0 * (ratio - 1.0)),
        Some(Compare::Ratio) if ratio < 0.095 => format!("{ratio:.4}"),
        Some(Compare::Ratio) if ratio < 9.95 => format!("{ratio:.2}"),
        Some(Compare::Ratio) => format!("{ratio:.1}"),
        None => String::new(),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) => short(*number),
        Value::Text(text) => text.clone(),
    }
}

/// Returns a number with three digits; small whole numbers have all digits.
fn short(number: f64) -> String {
    match number {
        whole if whole.fract() == 0.0 && whole < 1e5 => format!("{whole:.0}"),
        small if small < 9.995 => format!("{small:.2}"),
        _ => PerSecond::new(number).to_string().replace("/s", ""),
    }
}

#[cfg(test)]
mod tests {
    use tollgate_published::{PAPERS, paper};
    use tollgate_record::{Estimate, Machine, Timestamp, Unit};
    use tollgate_report::WIDTH;

    use super::*;

    fn record(subject: &str, quantity: &str, unit: Unit, point: f64, day: &str) -> Record {
        let estimate = Estimate::exact(point).unwrap();
        let figure = (quantity.parse().unwrap(), unit, estimate);
        let machine = Machine::unknown("Some Processor 9000");
        let taken_at = format!("{day}T00:00:00Z").parse::<Timestamp>().unwrap();
        let kind = Kind::Measured;
        Record { taken_at, ..Record::new(subject.parse().unwrap(), figure, kind, machine) }
    }

    #[test]
    fn every_row_stands_in_the_table_within_the_width() {
        let papers: Vec<&Paper> = PAPERS.iter().collect();
        let text = text(&papers, &[]);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        for paper in papers {
            assert!(text.contains(&format!("[{}]", paper.key)));
            for table in &paper.tables {
                assert!(text.contains(&format!("run: {}\n", table.command)), "{}", table.command);
            }
        }
        let row = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name));
            line.unwrap_or_else(|| panic!("{name} in {text}")).split_whitespace().skip(3)
        };
        assert_eq!(row("Itanium, 512 bits").collect::<Vec<_>>(), ["245", "244", "-0.4", "%"]);
        assert_eq!(row("UltraSPARC III, 750 MHz").nth(1), Some("42"));
        assert_eq!(row("Itanium, 660 MHz").collect::<Vec<_>>(), ["1000", "<", "2.19k"]);
    }

    #[test]
    fn the_newest_record_stands_beside_the_paper() {
        let subject = "operation/rsa-1024/private?by=tollgate&exponent=full";
        let cycles = |point, day| record(subject, "cycles_per_operation", Unit::Cycles, point, day);
        let records = [cycles(3e5, "2026-11-02"), cycles(9e5, "2026-11-01")];
        let table = text(&[paper("pkeu").unwrap()], &records);
        let mut lines = table.lines().skip_while(|line| !line.starts_with("1024 / 1024"));
        let published = lines.next().unwrap();
        assert!(published.contains("54.71") && published.ends_with("5.42"), "{table}");
        let ours: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
        assert_eq!(ours[..2], ["ours", "9.09"]);
        assert_eq!(ours[8], "0.90");
        assert!(table.replace("\n ", "").contains("Some Processor 9000 (2026-11-02)"), "{table}");
    }

    #[test]
    fn a_figure_may_have_more_parameters_than_the_row() {
        let more = "fleet/x?by=tollgate&line=one_queue&sessions_per_s=3";
        let records = [record(more, "response_gain", Unit::Ratio, 2.0, "2026-11-02")];
        assert!(newest(&records, "fleet/x?by=tollgate", "response_gain").is_some());
        assert!(newest(&records, "fleet/x?by=openssl", "response_gain").is_none());
    }
}
