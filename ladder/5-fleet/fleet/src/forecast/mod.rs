//! Predictions of rung 5 as records.

mod basis;
mod queueing;

pub use basis::Basis;
pub use queueing::{double_record, gain_records, response_records};

use tollgate_record::{Record, Unit, vocabulary as word};

use crate::Error;
use crate::cost::{Cost, Energy, Power, Price, Saving, cost_of_million};
use crate::demand::{Demand, Utilisation};
use crate::session::SessionCost;
use crate::sizing::{Sizing, size};

/// The demands and parameters of a forecast.
///
/// ```
/// use tollgate_fleet::forecast::{Basis, Requirements};
/// use tollgate_fleet::SessionCost;
/// use tollgate_record::{Estimate, Kind, Machine, Record, Timestamp, Unit};
///
/// let subject = "server/tls12-ecdhe-rsa-2048?by=tollgate&bytes=14336".parse()?;
/// let estimate = Estimate::new(500e3, (490e3, 510e3), 20)?;
/// let figure = ("cpu_ns_per_session".parse()?, Unit::Nanos, estimate);
/// let machine = Machine::unknown("Some Processor 9000");
/// let measured = Record::new(subject, figure, Kind::Measured, machine);
/// let session = SessionCost::from_record(&measured, 14_336)?;
/// let basis = Basis::of(&measured, None, Timestamp::now())?;
/// let records = Requirements::default().forecast(&basis, &session)?;
/// let ten = records.iter().find(|r| {
///     r.subject.parameter("link_gbps") == Some("10") && r.quantity.as_str() == "whole_cores"
/// });
/// assert_eq!(ten.unwrap().estimate.point(), 63.0);
/// assert_eq!(ten.unwrap().kind, Kind::Predicted {
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
    /// Cores of one machine.
    pub cores_per_machine: Option<u32>,
    /// The price of a core.
    pub price: Option<Price>,
    /// The power of a core.
    pub power: Power,
}

impl Default for Requirements {
    /// Links of 1, 10 and 100 Gbps at 70 % utilisation; no machine, no price, power unknown.
    fn default() -> Self {
        Self {
            demands: [1.0, 10.0, 100.0].map(Demand::gbps).to_vec(),
            utilisation: Utilisation::DEFAULT,
            cores_per_machine: None,
            price: None,
            power: Power::Unknown,
        }
    }
}

impl Requirements {
    /// Predicts rates per core, and the number of cores for each demand. If there is a price, it
    /// also predicts the cost of a million sessions.
    ///
    /// # Errors
    ///
    /// The errors of [`size()`] and [`cost_of_million`]; an invalid subject.
    pub fn forecast(&self, basis: &Basis, session: &SessionCost) -> Result<Vec<Record>, Error> {
        let mut records = per_core_records(basis, session)?;
        let basis = &basis.clone().condition(word::UTILISATION, self.utilisation);
        for &demand in &self.demands {
            let sizing = size(session, demand, self.utilisation)?;
            records.extend(sizing_records(basis, demand, &sizing, self.cores_per_machine)?);
        }
        if let Some(price) = self.price {
            let cost = cost_of_million(session, self.utilisation, price, self.power)?;
            records.extend(cost_records(basis, &cost)?);
        }
        Ok(records)
    }
}

/// Sessions per second and payload bits per second of one core. There is no record of bits if the
/// session has no payload.
fn per_core_records(basis: &Basis, session: &SessionCost) -> Result<Vec<Record>, Error> {
    let sessions = session.sessions_per_s()?;
    let mut records = vec![basis.record(word::SESSIONS_PER_S_PER_CORE, Unit::PerSecond, sessions)];
    if session.bytes() > 0 {
        let bits = session.bits_per_s()?;
        records.push(basis.record(word::BITS_PER_S_PER_CORE, Unit::PerSecond, bits));
    }
    Ok(records)
}

/// The number of cores for a demand. If `cores_per_machine` is given, the records also contain the
/// number of machines and the cores that remain.
fn sizing_records(
    basis: &Basis,
    demand: Demand,
    sizing: &Sizing,
    cores_per_machine: Option<u32>,
) -> Result<Vec<Record>, Error> {
    let basis = basis.clone().for_demand(demand)?;
    let mut records = vec![
        basis.record(word::CORES, Unit::Count, sizing.cores),
        basis.record(word::WHOLE_CORES, Unit::Count, sizing.whole_cores),
    ];
    if let Some(cores) = cores_per_machine {
        let basis = basis.condition(word::CORES_PER_MACHINE, cores);
        let (left, machines) = (sizing.cores_left(cores)?, sizing.machines(cores)?);
        records.push(basis.record(word::CORES_LEFT, Unit::Count, left));
        records.push(basis.record(word::MACHINES, Unit::Count, machines));
    }
    Ok(records)
}

/// The cost of a million sessions in the currency of the subject, and their energy if it is known. A condition of the cost states
/// the power, or that the power is unknown.
fn cost_records(basis: &Basis, cost: &Cost) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    let energy = match cost.energy {
        Energy::Unknown => "unknown",
        Energy::Joules(joules) => {
            records.push(basis.record(word::JOULES_PER_MILLION, Unit::Count, joules));
            "known"
        }
    };
    let basis = priced(basis, cost.price)?.condition(word::ENERGY, energy);
    records.push(basis.record(word::COST_PER_MILLION, Unit::Count, cost.amount));
    Ok(records)
}

/// The savings at a demand if the engine of `basis` replaces the engine `against`.
///
/// # Errors
///
/// `against` or the demand is not valid in a subject.
pub fn saving_records(
    basis: &Basis,
    against: &str,
    demand: Demand,
    price: Price,
    saving: &Saving,
) -> Result<Vec<Record>, Error> {
    let against = basis.clone().with(word::AGAINST, against)?;
    let money = priced(&against, price)?;
    let at_demand = against.clone().for_demand(demand)?;
    let per_year = money.clone().for_demand(demand)?;
    Ok(vec![
        against.record(word::SAVED_SHARE, Unit::Ratio, saving.share),
        money.record(word::SAVED_PER_MILLION, Unit::Count, saving.amount_per_million),
        at_demand.record(word::SAVED_CORES, Unit::Count, saving.cores),
        per_year.record(word::SAVED_PER_YEAR, Unit::Count, saving.amount_per_year),
    ])
}

/// Adds the currency to the subject and the price to the conditions.
fn priced(basis: &Basis, price: Price) -> Result<Basis, Error> {
    let basis = basis.clone().with(word::CURRENCY, price.currency())?;
    Ok(basis.condition(word::PRICE_PER_CORE_HOUR, price.amount()))
}
