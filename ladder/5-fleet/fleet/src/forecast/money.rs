//! Records of costs and savings. Amounts are counts of the currency in the subject.

use tollgate_record::{Record, Unit};

use super::basis::Basis;
use crate::cost::{cost_of_million, energy_of_million};
use crate::{Demand, Energy, Error, Paid, PricedMachine, Saving, SessionCost, Utilisation};
use tollgate_record::vocabulary as word;

/// Returns the price of a machine divided by its sessions per second; the cost of a million
/// sessions, unless a bought machine has no years of use; and the energy of a million sessions, if
/// it is known. A condition states whether it is known.
///
/// # Errors
///
/// A result that is not finite.
pub fn cost_records(
    basis: &Basis,
    session: &SessionCost,
    utilisation: Utilisation,
    machine: &PricedMachine,
) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    let on_machine = basis.clone().with(word::PRICED_MACHINE, &machine.name)?;
    let power = machine.power()?;
    let energy = match energy_of_million(session, power)? {
        Energy::Unknown => "unknown",
        Energy::Joules(joules) => {
            records.push(on_machine.record(word::JOULES_PER_MILLION, Unit::Count, joules));
            "known"
        }
    };
    let basis = priced(basis, machine)?.condition(word::ENERGY, energy);
    let per_session = machine.per_session_per_s(session, utilisation)?;
    records.push(basis.record(word::PRICE_PER_SESSION_PER_S, Unit::Count, per_session));
    if let Some(price) = machine.per_core_hour()? {
        let cost = cost_of_million(session, utilisation, price, power)?;
        records.push(basis.record(word::COST_PER_MILLION, Unit::Count, cost.amount));
    }
    Ok(records)
}

/// Returns the savings at a demand and on a machine if the engine of `basis` replaces the engine
/// `against`.
///
/// # Errors
///
/// `against` or the demand is not valid in a subject.
pub fn saving_records(
    basis: &Basis,
    against: &str,
    demand: Demand,
    machine: &PricedMachine,
    saving: &Saving,
) -> Result<Vec<Record>, Error> {
    let against = basis.clone().with(word::AGAINST, against)?;
    let money = priced(&against, machine)?;
    let at_demand = against.clone().for_demand(demand)?;
    let per_year = money.clone().for_demand(demand)?;
    Ok(vec![
        against.record(word::SAVED_SHARE, Unit::Ratio, saving.share),
        money.record(word::SAVED_PER_MILLION, Unit::Count, saving.amount_per_million),
        at_demand.record(word::SAVED_CORES, Unit::Count, saving.cores),
        per_year.record(word::SAVED_PER_YEAR, Unit::Count, saving.amount_per_year),
    ])
}

/// Adds the machine and the currency to the subject, and the price to the conditions.
fn priced(basis: &Basis, machine: &PricedMachine) -> Result<Basis, Error> {
    let term = match machine.paid {
        Paid::Once { .. } => word::ONCE,
        Paid::PerHour(_) => word::YEAR,
    };
    let basis = basis
        .clone()
        .with(word::CURRENCY, machine.currency)?
        .with(word::PRICED_MACHINE, &machine.name)?
        .condition(word::TERM, term)
        .condition(word::CORES_PER_MACHINE, machine.cores)
        .condition(word::PRICE, machine.stated())
        .condition(word::PRICE_SOURCE, format!("{}, {}", machine.source, machine.date));
    Ok(match machine.per_core_hour()? {
        Some(price) => basis.condition(word::PRICE_PER_CORE_HOUR, price.amount()),
        None => basis,
    })
}
