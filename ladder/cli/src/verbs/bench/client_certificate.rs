//! `tollgate bench --client-cert`: reads the client's certificate.

use std::fs;
use std::path::Path;

use openssl::error::ErrorStack;
use openssl::pkey::PKey;
use openssl::x509::X509;
use tollgate_probe::ClientCertificate;

use crate::error::CliError;
use crate::keys;
use crate::options::Bench as Options;

/// Reads certificate and key, if the options name them.
pub(super) fn client_certificate(options: &Options) -> Result<Option<ClientCertificate>, CliError> {
    let (Some(chain), Some(key)) = (&options.given.client_cert, &options.given.client_key) else {
        return Ok(None);
    };
    let found = ClientCertificate::new(certificates(chain)?, &pkcs8(key)?);
    found.map(Some).map_err(|error| CliError::new(format!("--client-cert: {error}")))
}

/// The certificates in DER; an empty list is refused later.
fn certificates(path: &Path) -> Result<Vec<Vec<u8>>, CliError> {
    let pem = fs::read(path).map_err(CliError::at(path))?;
    let chain =
        X509::stack_from_pem(&pem).and_then(|chain| chain.iter().map(|c| c.to_der()).collect());
    chain.map_err(|_| CliError::new(format!("{}: no certificates in PEM", path.display())))
}

fn pkcs8(path: &Path) -> Result<Vec<u8>, CliError> {
    let pem = keys::read(path)?;
    // without a callback OpenSSL would ask for a passphrase on the terminal
    let key = PKey::private_key_from_pem_callback(&pem, |_| Err(ErrorStack::get()));
    let key = key.and_then(|key| key.private_key_to_pkcs8());
    key.map_err(|_| {
        CliError::new(format!("{}: no private key in PEM, or encrypted", path.display()))
    })
}
