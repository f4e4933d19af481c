//! The table of `tollgate bench share`: CPU time of a server by the share of TLS.

use tollgate_record::{Estimate, Unit};

use crate::figure::number;
use crate::grid::{Column, fitting};
use crate::lookup::{MISSING, ratio};
use crate::names::payload;
use crate::table::{Row as Line, Table};
use crate::text::wrapped;

/// The gain of capacity by a faster RSA in \[ITA00\], for many short sessions.
const GAIN_OF_2000: f64 = 1.4;

const COLUMNS: [Column; 8] = fitting([
    Column::words("TLS", 5),
    Column::figures("OpenSSL", 7),
    Column::figures("pred.", 5),
    Column::figures("slowdown", 18),
    Column::figures("Tollgate", 8),
    Column::figures("pred.", 5),
    Column::figures("slowdown", 18),
    Column::figures("gain", 18),
]);

/// Kinds of connections of one size and number of requests.
#[derive(Clone, Debug)]
pub struct Load {
    /// The length of a response in bytes.
    pub bytes: u64,
    /// Requests on a connection.
    pub requests: u32,
    /// By share of TLS; the first row is without TLS, and the last is TLS alone.
    pub rows: Vec<Row>,
}

/// A share of TLS.
#[derive(Clone, Debug)]
pub struct Row {
    /// The share of the connections that use TLS.
    pub share: f64,
    /// The server with OpenSSL's RSA, and with Tollgate's; without TLS only the first.
    pub servers: [Option<Side>; 2],
    /// CPU time of the first server, divided by that of the second.
    pub gain: Option<Estimate>,
}

/// A server at one share.
#[derive(Clone, Debug)]
pub struct Side {
    /// Requests per second of a core that does nothing else.
    pub per_s: f64,
    /// CPU time divided by that without TLS.
    pub slowdown: Estimate,
    /// The slowdown as rung 3 predicts it.
    pub predicted: Option<f64>,
}

/// Names a load: `14 KB, 10 requests on a connection`.
#[must_use]
pub fn label(bytes: u64, requests: u32) -> String {
    let requests = match requests {
        1 => "a request on a connection".to_owned(),
        more => format!("{more} requests on a connection"),
    };
    format!("{}, {requests}", payload(bytes))
}

/// Returns a table and a sentence for each load.
#[must_use]
pub fn table(loads: &[Load]) -> String {
    let of = |load: &Load| {
        let sentence = load.sentence().map_or_else(String::new, |line| wrapped(&line));
        let rows = load.rows.iter().map(line).collect();
        let table = Table { columns: COLUMNS.into(), rows, notes: Vec::new() };
        format!("{}:\n{}{sentence}\n", label(load.bytes, load.requests), table.text())
    };
    let note = "OpenSSL, Tollgate: requests per second of a core that does nothing else, by the CPU \
                time of nginx with this RSA; slowdown: CPU time of a connection, divided by that \
                without TLS in the same round, median and 95 % interval; pred.: the slowdown as rung \
                3 predicts it, with the measured time without TLS; gain: CPU time with OpenSSL, \
                divided by that with Tollgate";
    loads.iter().map(of).collect::<String>() + &wrapped(note)
}

fn line(row: &Row) -> Line {
    let mut cells: Vec<String> = row.servers.iter().flat_map(|side| cells(side.as_ref())).collect();
    cells.push(row.gain.as_ref().map_or_else(String::new, ratio));
    Line::new(format!("{:.0} %", 100.0 * row.share), cells)
}

fn cells(side: Option<&Side>) -> Vec<String> {
    let Some(side) = side else { return vec![String::new(); 3] };
    let predicted =
        side.predicted.map_or_else(|| MISSING.to_owned(), |ratio| format!("{ratio:.2}"));
    vec![number(side.per_s, Unit::PerSecond), predicted, ratio(&side.slowdown)]
}

impl Load {
    /// Says where the gain of \[ITA00\] lies. Between the ends, CPU time is linear in the share.
    fn sentence(&self) -> Option<String> {
        let [without, with] = self.rows.last()?.servers.each_ref();
        let more = |side: &Option<Side>| Some(side.as_ref()?.slowdown.point() - 1.0);
        let (without, with) = (more(without)?, more(with)?);
        let share = (GAIN_OF_2000 - 1.0) / (without - GAIN_OF_2000 * with);
        let all = format!(
            "TLS alone costs {:.1} times as much as no TLS with OpenSSL, {:.1} times with Tollgate;",
            1.0 + without,
            1.0 + with
        );
        Some(if (0.0..=1.0).contains(&share) {
            format!("{all} the gain is the +40 % of [ITA00] at a share of {:.0} %.", 100.0 * share)
        } else {
            format!("{all} the gain is below the +40 % of [ITA00] at every share.")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(without: f64, with: f64) -> Load {
        let side = |slowdown: f64| Side {
            per_s: 1000.0,
            slowdown: Estimate::exact(slowdown).unwrap(),
            predicted: Some(slowdown * 1.1),
        };
        let gain = Some(Estimate::exact(without / with).unwrap());
        let rows = vec![
            Row { share: 0.0, servers: [Some(side(1.0)), None], gain: None },
            Row { share: 1.0, servers: [Some(side(without)), Some(side(with))], gain },
        ];
        Load { bytes: 14_336, requests: 1, rows }
    }

    #[test]
    fn the_share_of_the_papers_gain_is_where_the_costs_have_its_ratio() {
        let sentence = load(11.0, 5.0).sentence().unwrap();
        // at a share s the costs are 1 + 10 s and 1 + 4 s: 1 + 10 s = 1.4 (1 + 4 s) at s = 1 / 11
        assert!(sentence.ends_with("at a share of 9 %."), "{sentence}");
        let sentence = load(2.6, 2.0).sentence().unwrap();
        assert!(sentence.ends_with("below the +40 % of [ITA00] at every share."), "{sentence}");
        // a server that Tollgate does not help
        assert!(load(2.0, 2.0).sentence().unwrap().contains("below the +40 %"));
    }

    #[test]
    fn a_load_has_a_row_for_each_share() {
        let text = table(&[load(11.0, 5.0)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "14 KB, a request on a connection:");
        assert!(lines[3].starts_with("0 %") && lines[3].contains("1.00k"), "{text}");
        assert!(lines[4].ends_with("2.20 [2.20-2.20]") && lines[4].contains("12.10"), "{text}");
    }
}
