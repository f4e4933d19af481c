//! Checks the contents of freed memory, and that nothing leaks.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../host/mod.rs"]
mod host;

mod abandoned_jobs;
mod allocator;
mod wiping;
