//! Derives a workload from access logs: sizes, arrivals, requests per connection, resumption.

use std::collections::{BTreeMap, HashMap};

use crate::log::{BadLine, Entry};
use crate::quantiles::Quantiles;
use crate::sourced::{Arrivals, Protocol, Requests, Share, Sourced};
use crate::workload::Workload;

/// Maximum number of bad lines that are kept.
const BAD_KEPT: usize = 5;

/// Quantiles of sizes in a workload; many are in the last tenth, which has most bytes.
const QUANTILES: [f64; 15] =
    [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0];

/// Requests of a second are compared with the mean of their minute, so that slow changes over a day
/// do not count as bursts.
const MINUTE_S: i64 = 60;

/// The longest span that arrivals are counted over, in seconds: ten years.
const SPAN_S_MAX: i64 = 10 * 366 * 24 * 3600;

/// The lines read so far.
#[derive(Clone, Debug, Default)]
pub struct Study {
    lines: u64,
    bad: Bad,
    requests: u64,
    /// Bodies of responses with status 2xx.
    sizes: Vec<u64>,
    /// Requests by second since 1970; seconds without requests are absent.
    seconds: BTreeMap<i64, u64>,
    /// The number of requests of each identified connection.
    connections: HashMap<u64, u64>,
    /// True if a connection resumed a session, by its handshake or first request.
    resumed: HashMap<u64, bool>,
    /// Requests whose lines lack the connection but say whether it resumed a session: their number,
    /// and the number of resumed ones.
    unnamed: (u64, u64),
    protocols: BTreeMap<String, u64>,
}

/// Returns the lines that are not access-log lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bad {
    /// The number of bad lines.
    pub count: u64,
    /// The first bad lines, with line numbers from 1.
    pub first: Vec<(u64, BadLine)>,
}

impl Study {
    /// Reads a line.
    pub fn line(&mut self, line: &str) {
        self.lines += 1;
        match Entry::read(line) {
            Ok(Some(entry)) => self.entry(entry),
            Ok(None) => {}
            Err(bad) => {
                self.bad.count += 1;
                if self.bad.first.len() < BAD_KEPT {
                    self.bad.first.push((self.lines, bad));
                }
            }
        }
    }

    fn entry(&mut self, entry: Entry) {
        if let (Some(connection), Some(resumed)) = (entry.connection, entry.resumed) {
            // A failed handshake does not count.
            if entry.handshake || entry.request.is_some() {
                self.resumed.entry(connection).or_insert(resumed);
            }
        }
        let Some((status, bytes)) = entry.request else { return };
        self.requests += 1;
        if let Some(bytes) = bytes.filter(|_| (200..300).contains(&status)) {
            self.sizes.push(bytes);
        }
        if let Some(time_us) = entry.time_us {
            *self.seconds.entry(time_us.div_euclid(1_000_000)).or_default() += 1;
        }
        match (entry.connection, entry.resumed) {
            (Some(connection), _) => *self.connections.entry(connection).or_default() += 1,
            (None, Some(resumed)) => {
                self.unnamed.0 += 1;
                self.unnamed.1 += u64::from(resumed);
            }
            (None, None) => {}
        }
        if let Some(protocol) = entry.protocol {
            *self.protocols.entry(protocol).or_default() += 1;
        }
    }

    /// Returns the number of lines that were read.
    #[must_use]
    pub const fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns the number of lines that are requests.
    #[must_use]
    pub const fn requests(&self) -> u64 {
        self.requests
    }

    /// Lines that are not access-log lines.
    #[must_use]
    pub const fn bad(&self) -> &Bad {
        &self.bad
    }

    /// Returns the workload. `log` names the log files, and becomes part of every source.
    #[must_use]
    pub fn workload(&self, log: &str) -> Workload {
        let source = |what: &str| format!("{log}: {what}");
        let requests = self.requests;
        Workload {
            title: format!("what {requests} requests of {log} were"),
            key: None,
            protocol: self.protocol(&source),
            suite: None,
            bytes: None,
            sizes: self.sizes(&source),
            requests_per_connection: self.requests_per_connection(&source),
            resumed: self.share_resumed(&source),
            arrivals: self.arrivals(&source),
            compared_with: None,
        }
    }

    /// Returns the parameters missing in the log, with instructions for logging them.
    #[must_use]
    pub fn unknown(&self) -> Vec<&'static str> {
        let workload = self.workload("log");
        let mut unknown = vec!["the key and the group: no access log has them"];
        let mut lacks = |lacks: bool, words| {
            if lacks {
                unknown.push(words);
            }
        };
        lacks(workload.sizes.is_none(), "sizes: no response with status 2xx has bytes");
        lacks(
            workload.requests_per_connection.is_none(),
            "requests per connection: log conn=$connection (docs/bench-url.md)",
        );
        lacks(workload.resumed.is_none(), "resumption: log reused=$ssl_session_reused");
        lacks(workload.protocol.is_none(), "the protocol: log proto=$ssl_protocol");
        lacks(workload.arrivals.is_none(), "arrivals: two seconds or more are needed");
        unknown
    }

    fn sizes(&self, source: &impl Fn(&str) -> String) -> Option<Sourced<Quantiles>> {
        let mut sizes = self.sizes.clone();
        sizes.sort_unstable();
        let last = sizes.len().checked_sub(1)?;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place in the list"
        )]
        let at = |quantile: f64| sizes[((quantile * last as f64).round() as usize).min(last)];
        let table = QUANTILES.map(|quantile| (quantile, at(quantile)));
        #[allow(clippy::cast_precision_loss, reason = "a mean")]
        let mean = sizes.iter().map(|bytes| *bytes as f64).sum::<f64>() / sizes.len() as f64;
        let words =
            format!("bytes of {} responses with status 2xx, {mean:.0} in the mean", sizes.len());
        Sourced::new(Quantiles::new(table.into()).ok()?, &source(&words)).ok()
    }

    fn requests_per_connection(
        &self,
        source: &impl Fn(&str) -> String,
    ) -> Option<Sourced<Requests>> {
        let connections = self.connections.len();
        let requests: u64 = self.connections.values().sum();
        #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
        let each = (1000.0 * requests as f64 / connections as f64).round() / 1000.0;
        let words = format!("{requests} requests on {connections} connections");
        Sourced::new(Requests::new(each).ok()?, &source(&words)).ok()
    }

    fn share_resumed(&self, source: &impl Fn(&str) -> String) -> Option<Sourced<Share>> {
        let named = self.resumed.len() as u64;
        let (all, resumed, of) = if named > 0 {
            let resumed = self.resumed.values().filter(|resumed| **resumed).count() as u64;
            (named, resumed, "connections")
        } else {
            (self.unnamed.0, self.unnamed.1, "requests, whose connections have no name here")
        };
        #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
        let share = resumed as f64 / all as f64;
        let words = format!("{resumed} of {all} {of}");
        Sourced::new(Share::new(share).ok()?, &source(&words)).ok()
    }

    fn protocol(&self, source: &impl Fn(&str) -> String) -> Option<Sourced<Protocol>> {
        let all: u64 = self.protocols.values().sum();
        let most = self.protocols.get("TLSv1.3").filter(|count| 2 * **count > all)?;
        let words = format!("{most} of {all} requests have TLSv1.3; the group is not told");
        Sourced::new(Protocol::new("tls13".to_owned()).ok()?, &source(&words)).ok()
    }

    fn arrivals(&self, source: &impl Fn(&str) -> String) -> Option<Sourced<Arrivals>> {
        let first = *self.seconds.keys().next()?;
        let last = *self.seconds.keys().next_back()?;
        let span = last.checked_sub(first)?.checked_add(1)?;
        if !(2..=SPAN_S_MAX).contains(&span) {
            return None;
        }
        // sums and sums of squares of each minute; absent seconds count as 0
        let mut minutes: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
        for (second, count) in &self.seconds {
            #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
            let count = *count as f64;
            let (sum, squares) = minutes.entry((second - first) / MINUTE_S).or_default();
            *sum += count;
            *squares += count * count;
        }
        let mut deviations = 0.0;
        for (minute, (sum, squares)) in &minutes {
            let of_minute = MINUTE_S.min(span - minute * MINUTE_S);
            #[allow(clippy::cast_precision_loss, reason = "at most 60")]
            let of_minute = of_minute as f64;
            deviations += squares - sum * sum / of_minute;
        }
        // the mean of each minute takes one degree of freedom
        let means = (span - 1) / MINUTE_S + 1;
        #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
        let (seconds, free) = (span as f64, (span - means) as f64);
        let mean = minutes.values().map(|(sum, _)| sum).sum::<f64>() / seconds;
        let variance = (deviations / free).max(0.0); // rounding may give less
        let peak_per_s = self.seconds.values().copied().max()?;
        let value = Arrivals::Open { per_s: mean, peak_per_s, dispersion: variance / mean };
        Sourced::new(value, &source(&format!("requests of {span} seconds"))).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a line of a second, with bytes and a connection.
    fn line(second: u32, bytes: u64, connection: u32, resumed: bool) -> String {
        let (minute, second) = (second / 60, second % 60);
        let reused = if resumed { 'r' } else { '.' };
        format!(
            "::1 - - [10/Oct/2026:13:{minute:02}:{second:02} +0000] \"GET / HTTP/1.1\" 200 {bytes} \
             \"-\" \"x\" conn={connection} reused={reused} proto=TLSv1.3"
        )
    }

    #[test]
    fn a_generated_log_gives_its_parameters() {
        let mut study = Study::default();
        // There are two requests on each connection, and every fourth connection is resumed. There
        // are 10 requests per second, except for one second with 110 and ten seconds with none.
        for request in 0..1000_u32 {
            let second = if request < 110 { 0 } else { request / 10 };
            study.line(&line(second, u64::from(request), request / 2, (request / 2) % 4 == 0));
        }
        study.line("not a log");
        let workload = study.workload("test.log");
        let rows = workload.sizes.unwrap();
        let rows = rows.value.get();
        assert_eq!((rows[0], rows[6].1, rows[14]), ((0.0, 0), 500, (1.0, 999)));
        assert_eq!(*workload.requests_per_connection.unwrap().value.get(), 2.0);
        assert_eq!(*workload.resumed.unwrap().value.get(), 0.25);
        assert_eq!(workload.protocol.unwrap().value.get(), "tls13");
        let Arrivals::Open { per_s, peak_per_s, dispersion } = workload.arrivals.unwrap().value
        else {
            panic!("a log has open arrivals")
        };
        assert_eq!((per_s, peak_per_s), (10.0, 110));
        // in the first of two minutes, one second is 100 above the mean, and ten seconds are 10
        // below it
        let variance = (100.0_f64.powi(2) + 10.0 * 100.0) / 98.0;
        assert!((dispersion - variance / 10.0).abs() < 1e-9, "{dispersion}");
        assert_eq!((study.bad().count, study.bad().first[0].0), (1, 1001));
        assert_eq!(study.unknown(), ["the key and the group: no access log has them"]);
    }

    #[test]
    fn slow_changes_are_not_bursts() {
        let dispersion = |per_s: &dyn Fn(u32) -> u32| {
            let mut study = Study::default();
            for second in 0..600 {
                (0..per_s(second)).for_each(|_| study.line(&line(second, 1, 1, false)));
            }
            match study.workload("test.log").arrivals.unwrap().value {
                Arrivals::Open { dispersion, .. } => dispersion,
                Arrivals::Closed => unreachable!("a log has open arrivals"),
            }
        };
        assert_eq!(dispersion(&|second| if second < 300 { 2 } else { 20 }), 0.0);
        // 1 and 19 alternate: the variance of 81 is divided by the mean of 10. The factor 60 / 59
        // is there because the mean takes a degree of freedom.
        let crowds = dispersion(&|second| 1 + 18 * (second % 2));
        assert!((crowds - 8.1 * 60.0 / 59.0).abs() < 1e-9, "{crowds}");
    }

    /// Sizes of many powers of ten, as sites have them: the logarithm is normal.
    #[test]
    fn quantiles_keep_the_mean_of_a_log() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut study = Study::default();
        let mut sum = 0.0;
        for _ in 0..20_000 {
            // the sum of twelve uniform numbers has a variance of one
            let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
            let bytes = (8.0 + 1.5 * normal).exp().round();
            sum += bytes;
            study.line(&line(0, format!("{bytes}").parse().unwrap(), 1, false));
        }
        let sizes = study.workload("test.log").sizes.unwrap();
        let mean = sum / 20_000.0;
        assert!(sizes.source.get().contains(&format!("{mean:.0} in the mean")));
        let sizes = sizes.value.midpoints(64);
        #[allow(clippy::cast_precision_loss, reason = "sizes of a test")]
        let kept = sizes.iter().map(|bytes| *bytes as f64).sum::<f64>() / 64.0;
        assert!((kept / mean - 1.0).abs() < 0.05, "{kept} of {mean}");
    }

    #[test]
    fn parameters_missing_in_a_log_are_unknown_and_a_derived_workload_is_a_valid_file() {
        let mut study = Study::default();
        study.line("::1 - - [10/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 7");
        let workload = study.workload("plain.log");
        assert_eq!((&workload.resumed, &workload.requests_per_connection), (&None, &None));
        assert_eq!(study.unknown().len(), 5);
        assert_eq!(Workload::from_toml(&workload.to_toml()).unwrap(), workload);
        assert!(Study::default().workload("empty").sizes.is_none());
    }
}
