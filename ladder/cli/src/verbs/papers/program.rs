//! `tollgate papers leon2 FILE`: runs a program and prints its output and its cycles.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use tollgate_leon2::study::grouped;
use tollgate_leon2::{Assembler, Ending, InstructionSet, Machine, Program, Timing, elf};
use tollgate_report::grid::{Column, grid};

use super::Papers;
use crate::error::CliError;
use crate::interrupt;
use crate::output::Output;
use crate::read;

/// The number of instructions between two checks of the console and of Ctrl-C.
const SLICE: u64 = 10_000_000;

/// Maximum number of instructions; a program that runs longer is stopped.
const INSTRUCTIONS_MAX: u64 = 1_000_000_000;

const PROFILE: [Column; 4] = [
    Column::words("routine", 40),
    Column::figures("cycles", 18),
    Column::figures("instructions", 18),
    Column::figures("share", 8),
];

pub(crate) fn run(options: &Papers, file: &Path) -> Result<ExitCode, CliError> {
    let of_file = |error: &dyn core::fmt::Display| error!("{}: {error}", file.display());
    let set = InstructionSet::with_accumulator();
    let timing = match &options.timing {
        Some(timing) => {
            let wrong = CliError::about(timing.display());
            Timing::from_toml(&read::text(timing)?).map_err(wrong)?
        }
        None => Timing::leon2(),
    };
    let program = load(file, &set)?;
    let mut machine = Machine::new(set, timing, &program).map_err(|error| of_file(&error))?;
    let output = Output::new(None)?;
    let status = loop {
        let left = INSTRUCTIONS_MAX.saturating_sub(machine.instructions());
        let ending = machine.run(left.min(SLICE));
        print_console(&mut machine)?;
        match ending {
            Ok(Ending::Exit(status)) => break status,
            Err(failure) => return Err(of_file(&failure)),
            Ok(_) if left == 0 => {
                bail!(
                    "{}: it has not ended after {INSTRUCTIONS_MAX} instructions, at {:#010x}",
                    file.display(),
                    machine.pc()
                );
            }
            Ok(_) if interrupt::asked() => return Ok(interrupt::exit_code()),
            Ok(_) => {}
        }
    };
    output.text(&summary(&machine, status))?;
    if options.profile {
        output.text(&profile(&machine))?;
    }
    Ok(if status == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn load(file: &Path, set: &InstructionSet) -> Result<Program, CliError> {
    let bytes = read::bytes(file)?;
    let assembly = file.extension().is_some_and(|end| end == "s" || end == "S");
    let program = if elf::is_elf(&bytes) {
        elf::read(&bytes).map_err(|error| error.to_string())
    } else if assembly {
        let source = String::from_utf8_lossy(&bytes);
        Assembler::new(set).assemble(&source).map_err(|error| error.to_string())
    } else {
        Err("neither an ELF file nor an assembly file (.s)".to_owned())
    };
    program.map_err(|why| error!("{}: {why}", file.display()))
}

fn print_console(machine: &mut Machine) -> Result<(), CliError> {
    let bytes = machine.memory_mut().take_console();
    let written = io::stdout().write_all(&bytes).and_then(|()| io::stdout().flush());
    written.map_err(CliError::of_output)
}

fn summary(machine: &Machine, status: u32) -> String {
    let (stored, loaded) = machine.windows_moved();
    let mut text = format!(
        "ended with status {status}: {} instructions in {} cycles\n",
        grouped(machine.instructions()),
        grouped(machine.cycles())
    );
    if stored + loaded > 0 {
        text += &format!("windows stored {stored}, loaded {loaded}, by the simulator\n");
    }
    text
}

fn profile(machine: &Machine) -> String {
    let all = machine.cycles().max(1);
    let row = |share: tollgate_leon2::machine::Share| {
        let per_mille = share.cycles * 1000 / all;
        vec![
            if share.name.is_empty() { "(before the first symbol)".to_owned() } else { share.name },
            grouped(share.cycles),
            grouped(share.instructions),
            format!("{}.{} %", per_mille / 10, per_mille % 10),
        ]
    };
    format!("\n{}", grid(&PROFILE, machine.profile().into_iter().map(row).collect()))
}
