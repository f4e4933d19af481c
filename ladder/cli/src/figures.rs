//! Records of measured, predicted and published figures.

use core::fmt;
use std::collections::BTreeMap;

use tollgate_load::Context;
use tollgate_processor::Bound;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Quantity, Record, Subject, Topic, Unit};

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
        Self { host, conditions: host.context.conditions.clone() }
    }

    /// Makes records of a row that is measured for this number of seconds.
    pub(crate) fn of_row(host: &'a Host, seconds: f64) -> Self {
        Self::new(host).with([(word::SECONDS_PER_ROW, seconds)])
    }

    pub(crate) fn with<V: ToString>(
        &self,
        more: impl IntoIterator<Item = (&'static str, V)>,
    ) -> Self {
        let mut conditions = self.conditions.clone();
        let more = more.into_iter().map(|(key, value)| (key.to_owned(), value.to_string()));
        conditions.extend(more);
        Self { host: self.host, conditions }
    }

    pub(crate) fn measured(
        &self,
        subject: &Subject,
        quantity: Quantity,
        unit: Unit,
        estimate: Estimate,
    ) -> Record {
        let figure = (quantity, unit, estimate);
        let Context { machine, versions, commit, .. } = self.host.context.clone();
        Record {
            versions,
            commit,
            conditions: self.conditions.clone(),
            ..Record::new(subject.clone(), figure, Kind::Measured, machine)
        }
    }

    /// Returns a bound of the model; the record contains its limit and its rates.
    pub(crate) fn bound(
        &self,
        subject: &Subject,
        quantity: Quantity,
        bound: Bound,
    ) -> Result<Record, CliError> {
        let estimate = Estimate::exact(bound.cycles.get())?;
        let limited = self.with([(word::LIMIT, bound.limit)]);
        let from = self.host.model().sources().collect();
        let kind = Kind::Predicted { by: word::MODEL_RUNG.to_owned(), from };
        Ok(Record { kind, ..limited.measured(subject, quantity, Unit::Cycles, estimate) })
    }
}

pub(crate) fn subject<V: fmt::Display>(
    topic: Topic,
    parameters: impl IntoIterator<Item = (&'static str, V)>,
) -> Result<Subject, CliError> {
    let mut subject = Subject::new(topic)?;
    for (key, value) in parameters {
        subject = subject.with(key, value)?;
    }
    Ok(subject)
}
