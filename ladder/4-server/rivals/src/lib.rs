//! Clients that load one server in turn: ours, rustls, cURL and `s_time`; its log counts.
//!
//! A load generator is made to cost less than the server. Whether it costs the *server* as much as
//! complete clients do is another question, and this crate answers it: [`run()`] sends the same
//! plan through [`Client::Minimal`] (`tollgate_load`), [`Client::Rustls`] (blocking threads),
//! [`Client::Curl`] (processes, as `SSL_rate` had them \[HP01\]) or [`Client::STime`] (processes of
//! `openssl s_time`), and counts sessions and CPU time in the same way for all.
//!
//! * Every session is a full handshake and one `GET`, as the plan says. What the log has must be
//!   what the client counted, and nothing resumed; otherwise there is no figure.
//! * The server's CPU time is read before the first connection and after the last, and goes over
//!   the sessions of its log: beginning and end of a run are in both.
//! * rustls says what [`Client::Minimal`] says in its `ClientHello` as far as a server acts on it
//!   (one suite, one group, ALPN, tickets asked for), and closes as the plan says. It verifies
//!   every signature, and no chain.
//! * cURL verifies neither (`--insecure`); a process does [`TRANSFERS`] transfers, each on a
//!   connection of its own and without a session. `s_time` verifies signatures, and no chain; its
//!   processes last for all of the run, and what starting them costs is in the client's CPU time.
#![forbid(unsafe_code)]

mod blocking;
mod counted;
mod curl;
mod error;
mod run;
mod s_time;
mod tally;
mod watch;

pub use counted::Counted;
pub use curl::TRANSFERS;
pub use error::Error;
pub use run::{Client, run};
