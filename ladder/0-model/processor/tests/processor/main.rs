//! Tests of the processor model.
#![allow(clippy::unwrap_used, reason = "tests")]

mod itanium_paper;
mod machine_files;
