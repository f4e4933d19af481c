//! The machine of a run: this one, a machine file, or a built-in one.

use std::fs;
use std::path::Path;

use tollgate_processor::Machine as Model;
use tollgate_processor::machines::{FILES, File};
use tollgate_record::Machine;

use crate::error::CliError;
use crate::host::Host;
use crate::options::Model as Options;

/// The selected machine.
pub(super) struct SelectedMachine {
    /// Its name in subjects.
    pub(super) word: String,
    pub(super) model: Model,
    pub(super) machine: Machine,
}

impl SelectedMachine {
    /// The machine that the options name.
    pub(super) fn of(options: &Options, host: &Host) -> Result<Self, CliError> {
        let name = options.machine.as_deref().unwrap_or("host");
        if name == "host" {
            let (model, machine) = (host.model.clone(), host.machine.clone());
            return Ok(Self { word: name.to_owned(), model, machine });
        }
        if let Some(file) = File::named(name) {
            return Ok(Self::described(name.to_owned(), file.machine()));
        }
        let wrong = |error: &dyn core::fmt::Display| CliError::new(format!("{name}: {error}"));
        if !Path::new(name).exists() && !name.contains(['/', '.']) {
            let names: Vec<&str> = FILES.iter().map(|file| file.name).collect();
            let names = names.join(", ");
            return Err(wrong(&format!(
                "no such file or built-in machine; give host or one of {names}"
            )));
        }
        let text = fs::read_to_string(name).map_err(CliError::at(Path::new(name)))?;
        let model = Model::from_toml(&text).map_err(|error| wrong(&error))?;
        Ok(Self::described(Machine::unknown(&model.name).slug(), model))
    }

    fn described(word: String, model: Model) -> Self {
        let machine = Machine::unknown(&model.name);
        Self { word, model, machine }
    }
}
