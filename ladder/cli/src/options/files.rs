//! Checks the files that a command line names: no input is overwritten, every output is writable.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::Verb;
use crate::error::{CliError, folder};
use crate::verbs::{
    bench::options as bench, kernel::options as kernel, key::options as key,
    provider::options as provider, simulate::options as simulate, speed::options as speed,
};

/// The files that a command line reads, and those it writes, with their options.
struct Files<'a> {
    reads: Vec<&'a Path>,
    writes: Vec<(&'static str, &'a Path)>,
}

/// Checks all files before anything is measured or written.
pub(super) fn check(verb: &Verb) -> Result<(), CliError> {
    let Files { reads, writes } = Files::of(verb);
    for (at, (flag, path)) in writes.iter().enumerate() {
        let wrong = |why: &str| CliError::new(format!("{flag}: {}{why}", path.display()));
        let place = place(path);
        let is_here = |other: &Path| place.is_some() && self::place(other) == place;
        if reads.iter().any(|other| is_here(other)) {
            return Err(wrong(" is an input and would be overwritten: choose another file"));
        }
        if let Some((other, _)) = writes[..at].iter().find(|(_, other)| is_here(other)) {
            return Err(wrong(&format!(" is already the file of {other}: choose another file")));
        }
        writable(path).map_err(|error| CliError::about(flag)(CliError::at(path)(error)))?;
    }
    Ok(())
}

impl<'a> Files<'a> {
    fn of(verb: &'a Verb) -> Self {
        let mut reads: Vec<&Path> = Vec::new();
        let mut writes: Vec<(&str, Option<&PathBuf>)> = Vec::new();
        match verb {
            Verb::Bench(bench) => {
                if let Some(bench::What::Search(search)) = &bench.what {
                    writes.push(("--curve", search.curve.as_ref()));
                }
                let bench = bench.options();
                reads.extend(bench.given.log.as_deref());
                reads.extend(bench.given.body_file());
                reads.extend(bench.module.as_deref());
                reads.extend(bench.workload.as_deref().map(Path::new));
                writes.push(("--json", bench.written.json.as_ref()));
                writes.push(("--summary", bench.outputs.summary.as_ref()));
            }
            Verb::Compare(compare) => {
                reads.extend(compare.files.iter().map(PathBuf::as_path));
                writes.push(("--json", compare.written.json.as_ref()));
            }
            Verb::Fleet(fleet) => {
                reads.extend(fleet.files.iter().map(PathBuf::as_path));
                writes.push(("--json", fleet.written.json.as_ref()));
            }
            Verb::Kernel(kernel) => {
                let written = match &kernel.what {
                    None => &kernel.table.written,
                    Some(kernel::What::Plan(plan)) => &plan.written,
                    Some(kernel::What::Variants(variants)) => &variants.written,
                };
                writes.push(("--json", written.json.as_ref()));
            }
            Verb::Key(key) => match &key.what {
                key::What::Gen(made) => writes.push(("--json", made.timed.json.as_ref())),
                key::What::Check(checked) => {
                    reads.push(&checked.file);
                    writes.push(("--json", checked.timed.json.as_ref()));
                }
                key::What::Show(shown) => {
                    reads.push(&shown.file);
                    writes.push(("--json", shown.json.as_ref()));
                }
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
                let (key, written) = match &speed.what {
                    None => (&speed.operations.key, &speed.operations.written),
                    Some(speed::What::Queue(queue)) => (&queue.key, &queue.written),
                    Some(speed::What::Pkeu(pkeu)) => (&None, &pkeu.written),
                };
                reads.extend(key.as_deref());
                writes.push(("--json", written.json.as_ref()));
            }
            Verb::Provider(provider) => {
                if let provider::What::Stats(stats) = &provider.what {
                    writes.push(("--json", stats.json.as_ref()));
                }
            }
            Verb::Completions(_) | Verb::Workload(_) => {}
        }
        let named = writes.into_iter().filter_map(|(flag, path)| Some((flag, path?.as_path())));
        Self { reads, writes: named.filter(|(_, path)| *path != Path::new("-")).collect() }
    }
}

/// The canonical path of a file that exists or could be made; `None` of a pipe or a device, and if
/// the folder does not exist.
fn place(path: &Path) -> Option<PathBuf> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => fs::canonicalize(path).ok(),
        Ok(_) => None,
        Err(_) => Some(fs::canonicalize(folder(path)).ok()?.join(path.file_name()?)),
    }
}

/// Tries to open the file for writing, and leaves everything as it was.
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
