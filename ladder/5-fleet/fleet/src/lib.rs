//! Sizing, queueing and cost of a fleet: arithmetic on records.
//!
//! This crate is rung 5. From a server's CPU time of one session it computes cores for a link or a
//! rate ([`size()`]), costs ([`PricedMachine`]), and response time against load ([`queue`]). The
//! crate runs and measures nothing. [`mod@forecast`] computes predicted records from a measured
//! one.
//!
//! Every figure has an interval if its inputs have one; see [`interval`] for its meaning.
//!
//! # Sources
//!
//! * \[Cooper81\] R. B. Cooper. *Introduction to Queueing Theory*, 2nd edition. North Holland,
//!   1981.
//! * \[Cosmetatos75\] G. P. Cosmetatos. *Approximate explicit formulae for the average queueing
//!   time in the processes (M/D/r) and (D/M/r)*. INFOR 13, 1975.
//! * \[GHDZ10\] V. Gupta, M. Harchol-Balter, J. G. Dai, B. Zwart. *On the inapproximability of
//!   M/G/K: why two moments of job size distribution are not enough*. Queueing Systems 64, 2010.
//! * \[Kimura86\] T. Kimura. *A two-moment approximation for the mean waiting time in the GI/G/s
//!   queue*. Management Science 32, 1986.
//! * \[Kollerstrom74\] J. Köllerström. *Heavy traffic theory for queues with several servers*.
//!   Journal of Applied Probability 11, 1974.
//! * \[LL59\] A. M. Lee, P. A. Longton. *Queueing processes associated with airline passenger
//!   check-in*. Operational Research Quarterly 10, 1959.
//! * \[Tijms03\] H. C. Tijms. *A First Course in Stochastic Models*. Wiley, 2003.
//! * \[Whitt93\] W. Whitt. *Approximations for the GI/G/m queue*. Production and Operations
//!   Management 2, 1993.
//! * \[ETI10\], \[ITA00\]: see the project's glossary.

pub mod demand;
mod error;
pub mod forecast;
pub mod interval;
pub mod prices;
pub mod queue;
mod session;
mod sizing;
mod terms;
pub mod what_if;

pub use demand::{Demand, Utilisation};
pub use error::Error;
pub use prices::{Paid, PricedMachine, Prices};
pub use session::SessionCost;
pub use sizing::{Sizing, size};
pub use what_if::{Change, WhatIf, measured_sessions, what_if};
