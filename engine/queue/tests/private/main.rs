//! Private-key operations through a queue of this processor's units.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod curves;
mod decryption;
mod signatures;

use tollgate_queue::{Caller, Config, PrivateError, PrivateJob, Queue, Ticket};

fn queue() -> Queue<PrivateJob> {
    Queue::of_this_processor(Config::default()).unwrap()
}

/// Submits this many jobs at once, and returns their results.
fn run_together(
    caller: &Caller<PrivateJob>,
    count: usize,
    load: impl Fn(usize, &mut PrivateJob) -> Result<(), tollgate_rsa::Error>,
) -> Vec<Result<Vec<u8>, PrivateError>> {
    let tickets: Vec<_> = (0..count).map(|i| caller.submit(|job| load(i, job))).collect();
    let wait = |ticket: Result<Ticket<PrivateJob>, PrivateError>| {
        ticket?.wait().map(|answer| answer.output().to_vec())
    };
    tickets.into_iter().map(wait).collect()
}
