//! Who may change a file, or put another in its place.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid};

/// Of a folder in which nobody moves another's files, as `/tmp` is.
const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// The file, or the folder above it, that somebody may write who is neither this user nor root;
/// what cannot be looked at is such a one.
pub(super) fn stranger(file: &Path) -> Option<PathBuf> {
    let Ok(file) = file.canonicalize() else { return Some(file.to_owned()) };
    file.ancestors().find(|path| is_open(path)).map(Path::to_owned)
}

fn is_open(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else { return true };
    let (mode, user, group) = (metadata.mode(), geteuid().as_raw(), getegid().as_raw());
    if ![0, user].contains(&metadata.uid()) {
        return true;
    }
    let others = mode & OTHERS_WRITE != 0
        || mode & GROUP_WRITES != 0 && ![0, group].contains(&metadata.gid());
    others && !(metadata.is_dir() && mode & STICKY != 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::folder::Folder;

    #[test]
    fn a_file_is_as_closed_as_all_above_it() {
        let folder = Folder::new().unwrap();
        let inner = folder.path("inner");
        let file = inner.join("file");
        fs::create_dir(&inner).unwrap();
        fs::write(&file, "").unwrap();
        let open = |file_mode, inner_mode| {
            fs::set_permissions(&file, Permissions::from_mode(file_mode)).unwrap();
            fs::set_permissions(&inner, Permissions::from_mode(inner_mode)).unwrap();
            stranger(&file)
        };
        assert_eq!(open(0o600, 0o755), None);
        assert_eq!(open(0o646, 0o755).as_ref(), Some(&file));
        assert_eq!(open(0o600, 0o777).as_ref(), Some(&inner));
        assert_eq!(open(0o600, 0o1777), None, "a sticky folder");
        let missing = inner.join("missing");
        assert_eq!(stranger(&missing), Some(missing));
    }
}
