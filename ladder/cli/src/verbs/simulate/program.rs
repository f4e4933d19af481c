//! `tollgate simulate run`: runs a program and prints its output and its cycles.

use std::io::{self, Write};
use std::process::ExitCode;

use tollgate_report::grid::{Column, grid};
use tollgate_simulator::machine::Traced;
use tollgate_simulator::{Assembler, Ending, InstructionSet, Machine, Program, elf};

use super::{Core, RunProgram as Options, grouped};
use crate::error::CliError;
use crate::interrupt;
use crate::output::Output;
use crate::read;

/// The number of instructions between two checks of the console and of Ctrl-C.
const SLICE: u64 = 10_000_000;

const PROFILE: [Column; 4] = [
    Column::words("routine", 40),
    Column::figures("cycles", 18),
    Column::figures("instructions", 18),
    Column::figures("share", 8),
];

pub(crate) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let of_file = |error: &dyn core::fmt::Display| error!("{}: {error}", options.file.display());
    let set =
        if options.plain { InstructionSet::sparc() } else { InstructionSet::with_accumulator() };
    let core = Core::of(options.timing.as_deref())?;
    let program = load(options, &set)?;
    let mut machine = Machine::new(set, core.timing, &program).map_err(|error| of_file(&error))?;
    let output = Output::new(None)?;

    for _ in 0..options.trace {
        if machine.ended().is_some() {
            break;
        }
        match machine.trace() {
            Ok(Some(traced)) => output.text(&line(&traced))?,
            Ok(None) => {}
            Err(failure) => return Err(fail(&mut machine, &of_file(&failure))),
        }
    }
    let status = loop {
        let left = options.limit.saturating_sub(machine.instructions());
        let ending = machine.run(left.min(SLICE));
        print_console(&mut machine)?;
        match ending {
            Ok(Ending::Exit(status)) => break status,
            Err(failure) => return Err(of_file(&failure)),
            Ok(_) if left == 0 => {
                bail!(
                    "{}: it has not ended after {} instructions, at {:#010x}; raise --limit",
                    options.file.display(),
                    options.limit,
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

fn load(options: &Options, set: &InstructionSet) -> Result<Program, CliError> {
    let name = options.file.display();
    let bytes = read::bytes(&options.file)?;
    let assembly = options.file.extension().is_some_and(|end| end == "s" || end == "S");
    let program = if let Some(address) = options.flat {
        Program::flat(&bytes, address).map_err(|error| error.to_string())
    } else if elf::is_elf(&bytes) {
        elf::read(&bytes).map_err(|error| error.to_string())
    } else if assembly {
        let source = String::from_utf8_lossy(&bytes);
        Assembler::new(set).assemble(&source).map_err(|error| error.to_string())
    } else {
        Err("neither an ELF file nor an assembly file (.s); use --flat ADDRESS for a flat binary"
            .into())
    };
    program.map_err(|why| error!("{name}: {why}"))
}

/// Prints the program's output before the error.
fn fail(machine: &mut Machine, error: &CliError) -> CliError {
    let _ = print_console(machine);
    CliError::new(error)
}

fn print_console(machine: &mut Machine) -> Result<(), CliError> {
    let bytes = machine.memory_mut().take_console();
    let written = io::stdout().write_all(&bytes).and_then(|()| io::stdout().flush());
    written.map_err(CliError::of_output)
}

fn line(traced: &Traced) -> String {
    let wrote = traced.wrote.as_ref();
    let wrote = wrote.map_or(String::new(), |(name, value)| format!("{name} = {value:#x}"));
    let text = format!(
        "{:>10} {:#010x}  {:34} {:>3}  {wrote}",
        traced.cycle, traced.address, traced.text, traced.cycles
    );
    text.trim_end().to_owned() + "\n"
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
    let row = |share: tollgate_simulator::machine::Share| {
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
