//! The machine that a run is about: this one, a file, or one that comes with the program.

use std::fs;
use std::path::Path;

use tollgate_processor::Machine as Model;
use tollgate_processor::machines::{FILES, File};
use tollgate_record::Machine;

use crate::error::CliError;
use crate::host::Host;
use crate::options::Model as Options;

/// A machine as the model sees it.
pub(super) struct Chosen {
    /// Its name in subjects.
    pub(super) word: String,
    pub(super) model: Model,
    pub(super) machine: Machine,
}

impl Chosen {
    /// The one that the flags name.
    ///
    /// # Errors
    ///
    /// There is no file and no machine of this name, or it is no machine file.
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
            return Err(wrong(&format!("no such file, and no machine; there are host, {names}")));
        }
        let text =
            fs::read_to_string(name).map_err(|error| CliError::of_file(Path::new(name), &error))?;
        let model = Model::from_toml(&text).map_err(|error| wrong(&error))?;
        Ok(Self::described(Machine::unknown(&model.name).slug(), model))
    }

    fn described(word: String, model: Model) -> Self {
        let machine = Machine::unknown(&model.name);
        Self { word, model, machine }
    }
}
