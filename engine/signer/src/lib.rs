//! Remote signer: signs and decrypts for the front ends of a site, with one queue for all of them.
//!
//! * [`Signer::start`] takes a [`Config`]; [`Running::stop`] drains and reports.
//! * Clients speak the protocol of gokeyless ([`tollgate_keyless`]) on a Unix socket, where the
//!   system names their user, or on TLS 1.3 with a certificate of their own.
//! * Each client has its keys and operations. For all other keys the answer is the same as for keys
//!   that do not exist. The raw operation must be allowed for the key and for the client.
//! * Decryption rejects implicitly: a client never learns whether a padding was valid.
//! * Requests of all connections meet in one queue, so those of several front ends share lanes.
//! * A GPU can run large batches of RSA operations ([`UnitKind::Gpu`]).
//! * Every operation is in the audit log before its result leaves.
//! * Every wait and every queue is bounded; [`Limits`] sets the bounds that concern clients.
//!
//! Each worker is a thread with an event loop. In each turn it submits the requests that have come,
//! runs them in batches, and answers.
//!
//! This crate is internal: what it promises is the program `tollgate signer` and its files.
#![deny(unsafe_code)]

mod account;
mod answer;
mod audit;
mod config;
mod confine;
mod connection;
mod counters;
mod engine;
mod error;
mod gpu;
mod identity;
mod keys;
mod limiter;
mod listener;
mod metrics;
mod metrics_page;
mod outgoing;
mod peer;
mod policy;
mod say;
mod secret_file;
mod settings;
mod shared;
mod shares;
mod signer;
mod stream;
mod tls;
mod worker;

pub use config::{Allowed, ClientSettings, Config, KeySettings, Limits, TlsSettings, UnitKind};
pub use confine::{confine, hide_memory};
pub use counters::Counts;
pub use error::Error;
pub use gpu::GpuCounts;
pub use peer::Peer;
pub use signer::{Report, Running, Signer};
