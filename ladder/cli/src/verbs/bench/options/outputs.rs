//! The flags of `tollgate bench` that say what it leaves, and what it shows while it runs.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What a run leaves")]
pub(crate) struct Outputs {
    /// While it runs, counters and times for Prometheus at http://IP:PORT/metrics; a port alone is
    /// one of 127.0.0.1
    #[arg(long, value_name = "IP:PORT", value_parser = listens)]
    pub(crate) metrics: Option<SocketAddr>,

    /// Writes what each run gave into this folder: outcome.json, series.csv, counts.csv,
    /// latency.hlog, report.html; files of these names are made anew
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}

/// An address with its port; a port alone is one of loopback.
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
