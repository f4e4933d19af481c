//! The flags of `tollgate report`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Clone, Debug)]
pub(crate) struct Report {
    /// Files of records, as `--json` of the other verbs makes them; of several records of one
    /// figure the last one counts [default: the newest file of this machine in the folder of
    /// records]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Write all the records as JSON Lines to this file, made anew; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// The folder of records
    #[arg(long, value_name = "DIR", default_value = "records")]
    pub(crate) records: PathBuf,

    /// Write the report to this file, made anew
    #[arg(long, value_name = "FILE", default_value = "ladder.html")]
    pub(crate) report: PathBuf,
}
