//! Response time against load, from the mean and the variation of the measured service time.
//!
//! Arrivals are Poisson; a core serves one session at a time, in order of arrival, for its CPU
//! time. Round trips and the client's own work are not included, and the CPU time of a session is
//! treated as one piece. The result is the effect of queueing, not the time that a browser sees.

mod erlang;
mod service_time;
mod station;
pub mod tail;
pub mod wait;

pub use service_time::ServiceTime;
pub use station::{Discipline, Response, Station};
