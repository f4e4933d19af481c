//! `tollgate fleet`: cores, costs and response times from the cost of a session.

mod mix;
mod money;
mod patience;
mod sessions;
mod signers;
mod what_if;

use core::ops::Bound;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use tollgate_fleet::forecast::{Requirements, double_record, gain_records, response_records};
use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
use tollgate_fleet::{Demand, Error, Prices, Utilisation};
use tollgate_record::{Area, Estimate, PerSecond, Record};
use tollgate_report::{fleet as fleet_table, heading};

use crate::error::CliError;
use crate::host::Host;
use crate::options::values::{Written, share, within};
use crate::run::{Notes, Run};

use mix::Mixed;
pub(crate) use money::prices;
use patience::Patience;
use sessions::MeasuredSession;
pub(crate) use sessions::rests_on;
use signers::Signers;
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
    /// Predict how many signers many front ends need, and how long an answer takes
    Signers(Signers),
    /// Predict the CPU time of measured sessions after a change of key, engine, suite, resumption or
    /// cores
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

    /// Shares of kinds of sessions, one for the session of each file, separated by commas, as in
    /// 0.2,0.8
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = share)]
    #[arg(requires = "files")]
    pub(crate) mix: Vec<f64>,

    #[command(flatten)]
    pub(crate) patience: Patience,

    /// Prices and power of machines; without them no costs and no energy are computed
    #[arg(long, value_name = "FILE", value_parser = money::prices)]
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
        Some(SubVerb::Signers(options)) => signers::run(options),
        Some(SubVerb::WhatIf(options)) => what_if::run(options),
    }
}

fn sized(options: &Fleet) -> Result<ExitCode, CliError> {
    let read = sessions::read(options)?;
    let mut run = Run::new(options.written.json.as_deref())?;
    let (known, mixed) = match &*options.mix {
        [] => (read.clone(), Vec::new()),
        shares => mix::read(options, shares, &run.host)?,
    };
    if !mixed.is_empty() {
        run.output.records(&known)?; // the predictions name them
    }
    let predicted = forecast(options, &known, &mixed, &mut run)?;
    // Show the input records, except earlier forecasts.
    let of_server = |record: &&Record| record.subject.area() == Area::Server;
    let records = [known.iter().filter(of_server).cloned().collect(), predicted].concat();
    let heading = [read.iter().filter(of_server).cloned().collect(), records.clone()].concat();
    let heading = heading::lines(&heading) + "\n";
    let late = patience::text(&records);
    let mut published = tollgate_published::records();
    published.retain(|record| record.subject.area() == Area::Fleet);
    let beside = [records, published].concat();
    run.end(&(heading + &fleet_table::table(&beside) + &late))
}

/// Returns predictions from the server records among `known`.
pub(crate) fn collect(
    options: &Fleet,
    known: &[Record],
    run: &mut Run,
) -> Result<Vec<Record>, CliError> {
    forecast(options, known, &[], run)
}

/// Returns the same predictions, if some sessions are mixed.
fn forecast(
    options: &Fleet,
    known: &[Record],
    mixed: &[Mixed],
    run: &mut Run,
) -> Result<Vec<Record>, CliError> {
    let Run { host, output, notes } = run;
    let mut given = sessions::sessions(known, host)?;
    for one in &mut given {
        one.kinds = mixed.iter().find(|mixed| mixed.by == one.by).map(|mixed| mixed.kinds.clone());
    }
    let mut records = Vec::new();
    for one in &given {
        records.extend(alone(options, host, one, notes)?);
        let (station, service) = (station(options, host)?, service(options, one)?);
        records.extend(options.patience.records(one, &station, &service)?);
        for other in given.iter().filter(|other| other.is_opponent_of(one)) {
            let found = compared(options, host, known, (one, other), notes);
            records.extend(found?);
        }
    }
    output.records(&records)?;
    Ok(records)
}

fn alone(
    options: &Fleet,
    host: &Host,
    one: &MeasuredSession,
    notes: &mut Notes,
) -> Result<Vec<Record>, Error> {
    if one.session.bytes() == 0 {
        notes.add("sessions without payload do not fill a link: give --sessions-per-s".to_owned());
    }
    let plan = Requirements {
        demands: demands(options, one),
        utilisation: options.utilisation,
        cores_per_machine: Some(cores(options, host)),
        machines: money::machines(options).to_vec(),
    };
    let mut records = plan.forecast(&one.basis, &one.session)?;
    let (station, service) = (station(options, host)?, service(options, one)?);
    records.extend(response_records(&one.basis, &station, &service, &LOADS)?);
    records.push(double_record(&one.basis, &station, &service)?);
    Ok(records)
}

/// Returns the savings of one engine compared with another, and its gain at one arrival rate.
fn compared(
    options: &Fleet,
    host: &Host,
    known: &[Record],
    (one, other): (&MeasuredSession, &MeasuredSession),
    notes: &mut Notes,
) -> Result<Vec<Record>, Error> {
    let basis = one.basis.clone().and(&other.record)?;
    let mut records = money::savings(options, known, &basis, (one, other))?;
    let station = station(options, host)?;
    let (ours, theirs) = (service(options, one)?, service(options, other)?);
    // The arrival rate at which the slower engine has the given utilisation.
    let slower = ours.mean_ns().point().max(theirs.mean_ns().point());
    let per_core = 1e9 / slower * options.utilisation.get();
    let rate = PerSecond::new((per_core * f64::from(station.cores())).floor());
    match station.gain(rate, &theirs, &ours) {
        Ok(gain) => records.extend(gain_records(&basis, &other.by, &station, rate, &gain)?),
        Err(error @ (Error::Unstable { .. } | Error::PerhapsUnstable { .. })) => {
            notes.add(format!("no gain in response time was computed: {error}"));
        }
        Err(error) => return Err(error),
    }
    Ok(records)
}

fn demands(options: &Fleet, one: &MeasuredSession) -> Vec<Demand> {
    let links = options.gbps.iter().filter(|_| one.session.bytes() > 0).copied().map(Demand::gbps);
    let rates = options.sessions_per_s.iter().map(|rate| Demand::Sessions(PerSecond::new(*rate)));
    links.chain(rates).collect()
}

fn cores(options: &Fleet, host: &Host) -> u32 {
    options.cores_per_machine.or(host.context.machine.logical_cores).unwrap_or(1)
}

fn station(options: &Fleet, host: &Host) -> Result<Station, Error> {
    Station::new(cores(options, host), Discipline::OneQueue)
}

fn service(options: &Fleet, one: &MeasuredSession) -> Result<ServiceTime, Error> {
    let variation = Estimate::exact(options.variation)?;
    let Some(kinds) = &one.kinds else {
        return ServiceTime::new(one.session.cpu_ns(), variation);
    };
    let of_kind =
        |(share, cpu_ns): &(f64, Estimate)| Ok((*share, ServiceTime::new(*cpu_ns, variation)?));
    ServiceTime::mixed(&kinds.iter().map(of_kind).collect::<Result<Vec<_>, Error>>()?)
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    let range = (Bound::Excluded(0.0), Bound::Included(1e12));
    within(range, "give a number above 0, at most 10^12")(text)
}

fn utilisation(text: &str) -> Result<Utilisation, String> {
    let why = "give a share above 0 and at most 1";
    text.parse().ok().and_then(|share| Utilisation::new(share).ok()).ok_or_else(|| why.to_owned())
}
