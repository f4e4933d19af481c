//! `tollgate bench URL`: examines a running server before any load.

use tollgate_load::{Arrivals, Exchange, Offer, Pattern, Plan, Protocol};
use tollgate_probe::{Probe, Scheme, Site, resolve};
use tollgate_report::text::wrapped;

use super::client_certificate::client_certificate;
use super::{external, plan};
use crate::error::CliError;
use crate::options::Bench as Options;

/// A server that consented to the load, and what it supports.
#[derive(Clone, Debug)]
pub(crate) struct Probed {
    pub(crate) site: Site,
    pub(crate) probe: Probe,
    /// The protocol to measure if the options name none.
    choice: Option<(Protocol, Offer)>,
}

/// Examines the server at the URL, if there is one, and adds what was found to the options.
pub(super) fn applied(options: &Options) -> Result<Options, CliError> {
    let Some(url) = &options.target else { return Ok(options.clone()) };
    let is_plain = url.scheme() == Scheme::Http;
    external::evidence(options)?; // reports a wrong path before the first request
    let may_test = options.given.i_may_test.as_deref();
    let site = Site::find(url, may_test, client_certificate(options)?.as_ref(), &resolve)?;
    let form = options.given.request_form()?;
    let probe = site.probe((!options.handshake_only).then_some(&form))?;
    let choice = probe.choice();
    if choice.is_none() && !is_plain {
        let why = "it has no suite and group that this client can ask for together";
        return Err(CliError::new(format!("{url}: {why}")));
    }
    let mut options = options.clone();
    if let Some(bytes) = probe.body.as_ref().and_then(|body| body.bytes) {
        options.bytes = bytes;
    }
    options.given.probed = Some(Probed { site, probe, choice });
    Ok(options)
}

impl Probed {
    /// Whether it speaks HTTP without TLS.
    pub(super) fn is_plain(&self) -> bool {
        self.site.url().scheme() == Scheme::Http
    }

    /// The protocol to measure if the options name none.
    pub(super) fn choice(&self) -> (Protocol, Offer) {
        // HTTP without TLS does not use it
        self.choice.clone().unwrap_or((Protocol::Tls13, Offer::default()))
    }

    /// Type of the server's key, as in subjects of records.
    pub(super) fn key(&self) -> String {
        self.probe.leaf().map_or_else(|| "none".to_owned(), |leaf| leaf.key)
    }

    /// Checks that the server supports a plan. An error says what to change.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), CliError> {
        let url = self.site.url();
        if has_bytes(plan) && !url.path().starts_with("/bytes/") {
            let why = "bodies of many sizes are requested as /bytes/N: give such a URL";
            return Err(CliError::new(format!("{url}: {why}")));
        }
        match self.probe.unmet(plan) {
            None => Ok(()),
            Some(unmet) => Err(CliError::new(format!("{url}: {unmet}"))),
        }
    }
}

/// Whether clients request other bodies than the URL's.
fn has_bytes(plan: &Plan) -> bool {
    match &plan.arrivals {
        _ if matches!(plan.exchange, Exchange::Sizes(_)) => true,
        Arrivals::Open { pattern: Pattern::Trace(trace), .. } => {
            trace.arrivals().iter().any(|arrival| arrival.bytes.is_some())
        }
        Arrivals::Open { .. } | Arrivals::Closed { .. } => false,
    }
}

/// Describes the server, with warnings.
pub(super) fn text(options: &Options) -> String {
    let Some(probed) = &options.given.probed else { return String::new() };
    let (url, address) = (probed.site.url(), probed.site.target().address());
    let mut text = wrapped(&format!("{url}, at {address}:"));
    for line in probed.probe.lines() {
        text += &wrapped(&format!("- {line}"));
    }
    let mut warnings: Vec<String> = Vec::new();
    for plan in plan::plans(options).unwrap_or_default() {
        for warning in probed.probe.warnings(&plan) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    for warning in warnings {
        text += &wrapped(&format!("- warning: {warning}"));
    }
    text
}
