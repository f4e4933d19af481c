//! The flags of `tollgate compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::options::values::{Written, share};

#[derive(Args, Clone, Debug)]
pub(crate) struct Compare {
    /// Assumed drift of the machine's speed between two runs, as a share, for figures without a
    /// yardstick (third-party code of the same version) in both files
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = share)]
    pub(crate) drift: f64,

    /// Conditions that end the run with exit code 3, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) fail_if: Vec<Failing>,

    /// Files of records, or folders with a file for each run; every later one is compared with the
    /// first
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Texts, separated by commas, as in server/,tls13; only figures whose subject or quantity
    /// contains one of them are compared
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
}

/// Conditions of `--fail-if`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Failing {
    /// A figure is proven to be slower than on the first side.
    Slower,
    /// A figure is on one side only, or was measured under other conditions.
    Incomparable,
}
