//! Files that may hold secrets.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use zeroize::Zeroizing;

use crate::error::Error;

/// The longest file of a key or certificate, in bytes.
const FILE_BYTES_MAX: usize = 1 << 20;

/// Reads a file that may hold a secret.
pub(crate) fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let failed = |why: std::io::Error| {
        let remedy = match why.kind() {
            ErrorKind::NotFound => ": check the path",
            ErrorKind::PermissionDenied => ": let the user of the signer read it",
            _ => "",
        };
        Error::file(path, format!("{why}{remedy}"))
    };
    let file = File::open(path).map_err(failed)?;
    // Allocated at full size: growing would leave copies of a key in memory.
    let len = file.metadata().map_err(failed)?.len();
    let len = usize::try_from(len).unwrap_or(usize::MAX).min(FILE_BYTES_MAX);
    let mut bytes = Zeroizing::new(Vec::with_capacity(len + 1));
    file.take(len as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(Error::file(path, "longer than 1 MiB: give a file in PEM"));
    }
    Ok(bytes)
}
