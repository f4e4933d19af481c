//! The results of a probe.

use core::time::Duration;
use std::time::Instant;

use tollgate_load::RequestForm;
use tollgate_tls_client::Group;

use crate::blocking_client::BlockingClient;
use crate::body::{self, Body};
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
        let url = self.url();
        let support = (url.scheme() == Scheme::Https).then(|| support::look(self)).transpose()?;
        let body = form.map(|form| self.body(support.as_ref(), form)).transpose();
        let body = body.map_err(|why| Error::Path { url: url.to_string(), why })?;
        Ok(Probe { support, body, took: begun.elapsed() })
    }

    /// Requests the path, with the last suite that the server supports, or without TLS.
    fn body(&self, support: Option<&Support>, form: &RequestForm) -> Result<Body, String> {
        let (url, address) = (self.url(), self.target().address());
        let (host, path) = (url.authority(), url.path());
        let suite = support.and_then(|support| support.suites.last());
        let body = match suite {
            Some(suite) => {
                let settings = support::with_every_group(*suite);
                let client = BlockingClient::connect(url, address, settings);
                body::look(&mut client.map_err(|failed| failed.why())?, &host, path, form)
            }
            None => Wire::connect(&address)
                .and_then(|mut wire| body::look(&mut wire, &host, path, form)),
        };
        body.map_err(|error| error.to_string())
    }
}

impl Probe {
    /// Returns one line for each result: at most five.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.support.as_ref().map_or_else(Vec::new, of_tls);
        if let Some(body) = &self.body {
            let text = match body.bytes {
                None => "a body of unknown length".to_owned(),
                Some(bytes) if body.again.is_some() => {
                    format!("{bytes} bytes; connections stay open for the next request")
                }
                Some(bytes) => format!("{bytes} bytes; connections close after a response"),
            };
            lines.push(format!("path: status {}, {text}", body.status));
        }
        lines.push(format!("probed in {} ms", self.took.as_millis()));
        lines
    }
}

fn of_tls(support: &Support) -> Vec<String> {
    let mut lines = Vec::new();
    for (is_tls13, version, groups) in
        [(true, "TLS 1.3", &support.groups), (false, "TLS 1.2", &support.curves)]
    {
        let of_version = support.suites.iter().filter(|suite| suite.is_tls13() == is_tls13);
        let suites: Vec<&str> = of_version.map(|suite| suite.name()).collect();
        lines.push(match (suites.is_empty(), groups.is_empty()) {
            (true, _) => format!("{version}: no"),
            (false, true) => format!("{version}: {}", suites.join(", ")),
            (false, false) => {
                format!("{version}: {}; groups: {}", suites.join(", "), names(groups))
            }
        });
    }
    lines.push(format!("keys: {}", support.keys.join(", ")));
    lines
}

pub(crate) fn names(groups: &[Group]) -> String {
    groups.iter().map(|group| group.name()).collect::<Vec<_>>().join(", ")
}
