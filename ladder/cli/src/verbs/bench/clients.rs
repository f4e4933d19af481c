//! `tollgate bench --client`: several clients on one server, and the cost of each to the server.

use std::process::ExitCode;

use tollgate_bench::median_estimate;
use tollgate_load::{Naming, Plan, Server};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Nanos, Quantity, Record, Subject, Unit};
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;
use tollgate_rivals::{Client, Counted, Error, run as load};

use super::{context, plan, report, run_of, servers};
use crate::cells::{float, or_dash, rate};
use crate::error::CliError;
use crate::interrupt;
use crate::options::Bench as Options;
use crate::progress::{self, Progress};

const COLUMNS: [Column; 7] = [
    Column::words("server", 22),
    Column::words("client", 8),
    Column::figures("sess/s", 6),
    Column::figures("CPU", 7),
    Column::figures("server's cost", 18),
    Column::figures("client", 7),
    Column::figures("client's cost", 19),
];

/// Two clients cost a server the same if the ratio of their costs is in this range.
const SAME_COST: core::ops::RangeInclusive<f64> = 0.97..=1.03;

struct Row {
    client: Client,
    server: usize,
    rounds: Vec<Counted>,
}

/// Runs all clients against all servers in turn and prints the results.
pub(super) fn run(options: &Options, undone: &[String]) -> Result<ExitCode, CliError> {
    let mut run = run_of(options, undone)?;
    let progress = Progress::new("bench");
    let plans = plan::plans(options)?;
    let keys = options.keys();
    progress::plan(keys.len() * plans.len(), seconds(options));
    let (mut text, mut all, mut valid) = (String::new(), Vec::new(), true);
    for key in keys {
        let rig = servers::Rig::start(options, *key)?;
        for plan in &plans {
            let label = format!("{} {}", rig.names()[0].key, plan.protocol.word());
            progress::row(all.len(), &label);
            let mut servers = rig.servers()?;
            let Some(rows) = rounds(options, plan, &mut servers)? else {
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
    if !all.is_empty() {
        run.output.records(&report::published(options))?;
        text += &report::paper_table(options, &all);
    }
    let heading = report::machine(&run.host) + &report::asked(options) + "\n";
    let code = run.end(&(heading + &text))?;
    Ok(if valid { code } else { ExitCode::FAILURE })
}

/// Returns the time that all clients take for one key type and one protocol, in seconds.
fn seconds(options: &Options) -> f64 {
    float(options.client.len() as u64) * plan::seconds(options)
}

/// Runs the rounds, in alternating order; `None` after Ctrl-C.
fn rounds(
    options: &Options,
    plan: &Plan,
    servers: &mut [Server<'_>],
) -> Result<Option<Vec<Row>>, CliError> {
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
                Err(error) => return Err(error.into()),
            }
            let done = float(turn as u64) / float(turns as u64);
            progress::part((f64::from(round) + done) / f64::from(options.rounds));
        }
    }
    Ok(Some(rows))
}

/// Returns a verdict for each row, with the counts of client and server, and whether all rows are
/// valid.
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

/// Returns the median of the rounds, if every round has the value.
fn median(row: &Row, of: fn(&Counted) -> Option<f64>) -> Option<Estimate> {
    median_estimate(&row.rounds.iter().map(of).collect::<Option<Vec<f64>>>()?)
}

/// Returns the baseline: the first complete client, otherwise the first client.
fn yardstick(clients: &[Client]) -> Client {
    let complete = clients.iter().find(|client| **client != Client::Minimal);
    *complete.or(clients.first()).unwrap_or(&Client::Minimal)
}

type Cost = fn(&Counted) -> Option<f64>;

/// Returns the cost of a session with a row's client, divided by the cost with the baseline client
/// on the same server: the median of the rounds. `None` for the baseline.
fn ratio(rows: &[Row], row: &Row, yardstick: Client, cost: Cost) -> Option<Estimate> {
    let is_other = |o: &&Row| o.client == yardstick && o.server == row.server;
    let other = rows.iter().find(is_other).filter(|_| row.client != yardstick)?;
    let pairs = row.rounds.iter().zip(&other.rounds);
    let ratios = pairs.map(|(one, other)| Some(cost(one)? / cost(other)?));
    median_estimate(&ratios.collect::<Option<Vec<f64>>>()?)
}

/// Returns the server's cost with this client, divided by its cost with the first complete client.
fn servers_cost(rows: &[Row], row: &Row) -> Option<Estimate> {
    let clients: Vec<Client> = rows.iter().map(|row| row.client).collect();
    ratio(rows, row, yardstick(&clients), Counted::server_cpu_ns_per_session)
}

/// Returns the client's cost, divided by the load generator's, if the load generator is one of the
/// clients.
fn clients_cost(rows: &[Row], row: &Row) -> Option<Estimate> {
    ratio(rows, row, Client::Minimal, Counted::client_cpu_ns_per_session)
}

fn table(options: &Options, rows: &[Row], names: &[Naming]) -> String {
    let yardstick = yardstick(&options.client);
    let time = |cpu: Estimate| Nanos::new(cpu.point()).to_string();
    let with_interval = |ratio: Estimate| {
        let ((low, high), point) = (ratio.interval(), ratio.point());
        let digits = if high < 10.0 { 2 } else { 1 };
        format!("{point:.digits$} [{low:.digits$}-{high:.digits$}]")
    };
    let cells = rows.iter().map(|row| {
        vec![
            names[row.server].by.clone(),
            row.client.to_string(),
            or_dash(median(row, Counted::sessions_per_s), |per_s| rate(per_s.point())),
            or_dash(median(row, Counted::server_cpu_ns_per_session), time),
            or_dash(servers_cost(rows, row), with_interval),
            or_dash(median(row, Counted::client_cpu_ns_per_session), time),
            or_dash(clients_cost(rows, row), with_interval),
        ]
    });
    let note = format!(
        "sess/s: sessions per second; CPU: of the server for one session; server's cost: this CPU \
         time divided by that with {yardstick}; client: CPU of the client, and of its processes; \
         client's cost: this CPU time divided by that of minimal; ratios by round, with 95 % intervals"
    );
    grid(&COLUMNS, cells.collect()) + &wrapped(&note) + &difference(rows, names, yardstick)
}

/// Returns a warning if the load generator is proven to cost a server less or more than a complete
/// client does.
fn difference(rows: &[Row], names: &[Naming], yardstick: Client) -> String {
    let differing = rows.iter().filter(|row| row.client == Client::Minimal).filter_map(|row| {
        let found = servers_cost(rows, row)?;
        let (ratio, (low, high)) = (found.point(), found.interval());
        let by = &names[row.server].by;
        (high < *SAME_COST.start() || low > *SAME_COST.end()).then(|| {
            wrapped(&format!(
                "{by}: with minimal a session costs the server {ratio:.2} times as much as with \
                 {yardstick}: compare figures of one client"
            ))
        })
    });
    differing.collect()
}

/// Returns rates, costs and ratios, except those of invalid rows. The load generator's subjects are
/// the usual ones, with the parameter `client`.
fn records(
    plan: &Plan,
    rows: &[Row],
    names: &[Naming],
    context: &tollgate_load::Context,
) -> Result<Vec<Record>, CliError> {
    let clients: Vec<Client> = rows.iter().map(|row| row.client).collect();
    let mut records = Vec::new();
    for row in rows {
        let subject = names[row.server].subject(plan)?;
        let subject = subject.with(word::CLIENT, row.client)?;
        let against = |client| subject.with(word::AGAINST, client);
        let (server_cpu, client_cpu) =
            (word::SERVER_CPU_NS_PER_SESSION, word::CLIENT_CPU_NS_PER_SESSION);
        let of = |figure: Cost| median(row, figure);
        let figures = [
            (subject.clone(), word::SESSIONS_PER_S, Unit::PerSecond, of(Counted::sessions_per_s)),
            (subject.clone(), server_cpu, Unit::Nanos, of(Counted::server_cpu_ns_per_session)),
            (subject.clone(), client_cpu, Unit::Nanos, of(Counted::client_cpu_ns_per_session)),
            (
                against(yardstick(&clients))?,
                word::SERVER_CPU_RATIO,
                Unit::Ratio,
                servers_cost(rows, row),
            ),
            (
                against(Client::Minimal)?,
                word::CLIENT_CPU_RATIO,
                Unit::Ratio,
                clients_cost(rows, row),
            ),
        ];
        for (subject, quantity, unit, figure) in figures {
            let Some(estimate) = figure else { continue };
            let rounds = row.rounds.len();
            let figure = (unit, estimate);
            records.push(record(&subject, quantity, figure, (plan, rounds), context)?);
        }
    }
    Ok(records)
}

fn record(
    subject: &Subject,
    quantity: Quantity,
    figure: (Unit, Estimate),
    (plan, rounds): (&Plan, usize),
    context: &tollgate_load::Context,
) -> Result<Record, CliError> {
    let more = [
        ("close", plan.close.word().to_owned()),
        ("connections", plan.connections.to_string()),
        ("loop", "closed".to_owned()),
        ("plan", plan.hash()),
        ("resumption", "none".to_owned()),
        ("rounds", rounds.to_string()),
        ("sustain_ms", plan.sustain_ms.to_string()),
        ("verdict", "VALID".to_owned()),
        ("warm_up_ms", plan.warm_up_ms.to_string()),
    ];
    let more = more.map(|(name, value)| (name.to_owned(), value));
    Ok(context.measured(subject.clone(), quantity, figure, more)?)
}
