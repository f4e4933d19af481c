//! Separate times of full and of resumed sessions.

use serde::{Deserialize, Serialize};

use crate::latency::Latency;
use crate::request_spec::TransactionEvent;

/// Times of the full sessions or of the resumed sessions in the sustained part.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionTimes {
    /// Sessions completed.
    pub transactions: u64,
    /// The handshake, as [`Outcome::handshake`](crate::Outcome::handshake) defines it.
    pub handshake: Latency,
}

/// Separate times of full and resumed sessions, for a plan that resumes sessions.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByResumption {
    /// Full handshakes. Some were planned; others were made because the server refused, or because
    /// there was no session to offer.
    pub full: SessionTimes,
    /// Resumed sessions.
    pub resumed: SessionTimes,
}

impl ByResumption {
    pub(crate) fn new() -> Self {
        let [full, resumed] =
            [(); 2].map(|()| SessionTimes { transactions: 0, handshake: Latency::new() });
        Self { full, resumed }
    }

    pub(crate) fn record(&mut self, event: TransactionEvent) {
        match event {
            TransactionEvent::Confirmed { handshake, resumed, .. } => {
                self.kind(resumed).handshake.record(handshake);
            }
            TransactionEvent::Complete { resumed, .. } => self.kind(resumed).transactions += 1,
            _ => {}
        }
    }

    const fn kind(&mut self, resumed: bool) -> &mut SessionTimes {
        if resumed { &mut self.resumed } else { &mut self.full }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, more) in [(&mut self.full, &other.full), (&mut self.resumed, &other.resumed)] {
            sum.transactions += more.transactions;
            sum.handshake.add(&more.handshake);
        }
    }
}
