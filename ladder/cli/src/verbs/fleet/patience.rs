//! Clients that give up: simulated sessions of one queue, at loads up to 1.5 times the capacity.

use core::time::Duration;

use clap::Args;
use tollgate_bench::median_estimate;
use tollgate_fleet::queue::{ServiceTime, Station};
use tollgate_fleet::simulation::{Clients, Outcome, Simulator, quantile};
use tollgate_load::Pattern;
use tollgate_record::vocabulary as word;
use tollgate_record::{Nanos, Quantity, Record, Subject, Unit};
use tollgate_report::fleet as fleet_table;
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use super::sessions::MeasuredSession;
use crate::cells::{float, or_dash, rate};
use crate::error::CliError;
use crate::options::values::time;
use crate::verbs::bench::times::short;

/// The loads of the simulation: arriving work, divided by the capacity.
const LOADS: [f64; 6] = [0.7, 0.9, 1.0, 1.1, 1.2, 1.5];

/// The number of parts of a run whose medians are the figures.
const PARTS: usize = 5;
/// The least number of sessions in all parts.
const SESSIONS_MIN: f64 = 20_000.0;
/// The largest number of sessions of a run; each takes some 60 bytes.
const SESSIONS_MAX: f64 = 5e6;
/// The number of timeouts before the parts begin: at a load of 110 %, the queue is longer than a
/// timeout after ten.
const TIMEOUTS: f64 = 12.0;

/// A server reads the `ClientHello` of a client that has closed the connection since, and signs. It
/// notices when it writes: the request is not answered.
const ABANDONED_WORK: f64 = 1.0;

const FIGURES: [(Quantity, Unit); 6] = [
    (word::SESSIONS_PER_S, Unit::PerSecond),
    (word::GIVEN_UP_SHARE, Unit::Ratio),
    (word::ATTEMPTS_PER_SESSION, Unit::Ratio),
    (word::WASTED_SHARE, Unit::Ratio),
    (word::RESPONSE_NS_P50, Unit::Nanos),
    (word::RESPONSE_NS_P99, Unit::Nanos),
];

const COLUMNS: [Column; 8] = [
    Column::figures("load", 5),
    Column::figures("sess/s", 6),
    Column::figures("done/s", 6),
    Column::figures("gave up", 7),
    Column::figures("attempts", 8),
    Column::figures("wasted", 6),
    Column::figures("p50", 7),
    Column::figures("p99", 7),
];

#[derive(Args, Clone, Debug)]
pub(crate) struct Patience {
    /// Timeout of clients, as in 500ms; adds a simulation of loads up to 1.5 times the capacity
    #[arg(long, value_name = "TIME", value_parser = time)]
    patience: Option<Duration>,

    /// Further attempts after a timeout of --patience
    #[arg(long, value_name = "N", default_value = "0", requires = "patience")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=10))]
    retries: u32,

    /// Time from a timeout to the next attempt, as in 1s; it doubles with each attempt
    /// [default: none]
    #[arg(long, value_name = "TIME", requires = "retries", value_parser = time)]
    backoff: Option<Duration>,
}

impl Patience {
    fn clients(&self) -> Option<Clients> {
        let ns = |time: Duration| 1e9 * time.as_secs_f64();
        Some(Clients {
            patience_ns: vec![ns(self.patience?)],
            retries: self.retries,
            backoff_ns: self.backoff.map_or(0.0, ns),
            abandoned_work: ABANDONED_WORK,
        })
    }

    /// Returns the records of a session's loads; none without a timeout.
    pub(super) fn records(
        &self,
        one: &MeasuredSession,
        station: &Station,
        service: &ServiceTime,
    ) -> Result<Vec<Record>, CliError> {
        let (Some(clients), Some(patience)) = (self.clients(), self.patience) else {
            return Ok(Vec::new());
        };
        let ms = |time: Duration| 1e3 * time.as_secs_f64();
        let mut basis = one
            .basis
            .clone()
            .with(word::STATION_CORES, station.cores())?
            .with(word::LINE, station.discipline().word())?
            .with(word::PATIENCE_MS, ms(patience))?
            .with(word::RETRIES, self.retries)?
            .condition(word::SERVICE_NS, service.mean_ns().point())
            .condition(word::SCV, service.scv().point())
            .condition(word::MODEL, "simulated clients that give up");
        if let Some(backoff) = self.backoff {
            basis = basis.with(word::BACKOFF_MS, ms(backoff))?;
        }
        let server = Simulator::new(*station, service, clients.clone())?;
        let full = f64::from(station.cores()) * 1e9 / service.mean_ns().point();
        let mut records = Vec::new();
        for load in LOADS {
            let basis = basis.clone().with(word::LOAD, load)?;
            let parts = run(&server, &clients, load * full)?;
            for (number, (quantity, unit)) in FIGURES.into_iter().enumerate() {
                // times of the few parts in which sessions end would not belong to the other figures
                let figures: Option<Vec<f64>> = parts.iter().map(|part| part[number]).collect();
                let estimate = figures.and_then(|figures| median_estimate(&figures));
                records.extend(estimate.map(|estimate| basis.record(quantity, unit, estimate)));
            }
        }
        Ok(records)
    }
}

/// Simulates a run at this rate. Returns the figures of each part. Sessions that arrive before the
/// parts fill the queue, and those after them keep it full until the last attempt of a part.
fn run(
    server: &Simulator,
    clients: &Clients,
    per_s: f64,
) -> Result<Vec<[Option<f64>; 6]>, CliError> {
    let patience_s = 1e-9 * clients.patience_ns.iter().copied().fold(0.0, f64::max);
    let attempts = f64::from(clients.retries + 1);
    let backoffs = f64::from(clients.retries).exp2() - 1.0;
    let session_s = backoffs.mul_add(1e-9 * clients.backoff_ns, attempts * patience_s);
    let before_s = TIMEOUTS.mul_add(patience_s, 2.0 * session_s);
    let counted_s = (2.0 * session_s).max(SESSIONS_MIN / per_s);
    let all_s = before_s + counted_s + session_s;
    if all_s * per_s > SESSIONS_MAX {
        bail!(
            "--patience: {all_s:.0} s of {per_s:.0} sessions per second are too many to simulate: \
             give less --patience, --retries, --backoff or --cores-per-machine"
        );
    }
    let pattern = Pattern::Poisson { per_s };
    let arrivals = pattern.times(1).map(|at| at.as_secs_f64());
    let arrivals: Vec<f64> = arrivals.take_while(|at| *at < all_s).collect();
    let outcomes = server.run(arrivals.iter().map(|at| Nanos::new(1e9 * at)), 1);
    let part_s = counted_s / float(PARTS as u64);
    let place = |part: usize| {
        let begin_s = part_s.mul_add(float(part as u64), before_s);
        arrivals.partition_point(|at| *at < begin_s)
    };
    let parts = (0..PARTS).map(|part| figures(&outcomes[place(part)..place(part + 1)], part_s));
    Ok(parts.collect())
}

/// Returns the figures of sessions that arrived within this time.
fn figures(sessions: &[Outcome], seconds: f64) -> [Option<f64>; 6] {
    let all = float(sessions.len() as u64);
    let mut responses: Vec<f64> = sessions.iter().filter_map(|one| one.response).collect();
    let done = float(responses.len() as u64);
    let sum = |of: fn(&Outcome) -> f64| sessions.iter().map(of).sum::<f64>();
    let (busy, wasted) = (sum(|one| one.busy_ns), sum(|one| one.wasted_ns));
    let mut of = |q| (!responses.is_empty()).then(|| quantile(&mut responses, q));
    [
        Some(done / seconds),
        Some(1.0 - done / all),
        Some(sum(|one| f64::from(one.attempts)) / all),
        (busy > 0.0).then(|| wasted / busy),
        of(0.5),
        of(0.99),
    ]
}

/// Returns a table for each session; empty without records of clients that give up.
pub(super) fn text(records: &[Record]) -> String {
    let points: Vec<&Record> =
        records.iter().filter(|record| record.quantity == word::GIVEN_UP_SHARE).collect();
    let bare = |record: &Record| record.subject.without(&[word::LOAD]);
    let mut text = String::new();
    for curve in points.chunk_by(|a, b| bare(a) == bare(b)) {
        text += "\n";
        text += &wrapped(&title(&curve[0].subject));
        text += &grid(&COLUMNS, curve.iter().map(|point| row(records, point)).collect());
    }
    if text.is_empty() {
        return text;
    }
    text + &wrapped(
        "load: arriving work without retries, divided by the capacity; done/s: sessions that end in \
         time; gave up: share of the sessions; attempts: of a session; wasted: share of the CPU \
         time, for clients that have gone: the server notices only when it answers; p50, p99: of \
         sessions that end in time, from their first attempt; simulated: one queue, random \
         arrivals, after the queue has filled",
    )
}

/// Returns `14 KB, tollgate, 16 cores: timeout of clients 500 ms, retries 2`.
fn title(subject: &Subject) -> String {
    let of = |key| subject.parameter(key).unwrap_or_default();
    let mut title = format!(
        "{}, {} cores: timeout of clients {} ms, retries {}",
        fleet_table::name(subject),
        of(word::STATION_CORES),
        of(word::PATIENCE_MS),
        of(word::RETRIES)
    );
    if let Some(ms) = subject.parameter(word::BACKOFF_MS) {
        title += &format!(", the first {ms} ms after the timeout");
    }
    title
}

fn row(records: &[Record], point: &Record) -> Vec<String> {
    let find = |quantity| {
        let is = |record: &&Record| record.quantity == quantity && record.subject == point.subject;
        records.iter().find(is).map(|record| record.estimate.point())
    };
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<f64>().ok());
    let load = number(point.subject.parameter(word::LOAD));
    let cores = number(point.subject.parameter(word::STATION_CORES));
    let service_ns = number(point.conditions.get(word::SERVICE_NS).map(String::as_str));
    let capacity = cores.zip(service_ns).map(|(cores, ns)| 1e9 * cores / ns);
    let percent = |share: Option<f64>| or_dash(share, |share| format!("{:.0} %", 100.0 * share));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a run")]
    let time = |ns: f64| short(ns.round() as u64);
    vec![
        percent(load),
        or_dash(load.zip(capacity), |(load, capacity)| rate(load * capacity)),
        or_dash(find(word::SESSIONS_PER_S), rate),
        percent(find(word::GIVEN_UP_SHARE)),
        or_dash(find(word::ATTEMPTS_PER_SESSION), |attempts| format!("{attempts:.2}")),
        percent(find(word::WASTED_SHARE)),
        or_dash(find(word::RESPONSE_NS_P50), time),
        or_dash(find(word::RESPONSE_NS_P99), time),
    ]
}

#[cfg(test)]
mod tests {
    use tollgate_fleet::queue::Discipline;
    use tollgate_record::Estimate;

    use super::*;

    /// A core of 1 ms sessions at twice its capacity, whose clients wait 10 ms: hardly a session
    /// that begins in time also ends in time, and the server works for clients that have gone.
    #[test]
    fn figures_are_those_of_the_full_queue() {
        let station = Station::new(1, Discipline::OneQueue).unwrap();
        let exact = |x| Estimate::exact(x).unwrap();
        let service = ServiceTime::new(exact(1e6), exact(0.0)).unwrap();
        let clients = Clients {
            patience_ns: vec![10e6],
            retries: 1,
            backoff_ns: 0.0,
            abandoned_work: ABANDONED_WORK,
        };
        let server = Simulator::new(station, &service, clients.clone()).unwrap();
        let of = |per_s| run(&server, &clients, per_s).unwrap()[0];
        let [done, gone, attempts, wasted, p50, _] = of(2000.0);
        assert!(done.unwrap() < 20.0 && gone.unwrap() > 0.98, "{done:?} {gone:?}");
        assert!(attempts.unwrap() > 1.9 && wasted.unwrap() > 0.9, "{attempts:?} {wasted:?}");
        let [done, gone, attempts, wasted, calm, p99] = of(500.0);
        assert!((done.unwrap() - 500.0).abs() < 25.0 && gone.unwrap() < 0.01, "{done:?} {gone:?}");
        assert!(attempts.unwrap() < 1.01 && wasted.unwrap() < 0.01, "{attempts:?} {wasted:?}");
        assert!(calm.unwrap() < p99.unwrap() && p50.is_none_or(|p50| p50 >= 1e6));
        let refusal = run(&server, &clients, 1e8).unwrap_err().to_string();
        assert!(refusal.contains("too many to simulate"), "{refusal}");
    }

    #[test]
    fn backoffs_need_retries_and_retries_a_timeout() {
        #[derive(Debug, clap::Parser)]
        struct Program {
            #[command(flatten)]
            patience: Patience,
        }
        let parse = |flags: &str| {
            let words = core::iter::once("fleet").chain(flags.split_whitespace());
            <Program as clap::Parser>::try_parse_from(words).map(|program| program.patience)
        };
        assert!(parse("--retries 1").is_err() && parse("--patience 1s --backoff 1s").is_err());
        assert!(parse("--patience 0s").is_err() && parse("--patience 1s --retries 11").is_err());
        assert!(parse("").unwrap().clients().is_none());
        let clients =
            parse("--patience 2s --retries 3 --backoff 500ms").unwrap().clients().unwrap();
        assert_eq!((clients.patience_ns, clients.retries), (vec![2e9], 3));
        assert!((clients.backoff_ns - 0.5e9).abs() < 1.0);
    }
}
