//! Reads whole files that the user named.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::error::CliError;

/// No file of settings, traces or programs is longer. The limit ends the reading of devices such as
/// `/dev/zero`, which would otherwise take all memory.
const FILE_MAX_MIB: u64 = 256;

/// Returns the contents of a file.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let most = (FILE_MAX_MIB << 20) + 1;
    let count = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    if count.map_err(CliError::at(path))? as u64 == most {
        bail!("{}: it has over {FILE_MAX_MIB} MiB: is this the right file?", path.display());
    }
    Ok(bytes)
}

/// Returns the contents of a file of text.
pub(crate) fn text(path: &Path) -> Result<String, CliError> {
    String::from_utf8(bytes(path)?)
        .map_err(|_| error!("{}: it is not text in UTF-8: is this the right file?", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_file_is_refused() {
        let error = bytes(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(error, "/dev/zero: it has over 256 MiB: is this the right file?");
    }

    #[test]
    fn text_is_utf_8() {
        let program = std::env::current_exe().unwrap();
        let error = text(&program).unwrap_err().to_string();
        assert!(error.ends_with("not text in UTF-8: is this the right file?"), "{error}");
        assert!(bytes(&program).unwrap().starts_with(b"\x7fELF"));
    }
}
