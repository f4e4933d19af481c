//! `tollgate report`: the six rungs from records, as a table and as a page.

pub(crate) mod options;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use tollgate_bench::this_machine;
use tollgate_record::Record;
use tollgate_report::{html, rungs};

use crate::error::CliError;
use crate::options::Report as Options;
use crate::output::{Output, say};
use crate::shelf;

/// Reads records, prints the table and writes the page.
pub(crate) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let files = match &*options.files {
        [] => vec![shelf::newest(&options.records, &this_machine())?],
        files => files.to_vec(),
    };
    let records = shelf::read(&files)?;
    if records.is_empty() {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        return Err(CliError::new(format!(
            "{}: no records; run 'tollgate ladder'",
            names.join(", ")
        )));
    }
    let mut output = Output::new(options.json.as_deref())?;
    output.records(&records)?;
    // The page is complete even if the reader of the table closes the pipe.
    let printed = output.text(&rungs::table(&records));
    write(&options.report, &records)?;
    printed.map(|()| ExitCode::SUCCESS)
}

/// Writes the page and prints its path.
pub(crate) fn write(file: &Path, records: &[Record]) -> Result<(), CliError> {
    fs::write(file, html::report(records)).map_err(CliError::at(file))?;
    say(&format!("report: {}", file.display()));
    Ok(())
}
