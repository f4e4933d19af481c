//! Embedded TLS server on OpenSSL and the provider: thread per core, non-blocking.
//!
//! It is the thing under test of the ladder's fourth rung, and says everything a judge needs: which
//! engine signed, what each handshake negotiated, what each request got, what each worker cost.
//!
//! * [`Server::start`] takes a [`Config`]; [`Running::stop`] drains, flushes the log and reports.
//! * HTTP/1.1 with keep-alive and pipelining: `/bytes/N` (byte i is i modulo [`BODY_PERIOD`], N up
//!   to [`BODY_BYTES_MAX`]), files below a root, `/metrics`; GET and HEAD. Whoever can connect
//!   can read the metrics: they tell counts and the kind of key, and no client's data.
//! * TLS 1.2 and 1.3; RSA key exchange only where [`Config::allow_rsa_kx`] says so; no resumption
//!   unless asked for; no early data, no renegotiation, no compression.
//! * [`in_memory`] has the same connections without sockets, for who measures what they cost.
//! * [`log`] is the access log, one line per handshake and per request, and its reader.
//! * Every wait and every queue is bounded by [`Limits`].
//!
//! Each worker is a thread with its own listener, event loop and OpenSSL library context.
//! Workers share no locks of libcrypto's contexts, and servers with different engines live in one
//! process without touching each other or the process's default library context. A key that the
//! engine does not take is an error at start, never a silent fallback.
//!
//! ```
//! use core::time::Duration;
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
//! let report = running.stop(Duration::from_secs(5));
//! assert_eq!(report.connections_cut, 0);
//! # Ok::<(), tollgate_server::Error>(())
//! ```
#![deny(unsafe_code)]

mod certificate;
mod config;
mod connection;
mod counters;
mod crew;
mod engine;
mod error;
mod evp;
mod failure;
mod ffi;
mod http;
pub mod in_memory;
mod listener;
pub mod log;
mod log_time;
mod metrics;
mod notice;
mod server;
mod shared;
mod suite;
mod thread_clock;
mod worker;

pub use certificate::{Certificate, KeyKind};
pub use config::{Config, Engine, Limits, Resumption, WORKERS_MAX};
pub use counters::{Counters, Signer, SignerOperations};
pub use error::{Error, Misuse, Rejected, Unavailable};
pub use failure::{End, Failure};
pub use http::{BODY_BYTES_MAX, BODY_PERIOD};
pub use notice::{Notice, Notify};
pub use server::{Report, Running, Server};
pub use suite::{Group, Protocol, Suite, UnknownName};
