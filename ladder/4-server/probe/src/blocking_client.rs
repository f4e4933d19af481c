//! The load generator's client on a blocking socket.

use core::net::SocketAddr;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use tollgate_load::alert_advice;
use tollgate_tls_client::{
    AlertDescription, Config, Connection, Error as TlsError, Event, Settings, Violation,
};

use crate::url::Url;
use crate::wire::Wire;

/// TLS 1.2 on the wire.
const TLS12: u16 = 0x0303;

/// A connection after its handshake.
pub(crate) struct BlockingClient {
    connection: Connection,
    socket: Wire,
    /// Application data that the caller has not read yet.
    data: Vec<u8>,
    is_closed: bool,
}

/// The reason why a handshake failed.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The server refused, or broke the protocol.
    Tls(TlsError),
    /// The system refused a call, or the server did not answer.
    Io(io::Error),
}

impl Failed {
    /// Returns the failure and what to do.
    pub(crate) fn why(&self) -> String {
        const NO_TLS: &str = "check that it supports TLS 1.2 or 1.3 on this port, and read its log";
        match self {
            Self::Tls(TlsError::Alert { phase, description, .. }) => format!(
                "it sent the alert {description} in phase {phase}; {}",
                alert_advice(*description, (*phase).into())
            ),
            Self::Tls(error @ TlsError::Violation { violation, .. }) if !is_no_tls(*violation) => {
                format!("{error}; read its log, and report the case")
            }
            Self::Tls(error) => format!("{error}; {NO_TLS}"),
            Self::Io(error) if error.kind() == ErrorKind::WouldBlock => {
                format!("no answer for 5 s; {NO_TLS}")
            }
            Self::Io(error) => format!("{error}; {NO_TLS}"),
        }
    }

    /// Returns whether the server refuses the version, so that other suites need not be tried.
    pub(crate) const fn is_about_version(&self) -> bool {
        matches!(
            self,
            Self::Tls(TlsError::Alert { description: AlertDescription::PROTOCOL_VERSION, .. })
        )
    }

    /// Returns how much the failure says about the reason why no handshake succeeds. That one of
    /// two versions is refused says little; that the server answers with an older one says all.
    pub(crate) const fn weight(&self) -> u8 {
        match self {
            Self::Tls(TlsError::Violation { violation: Violation::Version { found }, .. })
                if *found < TLS12 =>
            {
                2
            }
            _ if self.is_about_version() => 0,
            _ => 1,
        }
    }
}

/// Returns whether a port without TLS, or with another version, answers like this.
const fn is_no_tls(violation: Violation) -> bool {
    matches!(
        violation,
        Violation::RecordType { .. } | Violation::RecordVersion { .. } | Violation::Version { .. }
    )
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

impl BlockingClient {
    /// Connects and completes the handshake up to the server's Finished.
    pub(crate) fn connect(
        url: &Url,
        address: SocketAddr,
        settings: Settings,
    ) -> Result<Self, Failed> {
        let server_name = url.name().map(str::to_owned);
        let settings = Settings { server_name, ..settings };
        let connection = Connection::new(&Arc::new(Config::new(settings)?))?;
        let socket = Wire::connect(&address)?;
        let mut client = Self { connection, socket, data: Vec::new(), is_closed: false };
        while !client.connection.is_established() {
            if let Err(failed) = client.exchange() {
                // Send the alert to the server.
                let _ = client.socket.write_all(client.connection.outgoing());
                return Err(failed);
            }
        }
        Ok(client)
    }

    /// Returns the TLS connection, to query what was negotiated.
    pub(crate) const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Sends the queued bytes, and reads once.
    fn exchange(&mut self) -> Result<(), Failed> {
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
        Ok(self.flush()?)
    }
}

/// Sends `close_notify`.
impl Drop for BlockingClient {
    fn drop(&mut self) {
        self.connection.close();
        let _ = self.flush();
    }
}

impl Read for BlockingClient {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.data.is_empty() && !self.is_closed {
            self.exchange().map_err(|failed| match failed {
                Failed::Io(error) => error,
                Failed::Tls(TlsError::EndOfStream { .. }) => ErrorKind::UnexpectedEof.into(),
                failed @ Failed::Tls(_) => io::Error::other(failed.why()),
            })?;
        }
        let count = self.data.len().min(into.len());
        into[..count].copy_from_slice(&self.data[..count]);
        self.data.drain(..count);
        Ok(count)
    }
}

impl Write for BlockingClient {
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
