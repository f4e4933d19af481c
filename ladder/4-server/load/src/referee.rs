//! The referee: the server's own log of a run.

use core::time::Duration;
use std::io;
use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counts::Counts;

/// Reads the server's own counts.
pub trait Referee {
    /// Begins a run; earlier events do not count.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    fn mark(&mut self) -> io::Result<()>;

    /// Returns the counts since [`mark`](Self::mark).
    ///
    /// # Errors
    ///
    /// The log cannot be read, or has an invalid line.
    fn seen(&mut self) -> io::Result<Seen>;

    /// Returns the maximum delay between an event and its line in the log: a server writes in
    /// batches.
    fn lag(&self) -> Duration {
        Duration::from_millis(300)
    }
}

/// The server's counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// Handshakes completed, full and resumed.
    pub handshakes: u64,
    /// Completed handshakes that resumed a session.
    pub resumed: u64,
    /// Failed handshakes, if the log has them.
    pub failed: u64,
    /// Requests with a complete response of status 200.
    #[serde(rename = "responses")]
    pub requests: u64,
    /// The total length in bytes of the bodies of these responses; `None` if the log does not have
    /// it.
    pub body_bytes: Option<u64>,
}

/// Interval of reading the log.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// Waits at most `timeout` until the log has the client's counts. Then it waits for the lag of the
/// log, to find a surplus too. Returns `None` if the run was stopped meanwhile.
pub(crate) fn settle(
    referee: &mut dyn Referee,
    client: &Counts,
    timeout: Duration,
    stop: &dyn Fn() -> bool,
) -> io::Result<Option<Seen>> {
    let end = Instant::now() + timeout;
    loop {
        let seen = referee.seen()?;
        let there = seen.handshakes >= client.confirmed && seen.requests >= client.responses;
        if there || Instant::now() >= end {
            break;
        }
        if stop() {
            return Ok(None);
        }
        std::thread::sleep(ASK_EVERY);
    }
    std::thread::sleep(referee.lag());
    referee.seen().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log that shows one more handshake at each reading, up to an end.
    struct Slow {
        shown: u64,
        end: u64,
    }

    impl Referee for Slow {
        fn mark(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn seen(&mut self) -> io::Result<Seen> {
            self.shown = (self.shown + 1).min(self.end);
            Ok(Seen { handshakes: self.shown, ..Seen::default() })
        }

        fn lag(&self) -> Duration {
            Duration::from_millis(1)
        }
    }

    #[test]
    fn it_waits_for_batches_and_a_surplus_but_not_longer() {
        let day = Duration::from_secs(24 * 3600);
        let waiting = Counts { confirmed: 5, ..Counts::default() };
        let unlogged = Counts { confirmed: 3, transactions: 3, ..Counts::default() };
        for (case, client, (shown, end), timeout, stops, expected) in [
            ("batches", &waiting, (0, 5), day, false, Some(5)),
            ("surplus", &waiting, (0, 9), day, false, Some(6)),
            ("missing requests", &unlogged, (3, 3), day, false, Some(3)),
            ("timeout", &waiting, (3, 3), Duration::from_millis(50), false, Some(3)),
            ("stopped", &waiting, (0, 3), day, true, None),
        ] {
            let mut log = Slow { shown, end };
            let seen = settle(&mut log, client, timeout, &|| stops).unwrap();
            assert_eq!(seen.map(|seen| seen.handshakes), expected, "{case}");
        }
    }
}
