//! The folder of a trial: its files, their hashes, and the signature over the list of them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use openssl::sha::sha256;
use serde_json::Value;
use tollgate_rsa::pkcs8::{EncodePublicKey as _, LineEnding};
use tollgate_rsa::{Hash, PrivateKey, Pss, PublicKey};

use super::manifest::{Listed, MANIFEST, Manifest};
use crate::error::CliError;

/// The signature of the bytes of [`MANIFEST`]: RSA-PSS with SHA-256 and a salt of 32 bytes.
pub(super) const SIGNATURE: &str = "manifest.sig";
/// The public key, PEM.
pub(super) const PUBLIC_KEY: &str = "public.pem";
/// Raw samples: every run.
pub(super) const OUTCOME: &str = "outcome.json";
/// The published figures.
pub(super) const RECORDS: &str = "records.jsonl";
pub(super) const DISCLOSURE: &str = "disclosure.toml";
/// The folder of added files.
pub(super) const ADDED: &str = "added";

/// The files that every bundle lists.
pub(super) const REQUIRED: [&str; 3] = [OUTCOME, RECORDS, DISCLOSURE];

/// The largest file that is read, in bytes.
const FILE_MAX_BYTES: u64 = 1 << 28;

/// The largest number of files in a folder.
const FILES_MAX: usize = 10_000;

/// A folder whose signature and hashes are right.
pub(super) struct Bundle {
    pub(super) manifest: Manifest,
    /// The listed files. Of those that were added, only the hash counts, so they are empty here.
    pub(super) files: BTreeMap<String, Vec<u8>>,
}

impl Bundle {
    /// Reads a folder, and checks its signature, the list of its files and their hashes. `trusted`
    /// is the author's key; without it, the folder's own key is used.
    pub(super) fn read(folder: &Path, trusted: Option<&PublicKey>) -> Result<Self, CliError> {
        let read = |name: &str| read(&folder.join(name));
        let text = read(MANIFEST)?;
        let enclosed = PublicKey::from_bytes(&read(PUBLIC_KEY)?)
            .map_err(|error| error!("{PUBLIC_KEY}: {error}: ask its author for the folder"))?;
        let key = trusted.unwrap_or(&enclosed);
        if key.modulus() != enclosed.modulus() || key.exponent() != enclosed.exponent() {
            let (enclosed, key) = (fingerprint(&enclosed), fingerprint(key));
            bail!("signed with the key {enclosed}, not with the key {key} of --key");
        }
        key.verify_pss(Pss::new(Hash::Sha256), &text, &read(SIGNATURE)?)
            .map_err(|_| error!("{MANIFEST}: its signature is wrong: the folder was edited"))?;
        let manifest = Manifest::parse(&text)?;
        if manifest.signer != fingerprint(key) {
            bail!("{MANIFEST}: it names the signer {}, who did not sign it", manifest.signer);
        }
        let lacking = |name: &&&str| !manifest.files.iter().any(|file| file.name == **name);
        if let Some(name) = REQUIRED.iter().find(lacking) {
            bail!("{MANIFEST}: it does not list {name}: the trial is not complete");
        }
        let mut files = BTreeMap::new();
        for listed in &manifest.files {
            let content = read(&listed.name)?;
            let is_it =
                content.len() as u64 == listed.bytes && hex(&sha256(&content)) == listed.sha256;
            if !is_it {
                bail!("{}: not the file that was signed: it was edited", listed.name);
            }
            let is_read = REQUIRED.contains(&listed.name.as_str());
            files.insert(listed.name.clone(), if is_read { content } else { Vec::new() });
        }
        let known = |name: &str| {
            files.contains_key(name) || [MANIFEST, SIGNATURE, PUBLIC_KEY].contains(&name)
        };
        if let Some(name) = names(folder)?.into_iter().find(|name| !known(name)) {
            bail!("{name}: no part of the trial: remove it, or ask its author for the folder");
        }
        Ok(Self { manifest, files })
    }

    /// Returns a listed file as text.
    pub(super) fn text(&self, name: &str) -> Result<&str, CliError> {
        let bytes = self.files.get(name).map(Vec::as_slice).unwrap_or_default();
        core::str::from_utf8(bytes).map_err(|_| error!("{name}: it is not text"))
    }
}

/// Returns the records of all scenarios as JSON Lines.
pub(super) fn records(outcome: &str) -> Result<String, CliError> {
    let document: Value = serde_json::from_str(outcome)?;
    let scenarios = document["scenarios"].as_array().into_iter().flatten();
    let records =
        scenarios.flat_map(|scenario| scenario["records"].as_array().into_iter().flatten());
    Ok(records.map(|record| format!("{record}\n")).collect())
}

/// Writes the files, the manifest, its signature and the public key.
pub(super) fn write(
    folder: &Path,
    mut manifest: Manifest,
    files: &[(String, Vec<u8>)],
    key: &PrivateKey,
) -> Result<(), CliError> {
    let put = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(CliError::at(parent))?;
        fs::write(&path, content).map_err(CliError::at(&path))
    };
    for (name, content) in files {
        put(name, content)?;
        manifest.files.push(Listed {
            name: name.clone(),
            bytes: content.len() as u64,
            sha256: hex(&sha256(content)),
        });
    }
    let text = serde_json::to_string_pretty(&manifest)? + "\n";
    put(MANIFEST, text.as_bytes())?;
    put(SIGNATURE, &key.sign_pss(Pss::new(Hash::Sha256), text.as_bytes())?)?;
    let pem = key.public().to_public_key_pem(LineEnding::LF)?;
    put(PUBLIC_KEY, pem.as_bytes())
}

/// Returns the SHA-256 of the key's `SubjectPublicKeyInfo`, in hexadecimal.
pub(super) fn fingerprint(key: &PublicKey) -> String {
    key.to_public_key_der().map(|der| hex(&sha256(der.as_bytes()))).unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a plain file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    let kind = fs::symlink_metadata(path).map_err(CliError::at(path))?;
    if !kind.is_file() {
        bail!("{}: it is not a plain file", path.display());
    }
    let file = fs::File::open(path).map_err(CliError::at(path))?;
    let mut content = Vec::new();
    file.take(FILE_MAX_BYTES + 1).read_to_end(&mut content).map_err(CliError::at(path))?;
    if content.len() as u64 > FILE_MAX_BYTES {
        bail!("{}: it has more than {FILE_MAX_BYTES} bytes", path.display());
    }
    Ok(content)
}

/// Returns the names of all files of a folder and its folders; links have their own names.
fn names(folder: &Path) -> Result<Vec<String>, CliError> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).map_err(CliError::at(&next))? {
            let entry = entry.map_err(CliError::at(&next))?;
            let path = entry.path();
            if entry.file_type().map_err(CliError::at(&path))?.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap_or(&path);
                let name = name.to_str().ok_or_else(|| error!("{name:?}: not a name in UTF-8"))?;
                found.push(name.to_owned());
            }
            if found.len() + folders.len() > FILES_MAX {
                bail!("{}: it has more than {FILES_MAX} files", folder.display());
            }
        }
    }
    found.sort();
    Ok(found)
}
