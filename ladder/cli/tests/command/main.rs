//! The built program: what it refuses and how, what it writes, what signals do.
//! Nothing here depends on how fast anything is.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stdout, reason = "what was skipped is said")]

mod bench;
mod compare;
mod consent;
mod files;
mod fleet;
mod key;
mod ladder;
mod measuring;
mod outputs;
mod own_processor;
mod program;
mod provider;
mod serve;
mod shown;
mod simulate;
mod thresholds;
mod workload;
