//! One figure with everything that a later reader needs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Estimate, Machine, Quantity, Subject, Unit};

/// One figure: its subject, value, interval, origin, machine and time.
///
/// On disk it is one line of JSON, see [`crate::jsonl`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// The subject of the figure.
    pub subject: Subject,
    /// The quantity of the subject.
    pub quantity: Quantity,
    /// The unit of the estimate.
    pub unit: Unit,
    /// The value with its interval.
    pub estimate: Estimate,
    /// Measured, predicted or published.
    pub kind: Kind,
    /// The machine of the measurement, the prediction or the publication.
    pub machine: Machine,
    /// Versions of everything that took part: "openssl" to "3.0.19", "rustc" to "1.95.0".
    pub versions: BTreeMap<String, String>,
    /// The commit of this project that made the record; none for a published figure.
    pub commit: Option<String>,
    /// Other conditions: `governor`, `load_average_1min`, bounds and limits.
    pub conditions: BTreeMap<String, String>,
    /// Reasons to doubt the figure, each with its remedy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// The time at which the figure was taken, computed or copied.
    pub taken_at: Timestamp,
}

impl Record {
    /// Creates a figure without versions, commit, conditions and doubts, taken now.
    #[must_use]
    pub fn new(
        subject: Subject,
        (quantity, unit, estimate): (Quantity, Unit, Estimate),
        kind: Kind,
        machine: Machine,
    ) -> Self {
        Self {
            subject,
            quantity,
            unit,
            estimate,
            kind,
            machine,
            versions: BTreeMap::new(),
            commit: None,
            conditions: BTreeMap::new(),
            doubts: Vec::new(),
            taken_at: Timestamp::now(),
        }
    }
}

/// The origin of a figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Kind {
    /// Measured by running the subject on the machine.
    Measured,
    /// Computed.
    Predicted {
        /// The rung that computed it, such as "0-model".
        by: String,
        /// Its inputs: subjects of records, machine files.
        from: Vec<String>,
    },
    /// Published by other authors.
    Published {
        /// The reference: author, title, table.
        source: String,
    },
}
