//! Tests of the processor model.
#![allow(clippy::unwrap_used, reason = "tests")]

mod machine_files;
