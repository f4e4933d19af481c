//! A private temporary folder.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// A folder that is removed with its contents on drop.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Creates a folder that only this user can read.
    pub(crate) fn new() -> Result<Self, CliError> {
        let name = format!("tollgate-{:016x}", fastrand::u64(..));
        let folder = std::env::temp_dir().join(name);
        // fails if the path exists, so the folder has no other owner
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|error| error!("{}: {error}; set TMPDIR", folder.display()))?;
        Ok(Self(folder))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // an error leaves files in the folder of temporary files
        let _ = fs::remove_dir_all(&self.0);
    }
}
