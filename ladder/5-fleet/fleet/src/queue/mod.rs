//! Response time against load, from the mean and the variation of the measured service time.
//!
//! Sessions arrive at random (Poisson); a core works on one at a time, in the order of arrival, for
//! as long as its CPU time says. What passes between server and client meanwhile (round trips,
//! the client's own work) is in none of these times, and CPU time is taken as one piece where a
//! real session comes in several. So this is what queueing adds, and not what a browser sees.

mod erlang;
pub mod service_time;
mod station;
pub mod tail;
pub mod wait;

pub use service_time::ServiceTime;
pub use station::{Gain, Line, Response, Station};
