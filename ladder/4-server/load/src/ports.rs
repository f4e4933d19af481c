//! Local ports for connections: their number, and the number in `TIME_WAIT`.

use core::fmt;
use std::fs;

use serde::{Deserialize, Serialize};

/// Local ports; unknown values are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ports {
    /// Number of ephemeral ports (`ip_local_port_range`) for each pair of addresses.
    pub range: Option<u64>,
    /// The number of sockets in `TIME_WAIT`, of clients and servers.
    pub waiting: Option<u64>,
}

impl Ports {
    pub(crate) fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        Self {
            range: read("/proc/sys/net/ipv4/ip_local_port_range").and_then(|text| range(&text)),
            waiting: read("/proc/net/sockstat").and_then(|text| waiting(&text)),
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.waiting, self.range) {
            (Some(waiting), Some(range)) => {
                write!(f, "of {range} for each address; {waiting} are in TIME_WAIT")
            }
            _ => f.write_str("the number in TIME_WAIT is unknown"),
        }
    }
}

/// `32768 60999`, both inclusive.
fn range(text: &str) -> Option<u64> {
    let (first, last) = text.trim().split_once(|c: char| c.is_ascii_whitespace())?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.trim().parse().ok()?);
    last.checked_sub(first)?.checked_add(1)
}

/// Returns the number after `tw` in the line that begins with `TCP`.
fn waiting(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("TCP: "))?;
    let mut words = line.split_ascii_whitespace();
    words.find(|word| *word == "tw")?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_files_are_parsed() {
        assert_eq!(range("32768\t60999\n"), Some(28_232));
        assert_eq!((range("9"), range("9 1"), range("a b")), (None, None, None));
        let text = "sockets: used 12\nTCP: inuse 1 orphan 0 tw 7 alloc 1 mem 109\nUDP: inuse 0\n";
        assert_eq!(waiting(text), Some(7));
        assert_eq!((waiting(""), waiting("TCP: inuse 1 tw")), (None, None));
    }
}
