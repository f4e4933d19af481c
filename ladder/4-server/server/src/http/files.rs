//! Files below a root directory.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use crate::error::Error;

/// A directory whose regular files are served.
#[derive(Clone, Debug)]
pub(crate) struct Root(Arc<File>);

impl Root {
    /// Opens the directory, and checks that the kernel can restrict paths to it.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let refuse = Error::path("cannot read the folder", path);
        let flags = OFlags::DIRECTORY.bits().cast_signed();
        let folder =
            OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(&refuse)?;
        let root = Self(Arc::new(folder));
        match root.file(Path::new(".")) {
            // These results are expected, because a directory is not a file. Any other error would
            // occur for every file.
            Ok(_) => Ok(root),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(root),
            Err(why) if why.kind() == io::ErrorKind::Unsupported => Err(refuse(io::Error::new(
                io::ErrorKind::Unsupported,
                "openat2(2) is missing: use Linux 5.6 or later, or serve no files",
            ))),
            Err(why) => Err(refuse(why)),
        }
    }

    /// Opens a regular file by its path below the root, and returns it with its length. Symbolic
    /// links are followed if they stay below the root.
    pub(crate) fn file(&self, path: &Path) -> io::Result<(File, u64)> {
        // Without NONBLOCK, opening a pipe blocks until there is a writer.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let file = File::from(openat2(&*self.0, path, flags, Mode::empty(), within)?);
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok((file, metadata.len()))
    }
}
