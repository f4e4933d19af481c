//! Reads whole files that the user named.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use zeroize::Zeroizing;

use crate::error::CliError;
use crate::interrupt;

/// No file of settings, traces or programs is longer. The limit ends the reading of devices such as
/// `/dev/zero`, which would otherwise take all memory.
const FILE_MAX_MIB: u64 = 256;

/// The longest key file that is read, in bytes. The parser accepts at most 64 KiB.
const KEY_MAX_BYTES: u64 = 1 << 20;

/// Capacity of the first buffer, in bytes: the longest key file that the parser accepts.
const KEY_START_BYTES: usize = 1 << 16;

/// Returns the contents of a key file.
///
/// # Errors
///
/// If the file cannot be read, or is longer than any key file.
pub fn key(path: &Path) -> Result<Zeroizing<Vec<u8>>, CliError> {
    // One allocation: a buffer that grows leaves copies of the key in freed memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(KEY_START_BYTES));
    let read = interrupt::ends_at_once(|| {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        file.take(KEY_MAX_BYTES + 1).read_to_end(&mut bytes)?;
        Ok(size)
    });
    // 0 for a pipe or a device
    let size = read.map_err(CliError::at(path))?;
    if bytes.len() as u64 > KEY_MAX_BYTES {
        let size = if size > KEY_MAX_BYTES { size.to_string() } else { "over 1048576".to_owned() };
        bail!(
            "{}: it has {size} bytes, more than any key file: is this the right file?",
            path.display()
        );
    }
    Ok(bytes)
}

/// Returns the contents of a file.
///
/// # Errors
///
/// If the file cannot be read, or has over 256 MiB.
pub fn bytes(path: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let most = (FILE_MAX_MIB << 20) + 1;
    let count = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    if count.map_err(CliError::at(path))? as u64 == most {
        bail!("{}: it has over {FILE_MAX_MIB} MiB: is this the right file?", path.display());
    }
    Ok(bytes)
}

/// Returns the contents of a file of text.
///
/// # Errors
///
/// As [`bytes`], or if the text is not UTF-8.
pub fn text(path: &Path) -> Result<String, CliError> {
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
