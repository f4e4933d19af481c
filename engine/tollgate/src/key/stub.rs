//! `tollgate key stub`: prints the file that stands for a key on servers that do not have it.

use std::process::ExitCode;

use openssl::error::ErrorStack;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Public};
use openssl::x509::X509;
use tollgate_keyless::Stub as KeyStub;

use super::Stub;
use crate::error::CliError;
use crate::output::print;
use crate::read;

pub(super) fn run(options: &Stub) -> Result<ExitCode, CliError> {
    let name = options.file.display();
    let pem = read::key(&options.file)?;
    let key = public(&pem).map_err(|_| {
        error!("{name}: no usable key: give an unencrypted key or a certificate in PEM")
    })?;
    let is_p256 = || {
        let curve = key.ec_key().ok().and_then(|key| key.group().curve_name());
        curve == Some(Nid::X9_62_PRIME256V1)
    };
    if !(key.id() == Id::RSA && (2048..=8192).contains(&key.bits()) || is_p256()) {
        bail!("{name}: a signer has no such keys: give RSA of 2048 to 8192 bits, or P-256");
    }
    let stub = KeyStub::new(key.public_key_to_der()?)?;
    print(&stub.to_pem())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the public key of a private key, a public key or a certificate, in PEM.
///
/// # Errors
///
/// OpenSSL's reason if it reads none of the three.
pub fn public(pem: &[u8]) -> Result<PKey<Public>, ErrorStack> {
    // With an empty password, an encrypted key is an error, and not a question on the terminal.
    let private = PKey::private_key_from_pem_callback(pem, |_| Ok(0));
    let der = private.and_then(|key| key.public_key_to_der());
    der.and_then(|der| PKey::public_key_from_der(&der))
        .or_else(|_| PKey::public_key_from_pem(pem))
        .or_else(|_| X509::from_pem(pem).and_then(|certificate| certificate.public_key()))
}
