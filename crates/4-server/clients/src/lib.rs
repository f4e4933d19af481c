//! Clients that load one server in turn: ours, rustls, and cURL processes; its log counts.
//!
//! A load generator is made to cost less than the server. Whether it costs the *server* as much as
//! complete clients do is another question, and this crate answers it: [`run()`] sends the same
//! plan through [`Client::Minimal`] (`tollgate_load`), [`Client::Rustls`] (blocking threads) or
//! [`Client::Curl`] (processes, as `SSL_rate` had them \[HP01\]), and counts sessions and CPU time
//! in the same way for all.
//!
//! * Every session is a full handshake and one `GET`, as the plan says. What the log has must be
//!   what the client counted, and nothing resumed; otherwise there is no figure.
//! * The server's CPU time is read before the first connection and after the last, and goes over
//!   the sessions of its log: beginning and end of a run are in both.
//! * rustls verifies every signature, and no chain. cURL verifies neither (`--insecure`); a process
//!   does [`TRANSFERS`] transfers, each on a connection of its own and without a session.
#![forbid(unsafe_code)]

mod blocking;
mod counted;
mod cpu;
mod curl;
mod error;
mod run;

mod watch;
mod worker;

pub use counted::Counted;
pub use curl::TRANSFERS;
pub use error::Error;
pub use run::{Client, run};
