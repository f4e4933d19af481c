//! Predictions of rung 5 as records.

mod basis;
mod money;
mod queueing;
mod sizing;

pub use basis::Basis;
pub use money::{cost_records, saving_records};
pub use queueing::{backlog_records, double_record, gain_records, response_records};
pub use sizing::{per_core_records, sizing_records};

use tollgate_record::{Record, vocabulary as word};

use crate::demand::{Demand, Utilisation};
use crate::prices::PricedMachine;
use crate::session::SessionCost;
use crate::{Error, size};

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
    /// The number of cores of one machine.
    pub cores_per_machine: Option<u32>,
    /// Machines with a price.
    pub machines: Vec<PricedMachine>,
}

impl Default for Requirements {
    /// Returns links of 1, 10, 25 and 100 Gbps at 70 % utilisation, without machines.
    fn default() -> Self {
        Self {
            demands: [1.0, 10.0, 25.0, 100.0].map(Demand::gbps).to_vec(),
            utilisation: Utilisation::DEFAULT,
            cores_per_machine: None,
            machines: Vec::new(),
        }
    }
}

impl Requirements {
    /// Predicts rates per core, the number of cores for each demand, and the costs on each machine
    /// with a price.
    ///
    /// # Errors
    ///
    /// The errors of [`size()`]; an invalid subject; a cost that is not finite.
    pub fn forecast(&self, basis: &Basis, session: &SessionCost) -> Result<Vec<Record>, Error> {
        let mut records = per_core_records(basis, session)?;
        let basis = &basis.clone().condition(word::UTILISATION, self.utilisation);
        for &demand in &self.demands {
            let sizing = size(session, demand, self.utilisation)?;
            records.extend(sizing_records(basis, demand, &sizing, self.cores_per_machine)?);
        }
        for machine in &self.machines {
            records.extend(cost_records(basis, session, self.utilisation, machine)?);
        }
        Ok(records)
    }
}
