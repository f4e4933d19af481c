//! `tollgate model`: Montgomery products on described machines and on this one.

pub(crate) mod options;

mod columns;
mod draw;
mod kernels;
mod measured;
mod paper;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use tollgate_processor::machines::{FILES, File};
use tollgate_processor::{self as processor, host as hosts, papers};
use tollgate_record::{Machine, Record, Timestamp};
use tollgate_report::{heading, model as model_table};

use crate::error::CliError;
use crate::host::Host;
use crate::options::Model as Options;
use crate::run::Run;

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
        return run.end(&kernels::what_if(
            &SelectedMachine::of(options, &run.host)?,
            change,
            sizes,
        )?);
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

/// The selected machine.
pub(super) struct SelectedMachine {
    /// Its name in subjects.
    pub(super) word: String,
    pub(super) model: processor::Machine,
    pub(super) machine: Machine,
}

impl SelectedMachine {
    /// The machine that the options name.
    fn of(options: &Options, host: &Host) -> Result<Self, CliError> {
        let name = options.machine.as_deref().unwrap_or("host");
        if name == "host" {
            let (model, machine) = (host.model.clone(), host.machine.clone());
            return Ok(Self { word: name.to_owned(), model, machine });
        }
        if let Some(file) = File::named(name) {
            return Ok(Self::described(name.to_owned(), file.machine()));
        }
        if !Path::new(name).exists() && !name.contains(['/', '.']) {
            let names = FILES.map(|file| file.name).join(", ");
            bail!("{name}: no such file or built-in machine; give host or one of {names}");
        }
        let text = fs::read_to_string(name).map_err(CliError::at(Path::new(name)))?;
        let model = processor::Machine::from_toml(&text).map_err(CliError::about(name))?;
        Ok(Self::described(Machine::unknown(&model.name).slug(), model))
    }

    fn described(word: String, model: processor::Machine) -> Self {
        let machine = Machine::unknown(&model.name);
        Self { word, model, machine }
    }
}
