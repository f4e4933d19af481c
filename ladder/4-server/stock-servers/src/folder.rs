//! The folder of one server, removed when the value is dropped.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// A folder with a new name. Workers that dropped root privileges can enter it and read their
/// files.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(product: &str, parent: Option<&Path>) -> Result<Self, Error> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_path_buf);
        loop {
            let name =
                format!("tollgate-{product}-{}-{:08x}", std::process::id(), fastrand::u32(..));
            let path = parent.join(name);
            match DirBuilder::new().mode(0o711).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create the folder", &path)(error)),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn make(&self, name: &str) -> Result<(), Error> {
        let path = self.0.join(name);
        fs::create_dir(&path).map_err(Error::io("create the folder", &path))
    }

    /// Creates a folder in it that every user may write to.
    pub(crate) fn open_to_all(&self, name: &str) -> Result<(), Error> {
        self.make(name)?;
        let path = self.0.join(name);
        let mode = Permissions::from_mode(0o1777);
        fs::set_permissions(&path, mode).map_err(Error::io("open to all", &path))
    }

    /// Writes a file that other users may read.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.write_with(name, bytes, 0o644)
    }

    /// Writes a file that only this user may read.
    pub(crate) fn write_secret(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.write_with(name, bytes, 0o600)
    }

    fn write_with(&self, name: &str, bytes: &[u8], mode: u32) -> Result<(), Error> {
        let path = self.0.join(name);
        let write = || -> io::Result<()> {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
            file.write_all(bytes)
        };
        write().map_err(Error::io("write", &path))
    }

    /// Returns the last lines of a file, as one line.
    pub(crate) fn end_of(&self, name: &str) -> String {
        let text = fs::read(self.0.join(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(3)..].join(" | ")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // On failure it remains in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
