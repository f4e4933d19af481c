//! The options of `tollgate ladder`.

use std::path::PathBuf;

use clap::Args;

use crate::verbs::fleet::options::positive;

#[derive(Args, Clone, Debug)]
pub(crate) struct Ladder {
    /// Write the records as JSON Lines to FILE, replacing it; - is standard output [default:
    /// MACHINE/DATE.jsonl in the folder of records]
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Price of a core for an hour in USD, from which costs are computed
    #[arg(long, value_name = "PRICE", default_value = "0.05", value_parser = positive)]
    pub(crate) price_per_core_hour: f64,

    /// Measure for a tenth of the time and two rounds of each server, for a quick check; the
    /// figures are rough
    #[arg(long)]
    pub(crate) quick: bool,

    /// Folder of records
    #[arg(long, value_name = "DIR", default_value = "records")]
    pub(crate) records: PathBuf,

    /// Write the HTML page to FILE, replacing it
    #[arg(long, value_name = "FILE", default_value = "ladder.html")]
    pub(crate) report: PathBuf,
}
