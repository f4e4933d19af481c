//! What a transaction asks for: a session of before, and one body after the other.

use std::time::Instant;

use tollgate_tls_client::{EarlyData, Error as TlsError, Resume};

use super::Slot;
use crate::manner::Manner;
use crate::phase::Phase;
use crate::store::{Store, Stored};

impl Slot {
    /// Where the session goes that it is to offer.
    pub(crate) const fn lent(&mut self) -> &mut Stored {
        &mut self.lent
    }

    /// Gives away what sessions came of the connection. One of TLS 1.2 that was resumed and brought
    /// no other serves again.
    pub(crate) fn give_back(&mut self, manner: &Manner, store: &mut Store) {
        let mut is_new = false;
        while self.channel.save(&mut self.spare.session) {
            if manner.takes(&self.spare.session) {
                // tickets come about when the handshake ends, and servers count their age from then
                self.spare.at = self.marks.client_done;
                store.give(&mut self.spare);
                is_new = true;
            }
        }
        if self.progress.resumed && !is_new && !self.lent.session.is_single_use() {
            store.give(&mut self.lent);
        }
    }

    /// Says hello, and offers the session that was lent; with the first request where that goes as
    /// early data.
    pub(super) fn begin_secure(&mut self, manner: &Manner, offers: bool) -> Result<(), TlsError> {
        if !offers {
            return self.channel.begin_secure(None);
        }
        let session = &self.lent.session;
        let taken = usize::try_from(session.early_data_bytes_max()).unwrap_or(usize::MAX);
        if manner.is_early() && taken > 0 {
            self.compose(manner);
            self.progress.composed = true;
        }
        let age = self.marks.started.saturating_duration_since(self.lent.at);
        let is_early = self.progress.composed && self.request.len() <= taken;
        let early_data = if is_early { &self.request[..] } else { &[] };
        let resume = Resume { session: &self.lent.session, age, early_data };
        self.channel.begin_secure(Some(&resume))
    }

    /// Queues the next request.
    pub(super) fn ask(&mut self, manner: &Manner) -> Result<(), TlsError> {
        self.compose(manner);
        self.channel.send(&self.request)
    }

    /// Writes the next request, and awaits its response.
    pub(super) fn compose(&mut self, manner: &Manner) {
        self.requests_left -= 1;
        self.bytes_before += self.response.body_bytes();
        let expected = manner.ask(&mut self.request, &self.task, self.requests_left);
        self.response.begin(expected);
        self.marks.asked = Instant::now();
        if self.phase == Phase::Data {
            self.phase_since = self.marks.asked; // each response has its own deadline
        }
        self.marks.first_byte = None;
    }

    /// The client is done: the first request follows, unless it went as early data and the server
    /// has taken it. Where nothing is asked for, `close_notify` has the server say that it is done,
    /// unless its Finished said so: then there is nothing more to say before a reset.
    pub(super) fn after_handshake(&mut self, manner: &Manner) -> Result<(), TlsError> {
        if core::mem::take(&mut self.progress.composed) {
            if self.channel.tls().facts().early_data == EarlyData::Accepted {
                return Ok(());
            }
            self.marks.asked = Instant::now();
            return self.channel.send(&self.request);
        }
        if self.requests_left == 0 {
            if !self.channel.is_confirmed() {
                self.channel.close();
            }
            return Ok(());
        }
        self.ask(manner)
    }
}
