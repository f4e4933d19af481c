//! `tollgate bench --client`: several clients on one server, and what each costs it.

use std::process::ExitCode;

use tollgate_bench::median_estimate;
use tollgate_clients::{Client, Counted, Error, run as load};
use tollgate_ladder::grid::{Column, grid};
use tollgate_ladder::text::wrapped;
use tollgate_load::{Naming, Plan, Server};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Nanos, PerSecond, Record, Subject, Timestamp, Unit};

use super::{context, plan, report, servers};
use crate::interrupt;
use crate::options::Bench as Options;
use crate::progress::Progress;
use crate::run::Run;
use crate::stop::Stop;

const COLUMNS: [Column; 7] = [
    Column::words("server", 24),
    Column::words("client", 8),
    Column::figures("sess/s", 6),
    Column::figures("CPU", 7),
    Column::figures("client", 7),
    Column::figures("server's cost", 13),
    Column::figures("95 % interval", 13),
];

/// What one client did to one server, by round.
struct Row {
    client: Client,
    server: usize,
    rounds: Vec<Counted>,
}

/// Runs all clients against all servers in turn and prints what came of it.
///
/// # Errors
///
/// A client cannot do what the plan asks for, or a server cannot be started.
pub(super) fn run(options: &Options) -> Result<ExitCode, Stop> {
    let mut run = Run::measuring(options.written.json.as_deref())?;
    let progress = Progress::new("bench");
    let plans = plan::plans(options)?;
    let keys = if options.target.is_some() { &options.key[..1] } else { &options.key };
    progress.plan(keys.len() * plans.len(), seconds(options));
    let (mut text, mut all, mut valid) = (String::new(), Vec::new(), true);
    for key in keys {
        let rig = servers::Rig::start(options, *key)?;
        for plan in &plans {
            let label = format!("{key} {}", plan.protocol.word());
            progress.row(all.len(), &label);
            let mut servers = rig.servers()?;
            let Some(rows) = rounds(options, plan, &mut servers, |part| progress.part(part))?
            else {
                return run.end(&text);
            };
            let names = rig.names();
            let (words, is_valid) = verdicts(&label, &rows, &names);
            (text, valid) = (text + &words, valid && is_valid);
            let records = records(plan, &rows, &names, &context(options, &run.host))?;
            run.output.records(&records)?;
            if is_valid {
                text += &table(options, &rows, &names);
            }
            all.extend(records);
        }
    }
    drop(progress);
    let heading = report::machine(&run.host) + &report::asked(options) + "\n";
    let code = run.end(&(heading + &text))?;
    Ok(if valid { code } else { ExitCode::FAILURE })
}

/// Seconds of all clients for a key and a protocol.
fn seconds(options: &Options) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "three at most")]
    let clients = options.client.len() as f64;
    clients * plan::seconds(options)
}

/// The rounds, first to last and last to first in turn; `None` after Ctrl-C.
fn rounds(
    options: &Options,
    plan: &Plan,
    servers: &mut [Server<'_>],
    progress: impl Fn(f64),
) -> Result<Option<Vec<Row>>, Stop> {
    let mut rows: Vec<Row> = Vec::new();
    for server in 0..servers.len() {
        let row = |client: &Client| Row { client: *client, server, rounds: Vec::new() };
        rows.extend(options.client.iter().map(row));
    }
    let turns = rows.len();
    for round in 0..options.rounds {
        for turn in 0..turns {
            let place = if round % 2 == 0 { turn } else { turns - 1 - turn };
            let row = &mut rows[place];
            match load(plan, row.client, &mut servers[row.server], &interrupt::asked) {
                Ok(counted) => row.rounds.push(counted),
                Err(Error::Stopped) => return Ok(None),
                Err(error) => return Err(Stop::from_error(error)),
            }
            #[allow(clippy::cast_precision_loss, reason = "a few rows")]
            let done = turn as f64 / turns as f64;
            progress((f64::from(round) + done) / f64::from(options.rounds));
        }
    }
    Ok(Some(rows))
}

/// A verdict for each row, with what both sides counted; and whether all are valid.
fn verdicts(label: &str, rows: &[Row], names: &[Naming]) -> (String, bool) {
    let mut text = wrapped(&format!("{label}:"));
    let mut valid = true;
    for row in rows {
        let sum = |of: fn(&Counted) -> u64| row.rounds.iter().map(of).sum::<u64>();
        let objections: Vec<&String> = row.rounds.iter().flat_map(|c| &c.objections).collect();
        let verdict = if objections.is_empty() { "VALID" } else { "INVALID" };
        valid &= objections.is_empty();
        text += &wrapped(&format!(
            "- {}, client {}: {verdict}; runs: {}; the client counted {} sessions, {} failures; \
             the server's log has {} handshakes, {} of them resumed, and {} responses",
            names[row.server].by,
            row.client,
            row.rounds.len(),
            sum(|c| c.transactions),
            sum(|c| c.failed),
            sum(|c| c.seen.handshakes),
            sum(|c| c.seen.resumed),
            sum(|c| c.seen.requests),
        ));
        for objection in objections.iter().take(2) {
            text += &wrapped(&format!("  - {objection}"));
        }
    }
    (text, valid)
}

/// The median of the rounds, if all of them have it.
fn median(row: &Row, of: fn(&Counted) -> Option<f64>) -> Option<Estimate> {
    median_estimate(&row.rounds.iter().map(of).collect::<Option<Vec<f64>>>()?)
}

/// The client that others are compared with: the first complete one, else the first.
fn yardstick(clients: &[Client]) -> Client {
    let complete = clients.iter().find(|client| **client != Client::Minimal);
    *complete.or(clients.first()).unwrap_or(&Client::Minimal)
}

/// What a session costs the server with this client over what it costs it with the yardstick, by
/// round.
fn cost_ratio(rows: &[Row], row: &Row, yardstick: Client) -> Option<Estimate> {
    let other = rows.iter().find(|o| o.client == yardstick && o.server == row.server)?;
    let pairs = row.rounds.iter().zip(&other.rounds);
    let ratios = pairs.map(|(one, other)| {
        Some(one.server_cpu_ns_per_session()? / other.server_cpu_ns_per_session()?)
    });
    median_estimate(&ratios.collect::<Option<Vec<f64>>>()?)
}

fn table(options: &Options, rows: &[Row], names: &[Naming]) -> String {
    let yardstick = yardstick(&options.client);
    let dash = || "-".to_owned();
    let time = |estimate: Option<Estimate>| {
        estimate.map_or_else(dash, |cpu| Nanos::new(cpu.point()).to_string())
    };
    let cells = rows.iter().map(|row| {
        let rate = median(row, Counted::sessions_per_s);
        let ratio = cost_ratio(rows, row, yardstick).filter(|_| row.client != yardstick);
        let interval = ratio.map(|ratio| ratio.interval());
        vec![
            names[row.server].by.clone(),
            row.client.to_string(),
            rate.map_or_else(dash, |r| PerSecond::new(r.point()).to_string().replace("/s", "")),
            time(median(row, Counted::server_cpu_ns_per_session)),
            time(median(row, Counted::client_cpu_ns_per_session)),
            ratio.map_or_else(dash, |ratio| format!("{:.3}", ratio.point())),
            interval.map_or_else(dash, |(low, high)| format!("[{low:.3}-{high:.3}]")),
        ]
    });
    let note = format!(
        "sess/s: sessions per second; CPU: of the server for one session; client: of the client, \
         and of its processes; server's cost: CPU of the server for one session over that with \
         {yardstick}, by round"
    );
    grid(&COLUMNS, cells.collect()) + &wrapped(&note)
}

/// Rates, costs and ratios; nothing of a row that has an objection. The load generator's own
/// subjects are those that it has without other clients, with the parameter `client`.
fn records(
    plan: &Plan,
    rows: &[Row],
    names: &[Naming],
    context: &tollgate_load::Context,
) -> Result<Vec<Record>, Stop> {
    let clients: Vec<Client> = rows.iter().map(|row| row.client).collect();
    let yardstick = yardstick(&clients);
    let mut records = Vec::new();
    for row in rows {
        let subject = names[row.server].subject(plan).map_err(Stop::from_error)?;
        let subject = subject.with(word::CLIENT, row.client).map_err(Stop::from_error)?;
        let against = subject.with(word::AGAINST, yardstick).map_err(Stop::from_error)?;
        let figures = [
            (word::SESSIONS_PER_S, Unit::PerSecond, median(row, Counted::sessions_per_s)),
            (
                word::SERVER_CPU_NS_PER_SESSION,
                Unit::Nanos,
                median(row, Counted::server_cpu_ns_per_session),
            ),
            (
                word::CLIENT_CPU_NS_PER_SESSION,
                Unit::Nanos,
                median(row, Counted::client_cpu_ns_per_session),
            ),
        ];
        let figures = figures.map(|(quantity, unit, figure)| (&subject, quantity, unit, figure));
        let ratio = cost_ratio(rows, row, yardstick).filter(|_| row.client != yardstick);
        let ratio = (&against, word::SERVER_CPU_RATIO, Unit::Ratio, ratio);
        for (subject, quantity, unit, figure) in figures.into_iter().chain([ratio]) {
            let Some(estimate) = figure else { continue };
            records.push(record(
                subject,
                quantity,
                (unit, estimate),
                (plan, row.rounds.len()),
                context,
            )?);
        }
    }
    Ok(records)
}

fn record(
    subject: &Subject,
    quantity: &str,
    (unit, estimate): (Unit, Estimate),
    (plan, rounds): (&Plan, usize),
    context: &tollgate_load::Context,
) -> Result<Record, Stop> {
    let mut conditions = context.conditions.clone();
    conditions.extend([
        ("connections".to_owned(), plan.connections.to_string()),
        ("loop".to_owned(), "closed".to_owned()),
        ("plan".to_owned(), plan.hash()),
        ("resumption".to_owned(), "none".to_owned()),
        ("rounds".to_owned(), rounds.to_string()),
        ("sustain_ms".to_owned(), plan.sustain_ms.to_string()),
        ("verdict".to_owned(), "VALID".to_owned()),
        ("warm_up_ms".to_owned(), plan.warm_up_ms.to_string()),
    ]);
    Ok(Record {
        subject: subject.clone(),
        quantity: quantity.parse().map_err(Stop::from_error)?,
        unit,
        estimate,
        kind: Kind::Measured,
        machine: context.machine.clone(),
        versions: context.versions.clone(),
        commit: context.commit.clone(),
        conditions,
        taken_at: Timestamp::now(),
    })
}
