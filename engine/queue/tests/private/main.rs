//! Private-key operations through a queue of this processor's units.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod curves;
mod decryption;
mod signatures;

use tollgate_queue::{Config, PrivateJob, Queue};

fn queue() -> Queue<PrivateJob> {
    Queue::of_this_processor(Config::default()).unwrap()
}
