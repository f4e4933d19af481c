//! The options of `tollgate bench` for outputs and exit codes.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

use crate::verbs::bench::fail_if::Condition;

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

    /// Write one JSON object with rates, times and failures of each server to FILE, replacing it;
    /// - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,

    /// Write outcome.json, series.csv, counts.csv, latency.hlog and report.html to this folder,
    /// replacing files of these names
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Serve counters and times to Prometheus at http://IP:PORT/metrics during the run; a port
    /// alone is one of 127.0.0.1
    #[arg(long, value_name = "IP:PORT", value_parser = listens)]
    pub(crate) metrics: Option<SocketAddr>,
}

/// Parses an address with its port, or a port of 127.0.0.1.
pub(crate) fn listens(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    port.or_else(|_| text.parse()).map_err(|_| "give IP:PORT, or a port of 127.0.0.1".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::options::tests::assert_refused;

    #[test]
    fn a_port_alone_is_one_of_loopback() {
        assert_eq!(listens("9100").unwrap(), "127.0.0.1:9100".parse().unwrap());
        assert_eq!(listens("[::1]:0").unwrap(), "[::1]:0".parse().unwrap());
        assert_refused(
            "bench",
            &[(&["--metrics", "somewhere"][..], "IP:PORT"), (&["--metrics", "70000"], "IP:PORT")],
        );
    }
}
