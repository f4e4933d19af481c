//! `tollgate papers`: the five publications, with our figures beside theirs.

mod internet;
mod pkeu;
mod program;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use tollgate_published::{PAPERS, Paper};
use tollgate_record::{Record, Timestamp};

use crate::error::CliError;
use crate::options::values::{Written, seconds};
use crate::run::Run;
use crate::shelf;

/// The folder of records, in the current folder.
const RECORDS: &str = "records";

#[derive(Args, Clone, Debug)]
pub(crate) struct Papers {
    /// Publication whose model, machine or measurement is run [default: one table of all]
    #[arg(value_name = "PAPER")]
    pub(crate) paper: Option<Name>,

    /// With leon2: a program to run on the simulated processor, as an ELF file for 32-bit SPARC or
    /// in assembly (.s)
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Also print the cycles of each routine of FILE
    #[arg(long, requires = "file")]
    pub(crate) profile: bool,

    /// Seconds for each row that is measured
    #[arg(short = 'z', long, value_name = "S", default_value = "5", value_parser = seconds)]
    pub(crate) seconds: f64,

    /// Timing file of the core that runs FILE [default: LEON-2]
    #[arg(long, value_name = "FILE", requires = "file")]
    pub(crate) timing: Option<PathBuf>,
}

/// A publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// Intel, Itanium Processor: High Performance on Security Algorithms, 2000
    Itanium,
    /// Großschädl, Tillich, Szekely, Instruction Set Extensions on a SPARC V8, 2007
    Leon2,
    /// Freescale, Understanding Public-Key Performance, 2005
    Pkeu,
    /// Holt, Mayotte, IA-64 and SSL Performance, 2001
    SslRate,
    /// Kounavis and others, Encrypting the Internet, 2010
    Internet,
}

pub(crate) fn run(options: &Papers) -> Result<ExitCode, CliError> {
    let json = options.written.json.as_deref();
    let name = match (options.paper, &options.file) {
        (Some(Name::Leon2), Some(file)) => return program::run(options, file),
        (_, Some(file)) => bail!("{}: only leon2 runs a program", file.display()),
        (name, None) => name,
    };
    let mut run = match name {
        Some(Name::Pkeu | Name::Internet) => Run::measuring(json)?,
        _ => Run::new(json)?,
    };
    let papers: Vec<&Paper> =
        PAPERS.iter().filter(|paper| name.is_none_or(|name| paper.folder == word(name))).collect();
    run.output.records(&papers.iter().flat_map(|paper| paper.records()).collect::<Vec<_>>())?;
    let mut records = shelf::all(Path::new(RECORDS))?;
    let mut study = String::new();
    match name {
        Some(Name::Itanium) => study = tollgate_itanium::study(),
        Some(Name::Leon2) => study = tollgate_leon2::study::study()?,
        Some(Name::Pkeu) => records.extend(pkeu::collect(options.seconds, &mut run)?),
        Some(Name::Internet) => {
            let measured = internet::collect(options.seconds, &mut run)?;
            study = internet::table(&measured);
            records.extend(measured);
        }
        Some(Name::SslRate) | None => {}
    }
    let gap = if study.is_empty() { "" } else { "\n" };
    run.end(&(table::text(&papers, &records) + gap + &study))
}

/// Returns the predictions of the papers' models and machines, for the ladder's lowest rung.
pub(crate) fn collect(run: &mut Run) -> Result<Vec<Record>, CliError> {
    let now = Timestamp::now();
    let mut records = tollgate_itanium::records(now);
    records.extend(tollgate_leon2::study::records(now)?);
    for record in &mut records {
        record.commit.clone_from(&run.host.context.commit);
    }
    run.output.records(&records)?;
    Ok(records)
}

/// Returns the name on the command line, which is that of the folder.
fn word(name: Name) -> String {
    name.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    /// Every row names a command that the program has.
    #[test]
    fn every_command_is_one_of_the_program() {
        let tables = PAPERS.iter().flat_map(|paper| &paper.tables);
        for table in tables {
            let of_rows = table.rows.iter().filter_map(|row| row.command.as_ref());
            for command in [&table.command].into_iter().chain(of_rows) {
                let words: Vec<&str> = command.split(' ').skip(1).collect();
                match Options::new(&words) {
                    Ok(_) => {}
                    Err(error) => {
                        let error = error.to_string();
                        let names_a_file = ["<FILE>", "required"].iter().any(|x| error.contains(x));
                        assert!(names_a_file, "{command}: {error}");
                    }
                }
            }
        }
    }

    #[test]
    fn each_folder_is_a_name() {
        let names: Vec<String> = Name::value_variants().iter().map(|name| word(*name)).collect();
        assert!(PAPERS.iter().all(|paper| names.contains(&paper.folder)), "{names:?}");
    }
}
