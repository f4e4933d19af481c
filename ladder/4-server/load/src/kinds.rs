//! Full and resumed sessions of one run, told apart.

use core::time::Duration;

use crate::latency::Latency;
use crate::manner::News;

/// Sessions of one kind, of the sustained part.
#[derive(Clone, Debug)]
pub struct Sessions {
    pub(crate) transactions: u64,
    pub(crate) handshake: Latency,
    pub(crate) service: Latency,
}

impl Sessions {
    fn new() -> Self {
        Self { transactions: 0, handshake: Latency::new(), service: Latency::new() }
    }

    fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.handshake.add(&other.handshake);
        self.service.add(&other.service);
    }

    /// How many were completed.
    #[must_use]
    pub const fn transactions(&self) -> u64 {
        self.transactions
    }

    /// Times from the `ClientHello` until the server confirmed the handshake
    /// ([`Times::handshake`]).
    ///
    /// [`Times::handshake`]: crate::Times::handshake
    #[must_use]
    pub const fn handshake(&self) -> &Latency {
        &self.handshake
    }

    /// Times from opening the socket to the last byte of the last response.
    #[must_use]
    pub const fn service(&self) -> &Latency {
        &self.service
    }
}

/// Secure sessions by what the server did; of a plan that resumes some.
#[derive(Clone, Debug)]
pub struct Kinds {
    /// With a full handshake: planned, refused or starved.
    pub full: Sessions,
    /// Resumed.
    pub resumed: Sessions,
}

impl Kinds {
    pub(crate) fn new() -> Self {
        Self { full: Sessions::new(), resumed: Sessions::new() }
    }

    pub(crate) fn record(&mut self, news: News) {
        match news {
            News::Confirmed { handshake, resumed, .. } => {
                self.of(resumed).handshake.record(handshake);
            }
            News::Complete { service, resumed, .. } => self.complete(service, resumed),
            News::ClientDone { .. } | News::Connected { .. } | News::Response { .. } => {}
        }
    }

    fn complete(&mut self, service: Duration, resumed: bool) {
        let kind = self.of(resumed);
        kind.transactions += 1;
        kind.service.record(service);
    }

    const fn of(&mut self, resumed: bool) -> &mut Sessions {
        if resumed { &mut self.resumed } else { &mut self.full }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.full.add(&other.full);
        self.resumed.add(&other.resumed);
    }
}
