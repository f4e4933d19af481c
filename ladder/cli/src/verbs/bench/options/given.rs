//! The options of `tollgate bench URL`.

use std::path::PathBuf;

use clap::Args;
use tollgate_load::LogFormat;

use crate::verbs::bench::Probed;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Server at a URL")]
pub(crate) struct Given {
    /// Host name of a server that is neither loopback nor private, which says that you may load it;
    /// the server must say so too, at /.well-known/tollgate-consent
    #[arg(long, value_name = "HOST", requires = "target")]
    pub(crate) i_may_test: Option<String>,

    /// The server's access log, to check the client's counts (formats: docs/bench-url.md)
    #[arg(long, value_name = "FILE", requires = "target")]
    pub(crate) log: Option<PathBuf>,

    /// Format of --log: own, nginx, apache or haproxy [default: detected]
    #[arg(long, value_name = "FORMAT", requires = "log", value_parser = format)]
    pub(crate) log_format: Option<LogFormat>,

    /// The server's processes, for their CPU time
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "target")]
    pub(crate) pid: Vec<u32>,

    /// The server's control group, for its CPU time: a folder of /sys/fs/cgroup, or its path below
    #[arg(long, value_name = "PATH", requires = "target", conflicts_with = "pid")]
    pub(crate) cgroup: Option<PathBuf>,

    /// Certificate chain in PEM, the client's own first, for servers that ask for one
    #[arg(long, value_name = "FILE", requires_all = ["target", "client_key"])]
    pub(crate) client_cert: Option<PathBuf>,

    /// Private key of --client-cert in PEM, not encrypted
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    pub(crate) client_key: Option<PathBuf>,

    /// Filled in by a request to the URL.
    #[arg(skip)]
    pub(crate) probed: Option<Probed>,
}

fn format(text: &str) -> Result<LogFormat, String> {
    let found = LogFormat::ALL.into_iter().find(|format| format.name() == text);
    found.ok_or_else(|| "give own, nginx, apache or haproxy".to_owned())
}
