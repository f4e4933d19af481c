//! The measuring server. It uses OpenSSL with the Tollgate provider, one thread per core, and
//! non-blocking sockets.
//!
//! The fourth rung of the benchmark ladder measures this server. The server therefore reports which
//! engine signed, the parameters of each handshake, the result of each request, and the CPU time of
//! each worker.
//!
//! * [`Server::start`] takes a [`Config`]; [`Running::stop`] flushes the log and reports.
//! * HTTP/1.1 with keep-alive and pipelining: `/bytes/N` (byte i is i modulo [`BODY_PERIOD`], N up
//!   to [`BODY_BYTES_MAX`]) and files below a root; GET only.
//! * TLS 1.2 and 1.3. Resumption only with [`Config::resumption`]. No early data, renegotiation or
//!   compression.
//! * [`in_memory`] has the same TLS connections without sockets, to measure their cost.
//! * [`log`] is the access log, one line per handshake and per request.
//! * Every wait is bounded by [`Config::time_limit`].
//!
//! Each worker is a thread with its own listener, event loop and OpenSSL library context. Workers
//! share no locks of libcrypto's contexts, and servers with different engines in one process affect
//! neither each other nor the default library context. If the engine refuses the key, the start
//! fails; there is no silent fallback.
//!
//! ```
//! use tollgate_server::{Certificate, Config, Engine, KeyKind, Server};
//!
//! let config = Config {
//!     engine: Engine::Tollgate,
//!     certificate: Certificate::SelfSigned(KeyKind::Rsa { bits: 2048 }),
//!     ..Config::default()
//! };
//! let running = Server::start(config)?;
//! println!("curl --insecure https://{}/bytes/14336", running.addr());
//! assert_eq!(running.counters().signer.provider, "tollgate");
//! let report = running.stop();
//! assert_eq!(report.connections_cut, 0);
//! # Ok::<(), tollgate_server::Error>(())
//! ```
//!
//! This crate is internal: what it promises is the program `tollgate serve` and its files.

mod certificate;
mod config;
mod connection;
mod counters;
mod engine;
mod error;
mod evp;
mod failure;
mod ffi;
mod http;
pub mod in_memory;
mod kinds;
mod library;
mod listener;
pub mod log;
mod server;
mod sessions;
mod setup;
mod suite;
mod thread_clock;
mod worker;

pub use certificate::Certificate;
pub use config::{Config, Resumption};
pub use counters::{Counters, Signer, SignerOperations};
pub use error::Error;
pub use failure::Failure;
pub use http::{BODY_BYTES_MAX, BODY_PERIOD};
pub use kinds::{Engine, KeyKind};
pub use server::{Report, Running, Server};
pub use suite::{Group, Protocol, Suite};
