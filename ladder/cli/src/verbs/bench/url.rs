//! `tollgate bench URL`: a server that runs already is found, asked and looked at before any load.

use tollgate_load::{Arrivals, Exchange, Offer, Pattern, Plan, Protocol};
use tollgate_probe::{Probe, Scheme, Site, resolve};
use tollgate_report::text::wrapped;
use tollgate_rivals::Client;

use super::client_certificate::client_certificate;
use super::{external, plan};
use crate::error::CliError;
use crate::options::Bench as Options;

/// A server that may be put under load, and what was found there.
#[derive(Clone, Debug)]
pub(crate) struct Probed {
    pub(crate) site: Site,
    pub(crate) probe: Probe,
    /// The protocol of who asks for none.
    choice: Option<(Protocol, Offer)>,
}

/// The options with what was found at their URL, if they have one.
///
/// # Errors
///
/// The server may not be tested, does not answer, or cannot do what the options ask for.
pub(super) fn applied(options: &Options) -> Result<Options, CliError> {
    let Some(url) = &options.target else { return Ok(options.clone()) };
    let is_plain = url.scheme() == Scheme::Http;
    let names_tls = !(options.protocol.is_empty() && options.suites.is_empty());
    let resumes = options.resumed.resume > 0.0;
    let shows = options.given.client_cert.is_some();
    let names_tls = names_tls || !options.group.is_empty() || shows;
    if is_plain && (names_tls || options.handshake_only || resumes) {
        let flags = "--protocol, --suites, --group, --resume, --client-cert and --handshake-only";
        return Err(CliError::new(format!("{url}: http has no handshake: leave out {flags}")));
    }
    if options.client != [Client::Minimal] {
        refuse_clients(options)?;
    }
    external::evidence(options)?; // a wrong path is told before anybody is asked
    let may_test = options.given.i_may_test.as_deref();
    let site = Site::find(url, may_test, client_certificate(options)?.as_ref(), &resolve)
        .map_err(CliError::from_error)?;
    let probe = site.probe(!options.handshake_only).map_err(CliError::from_error)?;
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

/// Other clients know no names and no other paths.
fn refuse_clients(options: &Options) -> Result<(), CliError> {
    let Some(url) = &options.target else { return Ok(()) };
    if options.given.client_cert.is_some() {
        return Err(CliError::new("--client-cert: other clients show none: leave out --client"));
    }
    let is_known = url.scheme() == Scheme::Https
        && url.path().strip_prefix("/bytes/").is_some_and(|bytes| bytes.parse::<u64>().is_ok())
        && url.name().is_none_or(|name| name == "localhost");
    if is_known {
        return Ok(());
    }
    let why =
        "other clients ask for https://ADDRESS/bytes/N: give such a URL, or leave out --client";
    Err(CliError::new(format!("{url}: {why}")))
}

impl Probed {
    /// Whether it speaks HTTP without TLS.
    pub(super) fn is_plain(&self) -> bool {
        self.site.url().scheme() == Scheme::Http
    }

    /// The protocol of who names none.
    pub(super) fn choice(&self) -> (Protocol, Offer) {
        // in plain nobody looks at it
        self.choice.clone().unwrap_or((Protocol::Tls13, Offer::default()))
    }

    /// Kind of the server's key, as subjects of records spell it.
    pub(super) fn key(&self) -> String {
        self.probe.leaf().map_or_else(|| "none".to_owned(), |leaf| leaf.key)
    }

    /// A plan that the server can do.
    ///
    /// # Errors
    ///
    /// It cannot, and what to change.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), CliError> {
        let url = self.site.url();
        if has_bytes(plan) && !url.path().starts_with("/bytes/") {
            let why = "bodies of many sizes are asked for as /bytes/N: give such a URL";
            return Err(CliError::new(format!("{url}: {why}")));
        }
        match self.probe.unmet(plan) {
            None => Ok(()),
            Some(unmet) => Err(CliError::new(format!("{url}: {unmet}"))),
        }
    }
}

/// Whether clients ask for other bodies than the URL's.
fn has_bytes(plan: &Plan) -> bool {
    match &plan.arrivals {
        _ if matches!(plan.exchange, Exchange::Sizes(_)) => true,
        Arrivals::Open { pattern: Pattern::Trace(trace), .. } => {
            trace.arrivals().iter().any(|arrival| arrival.bytes.is_some())
        }
        Arrivals::Open { .. } | Arrivals::Closed { .. } => false,
    }
}

/// What was found, and what is worth knowing before the figures.
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
