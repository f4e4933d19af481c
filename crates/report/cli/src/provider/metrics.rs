//! The files that the provider writes for each process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::processes;
use crate::stop::Stop;

/// One provider in one process.
#[derive(Debug)]
pub(super) struct ProcessFile {
    pub(super) path: PathBuf,
    pub(super) pid: u32,
    pub(super) program: String,
    /// By name, without `tollgate_` and `_total`.
    pub(super) counts: BTreeMap<String, u64>,
    /// When it was written, in seconds after boot.
    written: f64,
    modified: SystemTime,
}

/// The files of a folder, by process; what is not such a file is passed over.
///
/// # Errors
///
/// The folder cannot be read.
pub(super) fn read(folder: &Path) -> Result<Vec<ProcessFile>, Stop> {
    let entries = fs::read_dir(folder)
        .map_err(|error| Stop::new(format!("{}: {error}", folder.display())))?;
    let mut files: Vec<ProcessFile> =
        entries.flatten().filter_map(|entry| ProcessFile::read(entry.path())).collect();
    files.sort_by(|a, b| (a.pid, &a.path).cmp(&(b.pid, &b.path)));
    Ok(files)
}

impl ProcessFile {
    fn read(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let pid = name.strip_prefix("tollgate-")?.strip_suffix(".prom")?.split('-').next()?;
        let pid = pid.parse().ok()?;
        let modified = fs::metadata(&path).ok()?.modified().ok()?;
        let text = fs::read_to_string(&path).ok()?;
        let (mut counts, mut written, mut program) = (BTreeMap::new(), None, String::new());
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (series, value) = line.rsplit_once(' ')?;
            let (name, labels) = series.split_once('{')?;
            let name = name.strip_prefix("tollgate_")?;
            match name.strip_suffix("_total") {
                Some(name) => _ = counts.insert(name.to_owned(), value.parse().ok()?),
                None if name == "written_seconds" => written = value.parse().ok(),
                None => {}
            }
            let label = labels.split_once("program=\"").and_then(|(_, rest)| rest.split_once('"'));
            label.map(|(name, _)| name).unwrap_or_default().clone_into(&mut program);
        }
        Some(Self { pid, program, counts, written: written?, modified, path })
    }

    /// Whether the process that wrote it runs: one of that id does, it started before, and the
    /// machine has not been started since.
    pub(super) fn is_of_a_living(&self) -> bool {
        let booted = processes::booted();
        // The kernel rounds starts to hundredths.
        processes::started(self.pid).is_some_and(|start| start <= self.written + 0.02)
            && booted.is_none_or(|booted| self.modified >= booted)
    }
}
