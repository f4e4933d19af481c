//! The results of a probe.

use core::time::Duration;
use std::time::Instant;

use rustls::version::{TLS12, TLS13};
use tollgate_load::RequestForm;

use crate::blocking_client::BlockingClient;
use crate::body::{self, Body};
use crate::certificate::Certificate;
use crate::complete::{self, Complete};
use crate::error::Error;
use crate::site::Site;
use crate::support::{self, Support};
use crate::url::Scheme;
use crate::wire::Wire;

/// The results of a probe.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Suites, groups and keys; `None` for a server without TLS.
    pub support: Option<Support>,
    /// The TLS 1.3 session of a complete client (rustls), if it succeeded.
    pub tls13: Option<Complete>,
    /// The TLS 1.2 session of a complete client (rustls), if it succeeded. It may fail because
    /// complete clients no longer offer some suites.
    pub tls12: Option<Complete>,
    /// The responses of the path, if it was requested.
    pub body: Option<Body>,
    /// Duration of the probe.
    pub took: Duration,
}

impl Site {
    /// Probes the server. If there is a `form`, also requests the path with it.
    ///
    /// # Errors
    ///
    /// The server does not answer or completes no handshake, or its path gives no response.
    pub fn probe(&self, form: Option<&RequestForm>) -> Result<Probe, Error> {
        let begun = Instant::now();
        let mut probe =
            Probe { support: None, tls13: None, tls12: None, body: None, took: Duration::ZERO };
        if self.url().scheme() == Scheme::Https {
            let support = support::look(self)?;
            // a complete client may lack a feature that the server needs; that is no error of the
            // server
            let at = (self.url(), self.target().address());
            let complete = |version| complete::look(at, self.client_certificate(), version).ok();
            probe.tls13 = support.has_version(true).then(|| complete(&TLS13)).flatten();
            probe.tls12 = support.has_version(false).then(|| complete(&TLS12)).flatten();
            probe.support = Some(support);
        }
        if let Some(form) = form {
            let url = self.url();
            let body = self.body(probe.support.as_ref(), form);
            probe.body = Some(body.map_err(|why| Error::Path { url: url.to_string(), why })?);
        }
        probe.took = begun.elapsed();
        Ok(probe)
    }

    /// Requests the path, with the last suite that the server supports, or without TLS.
    fn body(&self, support: Option<&Support>, form: &RequestForm) -> Result<Body, String> {
        let (host, path) = (self.url().authority(), self.url().path());
        let suite = support.and_then(|support| support.suites.last());
        let body = match suite {
            Some(suite) => {
                let client = BlockingClient::connect(self, &support::with_every_group(*suite));
                body::look(&mut client.map_err(|failed| failed.why())?, &host, path, form)
            }
            None => Wire::connect(&self.target().address())
                .and_then(|mut wire| body::look(&mut wire, &host, path, form)),
        };
        body.map_err(|error| error.to_string())
    }
}

impl Probe {
    /// Returns the server's own certificate; preferably the one that a complete client got.
    #[must_use]
    pub fn leaf(&self) -> Option<Certificate> {
        let leaf = self.complete().find_map(|seen| Certificate::read(seen.chain.first()?));
        leaf.or_else(|| self.support.as_ref()?.leaves.first().cloned())
    }

    /// Returns the total bytes of the certificate chain.
    #[must_use]
    pub fn chain_bytes(&self) -> Option<usize> {
        Some(self.complete().next()?.chain.iter().map(Vec::len).sum())
    }

    /// Returns the sessions of the complete client, TLS 1.3 first.
    pub(crate) fn complete(&self) -> impl Iterator<Item = &Complete> {
        [&self.tls13, &self.tls12].into_iter().flatten()
    }
}
