//! `tollgate model`: Montgomery products on machines that are only described, and on this one.

use std::fs;
use std::process::ExitCode;

use tollgate_ladder::{heading, model as model_table};
use tollgate_processor::{Machine as Model, host as hosts, papers};
use tollgate_record::{Machine, Record, Timestamp};

use crate::options::Model as Options;
use crate::run::Run;
use crate::stop::Stop;

/// Computes and prints.
///
/// # Errors
///
/// A file cannot be read or written, or is no machine file.
pub(crate) fn run(options: &Options) -> Result<ExitCode, Stop> {
    let mut run = Run::new(options.written.json.as_deref())?;
    if let Some(file) = &options.save {
        fs::write(file, run.host.model.to_toml())
            .map_err(|error| Stop::new(format!("{}: {error}", file.display())))?;
    }
    let records = collect(options, &mut run)?;
    run.end(&(heading::lines(&records) + &model_table::table(&records)))
}

/// The records of the papers' machines, of what their papers say, and of this machine or the one
/// that stands in for it.
///
/// # Errors
///
/// The machine file cannot be read or is none, or the records cannot be written.
pub(crate) fn collect(options: &Options, run: &mut Run) -> Result<Vec<Record>, Stop> {
    let Run { host, output, .. } = run;
    let now = Timestamp::now();
    let mut records = papers::records(now);
    if options.sensitivity {
        records.extend(papers::sensitivity(now));
    }
    let ours = match &options.machine {
        None => hosts::records(&host.model, &host.machine, &options.bits, now),
        Some(file) => {
            let wrong =
                |error: &dyn core::fmt::Display| Stop::new(format!("{}: {error}", file.display()));
            let text = fs::read_to_string(file).map_err(|error| wrong(&error))?;
            let model = Model::from_toml(&text).map_err(|error| wrong(&error))?;
            let machine = Machine::unknown(&model.name);
            hosts::records(&model, &machine, &options.bits, now)
        }
    };
    // Who computed is the same for all of this rung.
    let with_commit = |record| Record { commit: host.commit.clone(), ..record };
    records.extend(ours.into_iter().map(with_commit));
    output.records(&records)?;
    Ok(records)
}
