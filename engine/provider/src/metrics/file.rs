//! Replacing a small file, whole or not at all.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Writes a file beside it and renames it: who reads sees the old text or the new one.
///
/// The folder may be open to all, with the sticky bit: nothing is written through a link or into a
/// file that somebody else put there. All may read the file, whatever the umask: it says how often,
/// and nothing else.
pub(super) fn replace(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let (file, new) = (folder.join(format!("{name}.prom")), folder.join(format!(".{name}.new")));
    let create = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new);
    let written = create()
        .or_else(|_| {
            // Left over by a process of the same id.
            fs::remove_file(&new)?;
            create()
        })
        .and_then(|mut open| {
            open.write_all(text.as_bytes())?;
            open.set_permissions(Permissions::from_mode(0o644))
        })
        .and_then(|()| fs::rename(&new, &file));
    if written.is_err() {
        // Half a file on a full disk; another's may stay.
        let _ = fs::remove_file(&new);
    }
    written
}
