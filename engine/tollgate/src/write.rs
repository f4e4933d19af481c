//! Writes whole files that the user named.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::error::folder;

/// Writes a new file with this mode, whatever the umask, and gives it its name at the end: programs
/// that have mapped an old file keep it, and no link is followed. After an error nothing has
/// changed.
///
/// # Errors
///
/// If the file cannot be written, or exists and may not be replaced.
pub(crate) fn whole(path: &Path, bytes: &[u8], mode: u32, replace: bool) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder(path))?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    // After a crash, a server could otherwise map an incomplete module.
    file.as_file().sync_all()?;
    let written = if replace { file.persist(path) } else { file.persist_noclobber(path) };
    written.map(drop).map_err(|error| error.error)
}
