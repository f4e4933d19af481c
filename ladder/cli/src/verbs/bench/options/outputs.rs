//! The options of `tollgate bench` for outputs and exit codes.

use std::path::PathBuf;

use clap::Args;

use crate::verbs::bench::summary::Condition;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct Outputs {
    /// Condition that fails the run with exit code 3, as in 'p99>50ms', 'rate<1000' or
    /// 'failures>0.1%'; may be repeated
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<Condition>,

    /// Draw a histogram of response times for each server; with a URL this is the default
    #[arg(long)]
    pub(crate) histogram: bool,

    /// Write outcome.json, series.csv, counts.csv and report.html to this folder,
    /// replacing files of these names
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
