//! Records of cost and saving. Amounts are counts of the currency that the subject names.

use tollgate_record::{Record, Unit};

use super::basis::Basis;
use crate::{Cost, Demand, Energy, Error, Price, Saving};
use tollgate_record::vocabulary as word;

/// The cost of a million sessions, and their energy where it is known; where it is not, the record
/// of the cost says so.
///
/// # Errors
///
/// None that a cost of [`crate::cost_of_million`] can cause.
pub fn cost_records(basis: &Basis, cost: &Cost) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    let energy = match cost.energy {
        Energy::Unknown => "unknown",
        Energy::Joules(joules) => {
            records.push(basis.record(word::JOULES_PER_MILLION, Unit::Count, joules)?);
            "known"
        }
    };
    let basis = priced(basis, cost.price)?.condition(word::ENERGY, energy);
    records.push(basis.record(word::COST_PER_MILLION, Unit::Count, cost.amount)?);
    Ok(records)
}

/// What the engine that `basis` is about saves against the engine `against` at a demand.
///
/// # Errors
///
/// `against` or the demand cannot be spelled in a subject.
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
        against.record(word::SAVED_SHARE, Unit::Ratio, saving.share)?,
        money.record(word::SAVED_PER_MILLION, Unit::Count, saving.amount_per_million)?,
        at_demand.record(word::SAVED_CORES, Unit::Count, saving.cores)?,
        per_year.record(word::SAVED_PER_YEAR, Unit::Count, saving.amount_per_year)?,
    ])
}

/// Subjects name the currency, conditions the price.
fn priced(basis: &Basis, price: Price) -> Result<Basis, Error> {
    let basis = basis.clone().with(word::CURRENCY, price.currency())?;
    Ok(basis.condition(word::PRICE_PER_CORE_HOUR, price.amount()))
}
