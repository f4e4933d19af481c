#![doc = include_str!("../README.md")]

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
mod keys;
mod listener;
mod metrics;
mod metrics_page;
mod outgoing;
mod peer;
mod policy;
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
