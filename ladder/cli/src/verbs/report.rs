//! `tollgate report`: the six rungs from records, as a table and as a page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use tollgate_bench::this_machine;
use tollgate_record::Record;
use tollgate_report::{html, rungs};

use crate::error::CliError;
use crate::options::values::OutputFile;
use crate::output::{Output, say};
use crate::shelf;

#[derive(Args, Clone, Debug)]
pub(crate) struct Report {
    /// Files of records, as `--json` of the other verbs writes them; the last record of a figure
    /// counts [default: the newest file of this machine in the folder of records]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Write all records as JSON Lines to FILE, replacing it; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<OutputFile>,

    /// Folder of records
    #[arg(long, value_name = "FOLDER", default_value = "records")]
    pub(crate) records: PathBuf,

    /// Write the HTML page to FILE, replacing it
    #[arg(long, value_name = "FILE", default_value = "ladder.html")]
    pub(crate) report: OutputFile,
}

/// Reads records, prints the table and writes the page.
pub(crate) fn run(options: &Report) -> Result<ExitCode, CliError> {
    let files = match &*options.files {
        [] => vec![shelf::newest(&options.records, &this_machine())?],
        files => files.to_vec(),
    };
    let records = shelf::read(&files)?;
    if records.is_empty() {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        bail!("{}: no records; run 'tollgate ladder'", names.join(", "));
    }
    let mut output = Output::new(options.json.as_deref())?;
    output.records(&records)?;
    // Write the page completely even if the reader of the table closes the pipe.
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
