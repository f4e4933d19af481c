//! Prices of machines, and the savings of one engine compared with another.

use std::path::Path;

use tollgate_fleet::forecast::{Basis, saving_records};
use tollgate_fleet::{Compared, Error, PricedMachine, Prices, saving};
use tollgate_record::Record;

use super::sessions::MeasuredSession;
use super::{Fleet, demands};
use crate::read;

/// Reads a price file.
pub(crate) fn prices(file: &str) -> Result<Prices, String> {
    let text = read::text(Path::new(file)).map_err(|error| error.to_string())?;
    Prices::from_toml(&text).map_err(|error| error.to_string())
}

pub(super) fn machines(options: &Fleet) -> &[PricedMachine] {
    options.prices.as_ref().map_or(&[], Prices::machines)
}

/// Returns the savings if the first engine replaces the second, for each demand and each machine
/// whose core-hours have a price.
pub(super) fn savings(
    options: &Fleet,
    known: &[Record],
    basis: &Basis,
    (one, other): (&MeasuredSession, &MeasuredSession),
) -> Result<Vec<Record>, Error> {
    let how = match one.ratio_against(other, known) {
        Some(ratio) => Compared::Paired { times_as_fast: ratio.inverted(1.0)? },
        None => Compared::Apart,
    };
    let mut records: Vec<Record> = Vec::new();
    for machine in machines(options) {
        let Some(price) = machine.per_core_hour()? else { continue };
        for demand in demands(options, one) {
            let utilisation = options.utilisation;
            let saved = saving(&other.session, &one.session, how, demand, utilisation, price)?;
            for record in saving_records(basis, &other.by, demand, machine, &saved)? {
                // Some amounts are the same for every demand.
                let is_known = |known: &Record| {
                    known.subject == record.subject && known.quantity == record.quantity
                };
                if !records.iter().any(is_known) {
                    records.push(record);
                }
            }
        }
    }
    Ok(records)
}
