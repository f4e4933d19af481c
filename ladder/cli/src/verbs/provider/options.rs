//! The flags of `tollgate provider`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args, Clone, Debug)]
pub(crate) struct Provider {
    #[command(subcommand)]
    pub(crate) what: What,
}

/// What to do with the provider.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum What {
    /// Put the module into OpenSSL's folder and write a configuration that uses it
    Install(Install),
    /// Whether OpenSSL signs with it under a configuration, and which programs here do
    Check(Check),
    /// What processes have done with it: counters, and whether one process uses it
    Stats(Stats),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Install {
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Take module and configuration away again
    #[arg(long, conflicts_with = "module")]
    pub(crate) remove: bool,

    /// The module to install [default: beside this program, else the one in OpenSSL's folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) module: Option<PathBuf>,

    /// The configuration to write [default: tollgate.cnf beside OpenSSL's openssl.cnf]
    #[arg(long, value_name = "FILE")]
    pub(crate) openssl_conf: Option<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Check {
    /// The configuration to check [default: that of the environment, else what install writes]
    #[arg(long, value_name = "FILE")]
    pub(crate) openssl_conf: Option<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Stats {
    /// Answer for this process: exit code 0 if it has the module, 1 if not
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Option<u32>,

    /// The folder of the metrics [default: what the configuration says, else /run/tollgate]
    #[arg(long, value_name = "DIR")]
    pub(crate) metrics: Option<PathBuf>,

    /// As JSON, one object
    #[arg(long)]
    pub(crate) json: bool,

    /// Remove the files of processes that have ended
    #[arg(long, conflicts_with = "pid")]
    pub(crate) prune: bool,
}

#[cfg(test)]
mod tests {
    use crate::options::tests::assert_refused;

    #[test]
    fn what_does_not_go_together_is_refused() {
        assert_refused(
            "provider",
            &[
                (&["install", "--remove", "--module", "x.so"], "cannot be used with"),
                (&["stats", "--pid", "0"], "0 is not in 1.."),
                (&["stats", "--pid", "1", "--prune"], "cannot be used with"),
                (&["switch"], "unrecognized subcommand"),
            ],
        );
    }
}
