//! The flags of `tollgate bench` about a server that runs already.

use std::path::PathBuf;

use clap::Args;
use tollgate_load::LogFormat;

use crate::verbs::bench::Probed;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "A server by its URL")]
pub(crate) struct Given {
    /// The server's control group, for its CPU time: a folder of /sys/fs/cgroup, or its
    /// path below
    #[arg(long, value_name = "PATH", requires = "target", conflicts_with = "pid")]
    pub(crate) cgroup: Option<PathBuf>,

    /// The certificate that clients show if the server asks for one: a chain in PEM, the clients'
    /// own first
    #[arg(long, value_name = "FILE", requires_all = ["target", "client_key"])]
    pub(crate) client_cert: Option<PathBuf>,

    /// Its private key in PEM, not encrypted
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    pub(crate) client_key: Option<PathBuf>,

    /// Where it is neither loopback nor private: its host name, which says that you may put
    /// load on it; the server has to say so too, at /.well-known/tollgate-consent
    #[arg(long, value_name = "HOST", requires = "target")]
    pub(crate) i_may_test: Option<String>,

    /// The server's access log, which is the referee; docs/bench-url.md has its formats
    #[arg(long, value_name = "FILE", requires = "target")]
    pub(crate) log: Option<PathBuf>,

    /// How the lines of --log are written: own, nginx, apache or haproxy [default: as they look]
    #[arg(long, value_name = "FORMAT", requires = "log", value_parser = format)]
    pub(crate) log_format: Option<LogFormat>,

    /// The server's processes, for their CPU time
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "target")]
    pub(crate) pid: Vec<u32>,

    /// What was found at the URL.
    #[arg(skip)]
    pub(crate) probed: Option<Probed>,
}

fn format(text: &str) -> Result<LogFormat, String> {
    let found = LogFormat::ALL.into_iter().find(|format| format.name() == text);
    found.ok_or_else(|| "give own, nginx, apache or haproxy".to_owned())
}
