//! `--suites all`: sessions per second for each cipher suite that the servers accept.

use tollgate_load::{Offer, Plan, Server, try_transaction};
use tollgate_record::Record;
use tollgate_record::vocabulary as word;
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use super::scenario::Scenario;
use crate::cells::{self, distinct, or_dash};
use crate::error::CliError;
use crate::interrupt;

const BAR: u32 = 20;

/// The servers' answers to each suite.
pub(super) struct Asked {
    /// Plans of the suites that all servers accept.
    pub(super) taken: Vec<Plan>,
    /// A line about the refused suites, if any.
    pub(super) refused: Option<String>,
}

/// Replaces `all` by every suite of the client.
pub(super) fn all(asked: &[String]) -> Vec<String> {
    match asked {
        [all] if all == ALL => Offer::suites().map(str::to_owned).collect(),
        names => names.to_vec(),
    }
}

pub(super) fn is_all(asked: &[String]) -> bool {
    matches!(asked, [all] if all == ALL)
}

const ALL: &str = "all";

/// Tries each suite on each server, with one handshake and one request; `None` after Ctrl-C.
pub(super) fn ask_all(plans: Vec<Plan>, servers: &[Server<'_>]) -> Result<Option<Asked>, CliError> {
    let (mut taken, mut refused) = (Vec::new(), Vec::new());
    let count = plans.len();
    for plan in plans {
        let mut failure = None;
        for server in servers {
            failure = match try_transaction(&plan, server, &interrupt::asked) {
                Ok(found) => failure.or(found),
                Err(tollgate_load::Error::Stopped) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
        }
        match failure {
            None => taken.push(plan),
            Some(failure) => refused.push((plan.offer.suite.unwrap_or_default(), failure)),
        }
    }
    let names: Vec<&str> = refused.iter().map(|(name, _)| name.as_str()).collect();
    let why = refused.first().map(|(_, failure)| failure.to_string()).unwrap_or_default();
    let refused = (!names.is_empty()).then(|| {
        let (many, names) = (names.len(), names.join(", "));
        format!("of {count} suites {many} are refused (the first: {why}): {names}")
    });
    match refused {
        Some(refused) if taken.is_empty() => Err(CliError::new(refused)),
        refused => Ok(Some(Asked { taken, refused })),
    }
}

struct Rate<'a> {
    key: String,
    suite: &'a str,
    by: &'a str,
    per_s: f64,
}

impl<'a> Rate<'a> {
    /// Reads a record, if it is a rate with a suite.
    fn new(record: &'a Record) -> Option<Self> {
        let is_rate = record.quantity == word::SESSIONS_PER_S;
        let subject = Some(&record.subject).filter(|_| is_rate)?;
        Some(Self {
            key: subject.key()?.to_string(),
            suite: subject.parameter(word::SUITE)?,
            by: subject.parameter(word::BY)?,
            per_s: record.estimate.point(),
        })
    }
}

/// Returns the table of suites for each key, the fastest suite first.
pub(super) fn table(scenarios: &[Scenario]) -> String {
    let rates: Vec<Rate<'_>> =
        scenarios.iter().flat_map(|scenario| &scenario.records).filter_map(Rate::new).collect();
    let mut keys: Vec<&str> = rates.iter().map(|rate| rate.key.as_str()).collect();
    keys.dedup();
    let servers = distinct(rates.iter().map(|rate| rate.by));
    keys.into_iter().map(|key| of_key(key, &rates, &servers)).collect()
}

fn of_key(key: &str, rates: &[Rate<'_>], servers: &[&str]) -> String {
    let rate = |suite: &str, by: &str| {
        let is_wanted = |rate: &&Rate<'_>| rate.key == key && rate.suite == suite && rate.by == by;
        rates.iter().find(is_wanted).map(|rate| rate.per_s)
    };
    let of_key = || rates.iter().filter(|rate| rate.key == key);
    let mut suites = distinct(of_key().map(|rate| rate.suite));
    let first = |suite: &&str| servers.first().and_then(|by| rate(suite, by)).unwrap_or(0.0);
    suites.sort_by(|suite, other| first(other).total_cmp(&first(suite)));
    let most = of_key().map(|rate| rate.per_s).fold(0.0, f64::max);
    let mut columns = vec![Column::words("suite", 45).headed(format!("{key}, suite"))];
    let head = |by: &&str| Column::figures("", 14).headed((*by).to_owned());
    columns.extend(servers.iter().map(head));
    columns.push(Column::words("sessions per second", BAR as usize));
    let row = |suite: &&str| {
        let of_suite: Vec<Option<f64>> = servers.iter().map(|by| rate(suite, by)).collect();
        let cells = of_suite.iter().map(|rate| or_dash(*rate, cells::rate));
        [(*suite).to_owned()].into_iter().chain(cells).chain([bar(&of_suite, most)]).collect()
    };
    let text = grid(&columns, suites.iter().map(row).collect());
    match servers.len() {
        ..2 => text,
        _ => {
            text + &wrapped(
                "#: the first server; = up to |: the additional rate of the fastest other server",
            )
        }
    }
}

/// Draws `####==|`: `#` up to the first rate, `|` at the end of each other rate.
fn bar(rates: &[Option<f64>], most: f64) -> String {
    let length = |rate: f64| cells::bar(rate / most, BAR).len();
    let lengths: Vec<usize> = rates.iter().flatten().map(|rate| length(*rate)).collect();
    let first = rates.first().copied().flatten().map_or(0, length);
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let mark = |at: usize| match at {
        _ if lengths.iter().skip(1).any(|length| *length == at + 1) => '|',
        _ if at < first => '#',
        _ => '=',
    };
    (0..longest).map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::compare::tests::record;

    #[test]
    fn the_fastest_suite_is_first_and_bars_end_at_the_rates() {
        let of = |suite: &str, by: &str, rate: f64| {
            let subject = format!("server/rsa-2048/tls13?by={by}&bytes=1&suite={suite}");
            record(&subject, rate)
        };
        let records = [
            of("TLS_SLOW", "openssl", 1000.0),
            of("TLS_SLOW", "tollgate", 1500.0),
            of("TLS_FAST", "openssl", 2000.0),
            of("TLS_FAST", "tollgate", 4000.0),
        ];
        let rates: Vec<Rate<'_>> = records.iter().filter_map(Rate::new).collect();
        let text = of_key("rsa-2048", &rates, &["openssl", "tollgate"]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("rsa-2048, suite") && lines[0].contains("tollgate"), "{text}");
        assert!(lines[2].starts_with("TLS_FAST") && lines[3].starts_with("TLS_SLOW"), "{text}");
        assert!(lines[2].ends_with(&format!("{}{}|", "#".repeat(10), "=".repeat(9))), "{text}");
        assert!(lines[3].ends_with("#####==|"), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn all_means_every_suite_of_the_client() {
        let names = all(&["all".to_owned()]);
        assert!(names.len() > 20 && names.contains(&"TLS_AES_128_GCM_SHA256".to_owned()));
        assert_eq!(all(&["TLS_X".to_owned()]), ["TLS_X"]);
    }
}
