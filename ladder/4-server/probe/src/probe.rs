//! All that is known of a server before it is put under load.

use core::time::Duration;
use std::time::Instant;

use rustls::version::{TLS12, TLS13};

use crate::body::{self, Body};
use crate::certificate::Certificate;
use crate::complete::{self, Complete};
use crate::error::Error;
use crate::offers::{self, Offers};
use crate::own::Own;
use crate::site::Site;
use crate::url::Scheme;
use crate::wire::Wire;

/// What was found out.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Suites, groups and keys; none of a server that speaks no TLS.
    pub offers: Option<Offers>,
    /// TLS 1.3 with a complete client, if that came to its end.
    pub tls13: Option<Complete>,
    /// TLS 1.2 with a complete client; none also where it has only what complete clients left.
    pub tls12: Option<Complete>,
    /// What the path gave, if it was asked.
    pub body: Option<Body>,
    /// How long it took.
    pub took: Duration,
}

impl Site {
    /// Looks at the server, and at its path if `ask_path`.
    ///
    /// # Errors
    ///
    /// It does not answer, or completes no handshake, or its path gives no response.
    pub fn probe(&self, ask_path: bool) -> Result<Probe, Error> {
        let begun = Instant::now();
        let mut probe =
            Probe { offers: None, tls13: None, tls12: None, body: None, took: Duration::ZERO };
        if self.url().scheme() == Scheme::Https {
            let offers = offers::look(self)?;
            // what a complete client cannot do there, it does not tell
            let complete = |version| complete::look(self, version).ok();
            probe.tls13 = offers.has_version(true).then(|| complete(&TLS13)).flatten();
            probe.tls12 = offers.has_version(false).then(|| complete(&TLS12)).flatten();
            probe.offers = Some(offers);
        }
        if ask_path {
            let url = self.url();
            let body = self.body(probe.offers.as_ref());
            probe.body = Some(body.map_err(|why| Error::Path { url: url.to_string(), why })?);
        }
        probe.took = begun.elapsed();
        Ok(probe)
    }

    /// What its path gives, over the first suite that it has, or without TLS.
    fn body(&self, offers: Option<&Offers>) -> Result<Body, String> {
        let (host, path) = (self.url().authority(), self.url().path());
        let suite = offers.and_then(|offers| offers.suites.last());
        let body = match suite {
            Some(suite) => {
                let own = Own::connect(self, &offers::with_every_group(*suite));
                body::look(&mut own.map_err(|failed| failed.why())?, &host, path)
            }
            None => Wire::connect(&self.target().address())
                .and_then(|mut wire| body::look(&mut wire, &host, path)),
        };
        body.map_err(|error| error.to_string())
    }
}

impl Probe {
    /// The server's own certificate, that of a complete client first.
    #[must_use]
    pub fn leaf(&self) -> Option<Certificate> {
        let chains = [&self.tls13, &self.tls12].into_iter().flatten().map(|seen| &seen.chain);
        let leaf = chains.filter_map(|chain| Certificate::read(chain.first()?)).next();
        leaf.or_else(|| self.offers.as_ref()?.leaves.first().cloned())
    }

    /// Bytes of the certificates of the chain, over all of them.
    #[must_use]
    pub fn chain_bytes(&self) -> Option<usize> {
        let chain = [&self.tls13, &self.tls12].into_iter().flatten().map(|seen| &seen.chain).next();
        Some(chain?.iter().map(Vec::len).sum())
    }
}
