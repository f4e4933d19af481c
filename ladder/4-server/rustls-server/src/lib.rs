//! Blocking TLS server on rustls: its threads sign with aws-lc-rs or through the engine.
//!
//! The server of `tollgate bench --server rustls`. Each thread accepts a connection, completes the
//! handshake, answers `GET /bytes/N`, and accepts the next one. rustls signs synchronously, so a
//! signature blocks its thread; signatures of several threads may share a call of the engine.
//!
//! * Two servers that differ in [`Signer`] differ in nothing else: certificate, key, suites, groups
//!   and threads are the same.
//! * The server speaks HTTP/1.1 with keep-alive. It has no resumption, no tickets and no client
//!   certificates.
//! * [`Running::referee`] reads the server's counters; [`Running::cpu`] is its threads' CPU time.
//!
//! ```
//! use tollgate_rustls_server::{Config, Running, Signer};
//! use tollgate_server::{Certificate, KeyKind};
//!
//! let certificate = Certificate::SelfSigned(KeyKind::Rsa { bits: 2048 }).to_pem()?;
//! let config = Config { certificate, cores: vec![], signer: Signer::Engine, threads: 16 };
//! let running = Running::start(&config)?;
//! println!("curl --insecure https://{}/bytes/14336", running.addr());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config;
mod connection;
mod counts;
mod request;
mod running;

pub use config::{Config, Signer};
pub use counts::CountReferee;
pub use running::Running;
