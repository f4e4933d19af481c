//! What `fleet` prints: what it rests on, then cores, costs, savings and response times.

use tollgate_ladder::text::{plain, wrapped};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Nanos, PerSecond, Record};

use super::demand_words;
use crate::options::Fleet as Options;

/// Everything in its order.
pub(super) fn text(options: &Options, known: &[Record], records: &[Record]) -> String {
    let mut text = rests_on(known);
    text += &format!(
        "cores may run {:.0} % full; the rest is head room\n\n",
        100.0 * options.utilisation.get()
    );
    text += &cores(records);
    let costs = costs(options, records);
    if !costs.is_empty() {
        text += "\n";
        text += &costs;
    }
    text += "\n";
    text + &responses(options, records)
}

fn rests_on(known: &[Record]) -> String {
    let is_cpu = |record: &&Record| {
        record.quantity.as_str() == word::SERVER_CPU_NS_PER_SESSION
            && record.subject.parameter(word::AGAINST).is_none()
    };
    let line = |record: &Record| {
        let (low, high) = record.estimate.interval();
        let how = match &record.kind {
            Kind::Measured => format!("measured on {}", record.machine.cpu),
            Kind::Predicted { by, .. } => format!("predicted by {by}"),
            Kind::Published { source } => format!("given by {source}"),
        };
        wrapped(&format!(
            "rests on {}: {} of CPU per session [{} to {}], {how}",
            record.subject,
            Nanos::new(record.estimate.point()),
            Nanos::new(low),
            Nanos::new(high)
        ))
    };
    known.iter().filter(is_cpu).map(line).collect()
}

/// A line for each engine and demand.
fn cores(records: &[Record]) -> String {
    let heading =
        ["sessions", "by", "demand", "cores", "whole", "machines", "left over"].map(str::to_owned);
    let mut rows = vec![heading];
    for record in of(records, word::CORES) {
        let beside = |quantity| cell(beside(records, record, quantity), |e| count(e.point()));
        rows.push([
            session(record),
            by(record),
            demand_words(record).unwrap_or_default(),
            interval(&record.estimate),
            beside(word::WHOLE_CORES),
            beside(word::MACHINES),
            beside(word::CORES_LEFT),
        ]);
    }
    let mut text = table(&rows, 3);
    for record in of(records, word::SESSIONS_PER_S_PER_CORE) {
        let rate = PerSecond::new(record.estimate.point()).to_string();
        let rate = rate.trim_end_matches("/s");
        let bits = beside(records, record, word::BITS_PER_S_PER_CORE);
        let bits = bits.map(|bits| format!(", {:.2} Gbps of payload", bits.point() / 1e9));
        text += &wrapped(&format!(
            "{} by {}: a core that does nothing else serves {rate} sessions per second{}",
            session(record),
            by(record),
            bits.unwrap_or_default()
        ));
    }
    text + &wrapped(
        "cores: not rounded, with the interval that the CPU time has; whole: rounded up; left \
         over: cores of one machine for the application, where one machine is enough",
    )
}

/// Costs of each engine, and what one saves against another.
fn costs(options: &Options, records: &[Record]) -> String {
    let mut text = String::new();
    let money = |estimate: &Estimate| format!("{} {}", interval(estimate), options.currency);
    for record in of(records, word::COST_PER_MILLION) {
        text += &wrapped(&format!(
            "{} by {}: a million sessions cost {}",
            session(record),
            by(record),
            money(&record.estimate)
        ));
    }
    for record in of(records, word::JOULES_PER_MILLION) {
        let kilo = record.estimate.point() / 1e3;
        text += &wrapped(&format!(
            "{} by {}: a million sessions take {kilo:.3} kJ",
            session(record),
            by(record)
        ));
    }
    for record in of(records, word::SAVED_SHARE) {
        text += &saved(record, "% of the CPU time", 100.0, "");
    }
    for record in of(records, word::SAVED_PER_YEAR) {
        let demand = demand_words(record).map(|demand| format!(" at {demand}"));
        let unit = format!("{} a year", options.currency);
        text += &saved(record, &unit, 1.0, &demand.unwrap_or_default());
    }
    text
}

/// What one saves against another, or costs more.
fn saved(record: &Record, unit: &str, factor: f64, demand: &str) -> String {
    let costs_more = record.estimate.point() < 0.0;
    let factor = if costs_more { -factor } else { factor };
    let amount = record.estimate.scaled(factor).map_or_else(|_| "-".to_owned(), |e| interval(&e));
    let (verb, against) = if costs_more { ("COSTS", "more than") } else { ("saves", "against") };
    wrapped(&format!(
        "{} by {}{demand}: {verb} {amount} {unit} {against} {}",
        session(record),
        by(record),
        self::against(record)
    ))
}

/// The response time against load, and what the faster engine gains.
fn responses(options: &Options, records: &[Record]) -> String {
    let heading =
        ["sessions", "by", "load", "wait", "mean wait", "response", "p99"].map(str::to_owned);
    let mut rows = vec![heading];
    for record in of(records, word::RESPONSE_NS_MEAN) {
        let beside = |quantity| beside(records, record, quantity);
        let nanos = |e: &Estimate| Nanos::new(e.point()).to_string();
        let load: f64 =
            record.subject.parameter(word::LOAD).and_then(|l| l.parse().ok()).unwrap_or(0.0);
        rows.push([
            session(record),
            by(record),
            format!("{:.0} %", 100.0 * load),
            cell(beside(word::WAITING_SHARE), |e| format!("{:.0} %", 100.0 * e.point())),
            cell(beside(word::WAIT_NS_MEAN), nanos),
            nanos(&record.estimate),
            cell(beside(word::RESPONSE_NS_P99), nanos),
        ]);
    }
    let mut text = table(&rows, 2);
    for record in of(records, word::RESPONSE_GAIN) {
        let times = record.estimate.point();
        let (times, how) = if times < 1.0 { (1.0 / times, "long") } else { (times, "short") };
        text += &wrapped(&format!(
            "{} by {}: at {} sessions per second the mean response is {times:.2} times as {how} as \
             with {}",
            session(record),
            by(record),
            record.subject.parameter(word::SESSIONS_PER_S).unwrap_or("-"),
            against(record)
        ));
    }
    let cores = of(records, word::RESPONSE_NS_MEAN)
        .next()
        .and_then(|record| record.subject.parameter(word::STATION_CORES))
        .unwrap_or("-");
    text + &wrapped(&format!(
        "response: one line before {cores} cores (M/G/c), random arrivals, CPU time as service \
         time with a squared coefficient of variation of {}; load: busy share of a core; wait: the \
         share of sessions that find no core free; what queueing adds, network and client not \
         counted",
        options.variation
    ))
}

fn of<'a>(records: &'a [Record], quantity: &'a str) -> impl Iterator<Item = &'a Record> {
    records.iter().filter(move |record| record.quantity.as_str() == quantity)
}

/// Another figure of a record's subject.
fn beside<'a>(records: &'a [Record], record: &Record, quantity: &'a str) -> Option<&'a Estimate> {
    of(records, quantity).find(|other| other.subject == record.subject).map(|other| &other.estimate)
}

fn session(record: &Record) -> String {
    let path: Vec<&str> = record.subject.segments().skip(1).collect();
    let bytes = record.subject.parameter(word::BYTES).map(|bytes| format!(" {bytes} B"));
    plain(&(path.join(" ") + &bytes.unwrap_or_default()))
}

fn by(record: &Record) -> String {
    plain(record.subject.parameter(word::BY).unwrap_or("-"))
}

fn against(record: &Record) -> String {
    plain(record.subject.parameter(word::AGAINST).unwrap_or("-"))
}

fn count(value: f64) -> String {
    format!("{value:.0}")
}

/// `12.9 [10.6 to 15.2]`; one figure where there is no width.
fn interval(estimate: &Estimate) -> String {
    let (low, high) = estimate.interval();
    let decimals = match estimate.point().abs() {
        100.0.. => 0,
        10.0..100.0 => 1,
        1.0..10.0 => 2,
        _ => 4,
    };
    let point = format!("{:.decimals$}", estimate.point());
    let ends = if low < high {
        format!(" [{low:.decimals$} to {high:.decimals$}]")
    } else {
        String::new()
    };
    point + &ends
}

fn cell(found: Option<&Estimate>, text: impl Fn(&Estimate) -> String) -> String {
    found.map_or_else(|| "-".to_owned(), text)
}

/// Rows under their heading; the first `words` columns stand on the left.
fn table(rows: &[[String; 7]], words: usize) -> String {
    let width = |place: usize| rows.iter().map(|row| row[place].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..7).map(width).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(place, (cell, width))| match place < words {
                true => format!("{cell:width$}"),
                false => format!("{cell:>width$}"),
            })
            .collect();
        text += cells.join("  ").trim_end();
        text += "\n";
        if number == 0 {
            let rule = widths.iter().sum::<usize>() + 2 * (widths.len() - 1);
            text += &format!("{}\n", "-".repeat(rule));
        }
    }
    text
}
