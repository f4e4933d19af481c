//! Tables of predicted, measured and published figures; reads records only.
//!
//! Each function takes records and returns text. Most return a table for a terminal, of at most
//! [`WIDTH`] columns without colour. [`markdown`] and [`chart`] are for pages, and [`html`] returns
//! a whole report as one file. Related figures have the same subject and a quantity of the
//! [vocabulary](tollgate_record::vocabulary). Their kind states whether they are measured,
//! predicted or published. For a missing record, a table prints `-` or the command that measures
//! it. [`rungs`] shows all six rungs in one table. Each rung also has its own table: [`kernel`],
//! [`speed`], [`session`], [`server`], [`fleet`].
//!
//! The crate measures nothing. It accepts figures from other machines and tools, and does not panic
//! on any record.
//!
//! ```
//! use tollgate_report::speed;
//! use tollgate_record::vocabulary;
//! use tollgate_record::{Estimate, Kind, Machine, Record, Unit};
//!
//! let subject = "operation/rsa-2048/sign?by=openssl".parse()?;
//! let estimate = Estimate::new(226_000.0, (224_000.0, 229_000.0), 51)?;
//! let figure = (vocabulary::NS_PER_OPERATION, Unit::Nanos, estimate);
//! let machine = Machine::unknown("Some Processor 9000");
//! let record = Record::new(subject, figure, Kind::Measured, machine);
//! let table = speed::table(&[record]);
//! assert!(table.contains("RSA-2048\n  sign") && table.contains("226 µs"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod chart;
mod cite;
pub mod experiment;
mod figure;
mod flagship;
pub mod fleet;
pub mod grid;
pub mod heading;
pub mod html;
pub mod kernel;
mod lookup;
pub mod markdown;
mod names;
mod pairs;
pub mod plan;
pub mod profile;
mod rates;
pub mod rungs;
pub mod server;
pub mod session;
pub mod speed;
mod table;
pub mod text;
pub mod what_if;

pub use text::WIDTH;
