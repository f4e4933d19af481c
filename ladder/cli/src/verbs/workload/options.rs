//! The options of `tollgate workload`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args, Clone, Debug)]
pub(crate) struct Workload {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Verb {
    /// Make a workload from access logs of nginx, Apache, HAProxy or Tollgate's server
    FromLog(FromLog),
    /// Show every parameter of a workload with its source, and a drawing
    Show(Show),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct FromLog {
    /// Folder to write the workload to; an existing file is not replaced
    #[arg(long, value_name = "DIR", default_value = "workloads")]
    pub(crate) folder: PathBuf,

    /// Access logs, in chronological order
    #[arg(value_name = "LOG", required = true)]
    pub(crate) logs: Vec<PathBuf>,

    /// Name of the workload; its file is NAME.toml
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) name: String,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Show {
    /// hp2001, bank140k, web2026, pq2026, or a file that ends in .toml [default: list the names]
    #[arg(value_name = "NAME|FILE")]
    pub(crate) workload: Option<String>,
}

/// Checks that a name can be a file name on every system.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=64).contains(&text.len()) && text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err("a name is a-z 0-9 -, at most 64 of them".to_owned())
    }
}
