//! Predictions of rung 5 as records.

use core::fmt;
use std::collections::BTreeMap;

use tollgate_record::vocabulary as word;
use tollgate_record::{
    Estimate, Kind, Machine, Quantity, Record, Service, Subject, Timestamp, Topic, Unit,
};

use crate::interval::{Slope, propagate};
use crate::queue::{Discipline, ServiceTime, Station};
use crate::{Demand, Error, Paid, PricedMachine, SessionCost, Utilisation, size};

/// Creates predicted records with their input records.
#[derive(Clone, Debug, PartialEq)]
pub struct Basis {
    subject: Subject,
    from: Vec<String>,
    machine: Machine,
    versions: BTreeMap<String, String>,
    commit: Option<String>,
    conditions: BTreeMap<String, String>,
    taken_at: Timestamp,
}

impl Basis {
    /// Prepares predictions for the subject and machine of `record`: `server/x?by=y` becomes
    /// `fleet/x?by=y`. `commit` is the commit of the predicting program, and `taken_at` is the time
    /// of the prediction.
    ///
    /// # Errors
    ///
    /// The new subject is too long.
    pub fn new(
        record: &Record,
        commit: Option<String>,
        taken_at: Timestamp,
    ) -> Result<Self, Error> {
        let topic = match record.subject.topic() {
            Topic::Server(service) => Topic::Fleet(service.clone()),
            other => Topic::Fleet(Service::Named(other.to_string())),
        };
        Ok(Self {
            subject: record.subject.with_topic(topic)?,
            from: vec![record.subject.to_string()],
            machine: record.machine.clone(),
            versions: record.versions.clone(),
            commit,
            conditions: BTreeMap::new(),
            taken_at,
        })
    }

    /// Adds an input record.
    ///
    /// # Errors
    ///
    /// The record is of another machine.
    pub fn and(mut self, record: &Record) -> Result<Self, Error> {
        // Each run measures the clock again, so the clock does not identify the machine.
        let is = |m: &Machine| Machine { core_clock_hz: None, ..m.clone() };
        if is(&self.machine) != is(&record.machine) {
            return Err(Error::NotComparable { what: "the machine" });
        }
        let subject = record.subject.to_string();
        if !self.from.contains(&subject) {
            self.from.push(subject);
        }
        Ok(self)
    }

    /// Adds a condition.
    #[must_use]
    pub fn condition(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.conditions.insert(key.to_owned(), value.to_string());
        self
    }

    /// Adds a parameter to the subject.
    ///
    /// # Errors
    ///
    /// The parameter is invalid.
    pub fn with(mut self, key: &str, value: impl fmt::Display) -> Result<Self, Error> {
        self.subject = self.subject.with(key, value)?;
        Ok(self)
    }

    /// Adds a demand as a parameter of the subject.
    fn for_demand(self, demand: Demand) -> Result<Self, Error> {
        match demand {
            Demand::Link(bits) => self.with(word::LINK_GBPS, bits.get() / 1e9),
            Demand::Sessions(rate) => self.with(word::DEMAND_PER_S, rate.get()),
        }
    }

    /// Creates the record of one figure.
    #[must_use]
    pub fn record(&self, quantity: Quantity, unit: Unit, estimate: Estimate) -> Record {
        let kind = Kind::Predicted { by: word::FLEET_RUNG.to_owned(), from: self.from.clone() };
        let (subject, machine) = (self.subject.clone(), self.machine.clone());
        Record {
            versions: self.versions.clone(),
            commit: self.commit.clone(),
            conditions: self.conditions.clone(),
            taken_at: self.taken_at,
            ..Record::new(subject, (quantity, unit, estimate), kind, machine)
        }
    }
}

/// The demands and parameters of a forecast.
///
/// ```
/// use tollgate_fleet::forecast::{Basis, Requirements};
/// use tollgate_fleet::{Demand, SessionCost, Utilisation};
/// use tollgate_record::{Estimate, Kind, Machine, Record, Timestamp, Unit};
///
/// let subject = "server/tls12-ecdhe-rsa-2048?by=tollgate&bytes=14336".parse()?;
/// let estimate = Estimate::new(500e3, (490e3, 510e3), 20)?;
/// let figure = ("cpu_ns_per_session".parse()?, Unit::Nanos, estimate);
/// let machine = Machine::unknown("Some Processor 9000");
/// let measured = Record::new(subject, figure, Kind::Measured, machine);
/// let session = SessionCost::from_record(&measured, 14_336)?;
/// let basis = Basis::new(&measured, None, Timestamp::now())?;
/// let requirements = Requirements {
///     demands: vec![Demand::gbps(10.0)],
///     utilisation: Utilisation::DEFAULT,
///     cores_per_machine: 64,
///     machines: Vec::new(),
/// };
/// let records = requirements.forecast(&basis, &session)?;
/// let ten = records.iter().find(|record| record.quantity.as_str() == "whole_cores").unwrap();
/// assert_eq!(ten.subject.parameter("link_gbps"), Some("10"));
/// assert_eq!(ten.estimate.point(), 63.0);
/// assert_eq!(ten.kind, Kind::Predicted {
///     by: "5-fleet".into(),
///     from: vec!["server/tls12-ecdhe-rsa-2048?by=tollgate&bytes=14336".into()],
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Requirements {
    /// The demands.
    pub demands: Vec<Demand>,
    /// The utilisation of the cores.
    pub utilisation: Utilisation,
    /// The number of cores of one machine.
    pub cores_per_machine: u32,
    /// Machines with a price.
    pub machines: Vec<PricedMachine>,
}

impl Requirements {
    /// Predicts rates per core; for each demand the number of cores, of machines, and of the cores
    /// that remain of the last machine; and the costs on each machine with a price.
    ///
    /// # Errors
    ///
    /// The errors of [`size()`]; a machine without cores; an invalid subject; a cost that is not
    /// finite.
    pub fn forecast(&self, basis: &Basis, session: &SessionCost) -> Result<Vec<Record>, Error> {
        let rate = session.sessions_per_s()?;
        let mut records = vec![basis.record(word::SESSIONS_PER_S_PER_CORE, Unit::PerSecond, rate)];
        if session.bytes() > 0 {
            let bits = session.bits_per_s()?;
            records.push(basis.record(word::BITS_PER_S_PER_CORE, Unit::PerSecond, bits));
        }
        let basis = basis.clone().condition(word::UTILISATION, self.utilisation);
        let cores = self.cores_per_machine;
        for &demand in &self.demands {
            let sizing = size(session, demand, self.utilisation)?;
            let basis = basis.clone().for_demand(demand)?.condition(word::CORES_PER_MACHINE, cores);
            records.extend([
                basis.record(word::CORES, Unit::Count, sizing.cores),
                basis.record(word::WHOLE_CORES, Unit::Count, sizing.whole_cores),
                basis.record(word::CORES_LEFT, Unit::Count, sizing.cores_left(cores)?),
                basis.record(word::MACHINES, Unit::Count, sizing.machines(cores)?),
            ]);
        }
        for machine in &self.machines {
            records.extend(self.costs(&basis, session, machine)?);
        }
        Ok(records)
    }

    /// Returns the price of a machine divided by its sessions per second; and the cost of a million
    /// sessions, unless a bought machine has no years of use.
    fn costs(
        &self,
        basis: &Basis,
        session: &SessionCost,
        machine: &PricedMachine,
    ) -> Result<Vec<Record>, Error> {
        let term = match machine.paid {
            Paid::Once { .. } => word::ONCE,
            Paid::PerHour(_) => word::YEAR,
        };
        let basis = basis
            .clone()
            .with(word::CURRENCY, &machine.currency)?
            .with(word::PRICED_MACHINE, &machine.name)?
            .condition(word::TERM, term)
            .condition(word::CORES_PER_MACHINE, machine.cores)
            .condition(word::PRICE, machine.stated())
            .condition(word::PRICE_SOURCE, format!("{}, {}", machine.source, machine.date));
        let per_session = machine.per_session_per_s(session, self.utilisation)?;
        let per_million = machine.cost_of_million(session, self.utilisation)?;
        let all = [
            (word::PRICE_PER_SESSION_PER_S, Some(per_session)),
            (word::COST_PER_MILLION, per_million),
        ];
        let record = |(quantity, amount): (_, Option<Estimate>)| {
            amount.map(|amount| basis.record(quantity, Unit::Count, amount))
        };
        Ok(all.into_iter().filter_map(record).collect())
    }
}

/// Returns the share of the CPU time that the engine of `basis` saves against the engine `against`:
/// from the ratio of the two times if they were measured in pairs, which is more accurate because
/// common disturbances cancel. It is negative if the engine costs more.
///
/// # Errors
///
/// `against` is not valid in a subject.
pub fn saving_record(
    basis: &Basis,
    against: &str,
    [ours, theirs]: [&SessionCost; 2],
    paired: Option<Estimate>,
) -> Result<Record, Error> {
    let share = match paired {
        Some(ratio) => propagate([(ratio, Slope::Falling)], |[ratio]| Ok(1.0 - ratio)),
        None => {
            let inputs = [(ours.cpu_ns(), Slope::Falling), (theirs.cpu_ns(), Slope::Rising)];
            propagate(inputs, |[ours, theirs]| Ok(1.0 - ours / theirs))
        }
    }?;
    Ok(basis.clone().with(word::AGAINST, against)?.record(word::SAVED_SHARE, Unit::Ratio, share))
}

impl Discipline {
    /// Returns the name in record subjects.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::OneQueue => "one_queue",
            Self::QueuePerCore => "queue_per_core",
        }
    }

    /// Returns the formula of this discipline, as records name it.
    const fn model(self) -> &'static str {
        match self {
            Self::OneQueue => {
                "M/G/c, Kimura 1986 with Cosmetatos 1975; mean CPU time as service time"
            }
            Self::QueuePerCore => "M/G/1 per core, Pollaczek-Khinchine; CPU time as service time",
        }
    }
}

/// Returns the response time against load. For each of `loads` (at least 0 and below 1), the
/// records contain the share of sessions that wait, the mean wait, the mean response time, and its
/// 0.99 quantile.
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
    let basis = basis
        .clone()
        .with(word::STATION_CORES, station.cores())?
        .with(word::LINE, station.discipline().word())?
        .condition(word::MODEL, station.discipline().model())
        .condition(word::SERVICE_NS, service.mean_ns().point())
        .condition(word::SCV, service.scv().point());
    let mut records = Vec::new();
    for &load in loads {
        let basis = basis.clone().with(word::LOAD, load)?;
        let response = station.at_load(load, service)?;
        let p99 = station.quantile_at_load(0.99, load, service)?;
        records.extend([
            basis.record(word::WAITING_SHARE, Unit::Ratio, response.waits),
            basis.record(word::WAIT_NS_MEAN, Unit::Nanos, response.wait_ns),
            basis.record(word::RESPONSE_NS_MEAN, Unit::Nanos, response.response_ns),
            basis.record(word::RESPONSE_NS_P99, Unit::Nanos, p99),
        ]);
    }
    Ok(records)
}
