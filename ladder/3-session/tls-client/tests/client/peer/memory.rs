//! An `OpenSSL` server in this process, connected through memory. Unlike rustls, it supports RSA
//! key exchange.

use std::io::{self, ErrorKind, Read, Write};

use openssl::pkey::PKey;
use openssl::ssl::{ErrorCode, Ssl, SslContext, SslMethod, SslSessionCacheMode, SslStream};
use openssl::x509::X509;

use super::certificate::{RSA_2048, certificate};

/// Bytes in transit, in either direction.
#[derive(Debug, Default)]
struct Wire {
    from_client: Vec<u8>,
    to_client: Vec<u8>,
}

impl Read for Wire {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = out.len().min(self.from_client.len());
        if count == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        out[..count].copy_from_slice(&self.from_client[..count]);
        self.from_client.drain(..count);
        Ok(count)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to_client.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the common configuration of servers: a key, and tickets.
pub(crate) fn context() -> SslContext {
    let (der, key) = certificate(RSA_2048);
    let mut context = SslContext::builder(SslMethod::tls_server()).unwrap();
    context.set_certificate(&X509::from_der(&der).unwrap()).unwrap();
    context.set_private_key(&PKey::private_key_from_der(&key).unwrap()).unwrap();
    context.set_session_id_context(b"test").unwrap();
    context.set_session_cache_mode(SslSessionCacheMode::OFF); // tickets only
    context.build()
}

/// A server of one connection, which answers each request with a few bytes.
pub(crate) struct Server(SslStream<Wire>);

impl Server {
    pub(crate) fn new(context: &SslContext) -> Self {
        Self(SslStream::new(Ssl::new(context).unwrap(), Wire::default()).unwrap())
    }

    /// Passes these bytes to the server, and returns its answer.
    pub(crate) fn answer(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.0.get_mut().from_client.extend_from_slice(bytes);
        let mut request = [0; 64];
        let done = match self.0.ssl().is_init_finished() {
            false => self.0.accept(),
            true => Ok(()),
        };
        match done.and_then(|()| self.0.ssl_read(&mut request)) {
            Ok(_) => assert_eq!(self.0.ssl_write(b"response").unwrap(), 8),
            Err(error) => assert_eq!(error.code(), ErrorCode::WANT_READ, "{error}"),
        }
        core::mem::take(&mut self.0.get_mut().to_client)
    }
}
