//! Replaces a small file atomically.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Writes a temporary file and renames it: readers see the old text or the new one.
///
/// The folder may be writable for all and sticky, so nothing is written through a link or into a
/// file of another user. All users may read the file, whatever the umask: it holds only counts.
pub(super) fn replace(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let (file, new) = (folder.join(format!("{name}.prom")), folder.join(format!(".{name}.new")));
    let create = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new);
    let written = create()
        .or_else(|_| {
            // An earlier process with the same id left this file.
            fs::remove_file(&new)?;
            create()
        })
        .and_then(|mut open| {
            open.write_all(text.as_bytes())?;
            open.set_permissions(Permissions::from_mode(0o644))
        })
        .and_then(|()| fs::rename(&new, &file));
    if written.is_err() {
        // On a full disk, the temporary file is incomplete. The removal fails if the file belongs
        // to another user.
        let _ = fs::remove_file(&new);
    }
    written
}
