//! `tollgate bench URL`: examines a running server before any load.

use std::fs;
use std::path::Path;

use openssl::error::ErrorStack;
use openssl::pkey::PKey;
use openssl::x509::X509;
use tollgate_probe::{ClientCertificate, Scheme, Site, resolve};
use tollgate_report::text::wrapped;

use super::options::given::Probed;
use super::{external, plan};
use crate::error::CliError;
use crate::keys;
use crate::options::Bench as Options;

/// Examines the server at the URL, if there is one, and adds its properties to the options.
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
        bail!("{url}: it has no suite and group that this client can ask for together");
    }
    let mut options = options.clone();
    if let Some(bytes) = probe.body.as_ref().and_then(|body| body.bytes) {
        options.bytes = bytes;
    }
    options.given.probed = Some(Probed { site, probe, choice });
    Ok(options)
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

/// Reads certificate and key, if the options name them.
fn client_certificate(options: &Options) -> Result<Option<ClientCertificate>, CliError> {
    let (Some(chain), Some(key)) = (&options.given.client_cert, &options.given.client_key) else {
        return Ok(None);
    };
    let found = ClientCertificate::new(certificates(chain)?, &pkcs8(key)?);
    found.map(Some).map_err(|error| error!("--client-cert: {error}"))
}

/// The certificates in DER; an empty list is refused later.
fn certificates(path: &Path) -> Result<Vec<Vec<u8>>, CliError> {
    let pem = fs::read(path).map_err(CliError::at(path))?;
    let chain =
        X509::stack_from_pem(&pem).and_then(|chain| chain.iter().map(|c| c.to_der()).collect());
    chain.map_err(|_| error!("{}: no certificates in PEM", path.display()))
}

fn pkcs8(path: &Path) -> Result<Vec<u8>, CliError> {
    let pem = keys::read(path)?;
    // without a callback OpenSSL would ask for a passphrase on the terminal
    let key = PKey::private_key_from_pem_callback(&pem, |_| Err(ErrorStack::get()));
    let key = key.and_then(|key| key.private_key_to_pkcs8());
    key.map_err(|_| error!("{}: no private key in PEM, or encrypted", path.display()))
}
