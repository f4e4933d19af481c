//! A folder of ours among the temporary files.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// Removed with all that is in it when this is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// # Errors
    ///
    /// There is no place for temporary files.
    pub(crate) fn new() -> Result<Self, CliError> {
        let name = format!("tollgate-{:016x}", fastrand::u64(..));
        let folder = std::env::temp_dir().join(name);
        // It fails if somebody else's is there: what is written here is ours alone.
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|error| CliError::new(format!("{}: {error}; set TMPDIR", folder.display())))?;
        Ok(Self(folder))
    }

    /// Of a file in it.
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
        // What is left over lies among the temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
