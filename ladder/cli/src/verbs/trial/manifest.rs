//! The list of the files of a trial.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::CliError;

/// The file with the list.
pub(super) const MANIFEST: &str = "manifest.json";

const FORMAT: &str = "tollgate-trial";
const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    pub(super) format: String,
    pub(super) version: u32,
    pub(super) made_at: String,
    /// Version and commit of the program.
    pub(super) made_by: String,
    /// SHA-256 of the signer's `SubjectPublicKeyInfo`, in hexadecimal.
    pub(super) signer: String,
    pub(super) files: Vec<Listed>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) bytes: u64,
    /// In hexadecimal.
    pub(super) sha256: String,
}

impl Manifest {
    pub(super) fn new(made_by: String, made_at: String, signer: String) -> Self {
        let (format, version) = (FORMAT.to_owned(), VERSION);
        Self { format, version, made_at, made_by, signer, files: Vec::new() }
    }

    /// Reads a list whose names are different and stay in the folder.
    pub(super) fn parse(text: &[u8]) -> Result<Self, CliError> {
        let manifest: Self = serde_json::from_slice(text)
            .map_err(|error| error!("{MANIFEST}: {error}: not a trial, or an edited one"))?;
        let Self { format, version, .. } = &manifest;
        if format != FORMAT || *version != VERSION {
            bail!("{MANIFEST}: format {format:?} {version}: this program reads {FORMAT} {VERSION}");
        }
        let mut names: Vec<&str> = manifest.files.iter().map(|file| file.name.as_str()).collect();
        if let Some(name) = names.iter().find(|name| !is_plain(name)) {
            bail!("{MANIFEST}: {name:?} is not the name of a file in the folder");
        }
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            bail!("{MANIFEST}: {} is listed twice", twice[0]);
        }
        Ok(manifest)
    }
}

/// Returns whether a name is a relative path without `.` and `..`.
fn is_plain(name: &str) -> bool {
    let is_part = |part: Component<'_>| matches!(part, Component::Normal(_));
    let rebuilt = || Path::new(name).components().collect::<PathBuf>();
    !name.is_empty()
        && !name.contains(char::is_control)
        && Path::new(name).components().all(is_part)
        && rebuilt().as_os_str() == name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_the_folder() {
        for good in ["outcome.json", "added/nginx.conf"] {
            assert!(is_plain(good), "{good}");
        }
        for bad in ["", "/etc/passwd", "../x", "added/../../x", "./x", "added//x", "a\n", "added/"]
        {
            assert!(!is_plain(bad), "{bad:?}");
        }
    }
}
