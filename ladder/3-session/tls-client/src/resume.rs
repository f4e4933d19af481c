//! Resumption: offering sessions, and saving them.

use core::time::Duration;

use crate::connection::Connection;
use crate::error::{Error, Misuse};
use crate::hello::{Hello, Offered, bind};
use crate::prf::Master;
use crate::saved::{Name, SavedSession};
use crate::schedule::Psk;
use crate::session::EarlyData;
use crate::wire::Content;

/// A session to resume.
#[derive(Clone, Copy, Debug)]
pub struct Resume<'a> {
    /// The session. It must come from the same server, under the same name.
    pub session: &'a SavedSession,
    /// Time since the session was saved. TLS 1.3 servers compare it with their own clocks.
    pub age: Duration,
    /// TLS 1.3: early data; empty for none. An attacker can replay early data (RFC 8446 §8), so
    /// send only data that does no harm if repeated.
    pub early_data: &'a [u8],
}

impl Connection {
    /// Starts a new session that offers to resume a saved one. If the server refuses, the handshake
    /// is full. See [`Facts::resumed`](crate::Facts::resumed).
    ///
    /// A resumed session has no certificate and no signature: the original handshake authenticated
    /// the server.
    ///
    /// # Errors
    ///
    /// [`Misuse::SessionUnfit`], [`Misuse::EarlyData`], or as [`reset`](Self::reset). On an error
    /// the connection is unchanged.
    pub fn resume(&mut self, resume: &Resume<'_>) -> Result<(), Error> {
        let Resume { session, age, early_data } = *resume;
        let suite = self.config.settings.suite;
        let mechanism = match session.kind() {
            Some(_) if session.of.is_none_or(|(of, _)| of != suite) => None,
            other => other,
        };
        let mechanism = mechanism.ok_or(Misuse::SessionUnfit)?;
        let taken = usize::try_from(session.early_data_bytes_max).unwrap_or(usize::MAX);
        if early_data.len() > taken {
            return Err(Misuse::EarlyData.into());
        }
        self.forget()?;
        self.offered.copy(session);
        self.facts.offered = Some(mechanism);
        if suite.is_tls13() {
            self.session.psk = Some(Psk::new(suite.hash(), &session.secret));
            // RFC 8446 §4.2.11: the age in milliseconds, modulo 2^32
            let age_ms = u32::try_from(age.as_millis()).unwrap_or(u32::MAX);
            self.session.obfuscated_age = age_ms.wrapping_add(session.age_add);
        }
        self.say_hello(&[], !early_data.is_empty());
        if !early_data.is_empty() {
            self.say_early_data(early_data);
        }
        Ok(())
    }

    /// Moves a resumable session into `into`, reusing its memory. Returns whether there was a
    /// session.
    ///
    /// Sessions are kept if [`Settings::save_sessions`](crate::Settings::save_sessions) is set. TLS
    /// 1.3 keeps one session for each received ticket. TLS 1.2 keeps one session for each
    /// established handshake with a new ticket or session ID. If a resumed TLS 1.2 handshake brings
    /// no new session, the offered session can be used again.
    pub fn save(&mut self, into: &mut SavedSession) -> bool {
        self.kept.take(into)
    }

    /// Queues a `ClientHello` that offers [`Self::offered`]. After a `HelloRetryRequest`, it
    /// returns the server's cookie and has no early data (RFC 8446 §4.2.10).
    pub(crate) fn say_hello(&mut self, cookie: &[u8], early_data: bool) {
        let (session, settings) = (&self.session, &self.config.settings);
        let hello = Hello {
            random: &session.random.client,
            session_id: match self.offered.of {
                None if !settings.suite.is_tls13() => &[],
                Some((_, Name::SessionId)) => &self.offered.identity,
                _ => &session.random.session_id,
            },
            shares: session.shares.map(|group| {
                group.map(|group| (group, &*session.pair(&self.config, group).public))
            }),
            cookie,
            offered: self.offered.in_hello(session.obfuscated_age, early_data),
        };
        self.draft.clear();
        hello.write(&mut self.draft, settings);
        match &self.session.psk {
            Some(psk) => bind(&mut self.draft, psk, &mut self.session.transcript),
            None => self.session.transcript.add(&self.draft),
        }
        if self.facts.hello_retry {
            self.output.record(Content::HANDSHAKE, &self.draft);
        } else {
            self.output.first_hello(&self.draft);
        }
    }

    fn say_early_data(&mut self, data: &[u8]) {
        let psk = self.session.psk.as_ref().expect("only a pre-shared key allows early data");
        let traffic = psk.early_data(self.session.transcript.hash().as_ref());
        self.say_change_cipher_spec();
        self.output.seal_with(traffic.record_key(self.config.settings.suite));
        self.output.record(Content::APPLICATION_DATA, data);
        self.data_mark = Some(self.output.mark());
        self.session.early_key = true;
        self.facts.early_data = EarlyData::Refused;
    }

    /// TLS 1.3: queues a `change_cipher_spec` for middleboxes, once, before encrypted records or a
    /// second hello (RFC 8446 §D.4).
    pub(crate) fn say_change_cipher_spec(&mut self) {
        if !core::mem::replace(&mut self.session.change_cipher_spec_said, true) {
            self.output.record(Content::CHANGE_CIPHER_SPEC, &[1]);
        }
    }

    /// Notes that the server has not read early data, and will not read it.
    pub(crate) fn early_data_refused(&mut self) {
        if core::mem::take(&mut self.session.early_key) {
            self.output.unseal();
            self.data_mark = None;
        }
    }

    /// TLS 1.2: returns whether the server has echoed the session ID. It then resumes the session.
    pub(crate) fn is_repeated(&self, session_id: &[u8]) -> bool {
        match self.offered.of {
            None => false,
            Some((_, Name::SessionId)) => session_id == self.offered.identity,
            Some((_, Name::Ticket)) => session_id == self.session.random.session_id,
        }
    }

    /// TLS 1.2: stores the identifier of the new session, replacing an earlier one.
    pub(crate) fn note_name(&mut self, name: Name, identity: &[u8], lifetime_s: u32) {
        let fits = (1..=crate::saved::TICKET_BYTES_MAX).contains(&identity.len());
        if !(self.config.settings.save_sessions && fits) {
            return;
        }
        if let Some(next) = self.kept.next() {
            next.begin(self.config.settings.suite, name, identity, lifetime_s);
        }
    }

    /// TLS 1.2: completes the new session after the server's Finished is verified.
    pub(crate) fn keep_tls12(&mut self, master: &Master) {
        let extended_master_secret = self.facts.extended_master_secret;
        if let Some(next) = self.kept.next().filter(|next| !next.is_empty()) {
            next.secret = crate::hash::Secret::new(&*master.secret);
            next.extended_master_secret = extended_master_secret;
            self.kept.keep();
        }
    }
}

impl SavedSession {
    /// Returns the offer of a hello, in addition to a session ID.
    fn in_hello(&self, obfuscated_age: u32, early_data: bool) -> Offered<'_> {
        match self.of {
            Some((suite, _)) if suite.is_tls13() => {
                Offered::Psk { identity: &self.identity, obfuscated_age, early_data }
            }
            Some((_, Name::Ticket)) => Offered::Ticket(&self.identity),
            None | Some((_, Name::SessionId)) => Offered::None,
        }
    }
}
