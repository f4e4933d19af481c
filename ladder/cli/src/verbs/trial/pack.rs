//! `tollgate trial pack`: makes the folder of a trial.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use tollgate_record::Timestamp;
use tollgate_rsa::PrivateKey;

use super::Pack;
use super::arithmetic;
use super::bundle::{ADDED, DISCLOSURE, OUTCOME, RECORDS, fingerprint, read, records, write};
use super::disclosure::Disclosure;
use super::manifest::Manifest;
use crate::error::CliError;
use crate::host::Host;
use crate::output::Output;
use crate::read;

/// The smallest secure modulus, in bits.
const SECURE_BITS: usize = 2048;

pub(super) fn run(options: &Pack) -> Result<ExitCode, CliError> {
    let key = key(&options.key)?;
    let outcome = read(&options.run.join(OUTCOME))?;
    let text = core::str::from_utf8(&outcome).map_err(|_| error!("{OUTCOME}: it is not text"))?;
    // A folder that verification would refuse is not packed.
    let figures = arithmetic::check(text)?;
    let disclosure = read(&options.disclosure)?;
    let file = options.disclosure.display();
    let told = core::str::from_utf8(&disclosure).map_err(CliError::about(&file))?;
    Disclosure::from_toml(told).map_err(CliError::about(&file))?;
    let published = records(text)?.into_bytes();
    let mut files = vec![
        (OUTCOME.to_owned(), outcome),
        (RECORDS.to_owned(), published),
        (DISCLOSURE.to_owned(), disclosure),
    ];
    for path in &options.add {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| error!("--add: {}: name a file", path.display()))?;
        let name = format!("{ADDED}/{name}");
        if files.iter().any(|(known, _)| *known == name) {
            bail!("--add: {}: another added file has this name", path.display());
        }
        files.push((name, read(path)?));
    }
    made(&options.out)?;
    let commit = Host::this().context.commit.unwrap_or_else(|| "unknown".to_owned());
    let made_by = format!("tollgate {}, commit {commit}", env!("CARGO_PKG_VERSION"));
    let (now, signer) = (Timestamp::now().to_string(), fingerprint(key.public()));
    let manifest = Manifest::new(made_by, now, signer);
    write(&options.out, manifest, &files, &key)?;
    Output::new(None)?.text(&format!(
        "{}: {} figures, signed with the key\n  {}\n",
        options.out.display(),
        figures.len(),
        fingerprint(key.public())
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn key(path: &Path) -> Result<PrivateKey, CliError> {
    let name = path.display();
    let key = PrivateKey::from_bytes(&read::key(path)?).map_err(CliError::about(&name))?;
    if key.bits() < SECURE_BITS {
        bail!("--key: {name}: {} bits are insecure: make a key with tollgate key gen", key.bits());
    }
    Ok(key)
}

/// Makes the folder, which must be new or empty.
fn made(folder: &Path) -> Result<(), CliError> {
    fs::create_dir_all(folder).map_err(CliError::at(folder))?;
    let mut entries = fs::read_dir(folder).map_err(CliError::at(folder))?;
    if entries.next().is_some() {
        bail!("--out: {}: it has files: name a new folder", folder.display());
    }
    Ok(())
}
