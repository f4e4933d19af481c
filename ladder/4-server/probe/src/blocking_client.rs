//! The load generator's client on a blocking socket.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use tollgate_tls_client::{Config, Connection, Error as TlsError, Event, Settings};

use crate::site::Site;
use crate::wire::Wire;

/// A connection whose handshake is done here.
pub(crate) struct Own {
    connection: Connection,
    socket: Wire,
    /// Received and not yet read.
    data: Vec<u8>,
    is_closed: bool,
}

/// Why a handshake did not come to its end.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The server said no, or something that this client does not understand.
    Tls(TlsError),
    /// The system said no, or the server nothing.
    Io(io::Error),
}

impl Failed {
    pub(crate) fn why(&self) -> String {
        match self {
            Self::Tls(error) => error.to_string(),
            Self::Io(error) if error.kind() == ErrorKind::WouldBlock => {
                "it does not answer for 5 s".to_owned()
            }
            Self::Io(error) => error.to_string(),
        }
    }
}

impl From<TlsError> for Failed {
    fn from(error: TlsError) -> Self {
        Self::Tls(error)
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Own {
    /// Connects and shakes hands, to the server's Finished.
    pub(crate) fn connect(site: &Site, settings: &Settings) -> Result<Self, Failed> {
        let server_name = site.url().name().map(str::to_owned);
        let identity = site.target().identity().cloned();
        let settings = Settings { server_name, identity, ..settings.clone() };
        let connection = Connection::new(&Arc::new(Config::new(settings)?))?;
        let socket = Wire::connect(&site.target().address())?;
        let mut own = Self { connection, socket, data: Vec::new(), is_closed: false };
        while !own.connection.is_established() {
            if let Err(failed) = own.turn() {
                let _ = own.socket.write_all(own.connection.outgoing()); // the alert that says why
                return Err(failed);
            }
        }
        Ok(own)
    }

    /// The client with all that it knows of the session.
    pub(crate) const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Sends what waits, and takes in what comes.
    fn turn(&mut self) -> Result<(), Failed> {
        self.flush()?;
        match self.socket.read(self.connection.space()) {
            Ok(0) => self.connection.end_of_stream()?,
            Ok(count) => self.connection.filled(count)?,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        while let Some(event) = self.connection.poll()? {
            match event {
                Event::Closed => self.is_closed = true,
                Event::Data(data) => self.data.extend_from_slice(data),
                Event::Established => {}
            }
        }
        self.flush()?;
        Ok(())
    }
}

/// Says goodbye.
impl Drop for Own {
    fn drop(&mut self) {
        self.connection.close();
        let _ = self.flush();
    }
}

impl Read for Own {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.data.is_empty() && !self.is_closed {
            self.turn().map_err(|failed| match failed {
                Failed::Io(error) => error,
                Failed::Tls(TlsError::EndOfStream { .. }) => ErrorKind::UnexpectedEof.into(),
                Failed::Tls(error) => io::Error::other(error),
            })?;
        }
        let count = self.data.len().min(into.len());
        into[..count].copy_from_slice(&self.data[..count]);
        self.data.drain(..count);
        Ok(count)
    }
}

impl Write for Own {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.connection.send(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.connection.outgoing().is_empty() {
            let count = self.socket.write(self.connection.outgoing())?;
            self.connection.sent(count).map_err(io::Error::other)?;
        }
        Ok(())
    }
}
