//! Records of costs and savings. Amounts are counts of the currency in the subject.

use tollgate_record::{Record, Unit};

use super::basis::Basis;
use crate::{Cost, Demand, Energy, Error, Price, Saving};
use tollgate_record::vocabulary as word;

/// Returns the cost of a million sessions, and their energy if it is known. A condition of the cost
/// states the power, or that the power is unknown.
///
/// # Errors
///
/// None for a result of [`crate::cost_of_million`].
pub fn cost_records(basis: &Basis, cost: &Cost) -> Result<Vec<Record>, Error> {
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

/// Returns the savings at a demand if the engine of `basis` replaces the engine `against`.
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
