//! Times of the steps of a transaction.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::latency::Latency;
use crate::request_spec::TransactionEvent;

/// Times of transactions of one kind, secure or plain, in the sustained part. All are differences
/// between readings of one monotonic clock.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// TCP connect: from opening the socket until the connection is up.
    pub connect: Latency,
    /// The time from the `ClientHello` until the client has verified the server's Finished and
    /// written its own last message. Empty for plain transactions.
    pub client_finished: Latency,
    /// The part of `handshake` after the client has finished. It is zero if the server's Finished
    /// is the last message, as in a full handshake of TLS 1.2.
    pub confirm: Latency,
    /// The handshake: from the `ClientHello` until the server confirmed it. In a full handshake of
    /// TLS 1.2 the server's Finished confirms it. In TLS 1.3, and in a resumed handshake of TLS
    /// 1.2, the client's Finished is the last message; the first response byte confirms it, or the
    /// server's `close_notify` in a plan without requests. Empty for plain transactions.
    pub handshake: Latency,
    /// The time from each request to the first byte of its response.
    pub first_byte: Latency,
    /// The time from each request to the last byte of its response.
    pub last_byte: Latency,
    /// The whole transaction: from opening the socket to the last byte of the last response.
    pub service: Latency,
}

impl Times {
    pub(crate) fn new() -> Self {
        let [connect, client_finished, confirm, handshake, first_byte, last_byte, service] =
            core::array::from_fn(|_| Latency::new());
        Self { connect, client_finished, confirm, handshake, first_byte, last_byte, service }
    }

    pub(crate) fn record(&mut self, event: TransactionEvent) {
        match event {
            TransactionEvent::Connected { connect } => self.connect.record(connect),
            TransactionEvent::ClientDone { client_finished, .. } => {
                self.client_finished.record(client_finished);
            }
            TransactionEvent::Confirmed { handshake, confirm, .. } => {
                self.handshake.record(handshake);
                self.confirm.record(confirm);
            }
            TransactionEvent::Response { first_byte, last_byte, .. } => {
                self.first_byte.record(first_byte);
                self.last_byte.record(last_byte);
            }
            TransactionEvent::Complete { service, .. } => self.service.record(service),
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.connect.add(&other.connect);
        self.client_finished.add(&other.client_finished);
        self.confirm.add(&other.confirm);
        self.handshake.add(&other.handshake);
        self.first_byte.add(&other.first_byte);
        self.last_byte.add(&other.last_byte);
        self.service.add(&other.service);
    }

    /// Returns all histograms, with the names that `--out` and the lines below a table use.
    #[must_use]
    pub const fn all(&self) -> [(&'static str, &Latency); 7] {
        [
            ("connect", &self.connect),
            ("client finished", &self.client_finished),
            ("confirm", &self.confirm),
            ("handshake", &self.handshake),
            ("first byte", &self.first_byte),
            ("last byte", &self.last_byte),
            ("service", &self.service),
        ]
    }
}

/// Times of the full sessions or of the resumed sessions in the sustained part.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionTimes {
    /// Sessions completed.
    pub transactions: u64,
    /// The handshake, as [`Times::handshake`] defines it.
    pub handshake: Latency,
    /// The whole transaction, as [`Times::service`] defines it.
    pub service: Latency,
}

impl SessionTimes {
    fn new() -> Self {
        Self { transactions: 0, handshake: Latency::new(), service: Latency::new() }
    }

    fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.handshake.add(&other.handshake);
        self.service.add(&other.service);
    }
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
        Self { full: SessionTimes::new(), resumed: SessionTimes::new() }
    }

    pub(crate) fn record(&mut self, event: TransactionEvent) {
        match event {
            TransactionEvent::Confirmed { handshake, resumed, .. } => {
                self.kind(resumed).handshake.record(handshake);
            }
            TransactionEvent::Complete { service, resumed, .. } => self.complete(service, resumed),
            TransactionEvent::ClientDone { .. }
            | TransactionEvent::Connected { .. }
            | TransactionEvent::Response { .. } => {}
        }
    }

    fn complete(&mut self, service: Duration, resumed: bool) {
        let kind = self.kind(resumed);
        kind.transactions += 1;
        kind.service.record(service);
    }

    const fn kind(&mut self, resumed: bool) -> &mut SessionTimes {
        if resumed { &mut self.resumed } else { &mut self.full }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.full.add(&other.full);
        self.resumed.add(&other.resumed);
    }
}
