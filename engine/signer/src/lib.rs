#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod account;
mod answer;
mod audit;
mod config;
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
mod outgoing;
mod policy;
mod public_half;
mod relay;
mod say;
mod secret_file;
mod settings;
mod shared;
mod shares;
mod signer;
mod stream;
mod tls;
mod token;
mod worker;

pub use config::{
    Allowed, ClientSettings, Config, KeySettings, KeySource, Limits, RelaySettings, TlsSettings,
    TokenSettings, UnitKind, UpstreamSettings,
};
pub use counters::{Counts, UpstreamCounts};
pub use error::Error;
pub use gpu::GpuCounts;
pub use signer::{Report, Running, Signer};
pub use token::KeyUri;
