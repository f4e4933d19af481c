//! Clients that load one server in turn: Tollgate's own, rustls, cURL and `s_time`.
//!
//! The load generator's client is made to cost less CPU time than the server. This crate tests
//! whether it costs the *server* as much as complete clients do. [`run()`] sends the same plan
//! through [`Client::Minimal`] (`tollgate_load`), [`Client::Rustls`] (blocking threads),
//! [`Client::Curl`] (processes, as in `SSL_rate` \[HP01\]) or [`Client::STime`] (processes of
//! `openssl s_time`), and counts sessions and CPU time in the same way for all.
//!
//! * Every session is a full handshake and one `GET`, as the plan says. The log must agree with the
//!   client's counts, and must have no resumed session; otherwise there is no figure.
//!
//! * The server's CPU time is read before the first connection and after the last, and divided by
//!   the sessions of its log. Both numbers include the beginning and the end of the run.
//!
//! * The `ClientHello` of rustls equals that of [`Client::Minimal`] in everything a server acts on
//!   (one suite, one group, ALPN, request for tickets). rustls closes connections as the plan says.
//!   It verifies every signature but no chain.
//!
//! * cURL verifies neither chain nor host name (`--insecure`). A process makes [`TRANSFERS`]
//!   transfers, each on its own connection and without a session. `s_time` verifies signatures but
//!   no chain. Its processes last for the whole run, and the client's CPU time includes starting
//!   them.
#![forbid(unsafe_code)]

mod counted;
mod curl;
mod error;
mod log_rate;
mod run;
mod rustls_client;
mod s_time;

pub use counted::Counted;
pub use curl::TRANSFERS;
pub use error::Error;
pub use run::{Client, run};
