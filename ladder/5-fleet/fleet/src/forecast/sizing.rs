//! Records of rates per core and of cores per demand.

use tollgate_record::{Record, Unit};

use super::basis::Basis;
use crate::{Demand, Error, SessionCost, Sizing};
use tollgate_record::vocabulary as word;

/// Returns the sessions per second and the payload bits per second of one core. There is no record
/// of bits if the session has no payload.
///
/// # Errors
///
/// A rate is not finite.
pub fn per_core_records(basis: &Basis, session: &SessionCost) -> Result<Vec<Record>, Error> {
    let sessions = session.sessions_per_s()?;
    let mut records = vec![basis.record(word::SESSIONS_PER_S_PER_CORE, Unit::PerSecond, sessions)];
    if session.bytes() > 0 {
        let bits = session.bits_per_s()?;
        records.push(basis.record(word::BITS_PER_S_PER_CORE, Unit::PerSecond, bits));
    }
    Ok(records)
}

/// Returns the number of cores for a demand. If `cores_per_machine` is given, the records also
/// contain the number of machines and the cores that remain.
///
/// # Errors
///
/// A machine without cores.
pub fn sizing_records(
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
