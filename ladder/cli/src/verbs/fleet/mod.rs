//! `tollgate fleet`: cores, costs and response times from the cost of a session.

pub(crate) mod options;

mod sessions;

use std::process::ExitCode;

use tollgate_fleet::forecast::{
    Requirements, double_record, gain_records, response_records, saving_records,
};
use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
use tollgate_fleet::{Compared, Demand, Error, Power, Price, saving};
use tollgate_record::{Area, Estimate, PerSecond, Record};
use tollgate_report::{fleet as fleet_table, heading};

use crate::error::CliError;
use crate::host::Host;

use crate::options::Fleet as Options;
use crate::run::{Notes, Run};

use sessions::MeasuredSession;
pub(crate) use sessions::rests_on;

/// The loads of the response times.
const LOADS: [f64; 5] = [0.5, 0.7, 0.8, 0.9, 0.95];

/// Reads records, computes and prints.
pub(crate) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let known = sessions::read(options)?;
    let mut run = Run::new(options.written.json.as_deref())?;
    let predicted = collect(options, &known, &mut run)?;
    // Show the input records, except earlier forecasts.
    let of_server = |record: &&Record| record.subject.area() == Area::Server;
    let records = [known.iter().filter(of_server).cloned().collect(), predicted].concat();
    let heading = heading::lines(&records) + "\n";
    run.end(&(heading + &fleet_table::table(&records)))
}

/// Predictions from the server records among `known`.
pub(crate) fn collect(
    options: &Options,
    known: &[Record],
    run: &mut Run,
) -> Result<Vec<Record>, CliError> {
    let Run { host, output, notes } = run;
    let given = sessions::sessions(known, host)?;
    let mut records = Vec::new();
    for one in &given {
        let found = alone(options, host, one, notes)?;
        records.extend(found);
        for other in given.iter().filter(|other| other.is_opponent_of(one)) {
            let found = compared(options, host, known, (one, other), notes);
            records.extend(found?);
        }
    }
    output.records(&records)?;
    Ok(records)
}

/// Sizes, costs and response times of one engine.
fn alone(
    options: &Options,
    host: &Host,
    one: &MeasuredSession,
    notes: &mut Notes,
) -> Result<Vec<Record>, Error> {
    let power = match options.watts {
        Some(watts) => Power::WattsPerCore(Estimate::exact(watts)?),
        None => Power::Unknown,
    };
    if one.session.bytes() == 0 {
        notes.add("sessions without payload do not fill a link: give --sessions-per-s".to_owned());
    }
    let plan = Requirements {
        demands: demands(options, one),
        utilisation: options.utilisation,
        cores_per_machine: Some(cores(options, host)),
        price: price(options)?,
        power,
    };
    let mut records = plan.forecast(&one.basis, &one.session)?;
    let (station, service) = (station(options, host)?, service(options, one)?);
    records.extend(response_records(&one.basis, &station, &service, &LOADS)?);
    records.push(double_record(&one.basis, &station, &service)?);
    Ok(records)
}

/// Savings of one engine compared with another, and its gain at one arrival rate.
fn compared(
    options: &Options,
    host: &Host,
    known: &[Record],
    (one, other): (&MeasuredSession, &MeasuredSession),
    notes: &mut Notes,
) -> Result<Vec<Record>, Error> {
    let basis = one.basis.clone().and(&other.record)?;
    let mut records = Vec::new();
    if let Some(price) = price(options)? {
        let how = match one.ratio_against(other, known) {
            Some(ratio) => Compared::Paired { times_as_fast: ratio.inverted(1.0)? },
            None => Compared::Apart,
        };
        for demand in demands(options, one) {
            let utilisation = options.utilisation;
            let saved = saving(&other.session, &one.session, how, demand, utilisation, price)?;
            records.extend(saving_records(&basis, &other.by, demand, price, &saved)?);
        }
        // The saved share, and the amount for a million sessions, are the same for every demand.
        let mut seen = Vec::new();
        records.retain(|record: &Record| {
            let name = (record.subject.clone(), record.quantity);
            !seen.contains(&name) && {
                seen.push(name);
                true
            }
        });
    }
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

fn demands(options: &Options, one: &MeasuredSession) -> Vec<Demand> {
    let links = options.gbps.iter().filter(|_| one.session.bytes() > 0).copied().map(Demand::gbps);
    let rates = options.sessions_per_s.iter().map(|rate| Demand::Sessions(PerSecond::new(*rate)));
    links.chain(rates).collect()
}

fn price(options: &Options) -> Result<Option<Price>, Error> {
    let price = |amount| Price::per_core_hour(amount, options.currency);
    options.price_per_core_hour.map(price).transpose()
}

/// Cores of one machine.
fn cores(options: &Options, host: &Host) -> u32 {
    options.cores_per_machine.or(host.machine.logical_cores).unwrap_or(1)
}

fn station(options: &Options, host: &Host) -> Result<Station, Error> {
    Station::new(cores(options, host), Discipline::OneQueue)
}

fn service(options: &Options, one: &MeasuredSession) -> Result<ServiceTime, Error> {
    ServiceTime::new(one.session.cpu_ns(), Estimate::exact(options.variation)?)
}
