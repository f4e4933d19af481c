//! The messages of TLS 1.2 (RFC 5246 §7.3), full and abbreviated.

use super::{CLIENT_CERTIFICATE, Flights, Message, PRF_LONG, PRF_SHORT};
use crate::need::Need;
use crate::pipe::Lap;
use crate::primitive::Primitive;

/// The length of a Finished in bytes, with its header.
const FINISHED: usize = 16;

impl Flights {
    pub(super) fn tls12(&self, key_block: u32, extended: bool) -> Option<Vec<Message>> {
        let [hello] = self.hello.clear[..] else { return None };
        let first = self.message(Lap::Hello, "client-hello", hello).opening();
        let mut messages = vec![first];
        if self.resumed {
            messages.extend(self.abbreviated(key_block)?);
        } else {
            messages.extend(self.answer()?);
            messages.extend(self.client_flight(key_block, extended)?);
        }
        Some(messages)
    }

    /// The handshake after the hello of a client that resumes a session (RFC 5246 §7.3, figure 2).
    fn abbreviated(&self, key_block: u32) -> Option<Vec<Message>> {
        let (&server_hello, ticket) = self.answer.clear.split_first()?;
        let keyed = |need: Need| {
            let need = need.and(1.0, Primitive::Prf(self.hash, key_block));
            self.framing.key(need, 2.0)
        };
        let mut messages =
            vec![self.message(Lap::Hello, "server-hello", server_hello).needing(keyed)];
        let renewed = |&bytes: &usize| self.message(Lap::Hello, "new-session-ticket", bytes);
        messages.extend(ticket.iter().map(renewed));
        let ([server], [client]) = (&self.answer.encrypted[..], &self.finish.encrypted[..]) else {
            return None;
        };
        messages.extend(self.finished([*client, *server], [Lap::Finish, Lap::Hello])?);
        // the client's message comes last
        let client = messages.len() - 2;
        messages[client].opens = true;
        messages.swap(client, client + 1);
        Some(messages)
    }

    /// The messages of client and server with a Finished, in records with these bodies.
    fn finished(&self, bodies: [usize; 2], laps: [Lap; 2]) -> Option<[Message; 2]> {
        // Another length would mean that the MAC was not computed over the encrypted record.
        let body = self.framing.body(FINISHED);
        if bodies != [body; 2] {
            return None;
        }
        let [client, server] =
            [(laps[0], "client-finished"), (laps[1], "server-finished")].map(|(lap, name)| {
                self.message(lap, name, FINISHED).needing(|need| {
                    need.and(1.0, Primitive::Prf(self.hash, PRF_SHORT))
                        .and_hash_ends(self.hash, 1.0)
                })
            });
        Some([
            Message { need: self.framing.open(client.need.clone(), body)?, ..client },
            Message { need: self.framing.seal(server.need.clone(), body)?, ..server },
        ])
    }

    /// The server's first flight.
    fn answer(&self) -> Option<Vec<Message>> {
        let [server_hello, certificate, middle @ .., done] = &self.answer.clear[..] else {
            return None;
        };
        let first = |name, bytes| self.message(Lap::Hello, name, bytes);
        let mut messages =
            vec![first("server-hello", *server_hello), first("certificate", *certificate)];
        let request = match (self.group, middle) {
            (Some(group), &[exchange, ref request @ ..]) => {
                messages.push(first("server-key-exchange", exchange).needing(|need| {
                    need.and(1.0, Primitive::Generate(group))
                        .and(1.0, Primitive::Private(self.private))
                }));
                request
            }
            (None, request) => request,
            _ => return None,
        };
        match (self.client, request) {
            (None, []) => {}
            (Some(_), &[request]) => messages.push(first("certificate-request", request)),
            _ => return None,
        }
        messages.push(first("server-hello-done", *done));
        Some(messages)
    }

    /// The client's flight and the server's Finished.
    fn client_flight(&self, key_block: u32, extended: bool) -> Option<Vec<Message>> {
        let second = |name, bytes| self.message(Lap::Finish, name, bytes);
        let exchange = match self.group {
            Some(group) => Primitive::Agree(group),
            None => Primitive::Private(self.private),
        };
        let exchanged = |bytes| {
            let keyed = |need: Need| {
                let need = need
                    .and(1.0, exchange)
                    .and(1.0, Primitive::Prf(self.hash, PRF_LONG))
                    .and(1.0, Primitive::Prf(self.hash, key_block))
                    .and_hash_ends(self.hash, if extended { 1.0 } else { 0.0 });
                self.framing.key(need, 2.0)
            };
            second("client-key-exchange", bytes).opening().needing(keyed)
        };
        let mut messages = match (self.client, &self.finish.clear[..]) {
            (None, &[exchange]) => vec![exchanged(exchange)],
            (Some(client), &[certificate, exchange, verify]) => vec![
                second(CLIENT_CERTIFICATE, certificate),
                exchanged(exchange),
                second("client-certificate-verify", verify)
                    .needing(|need| self.verified(need, client)),
            ],
            _ => return None,
        };
        let ([client], [server]) = (&self.finish.encrypted[..], &self.finished.encrypted[..])
        else {
            return None;
        };
        messages.extend(self.finished([*client, *server], [Lap::Finish; 2])?);
        Some(messages)
    }
}
