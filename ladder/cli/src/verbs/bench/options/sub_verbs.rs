//! The options that only one sub-verb of `tollgate bench` has.

use std::path::PathBuf;

use clap::Args;

use super::run_seconds;
use crate::options::values::{Written, percentage};

/// An experiment: servers with one change each, loaded in turn.
#[derive(Args, Clone, Debug)]
pub(crate) struct Experiment {
    /// clients, eti10, hybrid, proxy, scale, sensitivity, sessions, share, or a file that ends in
    /// .toml (see docs/bench-experiment.md) [default: list the names]
    #[arg(value_name = "NAME|FILE")]
    pub(crate) experiment: Option<String>,

    /// Print the file of the experiment, and run nothing
    #[arg(long, requires = "experiment")]
    pub(crate) show: bool,

    /// Rounds, in each of which every case runs once [default: that of the file, or 6]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: Option<u32>,

    /// Seconds of the measured part of each run; before it, a warm-up runs for half this time
    /// [default: that of the file, or 2]
    #[arg(short = 'z', long, value_name = "S", value_parser = run_seconds)]
    pub(crate) seconds: Option<f64>,

    /// Provider module [default: the one built with this program]
    #[arg(long, value_name = "FILE")]
    pub(crate) module: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) written: Written,
}

/// The points of a response curve.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Response curve")]
pub(crate) struct ResponseCurve {
    /// Arrival rates, as shares of each server's capacity in a closed loop, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = load_share)]
    #[arg(default_value = "30%,50%,70%")]
    pub(crate) loads: Vec<f64>,

    /// Shares of the lowest capacity instead: all servers get the same arrivals
    #[arg(long)]
    pub(crate) same_rates: bool,
}

/// The largest load of a response curve; at 1 the queue grows as long as the run lasts.
const LOAD_MAX: f64 = 0.99;

pub(in crate::verbs) fn load_share(text: &str) -> Result<f64, String> {
    let share = percentage(text).filter(|share| (0.01..=LOAD_MAX).contains(share));
    share.ok_or_else(|| "give shares from 1% to 99%, as in 50%,90%".to_owned())
}
