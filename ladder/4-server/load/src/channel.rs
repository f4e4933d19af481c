//! The transport of requests and responses: TLS or plain TCP.

use std::sync::Arc;

use tollgate_tls_client::{Config, Connection, Error, Event, Resume, SavedSession, SessionPhase};

const PLAIN_BYTES: usize = 16 * 1024;

/// A connection without its socket. The next connection reuses its memory. A plain connection has
/// the same interface as the TLS type `Connection`, so one loop drives both kinds of connections.
pub(crate) struct Channel {
    tls: Option<Connection>,
    plain: Option<Plain>,
    is_plain: bool,
}

/// A plain connection.
#[derive(Debug)]
struct Plain {
    out: Vec<u8>,
    sent: usize,
    input: Box<[u8]>,
    filled: usize,
}

impl Channel {
    /// Creates a channel for secure transactions, for plain transactions, or for both kinds.
    pub(crate) fn new(
        config: &Arc<Config>,
        is_secure: bool,
        is_plain: bool,
    ) -> Result<Self, Error> {
        let plain = || Plain {
            out: Vec::with_capacity(256),
            sent: 0,
            input: vec![0; PLAIN_BYTES].into_boxed_slice(),
            filled: 0,
        };
        Ok(Self {
            tls: if is_secure { Some(Connection::new(config)?) } else { None },
            plain: is_plain.then(plain),
            is_plain: !is_secure,
        })
    }

    pub(crate) fn begin_plain(&mut self) {
        self.is_plain = true;
        let plain = self.plain();
        plain.out.clear();
        (plain.sent, plain.filled) = (0, 0);
    }

    /// Starts a new TLS connection, which may offer a session.
    pub(crate) fn begin_secure(&mut self, resume: Option<&Resume<'_>>) -> Result<(), Error> {
        self.is_plain = false;
        match resume {
            Some(resume) => self.tls_mut().resume(resume),
            None => self.tls_mut().reset(),
        }
    }

    /// Moves a resumable session into `into`; returns whether there was one.
    pub(crate) fn save(&mut self, into: &mut SavedSession) -> bool {
        !self.is_plain && self.tls_mut().save(into)
    }

    fn plain(&mut self) -> &mut Plain {
        self.plain.as_mut().expect("a channel without plain transactions is not asked for one")
    }

    pub(crate) fn tls(&self) -> &Connection {
        self.tls.as_ref().expect("a channel without secure transactions is not asked for one")
    }

    fn tls_mut(&mut self) -> &mut Connection {
        self.tls.as_mut().expect("a channel without secure transactions is not asked for one")
    }

    pub(crate) fn outgoing(&mut self) -> &[u8] {
        if self.is_plain {
            let plain = self.plain();
            return &plain.out[plain.sent..];
        }
        self.tls().outgoing()
    }

    pub(crate) fn sent(&mut self, count: usize) -> Result<(), Error> {
        if !self.is_plain {
            return self.tls_mut().sent(count);
        }
        let plain = self.plain();
        plain.sent += count;
        if plain.sent == plain.out.len() {
            plain.out.clear();
            plain.sent = 0;
        }
        Ok(())
    }

    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.is_plain {
            let plain = self.plain();
            return &mut plain.input[plain.filled..];
        }
        self.tls_mut().space()
    }

    pub(crate) fn filled(&mut self, count: usize) -> Result<(), Error> {
        if self.is_plain {
            self.plain().filled += count;
            return Ok(());
        }
        self.tls_mut().filled(count)
    }

    /// Returns the next event. Plain connections have only data events.
    pub(crate) fn poll(&mut self) -> Result<Option<Event<'_>>, Error> {
        if !self.is_plain {
            return self.tls_mut().poll();
        }
        let plain = self.plain();
        let count = core::mem::take(&mut plain.filled);
        Ok((count > 0).then(|| Event::Data(&plain.input[..count])))
    }

    /// Handles the end of the stream; in TLS it is an error without `close_notify`.
    pub(crate) fn end_of_stream(&mut self) -> Result<(), Error> {
        if self.is_plain { Ok(()) } else { self.tls_mut().end_of_stream() }
    }

    pub(crate) fn send(&mut self, data: &[u8]) -> Result<(), Error> {
        if self.is_plain {
            self.plain().out.extend_from_slice(data);
            return Ok(());
        }
        self.tls_mut().send(data)
    }

    /// Queues `close_notify`. Plain connections need none: their last request has
    /// `Connection: close`.
    pub(crate) fn close(&mut self) {
        if !self.is_plain {
            self.tls_mut().close();
        }
    }

    /// Returns whether the server has confirmed the handshake; always true for plain connections.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.is_plain || self.tls().confirmation().is_some()
    }

    pub(crate) fn phase(&self) -> SessionPhase {
        if self.is_plain { SessionPhase::Data } else { self.tls().phase() }
    }
}

#[cfg(test)]
mod tests {
    use tollgate_tls_client::{Settings, Suite};

    use super::*;

    #[test]
    fn plain_connections_pass_bytes_unchanged() {
        let config = Arc::new(Config::new(Settings::new(Suite::TLS_AES_128_GCM_SHA256)).unwrap());
        let mut channel = Channel::new(&config, false, true).unwrap();
        for _ in 0..2 {
            channel.begin_plain();
            channel.send(b"GET").unwrap();
            assert_eq!(channel.outgoing(), b"GET");
            channel.sent(1).unwrap();
            assert_eq!(channel.outgoing(), b"ET");
            channel.space()[..2].copy_from_slice(b"ok");
            channel.filled(2).unwrap();
            assert!(matches!(channel.poll(), Ok(Some(Event::Data(b"ok")))));
            assert!(matches!(channel.poll(), Ok(None)));
            assert_eq!(channel.space().len(), PLAIN_BYTES);
            assert!(channel.is_confirmed() && channel.end_of_stream().is_ok());
        }
    }
}
