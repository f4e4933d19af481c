//! `tollgate report`: the six rungs from records, as a table and as a page.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::process::ExitCode;

use tollgate_bench::this_machine;
use tollgate_ladder::{html, rungs};
use tollgate_record::Record;

use crate::options::Report as Options;
use crate::output::{Output, say};
use crate::shelf;
use crate::stop::Stop;

/// Reads records, prints the table and writes the page.
///
/// # Errors
///
/// A file cannot be read or written, or holds something else than records.
pub(crate) fn run(options: &Options) -> Result<ExitCode, Stop> {
    let files = match &*options.files {
        [] => vec![shelf::newest(&options.records, &this_machine())?],
        files => files.to_vec(),
    };
    let records = shelf::read(&files)?;
    if records.is_empty() {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        return Err(Stop::new(format!("{}: no records; run 'tollgate ladder'", names.join(", "))));
    }
    let mut output = Output::new(options.json.as_deref())?;
    output.records(&records)?;
    output.text(&rungs::table(&records))?;
    write(&options.report, &records)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the page can be written there, before anything takes minutes; what stands there stays.
///
/// # Errors
///
/// It cannot.
pub(crate) fn check(file: &Path) -> Result<(), Stop> {
    OpenOptions::new().append(true).create(true).open(file).map_err(|error| wrong(file, &error))?;
    Ok(())
}

/// Writes the page, and says where it is.
///
/// # Errors
///
/// The file cannot be written.
pub(crate) fn write(file: &Path, records: &[Record]) -> Result<(), Stop> {
    fs::write(file, html::report(records)).map_err(|error| wrong(file, &error))?;
    say(&format!("report: {}", file.display()));
    Ok(())
}

fn wrong(file: &Path, error: &io::Error) -> Stop {
    Stop::new(format!("{}: {error}", file.display()))
}
