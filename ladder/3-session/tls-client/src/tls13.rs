//! The handshake of TLS 1.3 (RFC 8446 §2), full or resumed, and the messages that may follow it.

use aws_lc_rs::constant_time::verify_slices_are_equal;

use crate::certificate::leaf_tls13;
use crate::connection::Connection;
use crate::decode::Reader;
use crate::error::{Found, Violation};
use crate::hash::Transcript;
use crate::input::{Incoming, Received};
use crate::phase::Await;
use crate::receive::Stop;
use crate::registry::Group;
use crate::saved::{Name, TICKET_BYTES_MAX};
use crate::schedule::Psk;
use crate::server_hello::{
    Asked, Hello13, early_data_bytes_max, encrypted_extensions, illegal, offered_scheme,
};
use crate::session::EarlyData;
use crate::wire::{Content, Message};

impl Connection {
    pub(crate) fn message_tls13(
        &mut self,
        incoming: Incoming<'_>,
    ) -> Result<Option<Received>, Stop> {
        let body = incoming.body();
        match (self.awaiting, incoming.message) {
            (Await::ServerHello, Message::SERVER_HELLO) => {
                incoming.ends_flight()?;
                self.server_hello_tls13(incoming)?;
                return Ok(None);
            }
            (Await::EncryptedExtensions, Message::ENCRYPTED_EXTENSIONS) => {
                self.encrypted_extensions(body)?;
            }
            (Await::CertificateOrRequest, Message::CERTIFICATE_REQUEST) => {
                let mut r = Reader::new(Message::CERTIFICATE_REQUEST, body);
                let context = r.vector(1, "certificate_request_context")?;
                r.vector(2, "extensions")?;
                r.end("trailing bytes")?;
                // RFC 8446 §4.3.2: only a post-handshake request has a context
                if !context.is_empty() {
                    return Err(context.illegal("certificate_request_context").into());
                }
                self.facts.client_certificate_asked = true;
                self.awaiting = Await::Certificate13;
            }
            (Await::CertificateOrRequest | Await::Certificate13, Message::CERTIFICATE) => {
                self.take_leaf(leaf_tls13(body)?)?;
                self.awaiting = Await::CertificateVerify;
            }
            (Await::CertificateVerify, Message::CERTIFICATE_VERIFY) => {
                self.certificate_verify(body)?;
                self.awaiting = Await::Finished13;
            }
            (Await::Finished13, Message::FINISHED) => {
                incoming.ends_flight()?;
                return self.finished_tls13(incoming).map(Some);
            }
            (Await::Established, Message::NEW_SESSION_TICKET) => {
                self.ticket(body)?;
                return Ok(None);
            }
            (Await::Established, Message::KEY_UPDATE) => {
                incoming.ends_flight()?;
                self.key_update(body)?;
                return Ok(None);
            }
            (_, found) => return Err(self.unexpected(Found::Handshake(found)).into()),
        }
        self.session.transcript.add(incoming.whole);
        Ok(None)
    }

    fn server_hello_tls13(&mut self, incoming: Incoming<'_>) -> Result<(), Stop> {
        let session_id = &self.session.random.session_id;
        let asked = Asked { session_id, psk: self.session.psk.is_some() };
        let (psk, share) = match Hello13::read(incoming.body(), &self.config.settings, asked)? {
            Hello13::Retry { group, cookie } => return self.retry(incoming, group, cookie),
            Hello13::Goes { psk, share } => (psk, share),
        };
        let (group, public) = share;
        self.facts.group = Some(group);
        if !self.session.shares.contains(&Some(group)) {
            return Err(illegal("key_share").into());
        }
        self.facts.resumed = psk;
        if !psk {
            self.early_data_refused();
        }
        self.session.transcript.add(incoming.whole);
        let transcript = self.session.transcript.hash();
        let resumed = self.session.psk.as_ref().filter(|_| psk).map(Psk::early);
        let early = resumed.as_ref().unwrap_or(&self.config.early);
        let pair = self.session.pair(&self.config, group);
        let secrets = pair.agree(public, |shared| early.handshake(shared, transcript.as_ref()))?;
        self.opening = Some(secrets.server.record_key(self.config.settings.suite));
        self.session.handshake = Some(secrets);
        self.awaiting = Await::EncryptedExtensions;
        Ok(())
    }

    fn encrypted_extensions(&mut self, body: &[u8]) -> Result<(), Violation> {
        let may_be_early = self.session.early_key;
        if encrypted_extensions(body, &self.config.settings, may_be_early)? {
            self.facts.early_data = EarlyData::Accepted;
        } else {
            self.early_data_refused();
        }
        // RFC 8446 §2.2: a pre-shared key replaces certificate and signature
        let resumed = self.facts.resumed;
        self.awaiting = if resumed { Await::Finished13 } else { Await::CertificateOrRequest };
        Ok(())
    }

    /// Answers a `HelloRetryRequest` (RFC 8446 §4.1.4) with a second `ClientHello`.
    fn retry(
        &mut self,
        incoming: Incoming<'_>,
        group: Option<Group>,
        cookie: &[u8],
    ) -> Result<(), Stop> {
        if self.facts.hello_retry {
            return Err(Violation::RetryTwice.into());
        }
        // a retry must name a group or carry a cookie, and must not name a group already sent
        let is_vain = match group {
            Some(_) => self.session.shares.contains(&group),
            None => cookie.is_empty(),
        };
        if is_vain {
            return Err(Violation::RetryVain.into());
        }
        self.facts.hello_retry = true;
        self.session.transcript.retry();
        self.session.transcript.add(incoming.whole);
        if group.is_some() {
            self.session.shares = [group, None];
            self.session.prepare(&self.config, [group, None])?;
        }
        self.early_data_refused();
        self.say_change_cipher_spec();
        self.say_hello(cookie, false);
        Ok(())
    }

    fn certificate_verify(&mut self, body: &[u8]) -> Result<(), Violation> {
        let mut r = Reader::new(Message::CERTIFICATE_VERIFY, body);
        let scheme = offered_scheme(r.u16("algorithm")?, &self.config.settings)?;
        let signature = r.vector(2, "signature")?.rest();
        r.end("trailing bytes")?;
        // RFC 8446 §4.4.3: PKCS#1 v1.5 is not allowed here
        if !self.known_leaf().key.signs_tls13(scheme) {
            return Err(Violation::SignatureScheme { found: scheme.number() });
        }
        self.facts.signature = Some(scheme);
        if self.session.verify {
            let leaf = self.known_leaf();
            let message = signed_content(&self.session.transcript, &mut self.draft);
            leaf.verify(scheme, message, signature)?;
            self.facts.signature_verified = true;
        }
        Ok(())
    }

    /// Verifies the server's Finished, sends the client's Finished, and changes to application
    /// keys.
    fn finished_tls13(&mut self, incoming: Incoming<'_>) -> Result<Received, Stop> {
        let secrets = self.session.handshake.as_ref().expect("made with the server's hello");
        let transcript = self.session.transcript.hash();
        let expected = secrets.server.verify_data(transcript.as_ref());
        verify_slices_are_equal(incoming.body(), expected.as_ref())
            .map_err(|_| Violation::BadFinished)?;
        let secrets = self.session.handshake.take().expect("as above");
        let suite = self.config.settings.suite;
        self.session.transcript.add(incoming.whole);
        let master = secrets.master();
        let (client, server) = master.application(self.session.transcript.hash().as_ref());
        self.say_change_cipher_spec();
        if core::mem::take(&mut self.session.early_key) {
            self.say(Message::END_OF_EARLY_DATA, |_| ());
        }
        self.output.seal_with(secrets.client.record_key(suite));
        self.say_certificate();
        let transcript = self.session.transcript.hash();
        let data = secrets.client.verify_data(transcript.as_ref());
        self.say(Message::FINISHED, |out| out.extend_from_slice(data.as_ref()));
        self.output.seal_with(client.record_key(suite));
        self.opening = Some(server.record_key(suite));
        self.session.application = Some((client, server));
        self.session.master_secret = Some(master).filter(|_| self.config.settings.save_sessions);
        self.awaiting = Await::Established;
        Ok(Received::Established)
    }

    fn ticket(&mut self, body: &[u8]) -> Result<(), Violation> {
        let mut r = Reader::new(Message::NEW_SESSION_TICKET, body);
        let lifetime_s = r.u32("ticket_lifetime")?;
        let age_add = r.u32("ticket_age_add")?;
        let nonce = r.vector(1, "ticket_nonce")?.rest();
        let ticket = r.vector(2, "ticket")?.rest();
        if ticket.is_empty() {
            return Err(r.malformed("ticket"));
        }
        let early_data_bytes_max = early_data_bytes_max(r.vector(2, "extensions")?)?;
        r.end("trailing bytes")?;
        self.facts.tickets = self.facts.tickets.saturating_add(1);
        // RFC 8446 §4.6.1: a ticket with lifetime 0 is discarded at once
        let fits = lifetime_s > 0 && ticket.len() <= TICKET_BYTES_MAX;
        if let Some(master) = self.session.master_secret.as_ref().filter(|_| fits)
            && let Some(next) = self.kept.next()
        {
            let transcript = self.session.transcript.hash();
            next.begin(self.config.settings.suite, Name::Ticket, ticket, lifetime_s);
            next.secret = master.psk(transcript.as_ref(), nonce);
            next.age_add = age_add;
            next.early_data_bytes_max = early_data_bytes_max;
            self.kept.keep();
        }
        Ok(())
    }

    /// Handles a `KeyUpdate` (RFC 8446 §4.6.3). One response answers all requests received before
    /// it is sent.
    fn key_update(&mut self, body: &[u8]) -> Result<(), Violation> {
        let mut r = Reader::new(Message::KEY_UPDATE, body);
        let request = r.u8("request_update")?;
        r.end("trailing bytes")?;
        if request > 1 {
            return Err(r.illegal("request_update"));
        }
        let suite = self.config.settings.suite;
        let (_, server) =
            self.session.application.as_mut().expect("made with the server's Finished");
        *server = server.next();
        self.opening = Some(server.record_key(suite));
        let idle = self.output.is_sent(self.answer_mark) && self.close_mark.is_none();
        if request == 1 && idle {
            self.renew_key();
            self.answer_mark = self.output.mark();
        }
        Ok(())
    }

    /// Queues `KeyUpdate` and changes to the next key.
    fn renew_key(&mut self) {
        let suite = self.config.settings.suite;
        let message = [Message::KEY_UPDATE.0, 0, 0, 1, 0];
        self.output.record(Content::HANDSHAKE, &message);
        let (client, _) = self.session.application.as_mut().expect("made with our Finished");
        *client = client.next();
        self.output.seal_with(client.record_key(suite));
    }
}

/// Returns the input of the server's signature in a `CertificateVerify` (RFC 8446 §4.4.3).
fn signed_content<'a>(transcript: &Transcript, draft: &'a mut Vec<u8>) -> &'a [u8] {
    draft.clear();
    draft.extend([b' '; 64]);
    draft.extend_from_slice(b"TLS 1.3, server CertificateVerify\0");
    draft.extend_from_slice(transcript.hash().as_ref());
    draft
}
