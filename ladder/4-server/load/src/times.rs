//! Where the time of transactions goes.

use core::time::Duration;

use crate::latency::Latency;
use crate::manner::News;

/// Times of transactions of one kind, secure or plain, in the sustained part.
#[derive(Clone, Debug)]
pub struct Times {
    pub(crate) connect: Latency,
    pub(crate) handshake: Latency,
    pub(crate) confirm: Latency,
    pub(crate) first_byte: Latency,
    pub(crate) last_byte: Latency,
    pub(crate) service: Latency,
}

impl Times {
    pub(crate) fn new() -> Self {
        let [connect, handshake, confirm, first_byte, last_byte, service] =
            core::array::from_fn(|_| Latency::new());
        Self { connect, handshake, confirm, first_byte, last_byte, service }
    }

    pub(crate) fn record(&mut self, news: News) {
        match news {
            News::Connected { connect } => self.connect.record(connect),
            News::ClientDone { handshake, .. } => self.handshake.record(handshake),
            News::Confirmed { confirm, .. } => self.confirm.record(confirm),
            News::Response { first_byte, last_byte, .. } => {
                self.first_byte.record(first_byte);
                self.last_byte.record(last_byte);
            }
            News::Complete { service, .. } => self.service.record(service),
        }
    }

    pub(crate) fn connected(&mut self, time: Duration) {
        self.connect.record(time);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.connect.add(&other.connect);
        self.handshake.add(&other.handshake);
        self.confirm.add(&other.confirm);
        self.first_byte.add(&other.first_byte);
        self.last_byte.add(&other.last_byte);
        self.service.add(&other.service);
    }

    /// From opening the socket until the connection stands.
    #[must_use]
    pub const fn connect(&self) -> &Latency {
        &self.connect
    }

    /// From the `ClientHello` to the client's being done; of plain transactions nothing.
    #[must_use]
    pub const fn handshake(&self) -> &Latency {
        &self.handshake
    }

    /// From the client's being done to the server's: nought in TLS 1.2, where its Finished is last.
    #[must_use]
    pub const fn confirm(&self) -> &Latency {
        &self.confirm
    }

    /// From each request to the first byte of its response.
    #[must_use]
    pub const fn first_byte(&self) -> &Latency {
        &self.first_byte
    }

    /// From each request to the last byte of its response.
    #[must_use]
    pub const fn last_byte(&self) -> &Latency {
        &self.last_byte
    }

    /// Service times: from opening the socket to the last byte of the last response.
    #[must_use]
    pub const fn service(&self) -> &Latency {
        &self.service
    }

    /// All of them, with their names.
    #[must_use]
    pub const fn all(&self) -> [(&'static str, &Latency); 6] {
        [
            ("connect", &self.connect),
            ("handshake", &self.handshake),
            ("confirm", &self.confirm),
            ("first byte", &self.first_byte),
            ("last byte", &self.last_byte),
            ("service", &self.service),
        ]
    }
}
