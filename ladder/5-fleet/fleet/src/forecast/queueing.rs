//! Records of response times and of bursts.

use tollgate_record::{PerSecond, Record, Unit};

use super::basis::Basis;
use crate::burst::{Backlog, Burst};
use crate::queue::{Discipline, Gain, Response, ServiceTime, Station};
use crate::{Demand, Error};
use tollgate_record::vocabulary as word;

impl Discipline {
    /// Returns the name in record subjects.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::OneQueue => "one_queue",
            Self::QueuePerCore => "queue_per_core",
            Self::Sharing => "sharing",
        }
    }

    /// Returns the formula of this discipline, as records name it.
    const fn model(self) -> &'static str {
        match self {
            Self::OneQueue => {
                "M/G/c, Kimura 1986 with Cosmetatos 1975; mean CPU time as service time"
            }
            Self::QueuePerCore => "M/G/1 per core, Pollaczek-Khinchine; CPU time as service time",
            Self::Sharing => "M/G/1 per core, processor sharing; CPU time as service time",
        }
    }
}

/// Returns the response time against load. For each of `loads` (at least 0 and below 1), the
/// records contain the share of sessions that wait, the mean wait and the mean response time. For
/// [`Discipline::OneQueue`] and [`Discipline::QueuePerCore`] they also contain the 0.99 quantile of
/// the response time.
///
/// # Errors
///
/// [`Error::Unstable`] for a load of 1 or more.
pub fn response_records(
    basis: &Basis,
    station: &Station,
    service: &ServiceTime,
    loads: &[f64],
) -> Result<Vec<Record>, Error> {
    let basis = at_station(basis, station, service)?;
    let mut records = Vec::new();
    for &load in loads {
        let basis = basis.clone().with(word::LOAD, load)?;
        let Response { waits, wait_ns, response_ns, .. } = station.at_load(load, service)?;
        records.push(basis.record(word::WAITING_SHARE, Unit::Ratio, waits));
        records.push(basis.record(word::WAIT_NS_MEAN, Unit::Nanos, wait_ns));
        records.push(basis.record(word::RESPONSE_NS_MEAN, Unit::Nanos, response_ns));
        if station.discipline() != Discipline::Sharing {
            let p99 = station.quantile_at_load(0.99, load, service)?;
            records.push(basis.record(word::RESPONSE_NS_P99, Unit::Nanos, p99));
        }
    }
    Ok(records)
}

/// Returns the load at which the mean response time is twice the service time.
///
/// # Errors
///
/// An invalid subject.
pub fn double_record(
    basis: &Basis,
    station: &Station,
    service: &ServiceTime,
) -> Result<Record, Error> {
    let load = station.load_where(2.0, service)?;
    Ok(at_station(basis, station, service)?.record(word::LOAD_WHERE_DOUBLE, Unit::Ratio, load))
}

/// Returns the gain of the engine of `basis` over the engine `against` at one arrival rate.
///
/// # Errors
///
/// `against` is not valid in a subject.
pub fn gain_records(
    basis: &Basis,
    against: &str,
    station: &Station,
    rate: PerSecond,
    gain: &Gain,
) -> Result<Vec<Record>, Error> {
    let against = basis.clone().with(word::AGAINST, against)?;
    let placed = placed(&against, station)?.for_demand(Demand::Sessions(rate))?;
    Ok(vec![
        against.record(word::CAPACITY_GAIN, Unit::Ratio, gain.capacity),
        placed.record(word::RESPONSE_GAIN, Unit::Ratio, gain.response),
    ])
}

/// Returns the backlog of a burst on `cores` cores.
///
/// # Errors
///
/// An invalid subject.
pub fn backlog_records(
    basis: &Basis,
    burst: &Burst,
    cores: u32,
    backlog: &Backlog,
) -> Result<Vec<Record>, Error> {
    let basis = basis
        .clone()
        .with(word::STATION_CORES, cores)?
        .with(word::BURST_PER_S, burst.rate.get())?
        .with(word::BURST_NS, burst.length.get())?
        .with(word::DEMAND_PER_S, burst.usual.get())?
        .condition(word::MODEL, "fluid approximation");
    Ok(vec![
        basis.record(word::BACKLOG_SESSIONS, Unit::Count, backlog.sessions),
        basis.record(word::BACKLOG_WAIT_NS, Unit::Nanos, backlog.wait_ns),
        basis.record(word::BACKLOG_DRAIN_NS, Unit::Nanos, backlog.drain_ns),
    ])
}

fn at_station(basis: &Basis, station: &Station, service: &ServiceTime) -> Result<Basis, Error> {
    Ok(placed(basis, station)?
        .condition(word::SERVICE_NS, service.mean_ns().point())
        .condition(word::SCV, service.scv().point()))
}

fn placed(basis: &Basis, station: &Station) -> Result<Basis, Error> {
    Ok(basis
        .clone()
        .with(word::STATION_CORES, station.cores())?
        .with(word::LINE, station.discipline().word())?
        .condition(word::MODEL, station.discipline().model()))
}
