//! The certificates that the two ends of a session present.

use std::sync::Arc;

use tollgate_server::{Certificate, Issued};
use tollgate_tls_client::Identity;

use crate::error::Error;
use crate::handshake::Handshake;
use crate::plan::Session;

/// The certificates of the two ends, generated for a session.
#[derive(Debug)]
pub struct Certificates {
    session: Session,
    server: Option<Issued>,
    client: Option<(Issued, Arc<Identity>)>,
}

impl Certificates {
    /// Generates the certificates. The server's is self-signed unless the session names a length of
    /// the chain, or `is_verified` says that the client verifies it.
    ///
    /// # Errors
    ///
    /// OpenSSL cannot generate the keys.
    pub fn new(session: &Session, is_verified: bool) -> Result<Self, Error> {
        let issue = || Issued::new(session.key, usize::from(session.chain_length()));
        let is_issued = is_verified || session.chain.is_some();
        let client = (session.handshake == Handshake::Mutual).then(|| {
            let issued = issue()?;
            let identity = Identity::new(issued.chain_der()?, &issued.key_pkcs8()?)?;
            let identity = Arc::new(identity);
            Ok::<_, Error>((issued, identity))
        });
        Ok(Self {
            session: *session,
            server: is_issued.then(issue).transpose()?,
            client: client.transpose()?,
        })
    }

    /// Returns the server's certificate and key.
    ///
    /// # Errors
    ///
    /// OpenSSL is out of memory.
    pub fn certificate(&self) -> Result<Certificate, Error> {
        match &self.server {
            Some(issued) => Ok(issued.certificate()?),
            None => Ok(Certificate::SelfSigned(self.session.key)),
        }
    }

    /// Returns the trust anchors of clients in PEM, if the server requests certificates.
    ///
    /// # Errors
    ///
    /// OpenSSL is out of memory.
    pub fn client_roots(&self) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.client.as_ref().map(|(issued, _)| issued.root()).transpose()?)
    }

    /// Returns the client's certificate and key, if the server requests one.
    #[must_use]
    pub fn identity(&self) -> Option<&Arc<Identity>> {
        self.client.as_ref().map(|(_, identity)| identity)
    }

    /// The server's certificate, if a trust anchor issued it.
    pub(crate) const fn of_server(&self) -> Option<&Issued> {
        self.server.as_ref()
    }

    /// The client's certificate, if the server requests one.
    pub(crate) fn of_client(&self) -> Option<&Issued> {
        self.client.as_ref().map(|(issued, _)| issued)
    }
}
