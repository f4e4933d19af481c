//! `tollgate fleet`: cores, costs and response times from the cost of a session.

mod sessions;
mod what_if;

use core::ops::Bound;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use tollgate_fleet::forecast::{Requirements, response_records, saving_record};
use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
use tollgate_fleet::{Demand, Error, Prices, Utilisation};
use tollgate_record::{Area, Estimate, PerSecond, Record};
use tollgate_report::{fleet as fleet_table, heading};

use crate::error::CliError;
use crate::host::Host;
use crate::options::values::{Written, within};
use crate::read;
use crate::run::Run;

use sessions::MeasuredSession;
pub(crate) use sessions::rests_on;
use what_if::WhatIf;

/// The loads of the response times.
const LOADS: [f64; 5] = [0.5, 0.7, 0.8, 0.9, 0.95];

/// `tollgate fleet` with its sub-verbs.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct FleetCommand {
    #[command(flatten)]
    fleet: Fleet,

    #[command(subcommand)]
    verb: Option<SubVerb>,
}

#[derive(Clone, Debug, Subcommand)]
enum SubVerb {
    /// Predict the CPU time of measured sessions after a change of key, engine, suite, resumption
    /// or cores
    WhatIf(WhatIf),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Fleet {
    /// Payload of a session in bytes, with --cpu-us
    #[arg(long, value_name = "N", default_value = "14336")]
    pub(crate) bytes: u64,

    /// Cores of one machine, which share one queue [default: those of this machine]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) cores_per_machine: Option<u32>,

    /// Server CPU time of one session in microseconds, instead of files
    #[arg(long, value_name = "X", value_parser = positive)]
    #[arg(conflicts_with = "files")]
    pub(crate) cpu_us: Option<f64>,

    /// Links to fill with payload, in 10^9 bits per second, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,10,25,100")]
    #[arg(value_parser = positive)]
    pub(crate) gbps: Vec<f64>,

    /// Files of records, as `tollgate bench --json` writes them
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Prices of machines; without them no costs are computed
    #[arg(long, value_name = "FILE", value_parser = prices)]
    pub(crate) prices: Option<Prices>,

    /// Sessions per second to serve, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = positive)]
    pub(crate) sessions_per_s: Vec<f64>,

    /// Share of the cores' time to use; the rest is head room
    #[arg(long, value_name = "SHARE", default_value = "0.7", value_parser = utilisation)]
    pub(crate) utilisation: Utilisation,

    /// Squared coefficient of variation of the service time: 0 for equal sessions, 1 for an
    /// exponential distribution
    #[arg(long, value_name = "SCV", default_value = "1")]
    #[arg(value_parser = within(0.0..=1e6, "give a number from 0 to 1000000"))]
    pub(crate) variation: f64,
}

pub(crate) fn run(command: &FleetCommand) -> Result<ExitCode, CliError> {
    match &command.verb {
        None => sized(&command.fleet),
        Some(SubVerb::WhatIf(options)) => what_if::run(options),
    }
}

fn sized(options: &Fleet) -> Result<ExitCode, CliError> {
    let known = sessions::read(options)?;
    let mut run = Run::new(options.written.json.as_deref())?;
    let predicted = collect(options, &known, &mut run)?;
    // Show the input records, except earlier forecasts.
    let of_server = |record: &&Record| record.subject.area() == Area::Server;
    let shown = [known.iter().filter(of_server).cloned().collect(), predicted].concat();
    let mut published = tollgate_published::records();
    published.retain(|record| record.subject.area() == Area::Fleet);
    let heading = heading::lines(&shown) + "\n";
    run.end(&(heading + &fleet_table::table(&[shown, published].concat())))
}

/// Returns predictions from the server records among `known`.
pub(crate) fn collect(
    options: &Fleet,
    known: &[Record],
    run: &mut Run,
) -> Result<Vec<Record>, CliError> {
    let measured = sessions::sessions(known, &run.host)?;
    let station = station(options, &run.host)?;
    let mut records = Vec::new();
    for server in &measured {
        if server.session.bytes() == 0 {
            run.notes.add("sessions without payload do not fill a link: give --sessions-per-s");
        }
        let plan = Requirements {
            demands: demands(options, server),
            utilisation: options.utilisation,
            cores_per_machine: station.cores(),
            machines: options.prices.iter().flat_map(|prices| prices.machines.clone()).collect(),
        };
        records.extend(plan.forecast(&server.basis, &server.session)?);
        let service = service(options, server)?;
        records.extend(response_records(&server.basis, &station, &service, &LOADS)?);
        for other in measured.iter().filter(|other| other.is_opponent_of(server)) {
            let basis = server.basis.clone().and(&other.record)?;
            let sessions = [&server.session, &other.session];
            let ratio = server.ratio_against(other, known);
            records.push(saving_record(&basis, &other.by, sessions, ratio)?);
        }
    }
    run.output.records(&records)?;
    Ok(records)
}

fn demands(options: &Fleet, server: &MeasuredSession) -> Vec<Demand> {
    let links =
        options.gbps.iter().filter(|_| server.session.bytes() > 0).copied().map(Demand::gbps);
    let rates = options.sessions_per_s.iter().map(|rate| Demand::Sessions(PerSecond::new(*rate)));
    links.chain(rates).collect()
}

fn station(options: &Fleet, host: &Host) -> Result<Station, Error> {
    let cores = options.cores_per_machine.or(host.context.machine.logical_cores).unwrap_or(1);
    Station::new(cores, Discipline::OneQueue)
}

fn service(options: &Fleet, server: &MeasuredSession) -> Result<ServiceTime, Error> {
    ServiceTime::new(server.session.cpu_ns(), Estimate::exact(options.variation)?)
}

/// Reads a price file.
pub(crate) fn prices(file: &str) -> Result<Prices, String> {
    let text = read::text(Path::new(file)).map_err(|error| error.to_string())?;
    Prices::from_toml(&text).map_err(|error| error.to_string())
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    let range = (Bound::Excluded(0.0), Bound::Included(1e12));
    within(range, "give a number above 0, at most 10^12")(text)
}

fn utilisation(text: &str) -> Result<Utilisation, String> {
    let why = "give a share above 0 and at most 1";
    text.parse().ok().and_then(|share| Utilisation::new(share).ok()).ok_or_else(|| why.to_owned())
}
