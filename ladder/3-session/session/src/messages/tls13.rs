//! The messages of TLS 1.3 (RFC 8446 §2). Each encrypted record has one message.

use super::{CLIENT_CERTIFICATE, Flights, Message};
use crate::need::Need;
use crate::pipe::Lap;
use crate::primitive::{Primitive, PrivateOperation};

impl Flights {
    pub(super) fn tls13(&self) -> Option<Vec<Message>> {
        let [hello] = self.hello.clear[..] else { return None };
        let [server_hello] = self.answer.clear[..] else { return None };
        let (extract, expand) = (Primitive::Extract(self.hash), Primitive::Expand(self.hash));
        let first = self.message(Lap::Hello, "client-hello", hello).opening();
        let mut messages = vec![
            if self.resumed {
                // the binder, RFC 8446 §4.2.11.2: its key, that of its HMAC, two hashes
                first.needing(|need| {
                    need.and(1.0, extract).and(2.0, expand).and_hash_ends(self.hash, 2.0)
                })
            } else {
                first
            },
            self.server_hello(server_hello)?,
        ];
        let sealed = |name, body| self.sealed(Lap::Hello, name, body);
        let last = match (self.resumed, self.client.is_some(), &self.answer.encrypted[..]) {
            (true, _, &[extensions, finished]) => {
                messages.push(sealed("encrypted-extensions", extensions)?);
                finished
            }
            (false, true, &[extensions, request, certificate, verify, finished]) => {
                messages.push(sealed("encrypted-extensions", extensions)?);
                messages.push(sealed("certificate-request", request)?);
                messages.extend(self.authentication(certificate, verify)?);
                finished
            }
            (false, false, &[extensions, certificate, verify, finished]) => {
                messages.push(sealed("encrypted-extensions", extensions)?);
                messages.extend(self.authentication(certificate, verify)?);
                finished
            }
            _ => return None,
        };
        messages.push(sealed("server-finished", last)?.needing(|need| {
            let need = need.and(2.0, extract).and(6.0, expand).and_hash_ends(self.hash, 3.0);
            self.framing.key(need, 1.0)
        }));
        messages.extend(self.last_flight()?);
        for &body in &self.finished.encrypted {
            // the pre-shared key of the ticket
            let ticket = self.sealed(Lap::Finish, "new-session-ticket", body)?;
            messages.push(ticket.needing(|need| need.and(1.0, expand)));
        }
        Some(messages)
    }

    /// A message in a record with this body.
    fn sealed(&self, lap: Lap, name: &'static str, body: usize) -> Option<Message> {
        let message = self.message(lap, name, self.framing.content(body)?);
        Some(Message { need: self.framing.seal(message.need.clone(), body)?, ..message })
    }

    fn server_hello(&self, bytes: usize) -> Option<Message> {
        let (framing, group) = (self.framing, self.group?);
        let exchanged = |need: Need| match group.is_kem() {
            true => need.and(1.0, Primitive::Encapsulate(group)),
            false => need.and(1.0, Primitive::Generate(group)).and(1.0, Primitive::Agree(group)),
        };
        let derived = |need: Need| {
            exchanged(framing.key(need, 2.0))
                .and(2.0, Primitive::Extract(self.hash))
                .and(9.0, Primitive::Expand(self.hash))
                .and_hash_ends(self.hash, 2.0)
        };
        Some(self.message(Lap::Hello, "server-hello", bytes).needing(derived))
    }

    /// The server's certificate and its signature.
    fn authentication(&self, certificate: usize, verify: usize) -> Option<[Message; 2]> {
        let signed = |need: Need| {
            need.and(1.0, Primitive::Private(self.private)).and_hash_ends(self.hash, 1.0)
        };
        Some([
            self.sealed(Lap::Hello, "certificate", certificate)?,
            self.sealed(Lap::Hello, "certificate-verify", verify)?.needing(signed),
        ])
    }

    /// The client's Finished, and its certificate and signature before it.
    fn last_flight(&self) -> Option<Vec<Message>> {
        let opened = |name, body| {
            let message = self.message(Lap::Finish, name, self.framing.content(body)?);
            Some(Message { need: self.framing.open(message.need.clone(), body)?, ..message })
        };
        let (mut messages, finished) = match (self.client, &self.finish.encrypted[..]) {
            (None, &[finished]) => (Vec::new(), opened("client-finished", finished)?),
            (Some(client), &[certificate, verify, finished]) => {
                let verified = |need: Need| self.verified(need, client);
                let certificate = opened(CLIENT_CERTIFICATE, certificate)?;
                let verify = opened("client-certificate-verify", verify)?.needing(verified);
                (vec![certificate, verify], opened("client-finished", finished)?)
            }
            _ => return None,
        };
        messages.push(finished.opening().needing(|need| {
            let need = need.and(1.0, Primitive::Extract(self.hash));
            let need = need.and(3.0, Primitive::Expand(self.hash)).and_hash_ends(self.hash, 1.0);
            self.framing.key(need, 1.0)
        }));
        Some(messages)
    }

    /// Adds the verification of the client's signature.
    pub(super) fn verified(&self, need: Need, client: PrivateOperation) -> Need {
        need.and(1.0, Primitive::Public(client)).and_hash_ends(self.hash, 1.0)
    }
}
