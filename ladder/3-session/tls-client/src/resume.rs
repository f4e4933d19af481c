//! Sessions that are resumed: what the first message offers, and what a connection gives away.

use core::time::Duration;

use crate::connection::Connection;
use crate::error::{Error, Misuse};
use crate::group::Group;
use crate::hello::{Hello, Offered, bind};
use crate::prf::Master;
use crate::protect::HEADER;
use crate::saved::{Mechanism, Name, SavedSession};
use crate::schedule::Psk;
use crate::wire::Content;

/// What a new session offers to go on with.
#[derive(Clone, Copy, Debug)]
pub struct Resume<'a> {
    /// The session that is to be resumed: of the same server, under the same name.
    pub session: &'a SavedSession,
    /// How long ago it was saved. Servers of TLS 1.3 compare it with their own clocks.
    pub age: Duration,
    /// TLS 1.3: application data that goes with the hello; empty for none. Who records it can send
    /// it again (RFC 8446 §8), so it is to be harmless.
    pub early_data: &'a [u8],
}

/// What became of early data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EarlyData {
    /// None was sent.
    #[default]
    None,
    /// The server did not take it, or has not said so yet. It is to be sent again.
    Refused,
    /// The server has read it.
    Accepted,
}

impl Connection {
    /// Forgets the session and begins another, which offers to resume a saved one. If the server
    /// refuses it makes a full handshake: [`Facts::resumed`](crate::Facts::resumed) says what it
    /// did.
    ///
    /// A session that is resumed shows no certificate and no signature: whom it is with, the
    /// handshake has checked that it was saved from.
    ///
    /// # Errors
    ///
    /// [`Misuse::SessionUnfit`], [`Misuse::EarlyData`], or as [`reset`](Self::reset); the
    /// connection is then as it was.
    pub fn resume(&mut self, resume: &Resume<'_>) -> Result<(), Error> {
        let Resume { session, age, early_data } = *resume;
        let suite = self.config.settings.suite;
        let mechanism = match session.mechanism() {
            Some(_) if session.of.is_none_or(|(of, _)| of != suite) => None,
            Some(Mechanism::Psk) if self.config.settings.psk_alone => Some(Mechanism::PskAlone),
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
            // RFC 8446 §4.2.11: modulo 2^32, in milliseconds
            let age_ms = u32::try_from(age.as_millis()).unwrap_or(u32::MAX);
            self.session.obfuscated_age = age_ms.wrapping_add(session.age_add);
        }
        self.say_resuming_hello(!early_data.is_empty());
        if !early_data.is_empty() {
            self.say_early_data(early_data);
        }
        Ok(())
    }

    /// Moves a session that the server may resume into `into`, whose memory serves again. Says
    /// whether there was one. With [`Settings::save_sessions`](crate::Settings::save_sessions)
    /// there is one from each ticket of TLS 1.3, once it has come, and in TLS 1.2 one from each
    /// handshake that brought a ticket or a session ID, once it is established. A session of TLS
    /// 1.2 that was resumed and gave nothing new serves on.
    pub fn save(&mut self, into: &mut SavedSession) -> bool {
        self.kept.take(into)
    }

    fn say_resuming_hello(&mut self, early_data: bool) {
        let (session, settings) = (&self.session, &self.config.settings);
        let share = session.share.map(|group| (group, session.pair(&self.config, group).public()));
        let session_id = match self.offered.of {
            Some((suite, Name::SessionId)) if !suite.is_tls13() => &self.offered.identity[..],
            _ => &session.random.session_id[..],
        };
        let hello = Hello {
            random: &session.random.client,
            session_id,
            share,
            cookie: &[],
            offered: self.offered.in_hello(session.obfuscated_age, early_data),
        };
        let record = self.output.raw(|out| hello.write_record(out, settings));
        let message = &mut record[HEADER..];
        match &self.session.psk {
            Some(psk) => bind(message, psk, &mut self.session.transcript),
            None => self.session.transcript.add(message),
        }
    }

    /// Says the second hello, after a `HelloRetryRequest`; without early data (RFC 8446 §4.2.10).
    pub(crate) fn say_second_hello(&mut self, share: Group, cookie: &[u8]) {
        let session = &self.session;
        let hello = Hello {
            random: &session.random.client,
            session_id: &session.random.session_id,
            share: Some((share, session.pair(&self.config, share).public())),
            cookie,
            offered: self.offered.in_hello(session.obfuscated_age, false),
        };
        self.draft.clear();
        hello.write(&mut self.draft, &self.config.settings);
        match &self.session.psk {
            Some(psk) => bind(&mut self.draft, psk, &mut self.session.transcript),
            None => self.session.transcript.add(&self.draft),
        }
        self.output.record(Content::HANDSHAKE, &self.draft);
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

    /// TLS 1.3: for middleboxes, once, before what is encrypted or a second hello (RFC 8446 §D.4).
    pub(crate) fn say_change_cipher_spec(&mut self) {
        if !core::mem::replace(&mut self.session.change_cipher_spec_said, true) {
            self.output.record(Content::CHANGE_CIPHER_SPEC, &[1]);
        }
    }

    /// The server will not read early data, or has not read it.
    pub(crate) fn early_data_refused(&mut self) {
        if core::mem::take(&mut self.session.early_key) {
            self.output.unseal();
            self.data_mark = None;
        }
    }

    /// TLS 1.2: whether the server has repeated the session ID that was sent, and so resumes.
    pub(crate) fn is_repeated(&self, session_id: &[u8]) -> bool {
        match self.offered.of {
            None => false,
            Some((_, Name::SessionId)) => session_id == self.offered.identity,
            Some((_, Name::Ticket)) => session_id == self.session.random.session_id,
        }
    }

    /// TLS 1.2: notes what the server will find the new session by; whatever came before it is
    /// forgotten.
    pub(crate) fn note_name(&mut self, name: Name, identity: &[u8], lifetime_s: u32) {
        let fits = (1..=crate::saved::TICKET_BYTES_MAX).contains(&identity.len());
        if !(self.config.settings.save_sessions && fits) {
            return;
        }
        if let Some(next) = self.kept.next() {
            next.of = Some((self.config.settings.suite, name));
            next.identity.clear();
            next.identity.extend_from_slice(identity);
            next.lifetime_s = lifetime_s;
        }
    }

    /// TLS 1.2: the server's Finished is verified, so what was noted is a session.
    pub(crate) fn keep_tls12(&mut self, master: &Master) {
        let extended_master_secret = self.facts.extended_master_secret;
        if let Some(next) = self.kept.next().filter(|next| !next.is_empty()) {
            next.secret = crate::hash::Secret::new(master.secret());
            next.extended_master_secret = extended_master_secret;
            self.kept.keep();
        }
    }
}

impl SavedSession {
    /// What a hello has of it, beside a session ID.
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
