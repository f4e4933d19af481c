//! Handles received records, alerts and messages.

use core::ops::Range;
use std::sync::Arc;

use crate::certificate::Leaf;
use crate::connection::{Confirmation, Connection};
use crate::error::{Error, Found, Unavailable, Violation};
use crate::input::{Incoming, Received};
use crate::phase::Await;
use crate::protect::{BODY_TLS12, BODY_TLS13, FRAGMENT, HEADER};
use crate::session::EarlyData;
use crate::wire::{AlertDescription, AlertLevel, Content, Message};

/// The reason for the end of a session; [`Connection::stop`] adds the phase.
#[derive(Debug)]
pub(crate) enum Stop {
    Alert(AlertLevel, AlertDescription),
    Unavailable(Unavailable),
    Violation(Violation),
}

impl From<Unavailable> for Stop {
    fn from(unavailable: Unavailable) -> Self {
        Self::Unavailable(unavailable)
    }
}

impl From<Violation> for Stop {
    fn from(violation: Violation) -> Self {
        Self::Violation(violation)
    }
}

impl Connection {
    /// Ends the session: stores the error, and queues an alert for a violation.
    pub(crate) fn stop(&mut self, stop: Stop) -> Error {
        let phase = self.phase();
        let (error, alert) = match stop {
            Stop::Alert(level, description) => (Error::Alert { phase, level, description }, None),
            Stop::Unavailable(unavailable) => {
                (unavailable.into(), Some(AlertDescription::INTERNAL_ERROR))
            }
            Stop::Violation(violation) => {
                (Error::Violation { phase, violation }, Some(violation.alert()))
            }
        };
        if let Some(alert) = alert.filter(|_| self.close_mark.is_none()) {
            // TLS 1.3: handshake secrets exist from the ServerHello to the client's Finished. They
            // are not used while the server may be reading early data.
            let secrets = self.session.handshake.take().filter(|_| !self.session.early_key);
            if let Some(secrets) = secrets {
                self.output.seal_with(secrets.client.record_key(self.config.settings.suite));
            }
            self.output.record(Content::ALERT, &[AlertLevel::FATAL.0, alert.0]);
        }
        self.error = Some(error);
        error
    }

    /// Returns the next event; `None` if more bytes are needed.
    pub(crate) fn next_event(&mut self) -> Result<Option<Received>, Stop> {
        loop {
            if self.awaiting == Await::Closed {
                self.input.clear(); // RFC 8446 §6.1: data after close_notify is ignored
                return Ok(None);
            }
            if let Some((bytes, range)) = self.joined.message()? {
                let message = Message(bytes[range.start]);
                let last = range.end == bytes.len();
                let incoming = Incoming { message, whole: &bytes[range], last };
                let news = if self.config.settings.suite.is_tls13() {
                    self.message_tls13(incoming)
                } else {
                    self.message_tls12(incoming)
                };
                self.joined.give(bytes);
                if let Some(news) = news? {
                    return Ok(Some(news));
                }
                continue;
            }
            let limit_bytes = match self.opening {
                None => FRAGMENT,
                Some(_) if self.config.settings.suite.is_tls13() => BODY_TLS13,
                Some(_) => BODY_TLS12,
            };
            let Some(record) = self.input.record(limit_bytes)? else {
                return Ok(None);
            };
            if let Some(news) = self.record(record)? {
                return Ok(Some(news));
            }
        }
    }

    fn record(&mut self, range: Range<usize>) -> Result<Option<Received>, Stop> {
        let tls13 = self.config.settings.suite.is_tls13();
        let record = self.input.at_mut(range.clone());
        let outer = Content(record[0]);
        let (content, within) = match &mut self.opening {
            // RFC 8446 §5: a change_cipher_spec for middleboxes is never encrypted
            Some(_) if tls13 && outer == Content::CHANGE_CIPHER_SPEC => {
                (outer, HEADER..range.len())
            }
            Some(_) if tls13 && outer != Content::APPLICATION_DATA => {
                return Err(Violation::Unprotected { content: outer }.into());
            }
            Some(key) => key.open(record)?,
            None => (outer, HEADER..range.len()),
        };
        let protected = self.opening.is_some() && outer != Content::CHANGE_CIPHER_SPEC;
        let fragment = range.start + within.start..range.start + within.end;
        if fragment.is_empty() && content != Content::APPLICATION_DATA {
            return Err(Violation::EmptyRecord { content }.into());
        }
        match content {
            Content::HANDSHAKE => {
                self.joined.append(self.input.at(fragment));
                return Ok(None);
            }
            Content::ALERT => return self.alert(fragment),
            _ => (),
        }
        // RFC 8446 §5.1: no other record may be between the pieces of a message
        if !self.joined.is_empty() {
            return Err(Violation::Interleaved.into());
        }
        match content {
            Content::APPLICATION_DATA if protected && self.awaiting == Await::Established => {
                Ok(self.data(fragment))
            }
            Content::CHANGE_CIPHER_SPEC => {
                self.change_cipher_spec(self.input.at(fragment) == [1], protected)?;
                Ok(None)
            }
            _ => Err(self.unexpected(Found::Record(content)).into()),
        }
    }

    fn data(&mut self, fragment: Range<usize>) -> Option<Received> {
        if fragment.is_empty() {
            return None;
        }
        let answered = self.data_mark.is_some_and(|mark| self.output.is_sent(mark));
        if self.confirmation.is_none() && answered {
            self.confirmation = Some(match self.facts.early_data {
                EarlyData::Accepted => Confirmation::EarlyResponse,
                EarlyData::None | EarlyData::Refused => Confirmation::Response,
            });
        }
        Some(Received::Data(fragment))
    }

    fn change_cipher_spec(&mut self, well_formed: bool, protected: bool) -> Result<(), Violation> {
        let found = Found::Record(Content::CHANGE_CIPHER_SPEC);
        if protected || !well_formed {
            return Err(self.unexpected(found));
        }
        if self.config.settings.suite.is_tls13() {
            // RFC 8446 §5: a change_cipher_spec between ClientHello and the server's Finished is
            // dropped
            return if self.is_established() { Err(self.unexpected(found)) } else { Ok(()) };
        }
        if self.awaiting != Await::ChangeCipherSpec {
            return Err(self.unexpected(found));
        }
        self.opening = self.session.server_key.take();
        self.awaiting = Await::Finished12;
        Ok(())
    }

    fn alert(&mut self, fragment: Range<usize>) -> Result<Option<Received>, Stop> {
        let &[level, description] = self.input.at(fragment) else {
            return Err(self.unexpected(Found::Record(Content::ALERT)).into());
        };
        let (level, description) = (AlertLevel(level), AlertDescription(description));
        if description == AlertDescription::CLOSE_NOTIFY && self.awaiting == Await::Established {
            let answered = self.close_mark.is_some_and(|mark| self.output.is_sent(mark));
            if self.confirmation.is_none() && answered {
                self.confirmation = Some(Confirmation::CloseNotify);
            }
            self.awaiting = Await::Closed;
            return Ok(Some(Received::Closed));
        }
        // RFC 8446 §6: in TLS 1.3, every alert except user_canceled is fatal, whatever its level
        let harmless = match self.config.settings.suite.is_tls13() {
            true => description == AlertDescription::USER_CANCELED,
            false => level == AlertLevel::WARNING && description != AlertDescription::CLOSE_NOTIFY,
        };
        if harmless { Ok(None) } else { Err(Stop::Alert(level, description)) }
    }

    /// Returns the violation of an unexpected message or record.
    pub(crate) const fn unexpected(&self, found: Found) -> Violation {
        Violation::UnexpectedMessage { expected: self.awaiting.name(), found }
    }

    /// Handles the server's leaf certificate.
    pub(crate) fn take_leaf(&mut self, certificate: &[u8]) -> Result<(), Violation> {
        if self.leaf.as_ref().is_none_or(|leaf| *leaf.der != *certificate) {
            self.leaf = Some(self.config.leaf(certificate)?);
        }
        if !self.known_leaf().key.serves(self.config.settings.suite) {
            return Err(Violation::CertificateKeyType);
        }
        self.facts.leaf_bytes = certificate.len();
        Ok(())
    }

    /// Queues an empty certificate (RFC 5246 §7.4.6, RFC 8446 §4.4.2) if one was requested.
    pub(crate) fn say_certificate(&mut self) {
        if self.facts.client_certificate_asked {
            // TLS 1.3 has an empty context before the empty list
            let bytes = if self.config.settings.suite.is_tls13() { 4 } else { 3 };
            self.say(Message::CERTIFICATE, |out| out.extend(core::iter::repeat_n(0, bytes)));
        }
    }

    /// Returns the server's leaf certificate. It always arrives before its first use.
    pub(crate) fn known_leaf(&self) -> Arc<Leaf> {
        Arc::clone(self.leaf.as_ref().expect("the order of messages is checked"))
    }
}
