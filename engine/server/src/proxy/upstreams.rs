//! A worker's connections to the back ends.

use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use slab::Slab;

use super::{Backends, Proxy};

/// The request that a connection to a back end serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The client's connection.
    pub(crate) connection: usize,
    /// The request's number among those that the connection has now; 0 with HTTP/1.
    pub(crate) stream: usize,
}

/// A connection to a back end.
pub(crate) struct Upstream {
    pub(crate) socket: TcpStream,
    pub(crate) backend: usize,
    /// It has served another request: the back end may close it at any time.
    pub(crate) is_used: bool,
    /// It has got bytes of the request that it serves.
    pub(crate) has_bytes: bool,
    /// The request that it serves; `None` while it is idle.
    owner: Option<Owner>,
    idle_since: Instant,
}

/// A worker's connections to the back ends.
pub(crate) struct Upstreams {
    connections: Slab<Upstream>,
    /// The idle connections to each back end, the last used at the end.
    idle: Vec<Vec<usize>>,
    registry: Registry,
    /// Returns the token of a connection.
    token: fn(usize) -> Token,
    backends: Arc<Backends>,
    proxy: Proxy,
    turn: usize,
}

impl Upstreams {
    pub(crate) fn new(
        proxy: &Proxy,
        backends: Arc<Backends>,
        registry: Registry,
        token: fn(usize) -> Token,
    ) -> Self {
        Self {
            connections: Slab::new(),
            idle: vec![Vec::new(); backends.len()],
            registry,
            token,
            backends,
            proxy: proxy.clone(),
            turn: 0,
        }
    }

    /// Assigns the request `owner` to a back end that is not in `tried`, and
    /// returns a connection to it, which may still be connecting. Adds the back end to `tried`.
    /// Returns `None` if no back end is left.
    pub(crate) fn begin(
        &mut self,
        owner: Owner,
        tried: &mut Vec<usize>,
        now: Instant,
    ) -> Option<usize> {
        loop {
            self.turn = self.turn.wrapping_add(1);
            let backend = self.backends.assign(tried, self.turn)?;
            if let Some(idle) = self.take_idle(backend) {
                // If it fails, a new connection to the same back end is worth a try.
                self.connections[idle].owner = Some(owner);
                return Some(idle);
            }
            tried.push(backend);
            match self.connect(backend, owner, now) {
                Ok(key) => return Some(key),
                Err(_) => {
                    self.backends.count_failure(backend);
                    self.backends.end(backend);
                }
            }
        }
    }

    /// Returns an idle connection that the back end has not closed.
    fn take_idle(&mut self, backend: usize) -> Option<usize> {
        while let Some(key) = self.idle[backend].pop() {
            if self.connections[key].is_quiet() {
                return Some(key);
            }
            self.connections.remove(key);
        }
        None
    }

    fn connect(&mut self, backend: usize, owner: Owner, now: Instant) -> io::Result<usize> {
        let mut socket = TcpStream::connect(self.backends.address(backend))?;
        socket.set_nodelay(true)?;
        let entry = self.connections.vacant_entry();
        let key = entry.key();
        let both = Interest::READABLE | Interest::WRITABLE;
        self.registry.register(&mut socket, (self.token)(key), both)?;
        entry.insert(Upstream {
            socket,
            backend,
            is_used: false,
            has_bytes: false,
            owner: Some(owner),
            idle_since: now,
        });
        Ok(key)
    }

    /// Returns the longest time to connect.
    pub(crate) const fn connect_limit(&self) -> Duration {
        self.proxy.connect
    }

    /// Returns the longest time without a byte.
    pub(crate) const fn response_limit(&self, is_tunnel: bool) -> Duration {
        if is_tunnel { self.proxy.tunnel } else { self.proxy.response }
    }

    pub(crate) fn get(&mut self, key: usize) -> &mut Upstream {
        &mut self.connections[key]
    }

    /// Ends the request on a connection, which stays open for another.
    pub(crate) fn keep(&mut self, key: usize, now: Instant) {
        let upstream = &mut self.connections[key];
        self.backends.end(upstream.backend);
        let idle = &mut self.idle[upstream.backend];
        if idle.len() < self.proxy.idle_max {
            upstream.owner = None;
            upstream.is_used = true;
            upstream.has_bytes = false;
            upstream.idle_since = now;
            idle.push(key);
        } else {
            self.connections.remove(key);
        }
    }

    /// Ends the request on a connection, and closes it.
    pub(crate) fn close(&mut self, key: usize) {
        let upstream = self.connections.remove(key);
        self.backends.end(upstream.backend);
    }

    /// Counts a request that failed at its back end, and closes the connection.
    pub(crate) fn fail(&mut self, key: usize) {
        self.backends.count_failure(self.connections[key].backend);
        self.close(key);
    }

    /// Returns the request that an event of this connection concerns. An idle
    /// connection with an event is closed: its back end has closed it, or sent what nobody asked for.
    pub(crate) fn owner(&mut self, key: usize) -> Option<Owner> {
        let upstream = self.connections.get(key)?;
        if upstream.owner.is_none() && !upstream.is_quiet() {
            let backend = upstream.backend;
            self.idle[backend].retain(|other| *other != key);
            self.connections.remove(key);
            return None;
        }
        self.connections[key].owner
    }

    /// Closes connections that have been idle for too long.
    pub(crate) fn sweep(&mut self, now: Instant) {
        for idle in &mut self.idle {
            // the longest idle are in front
            let late = |key: &&usize| {
                now.duration_since(self.connections[**key].idle_since) >= self.proxy.idle
            };
            let late = idle.iter().take_while(late).count();
            for key in idle.drain(..late) {
                self.connections.remove(key);
            }
        }
    }
}

impl Upstream {
    /// Returns whether the back end has neither sent nor closed.
    fn is_quiet(&self) -> bool {
        self.socket.peek(&mut [0]).is_err_and(|why| why.kind() == io::ErrorKind::WouldBlock)
    }
}
