//! The stream of a connection: a Unix socket, or TLS.

use std::io::{self, ErrorKind, Read as _, Write as _};

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use openssl::ssl::{self, SslStream};

use crate::tls::{Tls, Verified, verified};

pub(crate) enum Stream {
    Tls(SslStream<TcpStream>),
    Unix(UnixStream),
}

impl Stream {
    /// Begins TLS on a socket that a client has connected.
    pub(crate) fn tls(tls: &Tls, socket: TcpStream) -> io::Result<Self> {
        // Frames are written whole, so Nagle's algorithm would only delay them.
        socket.set_nodelay(true)?;
        Ok(Self::Tls(SslStream::new(tls.connection()?, socket)?))
    }

    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Tls(stream) => stream.get_mut().register(registry, token, interest),
            Self::Unix(stream) => stream.register(registry, token, interest),
        }
    }

    /// Goes on with the handshake. Returns the peer when it is complete.
    pub(crate) fn shake_hands(&mut self) -> io::Result<Option<Verified>> {
        let Self::Tls(stream) = self else {
            return Ok(None);
        };
        stream.do_handshake().map_err(converted)?;
        Ok(verified(stream.ssl()))
    }

    /// Reads; 0 bytes are the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tls(stream) => match stream.ssl_read(buffer) {
                Err(why) if why.code() == ssl::ErrorCode::ZERO_RETURN => Ok(0),
                result => result.map_err(converted),
            },
            Self::Unix(stream) => stream.read(buffer),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tls(stream) => stream.ssl_write(bytes).map_err(converted),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    /// Says goodbye, if that needs no wait.
    pub(crate) fn end(&mut self) {
        if let Self::Tls(stream) = self {
            let _ = stream.shutdown();
        }
    }
}

fn converted(error: ssl::Error) -> io::Error {
    match error.code() {
        ssl::ErrorCode::WANT_READ | ssl::ErrorCode::WANT_WRITE => ErrorKind::WouldBlock.into(),
        _ => error.into_io_error().unwrap_or_else(io::Error::other),
    }
}
