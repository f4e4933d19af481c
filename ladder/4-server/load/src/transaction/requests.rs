//! The requests of a transaction, and the session that it offers.

use std::time::Instant;

use tollgate_tls_client::{EarlyData, Error as TlsError, Resume};

use super::Slot;
use crate::phase::Phase;
use crate::request_spec::RequestSpec;
use crate::store::Store;

impl Slot {
    /// Stores the sessions of the connection. A resumed TLS 1.2 session is stored again if
    /// there is no new one.
    pub(crate) fn give_back(&mut self, spec: &RequestSpec, store: &mut Store) {
        let mut is_new = false;
        while self.channel.save(&mut self.spare.session) {
            if spec.takes(&self.spare.session) {
                // servers count the age of tickets from about the end of the handshake
                self.spare.at = self.marks.client_done;
                store.give(&mut self.spare);
                is_new = true;
            }
        }
        if self.progress.resumed && !is_new && !self.lent.session.is_single_use() {
            store.give(&mut self.lent);
        }
    }

    /// Starts a TLS connection. With `offers` it offers a session, and sends the first request
    /// as early data if planned and allowed.
    pub(super) fn begin_secure(
        &mut self,
        spec: &RequestSpec,
        offers: bool,
    ) -> Result<(), TlsError> {
        if !offers {
            return self.channel.begin_secure(None);
        }
        let session = &self.lent.session;
        let taken = usize::try_from(session.early_data_bytes_max()).unwrap_or(usize::MAX);
        if spec.is_early() && taken > 0 {
            self.compose(spec);
            self.progress.composed = true;
        }
        let age = self.marks.started.saturating_duration_since(self.lent.at);
        let is_early = self.progress.composed && self.request.len() <= taken;
        let early_data = if is_early { &self.request[..] } else { &[] };
        let resume = Resume { session: &self.lent.session, age, early_data };
        self.channel.begin_secure(Some(&resume))
    }

    pub(super) fn ask(&mut self, spec: &RequestSpec) -> Result<(), TlsError> {
        self.compose(spec);
        self.channel.send(&self.request)
    }

    /// Writes the next request and prepares for its response.
    pub(super) fn compose(&mut self, spec: &RequestSpec) {
        self.requests_left -= 1;
        self.bytes_before += self.response.body_bytes;
        let expected = spec.ask(&mut self.request, &self.task, self.requests_left);
        self.response.begin(expected);
        if self.phase == Phase::Data {
            self.phase_since = Instant::now(); // each response has its own timeout
        }
    }

    /// After the handshake: sends the first request, unless the server has accepted it as early
    /// data. In a plan without requests, the server's Finished may have confirmed the handshake
    /// already. Otherwise the client sends `close_notify`, which makes the server confirm the
    /// handshake.
    pub(super) fn after_handshake(&mut self, spec: &RequestSpec) -> Result<(), TlsError> {
        if core::mem::take(&mut self.progress.composed) {
            if self.channel.tls().facts().early_data == EarlyData::Accepted {
                return Ok(());
            }
            return self.channel.send(&self.request);
        }
        if self.requests_left == 0 {
            if !self.channel.is_confirmed() {
                self.channel.close();
            }
            return Ok(());
        }
        self.ask(spec)
    }
}
