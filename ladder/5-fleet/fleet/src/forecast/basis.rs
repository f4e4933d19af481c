//! The common data of predictions: their input records and the machine.

use core::fmt;
use std::collections::BTreeMap;

use tollgate_record::{
    Estimate, Kind, Machine, Quantity, Record, Service, Subject, Timestamp, Topic, Unit,
};

use crate::{Demand, Error};
use tollgate_record::vocabulary::{DEMAND_PER_S, FLEET_RUNG, LINK_GBPS};

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
    pub fn of(record: &Record, commit: Option<String>, taken_at: Timestamp) -> Result<Self, Error> {
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
    pub(super) fn for_demand(self, demand: Demand) -> Result<Self, Error> {
        match demand {
            Demand::Link(bits) => self.with(LINK_GBPS, bits.get() / 1e9),
            Demand::Sessions(rate) => self.with(DEMAND_PER_S, rate.get()),
        }
    }

    /// Creates the record of one figure.
    #[must_use]
    pub fn record(&self, quantity: Quantity, unit: Unit, estimate: Estimate) -> Record {
        let kind = Kind::Predicted { by: FLEET_RUNG.to_owned(), from: self.from.clone() };
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
