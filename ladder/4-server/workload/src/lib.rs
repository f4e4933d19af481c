//! Workloads as data: named ones with reasons, and workloads derived from access logs.
//!
//! A [`Workload`] describes the load of a server: key, protocol, bytes, share of resumed sessions,
//! arrivals of requests. Each parameter has a source; an unknown parameter is absent. Workloads are
//! read from TOML; [`FILES`] holds those of the folder `workloads`. [`Study`] reads access logs
//! line by line and [derives](Study::workload) a workload.
//!
//! ```
//! use tollgate_workload::{File, Study};
//!
//! let workload = File::named("hp2001").expect("it is one of the files").workload();
//! assert_eq!(workload.bytes.map(|bytes| *bytes.value.get()), Some(14_336));
//!
//! let mut study = Study::default();
//! study.line(r#"::1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 2326 "-" "curl""#);
//! study.line("what is this?");
//! assert_eq!((study.requests(), study.bad().count), (1, 1));
//! ```

mod files;
mod log;
mod quantiles;
mod sourced;
mod study;
mod workload;

pub use files::{FILES, File};
pub use log::{BadLine, Entry, LogFormat, ServerEvent};
pub use quantiles::Quantiles;
pub use sourced::{Arrivals, Bytes, Key, Paper, Protocol, Requests, Share, Source, Sourced};
pub use study::{Bad, Study};
pub use workload::{Parameter, Workload};
