//! Tests of the built program: refusals, outputs, signals. No test depends on speed.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stdout, reason = "what was skipped is said")]

mod bench;
mod compare;
mod consent;
mod experiment;
mod explain;
mod files;
mod fleet;
mod gpu;
mod handshakes;
mod hosts;
mod kinds;
mod ladder;
mod measuring;
mod nats;
mod nats_faults;
mod nats_rig;
mod outputs;
mod own_processor;
mod pages;
mod papers;
mod program;
mod response;
mod s_server;
mod serve;
mod signer_load;
mod signer_network;
mod trial;
mod tune;
mod workload;
