//! Connections to a signer.

use core::time::Duration;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::net::UnixStream;

use openssl::ssl::{SslConnector, SslFiletype, SslMethod, SslStream, SslVersion};
use tollgate_signer::Peer;

use crate::error::CliError;
use crate::verbs::bench::options::signer::{Address, Tls};

/// The longest wait for a connection, and for the answer to a ping.
const LIMIT: Duration = Duration::from_secs(5);

/// A connection.
pub(super) enum Stream {
    Tls(Box<SslStream<TcpStream>>),
    Unix(UnixStream),
}

/// Opens connections.
pub(super) struct Opener<'a> {
    address: &'a Address,
    /// With the name of the signer's certificate.
    tls: Option<(SslConnector, &'a str)>,
}

impl<'a> Opener<'a> {
    pub(super) fn new(address: &'a Address, tls: &'a Tls) -> Result<Self, CliError> {
        let tls = match (address, tls.all()) {
            (Address::Unix(_), _) => None,
            (Address::Tls(_), Some((certificate, key, roots, name))) => {
                let mut builder = SslConnector::builder(SslMethod::tls_client())?;
                builder.set_min_proto_version(Some(SslVersion::TLS1_3))?;
                let at = |path: &std::path::Path| CliError::about(path.display().to_string());
                builder.set_certificate_chain_file(certificate).map_err(at(certificate))?;
                builder.set_private_key_file(key, SslFiletype::PEM).map_err(at(key))?;
                builder.set_ca_file(roots).map_err(at(roots))?;
                Some((builder.build(), name))
            }
            (Address::Tls(_), None) => {
                bail!("a signer with TLS: give --client-cert, --client-key, --roots and --name")
            }
        };
        Ok(Self { address, tls })
    }

    /// Opens a connection whose reads wait up to [`LIMIT`].
    pub(super) fn open(&self) -> Result<Stream, CliError> {
        let to = self.address;
        let of = |error: io::Error| {
            error!(
                "{to}: {error}: start the signer, or give its address; this user must be allowed \
                 to connect"
            )
        };
        let tcp = match to {
            Address::Unix(path) => {
                let stream = UnixStream::connect(path).map_err(of)?;
                stream.set_read_timeout(Some(LIMIT)).map_err(of)?;
                return Ok(Stream::Unix(stream));
            }
            Address::Tls(address) => TcpStream::connect_timeout(address, LIMIT).map_err(of)?,
        };
        tcp.set_nodelay(true).and_then(|()| tcp.set_read_timeout(Some(LIMIT))).map_err(of)?;
        let (connector, name) = self.tls.as_ref().ok_or_else(|| error!("{to}: no certificate"))?;
        let shaken = connector.connect(name, tcp);
        shaken.map(|stream| Stream::Tls(Box::new(stream))).map_err(|error| {
            error!(
                "{to}: {error}: check --roots, and --name: the DNS name of the signer's certificate"
            )
        })
    }
}

impl Stream {
    /// Makes reads and writes return at once.
    pub(super) fn never_block(&self) -> io::Result<()> {
        match self {
            Self::Tls(stream) => stream.get_ref().set_nonblocking(true),
            Self::Unix(stream) => stream.set_nonblocking(true),
        }
    }

    pub(super) fn descriptor(&self) -> RawFd {
        match self {
            Self::Tls(stream) => stream.get_ref().as_raw_fd(),
            Self::Unix(stream) => stream.as_raw_fd(),
        }
    }

    /// Returns the process that made the Unix socket; `None` if it cannot be seen from here.
    pub(super) fn process(&self) -> Option<u32> {
        let Self::Unix(stream) = self else { return None };
        let peer = Peer::new(stream).ok()?;
        u32::try_from(peer.process).ok().filter(|process| *process > 0)
    }
}

impl Read for Stream {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tls(stream) => stream.read(room),
            Self::Unix(stream) => stream.read(room),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tls(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
