//! Replaces files atomically, and can restore the previous ones.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// A file that was replaced or removed. The file is restored when this value is dropped, unless
/// [`keep`](Self::keep) is called.
#[must_use]
pub(super) struct Replaced {
    path: PathBuf,
    before: Option<PathBuf>,
    kept: bool,
}

impl Replaced {
    /// Writes `bytes` to a new file and renames it. Programs that have mapped the old file keep it.
    /// After an error nothing has changed.
    pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<Self, CliError> {
        let replaced = Self::set_aside(path)?;
        let new = beside(path, "new");
        // A run that was killed may have left this file.
        let _ = fs::remove_file(&new);
        let write = || {
            // Do not write through a link that another user created.
            let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&new)?;
            file.write_all(bytes)?;
            // Set the mode independently of the umask, because servers read the file as other
            // users.
            file.set_permissions(fs::Permissions::from_mode(0o644))?;
            // After a crash, a server could otherwise map an incomplete module.
            file.sync_all()?;
            fs::rename(&new, path)
        };
        write().map_err(|error| {
            // Remove an incomplete file, if there is one.
            let _ = fs::remove_file(&new);
            refusal(path, &error)
        })?;
        Ok(replaced)
    }

    pub(super) fn remove(path: &Path) -> Result<Self, CliError> {
        let replaced = Self::set_aside(path)?;
        fs::remove_file(path).map_err(|error| refusal(path, &error))?;
        Ok(replaced)
    }

    /// Gives the existing file a second name. The file keeps both names until it is replaced or
    /// removed.
    fn set_aside(path: &Path) -> Result<Self, CliError> {
        let before = beside(path, "before");
        // A run that was killed may have left this file.
        let _ = fs::remove_file(&before);
        let before = match fs::hard_link(path, &before) {
            Ok(()) => Some(before),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(refusal(path, &error)),
        };
        Ok(Self { path: path.to_owned(), before, kept: false })
    }

    /// Ends a successful replacement: removes the old file, or keeps it under the name `backup`.
    pub(super) fn keep(mut self, backup: Option<&Path>) -> Result<(), CliError> {
        self.kept = true;
        let Some(before) = self.before.take() else { return Ok(()) };
        let done = match backup {
            Some(backup) => fs::rename(&before, backup),
            None => fs::remove_file(&before),
        };
        done.map_err(|error| refusal(&before, &error))
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        // Restores the old file after a failed run, which reports its own error. If that fails too,
        // the old file remains under its other name.
        let _ = match &self.before {
            // A rename between two names of one file changes nothing, so remove the second name.
            Some(before) => fs::rename(before, &self.path).and_then(|()| fs::remove_file(before)),
            None => fs::remove_file(&self.path),
        };
    }
}

pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!(".{name}.{end}"))
}

fn refusal(path: &Path, error: &io::Error) -> CliError {
    let advice = match error.kind() {
        io::ErrorKind::PermissionDenied => "; run it as root",
        io::ErrorKind::NotFound => "; make the folder first",
        _ => "",
    };
    error!("{}: {error}{advice}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_through_a_link() {
        let folder = crate::temporary_folder().unwrap();
        let (path, victim) = (folder.path().join("file"), folder.path().join("victim"));
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, beside(&path, "new")).unwrap();
        Replaced::write(&path, b"ours").unwrap().keep(None).unwrap();
        let (ours, mine) = (fs::read(&path).unwrap(), fs::read(&victim).unwrap());
        assert_eq!((&ours[..], &mine[..]), (&b"ours"[..], &b"mine"[..]));
    }
}
