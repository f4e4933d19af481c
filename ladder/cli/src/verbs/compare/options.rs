//! The flags of `tollgate compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::options::values::{Written, share};

#[derive(Args, Clone, Debug)]
pub(crate) struct Compare {
    /// What the machine itself may have changed between two runs, as a share, where no yardstick in
    /// both files tells
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = share)]
    pub(crate) drift: f64,

    /// Conditions that end the run with exit code 3, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) fail_if: Vec<Failing>,

    /// Sides: a file of records, or a folder of such files, each of a run; the first one is what
    /// the others are compared with
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Only figures whose subject or quantity holds one of these texts, separated by commas:
    /// server/ or tls13
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
}

/// Conditions of `--fail-if`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Failing {
    /// Proven to be slower than on the first side.
    Slower,
    /// On one side only, or measured under other conditions.
    Incomparable,
}

#[cfg(test)]
mod tests {
    use crate::options::tests::assert_refused;

    #[test]
    fn what_is_not_right_is_refused_in_one_line() {
        assert_refused(
            "compare",
            &[
                (&[][..], "<FILE>"),
                (&["a", "--drift", "2"], "0 to 1"),
                (&["a", "--fail-if", "better"], "slower"),
            ],
        );
    }
}
