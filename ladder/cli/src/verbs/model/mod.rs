//! `tollgate model`: Montgomery products on described machines and on this one.

pub(crate) mod options;

mod columns;
mod draw;
mod kernels;
mod measured;
mod paper;
mod selected;
mod what_if;

use std::fs;
use std::process::ExitCode;

use tollgate_processor::{host as hosts, papers};
use tollgate_record::{Record, Timestamp};
use tollgate_report::{heading, model as model_table};

use crate::error::CliError;
use crate::options::Model as Options;
use crate::run::Run;
use selected::SelectedMachine;

/// Computes and prints.
pub(crate) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let mut run = Run::new(options.written.json.as_deref())?;
    if let Some(file) = &options.calibrate {
        fs::write(file, run.host.model.to_toml()).map_err(CliError::at(file))?;
    }
    let sizes = &options.bits.0;
    if let Some(file) = &options.measured {
        let selected = SelectedMachine::of(options, &run.host)?;
        let records = crate::shelf::read(core::slice::from_ref(file))?;
        return run.end(&measured::table(&selected.model, &records)?);
    }
    if let Some(name) = &options.kernel {
        let selected = SelectedMachine::of(options, &run.host)?;
        run.output.records(&kernels::records(&selected, name, sizes, &run.host))?;
        return run.end(&kernels::report(&selected, name, sizes)?);
    }
    if let Some(change) = &options.what_if {
        return run.end(&what_if::table(&SelectedMachine::of(options, &run.host)?, change, sizes)?);
    }
    let records = collect(options, &mut run)?;
    let mut text = heading::lines(&records) + &model_table::table(&records);
    text += &paper::tables();
    let selected = SelectedMachine::of(options, &run.host)?;
    text += &draw::of_paper();
    if options.machine.is_some() {
        text += &draw::schedule(&selected.model);
    }
    run.end(&text)
}

/// The records of the papers' machines, of the papers' figures, and of the selected machine.
pub(crate) fn collect(options: &Options, run: &mut Run) -> Result<Vec<Record>, CliError> {
    let Run { host, output, .. } = run;
    let now = Timestamp::now();
    let mut records = papers::records(now);
    if options.sensitivity {
        records.extend(papers::sensitivity(now));
    }
    let SelectedMachine { word, model, machine } = SelectedMachine::of(options, host)?;
    let ours = hosts::records(&word, &model, &machine, &options.bits.0, now);
    let with_commit = |record| Record { commit: host.commit.clone(), ..record };
    records.extend(ours.into_iter().map(with_commit));
    output.records(&records)?;
    Ok(records)
}
