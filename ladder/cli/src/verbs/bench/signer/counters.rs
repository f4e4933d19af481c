//! The signer's own counts, from its page of metrics.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

use tollgate_load::{Referee, Seen, ServerCounts};

/// The longest wait for the page.
const LIMIT: Duration = Duration::from_secs(2);

/// The longest page, in bytes.
const PAGE_MAX: u64 = 1 << 20;

/// Counts since the start of the signer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Signatures.
    signed: u64,
    /// Operations in batches of two or more, and these batches.
    batched: u64,
    batches: u64,
}

/// Reads the page at an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page(pub(super) SocketAddr);

/// Compares the signatures of a run with those that the signer counted.
pub(super) struct Counter {
    page: Page,
    before: u64,
}

impl Page {
    fn read(self) -> io::Result<Counts> {
        let mut stream = TcpStream::connect_timeout(&self.0, LIMIT)?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: signer\r\nConnection: close\r\n\r\n")?;
        let mut page = String::new();
        stream.take(PAGE_MAX).read_to_string(&mut page)?;
        let why = "there is no signer's page of metrics";
        counts(&page).ok_or_else(|| io::Error::new(ErrorKind::InvalidData, why))
    }

    /// Returns the operations and batches so far; zeros, which no run has, if the page cannot be
    /// read.
    pub(super) fn server_counts(self) -> ServerCounts {
        let counts = self.read().unwrap_or_default();
        let alone = counts.signed.saturating_sub(counts.batched);
        ServerCounts { operations: counts.signed, runs: counts.batches + alone }
    }

    pub(super) const fn counter(self) -> Counter {
        Counter { page: self, before: 0 }
    }
}

fn counts(page: &str) -> Option<Counts> {
    let value = |name: &str| -> Option<u64> {
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse().ok()
    };
    let signed = r#"tollgate_signer_requests_total{kind="sign",outcome="done"}"#;
    Some(Counts {
        signed: value(signed).unwrap_or(0), // there is no row before the first one
        batched: value("tollgate_signer_batched_operations_total")?,
        batches: value("tollgate_signer_batches_total")?,
    })
}

impl Referee for Counter {
    fn mark(&mut self) -> io::Result<()> {
        self.before = self.page.read()?.signed;
        Ok(())
    }

    fn seen(&mut self) -> io::Result<Seen> {
        let requests = self.page.read()?.signed.saturating_sub(self.before);
        Ok(Seen { requests, ..Seen::default() })
    }

    fn lag(&self) -> Duration {
        Duration::from_millis(20) // an answer is counted before it leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_by_their_names() {
        let page = "HTTP/1.1 200 OK\r\n\r\n# TYPE x counter\n\
            tollgate_signer_requests_total{kind=\"ping\",outcome=\"done\"} 3\n\
            tollgate_signer_requests_total{kind=\"sign\",outcome=\"done\"} 70\n\
            tollgate_signer_batches_total 8\ntollgate_signer_batched_operations_total 60\n# EOF\n";
        let expected = Counts { signed: 70, batched: 60, batches: 8 };
        assert_eq!(counts(page), Some(expected));
        assert_eq!(counts("HTTP/1.1 404 Not Found\r\n\r\n"), None);
    }
}
