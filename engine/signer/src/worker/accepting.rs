//! New connections of a worker.

use core::sync::atomic::Ordering;
use std::io::{self, ErrorKind};

use mio::Token;

use super::Worker;
use crate::connection::{Connection, State};
use crate::peer::Peer;
use crate::stream::Stream;
use crate::tls::Identity;

/// The maximum number of connections accepted in a turn.
const ACCEPTS_MAX: usize = 64;

/// The end of a connection above the share of its client.
pub(super) const TOO_MANY: &str = "refused: too many connections of this client";

/// A new connection and its peer; without stream and state if it is no client.
type Accepted = (Option<Stream>, String, Option<State>);

impl Worker {
    /// Accepts clients, and returns whether more wait. After an error, such as too many open files,
    /// the next turn tries again, in a tenth of a second at the latest.
    pub(super) fn accept(&mut self, ready: &mut Vec<usize>) -> bool {
        let mut left = ACCEPTS_MAX;
        while self.clients_wait && left > 0 {
            left -= 1;
            match self.accept_one() {
                Ok(Some((Some(stream), peer, Some(state)))) => {
                    ready.extend(self.add(stream, peer, state));
                }
                Ok(Some((_, peer, _))) => self.refused(&peer, "refused: no client"),
                Ok(None) => self.clients_wait = false,
                // a client that has gone
                Err(why) if why.kind() == ErrorKind::ConnectionAborted => {}
                Err(_) => return false,
            }
        }
        self.clients_wait
    }

    /// Accepts a client, if one waits.
    fn accept_one(&mut self) -> io::Result<Option<Accepted>> {
        // Neither kind of clients can keep the others waiting.
        self.is_tls_next = !self.is_tls_next;
        let accept = |tls| if tls { self.accept_tls() } else { self.accept_unix() };
        match accept(self.is_tls_next) {
            Ok(Some(accepted)) => Ok(Some(accepted)),
            none => accept(!self.is_tls_next)?.map_or(none, |accepted| Ok(Some(accepted))),
        }
    }

    fn accept_unix(&self) -> io::Result<Option<Accepted>> {
        let Some((socket, _)) =
            waiting(self.listeners.unix.as_ref().map(|listener| listener.accept()))?
        else {
            return Ok(None);
        };
        self.shared.counters.unix.fetch_add(1, Ordering::Relaxed);
        let Ok(Peer { uid, process }) = Peer::new(&socket) else {
            return Ok(Some((None, "unknown".to_owned(), None)));
        };
        let text = format!("uid {uid}, process {process}");
        let identity = Identity::User(uid);
        let is_client = self.policy.client(&identity).is_some();
        let state = is_client.then_some(State::Open { identity, until: None });
        Ok(Some((Some(Stream::Unix(socket)), text, state)))
    }

    fn accept_tls(&self) -> io::Result<Option<Accepted>> {
        let Some((socket, peer)) =
            waiting(self.listeners.tcp.as_ref().map(|listener| listener.accept()))?
        else {
            return Ok(None);
        };
        self.shared.counters.tls.fetch_add(1, Ordering::Relaxed);
        let tls = self.policy.tls.as_ref();
        let stream = tls.and_then(|tls| Stream::tls(tls, socket).ok());
        Ok(Some((stream, peer.to_string(), Some(State::Handshake))))
    }

    fn add(&mut self, mut stream: Stream, peer: String, state: State) -> Option<usize> {
        let counters = &self.shared.counters;
        let max = self.policy.limits.connections_max as u64;
        // Half of the connections are for clients: those that only begin cannot lock them out.
        let is_handshake = matches!(state, State::Handshake);
        let shaking = counters.handshakes.fetch_add(is_handshake.into(), Ordering::Relaxed);
        let open = counters.open.fetch_add(1, Ordering::Relaxed);
        let is_full = open >= max || is_handshake && shaking >= max.div_ceil(2);
        let entry = self.connections.vacant_entry();
        let key = entry.key();
        let registered = stream.register(self.poll.registry(), Token(key));
        if is_full || registered.is_err() {
            counters.open.fetch_sub(1, Ordering::Relaxed);
            counters.handshakes.fetch_sub(is_handshake.into(), Ordering::Relaxed);
            self.refused(&peer, "refused: too many connections");
            return None;
        }
        entry.insert(Connection::new(stream, peer, state));
        if !is_handshake && self.opened(key).is_err() {
            self.close(key, TOO_MANY);
            return None;
        }
        Some(key)
    }

    /// Counts and logs a peer that is no client.
    pub(super) fn refused(&mut self, peer: &str, why: &str) {
        self.shared.counters.refused.fetch_add(1, Ordering::Relaxed);
        self.shared.log_connection(&mut self.lines, peer, None, why);
    }

    /// Counts and logs a connection of a client, unless the client has its share of them.
    pub(super) fn opened(&mut self, key: usize) -> io::Result<()> {
        let connection = &mut self.connections[key];
        if let State::Open { identity, .. } = &connection.state
            && let Some(client) = self.policy.client(identity)
        {
            connection.place = client.account.place(self.policy.connections_each());
            if connection.place.is_none() {
                self.shared.counters.refused.fetch_add(1, Ordering::Relaxed);
                return Err(ErrorKind::QuotaExceeded.into());
            }
            let (lines, peer) = (&mut self.lines, &connection.peer);
            self.shared.log_connection(lines, peer, Some(client), "accepted");
        }
        Ok(())
    }
}

/// Returns the client that a listener has accepted; `None` if none waits or there is no listener.
fn waiting<T>(accepted: Option<io::Result<T>>) -> io::Result<Option<T>> {
    match accepted {
        Some(Err(why)) if why.kind() == ErrorKind::WouldBlock => Ok(None),
        accepted => accepted.transpose(),
    }
}
