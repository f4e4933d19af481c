//! `tollgate key show`: prints the properties of a key file.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::file::{Either, KeyFile, exponent, fingerprint};
use crate::error::CliError;
use crate::output::{Output, write_object};
use crate::verbs::key::options::Show;

pub(crate) fn run(options: &Show) -> Result<ExitCode, CliError> {
    let file = KeyFile::read(&options.file)?;
    let output = Output::with_object(options.json.as_deref())?;
    output.text(&lines(&file))?;
    if let Some(path) = &options.json {
        write_object(path, &json(&file))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The smallest secure modulus, in bits.
pub(super) const SECURE_BITS: usize = 2048;

fn prime_bits(file: &KeyFile) -> Option<[usize; 2]> {
    match &file.key {
        Either::Private(key) => Some(key.prime_bits()),
        Either::Public(_) => None,
    }
}

fn lines(file: &KeyFile) -> String {
    let key = file.public();
    let secure = if key.bits() < SECURE_BITS { " (insecure: below 2048)" } else { "" };
    let mut text = format!("{file}\n{:16}{}{secure}\n", "bits", key.bits());
    text += &format!("{:16}{}\n", "e", exponent(key));
    if let Some([p, q]) = prime_bits(file) {
        text += &format!("{:16}{p} and {q} bits\n", "primes");
    }
    text + &format!("{:16}{}\n", "SHA-256 of SPKI", fingerprint(key))
}

fn json(file: &KeyFile) -> Value {
    let key = file.public();
    json!({
        "kind": file.kind(),
        "format": file.format,
        "encoding": file.encoding,
        "bits": key.bits(),
        "e": exponent(key),
        "prime_bits": prime_bits(file),
        "insecure": key.bits() < SECURE_BITS,
        "spki_sha256": fingerprint(key),
    })
}
