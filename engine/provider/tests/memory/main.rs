//! What is given back to the allocator, and what is not.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../host/mod.rs"]
mod host;

mod abandoned_jobs;
mod allocator;
mod wiping;
