//! The handshake of TLS 1.2 (RFC 5246 §7.3): full, with any key exchange, or resumed.

use core::convert::Infallible;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use zeroize::Zeroizing;

use crate::certificate::{Premaster, leaf_tls12};
use crate::connection::{Confirmation, Connection};
use crate::decode::{Reader, put_vector};
use crate::error::{Found, Violation};
use crate::input::{Incoming, Received};
use crate::phase::Await;
use crate::prf::{Master, Side};
use crate::protect::RecordKey;
use crate::receive::Stop;
use crate::registry::Group;
use crate::saved::Name;
use crate::server_hello::{Hello12, offered, offered_scheme};
use crate::session::Agreed;
use crate::settings::Freshness;
use crate::suite::KeyExchange;
use crate::wire::{AlertDescription, AlertLevel, Content, Message, TLS12};

impl Connection {
    pub(crate) fn message_tls12(
        &mut self,
        incoming: Incoming<'_>,
    ) -> Result<Option<Received>, Stop> {
        let body = incoming.body();
        match (self.awaiting, incoming.message) {
            (_, Message::HELLO_REQUEST) => {
                // not part of the transcript (RFC 5246 §7.4.1.1)
                Reader::new(Message::HELLO_REQUEST, body).end("trailing bytes")?;
                self.refuse_renegotiation();
                return Ok(None);
            }
            (Await::Finished12, Message::FINISHED) => {
                return self.finished_tls12(incoming).map(Some);
            }
            (Await::ServerHello, Message::SERVER_HELLO) => self.server_hello_tls12(body)?,
            (Await::Certificate12, Message::CERTIFICATE) => {
                self.take_leaf(leaf_tls12(body)?)?;
                let agreement = self.config.settings.suite.has_group();
                self.awaiting =
                    if agreement { Await::ServerKeyExchange } else { Await::ServerHelloDone };
            }
            (Await::ServerKeyExchange, Message::SERVER_KEY_EXCHANGE) => self.key_exchange(body)?,
            (Await::ServerHelloDone, Message::CERTIFICATE_REQUEST)
                if !self.facts.client_certificate_asked =>
            {
                let mut r = Reader::new(Message::CERTIFICATE_REQUEST, body);
                r.vector(1, "certificate_types")?;
                r.vector(2, "supported_signature_algorithms")?;
                r.vector(2, "certificate_authorities")?;
                r.end("trailing bytes")?;
                self.facts.client_certificate_asked = true;
            }
            (Await::ServerHelloDone, Message::SERVER_HELLO_DONE) => {
                Reader::new(Message::SERVER_HELLO_DONE, body).end("trailing bytes")?;
                self.session.transcript.add(incoming.whole);
                self.answer_flight()?;
                return Ok(None);
            }
            (Await::ChangeCipherSpec, Message::NEW_SESSION_TICKET)
                if self.session.ticket_announced && self.facts.tickets == 0 =>
            {
                let mut r = Reader::new(Message::NEW_SESSION_TICKET, body);
                let lifetime_s = r.u32("ticket_lifetime_hint")?;
                let ticket = r.vector(2, "ticket")?.rest(); // may be empty (RFC 5077 §3.3)
                r.end("trailing bytes")?;
                self.facts.tickets = 1;
                self.note_name(Name::Ticket, ticket, lifetime_s);
            }
            (_, found) => return Err(self.unexpected(Found::Handshake(found)).into()),
        }
        self.session.transcript.add(incoming.whole);
        Ok(None)
    }

    /// RFC 5746 §4.2 and RFC 5246 §7.2.2: queues a warning, unless an earlier one is not sent yet.
    fn refuse_renegotiation(&mut self) {
        let idle = self.output.is_sent(self.answer_mark) && self.close_mark.is_none();
        if self.awaiting == Await::Established && idle {
            let alert = [AlertLevel::WARNING.0, AlertDescription::NO_RENEGOTIATION.0];
            self.output.record(Content::ALERT, &alert);
            self.answer_mark = self.output.mark();
        }
    }

    fn server_hello_tls12(&mut self, body: &[u8]) -> Result<(), Violation> {
        let sent = matches!(self.offered.of, Some((_, Name::Ticket)));
        let offers_ticket = self.config.settings.tickets || sent;
        let hello = Hello12::read(body, &self.config.settings, offers_ticket)?;
        self.session.server_random = hello.random;
        self.session.ticket_announced = hello.ticket;
        self.facts.encrypt_then_mac = hello.encrypt_then_mac;
        self.facts.extended_master_secret = hello.extended_master_secret;
        if self.is_repeated(hello.session_id) {
            return self.resume_tls12();
        }
        self.note_name(Name::SessionId, hello.session_id, 0);
        self.awaiting = Await::Certificate12;
        Ok(())
    }

    /// Starts the abbreviated handshake. The keys are known, and the server sends its Finished
    /// first.
    fn resume_tls12(&mut self) -> Result<(), Violation> {
        // RFC 7627 §5.3: the resumed session must keep the original session's choice
        if self.facts.extended_master_secret != self.offered.extended_master_secret {
            return Err(Violation::ExtendedMasterSecret);
        }
        let suite = self.config.settings.suite;
        let master = Master::saved(suite.hash(), &self.offered.secret);
        let encrypt_then_mac = self.facts.encrypt_then_mac;
        let (client, server) = master.record_keys(suite, self.session.randoms(), encrypt_then_mac);
        self.facts.resumed = true;
        self.session.master = Some(master);
        self.session.client_key = Some(client);
        self.session.server_key = Some(server);
        self.awaiting = Await::ChangeCipherSpec;
        Ok(())
    }

    /// Handles a `ServerKeyExchange`: the signed parameters of the agreement (RFC 5246 §7.4.3, RFC
    /// 8422 §5.4).
    fn key_exchange(&mut self, body: &[u8]) -> Result<(), Stop> {
        let mut r = Reader::new(Message::SERVER_KEY_EXCHANGE, body);
        let settings = &self.config.settings;
        if r.u8("curve_type")? != 3 {
            return Err(r.illegal("curve_type").into());
        }
        let group = offered(r.u16("named_curve")?, settings)?;
        let public = r.vector(1, "point")?.rest();
        let signed = &body[..body.len() - r.rest().len()];
        let scheme = offered_scheme(r.u16("signature algorithm")?, settings)?;
        let signature = r.vector(2, "signature")?.rest();
        r.end("trailing bytes")?;
        if self.session.verify {
            self.draft.clear();
            self.session.randoms().iter().for_each(|random| self.draft.extend(*random));
            self.draft.extend_from_slice(signed);
            self.known_leaf().verify(scheme, &self.draft, signature)?;
            self.facts.signature_verified = true;
        }
        self.facts.signature = Some(scheme);
        self.agree(group, public)?;
        self.awaiting = Await::ServerHelloDone;
        Ok(())
    }

    fn agree(&mut self, group: Group, peer: &[u8]) -> Result<(), Stop> {
        let hash = self.config.settings.suite.hash();
        self.facts.group = Some(group);
        self.session.prepare(&self.config, [Some(group), None])?;
        let pair = self.session.pair(&self.config, group);
        // RFC 8422 §5.10: the secret keeps its leading zeros
        let premaster = pair.agree(peer, |premaster| hash.hmac_key(premaster))?;
        self.session.agreed = Some(Agreed { public: pair.public.clone(), premaster });
        Ok(())
    }

    /// Queues an empty certificate if one is requested, `ClientKeyExchange`, `ChangeCipherSpec` and
    /// Finished.
    fn answer_flight(&mut self) -> Result<(), Stop> {
        self.say_certificate();
        let suite = self.config.settings.suite;
        let master = match suite.exchange() {
            KeyExchange::Rsa => self.exchange_rsa()?,
            _ => self.exchange_agreed()?,
        };
        let encrypt_then_mac = self.facts.encrypt_then_mac;
        let (client, server) = master.record_keys(suite, self.session.randoms(), encrypt_then_mac);
        self.say_finished_tls12(&master, client);
        self.session.master = Some(master);
        self.session.server_key = Some(server);
        self.awaiting = Await::ChangeCipherSpec;
        Ok(())
    }

    /// Exchanges keys by RSA encryption (RFC 5246 §7.4.7.1).
    fn exchange_rsa(&mut self) -> Result<Master, Violation> {
        let leaf = self.known_leaf();
        // a premaster secret is the offered version, then random bytes
        let mut fresh = Zeroizing::new([0; 48]);
        fresh[..2].copy_from_slice(&TLS12.to_be_bytes());
        fresh[2..].copy_from_slice(&*self.session.random.premaster);
        let secret = match self.config.settings.premaster {
            Freshness::Fresh => {
                self.say_key_exchange(2, |out| leaf.encrypt(&fresh, out))?;
                &fresh
            }
            Freshness::Reuse => {
                let Premaster { secret, ciphertext } = leaf.reused(&fresh)?;
                self.say_key_exchange(2, |out| {
                    out.extend_from_slice(ciphertext);
                    Ok(())
                })?;
                secret
            }
        };
        Ok(self.master(&self.config.settings.suite.hash().hmac_key(&**secret)))
    }

    /// Exchanges keys by Diffie-Hellman (RFC 5246 §7.4.7.2, RFC 8422 §5.7).
    fn exchange_agreed(&mut self) -> Result<Master, Violation> {
        let agreed = self.session.agreed.take().expect("the server's key exchange came before");
        self.say_key_exchange(1, |out| {
            out.extend_from_slice(&agreed.public);
            Ok(())
        })?;
        Ok(self.master(&agreed.premaster))
    }

    /// Queues a `ClientKeyExchange` with the vector that `write` fills.
    fn say_key_exchange(
        &mut self,
        width: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        self.try_say(Message::CLIENT_KEY_EXCHANGE, |out| {
            let mut written = Ok(());
            put_vector(out, width, |out| written = write(out));
            written
        })
    }

    /// Returns the master secret; the transcript ends with the `ClientKeyExchange`.
    fn master(&self, premaster: &hmac::Key) -> Master {
        let hash = self.config.settings.suite.hash();
        if self.facts.extended_master_secret {
            Master::extended(hash, premaster, self.session.transcript.hash().as_ref())
        } else {
            Master::new(hash, premaster, self.session.randoms())
        }
    }

    /// Queues `ChangeCipherSpec` and Finished.
    fn say_finished_tls12(&mut self, master: &Master, key: RecordKey) {
        self.output.record(Content::CHANGE_CIPHER_SPEC, &[1]);
        self.output.seal_with(key);
        let transcript = self.session.transcript.hash();
        let data = master.verify_data(Side::Client, transcript.as_ref());
        self.say(Message::FINISHED, |out| out.extend(data));
    }

    /// Queues a handshake message with the body that `write` writes, and adds it to the transcript.
    pub(crate) fn say(&mut self, message: Message, write: impl FnOnce(&mut Vec<u8>)) {
        let Ok(()) = self.try_say::<Infallible>(message, |out| {
            write(out);
            Ok(())
        });
    }

    /// As [`Self::say`]; if `write` fails, nothing is queued.
    fn try_say<E>(
        &mut self,
        message: Message,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut written = Ok(());
        self.draft.clear();
        self.draft.push(message.0);
        put_vector(&mut self.draft, 3, |out| written = write(out));
        written?;
        self.output.record(Content::HANDSHAKE, &self.draft);
        self.session.transcript.add(&self.draft);
        Ok(())
    }

    /// Opens further records with the server's key.
    pub(crate) fn take_server_key(&mut self) {
        self.opening = self.session.server_key.take();
    }

    fn finished_tls12(&mut self, incoming: Incoming<'_>) -> Result<Received, Stop> {
        let master = self.session.master.take().expect("made before the server's Finished");
        let transcript = self.session.transcript.hash();
        let expected = master.verify_data(Side::Server, transcript.as_ref());
        verify_slices_are_equal(incoming.body(), &expected).map_err(|_| Violation::BadFinished)?;
        match self.session.client_key.take() {
            // a resumed session: the client's Finished is sent last, and the server has not
            // confirmed it
            Some(key) => {
                self.session.transcript.add(incoming.whole);
                self.say_finished_tls12(&master, key);
            }
            None => self.confirmation = Some(Confirmation::Finished),
        }
        self.keep_tls12(&master);
        self.awaiting = Await::Established;
        Ok(Received::Established)
    }
}
