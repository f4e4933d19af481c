//! The files that a command line names: what it reads stays, and what it writes can be written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::Verb;
use crate::error::{CliError, folder};
use crate::verbs::{key::options as key, simulate::options as simulate};

/// What a command line reads and writes; a file that is written comes with its flag.
struct Files<'a> {
    reads: Vec<&'a Path>,
    writes: Vec<(&'static str, &'a Path)>,
}

/// Looks at all of them before anything is measured or written.
///
/// # Errors
///
/// One would be written over another, or cannot be written; the message names flag and file.
pub(super) fn check(verb: &Verb) -> Result<(), CliError> {
    let Files { reads, writes } = Files::of(verb);
    for (at, (flag, path)) in writes.iter().enumerate() {
        let wrong = |why: &str| CliError::new(format!("{flag}: {}{why}", path.display()));
        let place = place(path);
        let is_here = |other: &Path| place.is_some() && self::place(other) == place;
        if reads.iter().any(|other| is_here(other)) {
            return Err(wrong(" is read here and would be lost: name another file"));
        }
        if let Some((other, _)) = writes[..at].iter().find(|(_, other)| is_here(other)) {
            return Err(wrong(&format!(" is where {other} goes: name another file")));
        }
        writable(path).map_err(|error| {
            CliError::new(format!("{flag}: {}", CliError::of_file(path, &error)))
        })?;
    }
    Ok(())
}

impl<'a> Files<'a> {
    fn of(verb: &'a Verb) -> Self {
        let mut reads: Vec<&Path> = Vec::new();
        let mut writes: Vec<(&str, Option<&PathBuf>)> = Vec::new();
        match verb {
            Verb::Bench(bench) => {
                reads.extend(bench.given.log.as_deref());
                reads.extend(bench.module.as_deref());
                reads.extend(bench.workload.as_deref().map(Path::new));
                writes.push(("--json", bench.written.json.as_ref()));
                writes.push(("--curve", bench.clients.curve.as_ref()));
            }
            Verb::Compare(compare) => {
                reads.extend(compare.files.iter().map(PathBuf::as_path));
                writes.push(("--json", compare.written.json.as_ref()));
            }
            Verb::Fleet(fleet) => {
                reads.extend(fleet.records.iter().map(PathBuf::as_path));
                writes.push(("--json", fleet.written.json.as_ref()));
            }
            Verb::Kernel(kernel) => writes.push(("--json", kernel.written.json.as_ref())),
            Verb::Key(key) => match &key.what {
                key::What::Gen(made) => writes.push(("--json", made.written.json.as_ref())),
                key::What::Check(checked) => {
                    reads.push(&checked.file);
                    writes.push(("--json", checked.json.as_ref()));
                }
                key::What::Show(_) => {}
            },
            Verb::Ladder(ladder) => {
                writes.push(("--json", ladder.json.as_ref()));
                writes.push(("--report", Some(&ladder.report)));
            }
            Verb::Model(model) => {
                reads.extend(model.machine.as_deref().map(Path::new));
                reads.extend(model.measured.as_deref());
                writes.push(("--calibrate", model.calibrate.as_ref()));
                writes.push(("--json", model.written.json.as_ref()));
            }
            Verb::Report(report) => {
                reads.extend(report.files.iter().map(PathBuf::as_path));
                writes.push(("--json", report.json.as_ref()));
                writes.push(("--report", Some(&report.report)));
            }
            Verb::Serve(serve) => {
                reads.extend([&serve.cert, &serve.key].into_iter().flatten().map(PathBuf::as_path));
                writes.push(("--access-log", serve.access_log.as_ref()));
            }
            Verb::Session(session) => writes.push(("--json", session.written.json.as_ref())),
            Verb::Simulate(simulate) => {
                if let simulate::What::Study(study) = &simulate.what {
                    reads.extend(study.timing.as_deref());
                    writes.push(("--json", study.written.json.as_ref()));
                    writes.push(("--svg", study.svg.as_ref()));
                }
            }
            Verb::Speed(speed) => {
                reads.extend(speed.key.as_deref());
                writes.push(("--json", speed.written.json.as_ref()));
            }
            Verb::Provider(_) | Verb::Workload(_) => {}
        }
        let named = writes.into_iter().filter_map(|(flag, path)| Some((flag, path?.as_path())));
        Self { reads, writes: named.filter(|(_, path)| *path != Path::new("-")).collect() }
    }
}

/// Where a file lies or would lie, by whatever name; none of what is no file, such as a pipe, nor
/// where its folder is not there.
fn place(path: &Path) -> Option<PathBuf> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => fs::canonicalize(path).ok(),
        Ok(_) => None,
        Err(_) => Some(fs::canonicalize(folder(path)).ok()?.join(path.file_name()?)),
    }
}

/// Tries it, and leaves all as it was.
fn writable(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => OpenOptions::new().append(true).open(path).map(drop),
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            File::create_new(path)?;
            fs::remove_file(path)
        }
        Err(error) => Err(error),
    }
}
