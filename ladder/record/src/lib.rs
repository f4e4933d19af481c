//! Units, estimates with intervals, machine fingerprints, and JSON Lines of figures.
//!
//! A [`Record`] is one figure with all that is needed to judge it later: its subject ([`Subject`],
//! [`Quantity`], [`Unit`]), its value and interval ([`Estimate`]), its origin ([`Kind`]), its place
//! and time ([`Machine`], versions, commit, conditions), and doubts. Records are stored as JSON
//! Lines ([`jsonl`]), one record per line, every line with the version of the schema. All rungs of
//! the benchmark ladder use the words of the [`vocabulary`].
//!
//! ```
//! use tollgate_record::{Estimate, Kind, Machine, Record, Unit, jsonl};
//!
//! let subject = "kernel/amm52_mb8_ifma?K=20".parse()?;
//! let estimate = Estimate::new(803.0, (801.5, 806.0), 51)?;
//! let figure = ("cycles_per_call".parse()?, Unit::Cycles, estimate);
//! let machine = Machine::unknown("Some Processor 9000");
//! let record = Record {
//!     commit: Some("0123abcd".into()),
//!     ..Record::new(subject, figure, Kind::Measured, machine)
//! };
//! let mut file = Vec::new();
//! jsonl::Writer::new(&mut file).write(&record)?;
//! assert_eq!(jsonl::read_all(file.as_slice())?, [record]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod bad_file;
pub mod estimate;
pub mod jsonl;
pub mod machine;
pub mod record;
pub mod subject;
pub mod topic;
pub mod units;
pub mod vocabulary;

pub use bad_file::BadFile;
pub use estimate::{BadEstimate, Estimate};
pub use jiff::Timestamp;
pub use machine::Machine;
pub use record::{Kind, Record};
pub use subject::{BadSubject, Quantity, Subject};
pub use topic::{Area, Key, Operation, Protocol, Service, Topic};
pub use units::{Cycles, Nanos, PerSecond, Unit};
