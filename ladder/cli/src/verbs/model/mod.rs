//! `tollgate model`: Montgomery products on machines that are only described, and on this one.

pub(crate) mod options;

mod chosen;
mod columns;
mod draw;
mod kernels;
mod measured;
mod paper;
mod what_if;

use std::fs;
use std::process::ExitCode;

use tollgate_processor::{host as hosts, papers};
use tollgate_record::{Record, Timestamp};
use tollgate_report::{heading, model as model_table};

use crate::error::CliError;
use crate::options::Model as Options;
use crate::run::Run;
use chosen::Chosen;

/// Computes and prints.
///
/// # Errors
///
/// A file cannot be read or written, or is no machine file.
pub(crate) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let mut run = Run::new(options.written.json.as_deref())?;
    if let Some(file) = &options.calibrate {
        fs::write(file, run.host.model.to_toml())
            .map_err(|error| CliError::of_file(file, &error))?;
    }
    let sizes = &options.bits.0;
    if let Some(file) = &options.measured {
        let chosen = Chosen::of(options, &run.host)?;
        let records = crate::shelf::read(core::slice::from_ref(file))?;
        return run.end(&measured::table(&chosen.model, &records)?);
    }
    if let Some(name) = &options.kernel {
        let chosen = Chosen::of(options, &run.host)?;
        run.output.records(&kernels::records(&chosen, name, sizes, &run.host))?;
        return run.end(&kernels::report(&chosen, name, sizes)?);
    }
    if let Some(change) = &options.what_if {
        return run.end(&what_if::table(&Chosen::of(options, &run.host)?, change, sizes)?);
    }
    let records = collect(options, &mut run)?;
    let mut text = heading::lines(&records) + &model_table::table(&records);
    text += &paper::tables();
    let chosen = Chosen::of(options, &run.host)?;
    text += &draw::of_paper();
    if options.machine.is_some() {
        text += &draw::schedule(&chosen.model);
    }
    run.end(&text)
}

/// The records of the papers' machines, of what their papers say, and of this machine or the one
/// that stands in for it.
///
/// # Errors
///
/// The machine file cannot be read or is none, or the records cannot be written.
pub(crate) fn collect(options: &Options, run: &mut Run) -> Result<Vec<Record>, CliError> {
    let Run { host, output, .. } = run;
    let now = Timestamp::now();
    let mut records = papers::records(now);
    if options.sensitivity {
        records.extend(papers::sensitivity(now));
    }
    let Chosen { word, model, machine } = Chosen::of(options, host)?;
    let ours = hosts::records(&word, &model, &machine, &options.bits.0, now);
    // Who computed is the same for all of this rung.
    let with_commit = |record| Record { commit: host.commit.clone(), ..record };
    records.extend(ours.into_iter().map(with_commit));
    output.records(&records)?;
    Ok(records)
}
