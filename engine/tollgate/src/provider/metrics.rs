//! Reads the files that the provider writes for each process. Other users may be able to write to
//! the folder, so its contents are not trusted.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::OFlags;

use super::processes;
use crate::error::CliError;

/// The longest file that is read, in bytes: many times the length that the provider writes.
const BYTES_MAX: u64 = 1 << 16;

#[derive(Debug)]
pub(super) struct ProcessFile {
    pub(super) pid: u32,
    /// Counters by name, without `tollgate_` and `_total`.
    pub(super) counts: BTreeMap<String, u64>,
    /// Time of writing, in seconds after boot.
    written: f64,
    modified: SystemTime,
}

/// Reads the files of a folder. Ignores other files.
pub(super) fn read(folder: &Path) -> Result<Vec<ProcessFile>, CliError> {
    let entries = fs::read_dir(folder).map_err(CliError::about(folder.display()))?;
    Ok(entries.flatten().filter_map(|entry| ProcessFile::read(&entry.path())).collect())
}

/// Returns the sum of each counter.
pub(super) fn sum(files: &[ProcessFile]) -> BTreeMap<String, u64> {
    let mut sum: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in files.iter().flat_map(|file| &file.counts) {
        let total = sum.entry(name.clone()).or_default();
        *total = total.saturating_add(*count);
    }
    sum
}

/// Returns the text of a short regular file, and the time of its last change. Does not follow
/// links, and does not block on a pipe.
fn regular(path: &Path) -> io::Result<(String, SystemTime)> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text)?;
    Ok((text, metadata.modified()?))
}

impl ProcessFile {
    fn read(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let pid = name.strip_prefix("tollgate-")?.strip_suffix(".prom")?.split('-').next()?;
        let pid = pid.parse().ok()?;
        let (text, modified) = regular(path).ok()?;
        let (mut counts, mut written) = (BTreeMap::new(), None);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (series, value) = line.rsplit_once(' ')?;
            let (name, _labels) = series.split_once('{')?;
            let name = name.strip_prefix("tollgate_")?;
            match name.strip_suffix("_total") {
                Some(name) => _ = counts.insert(name.to_owned(), value.parse().ok()?),
                None if name == "written_seconds" => written = value.parse().ok(),
                None => {}
            }
            // Refuse control characters, because the text may be printed to a terminal.
            if line.contains(char::is_control) {
                return None;
            }
        }
        Some(Self { pid, counts, written: written?, modified })
    }

    /// Returns whether the process that wrote the file is running: a process with this ID exists,
    /// it started before the file was written, and the machine has not been restarted since.
    pub(super) fn is_of_a_living(&self) -> bool {
        let booted = processes::booted();
        // The kernel rounds start times to hundredths of a second.
        processes::started(self.pid).is_some_and(|start| start <= self.written + 0.02)
            && booted.is_none_or(|booted| self.modified >= booted)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn foreign_files_are_ignored() {
        let folder = crate::temporary_folder().unwrap();
        let text = |program: &str, count: &str| {
            let labels = format!("{{pid=\"7\",context=\"0\",program=\"{program}\"}}");
            format!("tollgate_keys_total{labels} {count}\ntollgate_written_seconds{labels} 1.5\n")
        };
        let put = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
        put("tollgate-7-0.prom", text("nginx", "5"));
        put("tollgate-7-1.prom", text("\u{1b}[2J", "5"));
        put("tollgate-7-2.prom", text("nginx", "-5"));
        put("tollgate-7-3.prom", text(&"x".repeat(1 << 17), "5"));
        put("elsewhere", text("nginx", "5"));
        symlink(folder.path().join("elsewhere"), folder.path().join("tollgate-7-4.prom")).unwrap();
        let pipe = folder.path().join("tollgate-7-5.prom");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let found = read(folder.as_ref()).unwrap();
        let [file] = &found[..] else { panic!("{found:?}") };
        assert_eq!(file.counts["keys"], 5);
    }
}
