//! Records of measured, predicted and published figures.

use std::collections::BTreeMap;

use tollgate_processor::Bound;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Machine, Quantity, Record, Subject, Timestamp, Unit};

use crate::error::CliError;
use crate::host::Host;

/// Makes records with a common machine and common conditions.
pub(crate) struct Figures<'a> {
    host: &'a Host,
    conditions: BTreeMap<String, String>,
}

impl<'a> Figures<'a> {
    /// Makes records of this machine.
    pub(crate) fn new(host: &'a Host) -> Self {
        Self { host, conditions: host.conditions.clone() }
    }

    /// Adds conditions.
    pub(crate) fn with(&self, more: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut conditions = self.conditions.clone();
        conditions.extend(more);
        Self { host: self.host, conditions }
    }

    /// A measured figure.
    pub(crate) fn measured(
        &self,
        subject: &Subject,
        quantity: Quantity,
        unit: Unit,
        estimate: Estimate,
    ) -> Record {
        Record {
            subject: subject.clone(),
            quantity,
            unit,
            estimate,
            kind: Kind::Measured,
            machine: self.host.machine.clone(),
            versions: self.host.versions.clone(),
            commit: self.host.commit.clone(),
            conditions: self.conditions.clone(),
            taken_at: Timestamp::now(),
        }
    }

    /// A bound of the model; the record contains its limit and its rates.
    ///
    /// # Errors
    ///
    /// The bound is not finite.
    pub(crate) fn bound(
        &self,
        subject: &Subject,
        quantity: Quantity,
        bound: Bound,
    ) -> Result<Record, CliError> {
        let estimate = Estimate::exact(bound.cycles.get()).map_err(CliError::from_error)?;
        let limit = (word::LIMIT.to_owned(), bound.limit.to_string());
        let kind = Kind::Predicted {
            by: word::MODEL_RUNG.to_owned(),
            from: self.host.model.sources().collect(),
        };
        Ok(Record {
            kind,
            ..self.with([limit]).measured(subject, quantity, Unit::Cycles, estimate)
        })
    }

    /// A published figure, for a machine that is known only by name.
    pub(crate) fn published(
        &self,
        subject: &Subject,
        quantity: Quantity,
        (unit, estimate): (Unit, Estimate),
        (machine, source): (&str, &str),
    ) -> Record {
        Record {
            kind: Kind::Published { source: source.to_owned() },
            machine: Machine::unknown(machine),
            versions: BTreeMap::new(),
            commit: None,
            conditions: BTreeMap::new(),
            ..self.measured(subject, quantity, unit, estimate)
        }
    }
}
