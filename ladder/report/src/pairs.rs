//! Ratios of servers that were measured alternately: a sentence for a pair, a table for more.

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Record, Subject, Unit};

use crate::grid::Column;
use crate::lookup::Origin::Measured;
use crate::lookup::{Lookup, distinct, ratio};
use crate::names::{self, service, who};
use crate::table::{Row, Table};

/// Columns of a table that fit in a line beside the names.
const ACROSS: usize = 5;

/// The letters of the servers, which head the columns.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

const NOTE: &str = "ratio: the CPU time of the row's server for a session, divided by that of the \
                    column's: median of the rounds, and its 95 % interval; ~: no difference is \
                    shown";

/// A server and the earlier one to which its ratios belong.
struct Pair<'a> {
    by: &'a str,
    against: &'a str,
    rate: &'a Estimate,
    cpu: Option<&'a Estimate>,
}

/// Returns the pairs by load, such as `TLS 1.3, RSA-2048, 14 KB`.
fn pairs(records: &[Record]) -> Vec<(String, Vec<Pair<'_>>)> {
    let lookup = Lookup(records);
    let has_ratio = |record: &Record| {
        record.quantity == word::SESSIONS_PER_S_RATIO
            && record.subject.parameter(word::AGAINST).is_some()
    };
    let mut found: Vec<(Subject, Vec<Pair<'_>>)> = Vec::new();
    for subject in lookup.subjects(has_ratio) {
        let find = |quantity| lookup.find(Measured, subject, quantity, Unit::Ratio);
        let names = (subject.parameter(word::BY), subject.parameter(word::AGAINST));
        let (Some(rate), (Some(by), Some(against))) = (find(word::SESSIONS_PER_S_RATIO), names)
        else {
            continue;
        };
        let pair = Pair { by, against, rate, cpu: find(word::SERVER_CPU_RATIO) };
        let load = subject.without(&[word::BY, word::AGAINST]);
        match found.iter_mut().find(|(known, _)| *known == load) {
            Some((_, pairs)) => pairs.push(pair),
            None => found.push((load, vec![pair])),
        }
    }
    found.into_iter().map(|(subject, pairs)| (load(&subject), pairs)).collect()
}

/// Names protocol, key, suite, group, payload and manner of a load.
fn load(subject: &Subject) -> String {
    let offered = [word::SUITE, word::GROUP].into_iter().filter_map(|name| subject.parameter(name));
    let offered: String = offered.map(|name| format!(", {name}")).collect();
    let manner = [names::sizes(subject), names::resumed(subject)].into_iter().flatten();
    let manner: String = manner.map(|what| format!(", {what}")).collect();
    let payload = names::payload(names::bytes(subject));
    format!("{}{offered}, {payload}{manner}", service(subject))
}

/// Returns a sentence for each load with two servers.
pub(crate) fn sentences(records: &[Record]) -> Vec<String> {
    let sentence = |(load, pairs): (String, Vec<Pair<'_>>)| {
        let [pair] = &*pairs else { return None };
        let cpu = pair.cpu.map(|cpu| format!(", {} times its CPU time", ratio(cpu)));
        Some(format!(
            "{load}: {} has {} times the sessions per second of {}{} (95 % intervals).",
            who(pair.by),
            ratio(pair.rate),
            who(pair.against),
            cpu.unwrap_or_default(),
        ))
    };
    pairs(records).into_iter().filter_map(sentence).collect()
}

/// Returns a table for each load with more than two servers: the CPU time of each server, divided
/// by that of each server before it.
pub(crate) fn tables(records: &[Record]) -> Vec<Table> {
    let of_load = |(load, pairs): (String, Vec<Pair<'_>>)| {
        let [_, _, ..] = &*pairs else { return Vec::new() };
        let names = distinct(pairs.iter().flat_map(|pair| [pair.against, pair.by]));
        (0..names.len() - 1)
            .step_by(ACROSS)
            .map(|from| table(&load, &names, &pairs, from))
            .collect()
    };
    let mut all: Vec<Table> = pairs(records).into_iter().flat_map(of_load).collect();
    all.last_mut().into_iter().for_each(|table| table.notes.push(NOTE.to_owned()));
    all
}

/// Returns the part of a table whose columns begin with the server `from`.
fn table(load: &str, names: &[&str], pairs: &[Pair<'_>], from: usize) -> Table {
    let letter = |place: usize| LETTERS.get(place..=place).unwrap_or("?");
    let across = from..(from + ACROSS).min(names.len() - 1);
    let column = |place: usize| Column::figures("", 11).headed(format!("to {}", letter(place)));
    let heading = Column::words("", 34).headed("CPU time, ratio".to_owned());
    let row = |place: usize| {
        let cpu = |earlier: usize| {
            let is_wanted =
                |pair: &&Pair<'_>| pair.by == names[place] && pair.against == names[earlier];
            pairs.iter().find(is_wanted)?.cpu
        };
        let cells = |earlier: usize| {
            // of a server itself: the letter shows the place in the line
            let Some(cpu) = cpu(earlier) else { return [String::new(), String::new()] };
            let words = ratio(cpu);
            let (point, interval) = words.split_once(' ').unwrap_or((&words, ""));
            let (low, high) = cpu.interval();
            let is_shown = low > 1.0 || high < 1.0;
            [if is_shown { point.to_owned() } else { format!("~{point}") }, interval.to_owned()]
        };
        let cells: Vec<_> = across.clone().map(cells).collect();
        [0, 1].map(|line| Row {
            groups: vec![load.to_owned()],
            names: vec![format!("{} {}", letter(place), who(names[place]))],
            cells: cells.iter().map(|cell| cell[line].clone()).collect(),
        })
    };
    let first = (from == 0).then(|| Row {
        groups: vec![load.to_owned()],
        names: vec![format!("{} {}", letter(0), who(names[0]))],
        cells: Vec::new(),
    });
    Table {
        columns: [heading].into_iter().chain(across.clone().map(column)).collect(),
        rows: first.into_iter().chain((from + 1..names.len()).flat_map(row)).collect(),
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use tollgate_record::{Kind, Machine};

    use super::*;
    use crate::text::WIDTH;

    /// Records of servers whose CPU times are 1, 2, 3 and so on; each interval is 20 % wide.
    fn records(names: &[&str]) -> Vec<Record> {
        let mut all = Vec::new();
        for (place, by) in names.iter().enumerate() {
            for (earlier, against) in names[..place].iter().enumerate() {
                let subject =
                    format!("server/rsa-2048/tls13?against={against}&by={by}&bytes=14336");
                #[allow(clippy::cast_precision_loss, reason = "few servers")]
                let point = (place + 1) as f64 / (earlier + 1) as f64;
                for quantity in [word::SESSIONS_PER_S_RATIO, word::SERVER_CPU_RATIO] {
                    let estimate = Estimate::new(point, (0.8 * point, 1.2 * point), 6).unwrap();
                    let figure = (quantity, Unit::Ratio, estimate);
                    let machine = Machine::unknown("Some Processor 9000");
                    all.push(Record::new(
                        subject.parse().unwrap(),
                        figure,
                        Kind::Measured,
                        machine,
                    ));
                }
            }
        }
        all
    }

    #[test]
    fn two_servers_have_a_sentence_and_more_have_a_table() {
        let two = records(&["openssl", "tollgate"]);
        assert_eq!(sentences(&two).len(), 1);
        assert!(tables(&two).is_empty());
        let more = records(&["openssl", "tollgate", "nginx-openssl"]);
        assert!(sentences(&more).is_empty());
        let text: String = tables(&more).iter().map(Table::text).collect();
        let cells = |name: &str| -> Vec<String> {
            let line = text.lines().find(|line| line.trim_start().starts_with(name));
            line.unwrap_or_else(|| panic!("{text}"))
                .split_whitespace()
                .skip(2)
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(cells("a OpenSSL"), [""; 0]);
        assert_eq!(cells("b tollgate"), ["2.00"]);
        assert_eq!(cells("c nginx-openssl"), ["3.00", "1.50"]);
        assert!(text.contains("[2.40-3.60]  [1.20-1.80]"), "{text}");
    }

    #[test]
    fn a_long_list_of_servers_continues_in_a_second_table() {
        let names: Vec<String> = (0..8).map(|number| format!("nginx-{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let all = tables(&records(&names));
        assert_eq!(all.iter().map(|table| table.columns.len()).collect::<Vec<_>>(), [6, 3]);
        let text: String = all.iter().map(Table::text).collect();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        // 8 to 7, in the interval of 20 %: no difference is shown
        assert_eq!(text.matches("~1.14").count(), 1, "{text}");
        assert_eq!(text.matches("ratio: the CPU time").count(), 1);
    }
}
