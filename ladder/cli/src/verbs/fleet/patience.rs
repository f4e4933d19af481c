//! Clients that give up: simulated sessions of one queue, at loads up to 1.5 times the capacity.

use core::time::Duration;

use clap::Args;
use tollgate_fleet::simulation::{Clients, Outcome, Simulator, quantile};
use tollgate_load::Pattern;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Nanos, Quantity, Record, Unit};
use tollgate_report::fleet as fleet_table;
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use super::sessions::MeasuredSession;
use super::{Fleet, service, station};
use crate::cells::{float, or_dash, rate};
use crate::error::CliError;
use crate::options::values::time;
use crate::run::Run;
use crate::verbs::bench::times::short;

/// The loads of the simulation: arriving work, divided by the capacity.
const LOADS: [f64; 6] = [0.7, 0.9, 1.0, 1.1, 1.2, 1.5];

/// The least number of sessions that are counted; with a tenth of them, the p99 of different seeds
/// differs by 20 %.
const SESSIONS_MIN: f64 = 200_000.0;
/// The largest number of sessions of a run; each takes some 60 bytes.
const SESSIONS_MAX: f64 = 5e6;
/// The number of timeouts before sessions are counted: at a load of 110 %, the queue is longer than
/// a timeout after ten.
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
}

/// Simulates each session at all loads, and writes the records. Returns a table for each session;
/// empty without a timeout.
pub(super) fn simulate(
    options: &Fleet,
    measured: &[MeasuredSession],
    run: &mut Run,
) -> Result<String, CliError> {
    let Patience { patience: Some(patience), retries } = options.patience else {
        return Ok(String::new());
    };
    let ms = 1e3 * patience.as_secs_f64();
    let clients = Clients { patience_ns: vec![1e6 * ms], retries, abandoned_work: ABANDONED_WORK };
    let station = station(options, &run.host)?;
    let mut text = String::new();
    for one in measured {
        let service = service(options, one)?;
        let server = Simulator::new(station, &service, clients.clone())?;
        let basis = one
            .basis
            .clone()
            .with(word::STATION_CORES, station.cores())?
            .with(word::LINE, station.discipline().word())?
            .with(word::PATIENCE_MS, ms)?
            .with(word::RETRIES, retries)?
            .condition(word::SERVICE_NS, service.mean_ns().point())
            .condition(word::SCV, service.scv().point())
            .condition(word::MODEL, "simulated clients that give up");
        let (mut rows, mut records) = (Vec::new(), Vec::<Record>::new());
        for load in LOADS {
            let per_s = load * server.capacity_per_s();
            let figures = figures(&server, &clients, per_s)?;
            rows.push(row(load, per_s, figures));
            let basis = basis.clone().with(word::LOAD, load)?;
            for ((quantity, unit), figure) in FIGURES.into_iter().zip(figures) {
                let estimate = figure.map(Estimate::exact).transpose()?;
                records.extend(estimate.map(|estimate| basis.record(quantity, unit, estimate)));
            }
        }
        run.output.records(&records)?;
        let title = format!(
            "{}, {} cores: timeout of clients {ms} ms, retries {retries}",
            fleet_table::name(&one.record.subject),
            station.cores(),
        );
        text += &format!("\n{}{}", wrapped(&title), grid(&COLUMNS, rows));
    }
    Ok(text
        + &wrapped(
            "load: arriving work without retries, divided by the capacity; done/s: sessions that \
             end in time; gave up: share of the sessions; attempts: of a session; wasted: share of \
             the CPU time, for clients that have gone: the server notices only when it answers; \
             p50, p99: of sessions that end in time, from their first attempt; simulated: one \
             queue, random arrivals, after the queue has filled",
        ))
}

/// Simulates a run at this rate. Sessions that arrive before the counted ones fill the queue, and
/// those after them keep it full until the last attempt of a counted one.
fn figures(
    server: &Simulator,
    clients: &Clients,
    per_s: f64,
) -> Result<[Option<f64>; 6], CliError> {
    let patience_s = 1e-9 * clients.patience_ns.iter().copied().fold(0.0, f64::max);
    let session_s = f64::from(clients.retries + 1) * patience_s;
    let before_s = TIMEOUTS.mul_add(patience_s, 2.0 * session_s);
    let counted_s = (2.0 * session_s).max(SESSIONS_MIN / per_s);
    let all_s = before_s + counted_s + session_s;
    if all_s * per_s > SESSIONS_MAX {
        bail!(
            "--patience: {all_s:.0} s of {per_s:.0} sessions per second are too many to simulate: \
             give less --patience, --retries or --cores-per-machine"
        );
    }
    let pattern = Pattern::Poisson { per_s };
    let arrivals = pattern.times(1).map(|at| at.as_secs_f64());
    let arrivals: Vec<f64> = arrivals.take_while(|at| *at < all_s).collect();
    let outcomes = server.run(arrivals.iter().map(|at| Nanos::new(1e9 * at)), 2);
    let [first, end] =
        [before_s, before_s + counted_s].map(|time| arrivals.partition_point(|at| *at < time));
    let sessions = &outcomes[first..end];
    let count = float(sessions.len() as u64);
    let mut responses: Vec<f64> = sessions.iter().filter_map(|one| one.response).collect();
    let done = float(responses.len() as u64);
    let sum = |of: fn(&Outcome) -> f64| sessions.iter().map(of).sum::<f64>();
    let (busy, wasted) = (sum(|one| one.busy_ns), sum(|one| one.wasted_ns));
    let mut response = |q| (!responses.is_empty()).then(|| quantile(&mut responses, q));
    Ok([
        Some(done / counted_s),
        Some(1.0 - done / count),
        Some(sum(|one| f64::from(one.attempts)) / count),
        (busy > 0.0).then(|| wasted / busy),
        response(0.5),
        response(0.99),
    ])
}

fn row(load: f64, per_s: f64, figures: [Option<f64>; 6]) -> Vec<String> {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a run")]
    let time = |ns: f64| short(ns.round() as u64);
    let [done, given_up, attempts, wasted, p50, p99] = figures;
    vec![
        percent(load),
        rate(per_s),
        or_dash(done, rate),
        or_dash(given_up, percent),
        or_dash(attempts, |attempts| format!("{attempts:.2}")),
        or_dash(wasted, percent),
        or_dash(p50, time),
        or_dash(p99, time),
    ]
}

#[cfg(test)]
mod tests {
    use tollgate_fleet::queue::{Discipline, ServiceTime, Station};

    use super::*;

    /// A core of 1 ms sessions at twice its capacity, whose clients wait 10 ms: hardly a session
    /// that begins in time also ends in time, and the server works for clients that have gone.
    #[test]
    fn figures_are_those_of_the_full_queue() {
        let station = Station::new(1, Discipline::OneQueue).unwrap();
        let exact = |x| Estimate::exact(x).unwrap();
        let service = ServiceTime::new(exact(1e6), exact(0.0)).unwrap();
        let clients =
            Clients { patience_ns: vec![10e6], retries: 1, abandoned_work: ABANDONED_WORK };
        let server = Simulator::new(station, &service, clients.clone()).unwrap();
        let of = |per_s| figures(&server, &clients, per_s).unwrap();
        let [done, gone, attempts, wasted, p50, _] = of(2000.0);
        assert!(done.unwrap() < 20.0 && gone.unwrap() > 0.98, "{done:?} {gone:?}");
        assert!(attempts.unwrap() > 1.9 && wasted.unwrap() > 0.9, "{attempts:?} {wasted:?}");
        let [done, gone, attempts, wasted, calm, p99] = of(500.0);
        assert!((done.unwrap() - 500.0).abs() < 25.0 && gone.unwrap() < 0.01, "{done:?} {gone:?}");
        assert!(attempts.unwrap() < 1.01 && wasted.unwrap() < 0.01, "{attempts:?} {wasted:?}");
        assert!(calm.unwrap() < p99.unwrap() && p50.is_none_or(|p50| p50 >= 1e6));
        let refusal = figures(&server, &clients, 1e8).unwrap_err().to_string();
        assert!(refusal.contains("too many to simulate"), "{refusal}");
    }

    #[test]
    fn retries_need_a_timeout() {
        #[derive(Debug, clap::Parser)]
        struct Program {
            #[command(flatten)]
            patience: Patience,
        }
        let parse = |flags: &str| {
            let words = core::iter::once("fleet").chain(flags.split_whitespace());
            <Program as clap::Parser>::try_parse_from(words).map(|program| program.patience)
        };
        for wrong in ["--retries 1", "--patience 0s", "--patience 1s --retries 11"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse("").unwrap().patience.is_none());
        let asked = parse("--patience 2s --retries 3").unwrap();
        assert_eq!((asked.patience, asked.retries), (Some(Duration::from_secs(2)), 3));
    }
}
