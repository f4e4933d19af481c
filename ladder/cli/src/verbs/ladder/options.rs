//! The flags of `tollgate ladder`.

use std::path::PathBuf;

use clap::Args;

use crate::verbs::fleet::options::positive;

#[derive(Args, Clone, Debug)]
pub(crate) struct Ladder {
    /// Write the records as JSON Lines to this file, made anew; - is standard output [default:
    /// MACHINE/DATE.jsonl in the folder of records]
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// What a core costs for an hour, in USD: an assumption, and what the costs are made of
    #[arg(long, value_name = "PRICE", default_value = "0.05", value_parser = positive)]
    pub(crate) price_per_core_hour: f64,

    /// A tenth of the time and two rounds of each server, to see that everything works; the figures
    /// are rough
    #[arg(long)]
    pub(crate) quick: bool,

    /// The folder of records
    #[arg(long, value_name = "DIR", default_value = "records")]
    pub(crate) records: PathBuf,

    /// Write the report to this file, made anew
    #[arg(long, value_name = "FILE", default_value = "ladder.html")]
    pub(crate) report: PathBuf,
}
