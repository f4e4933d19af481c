//! `tollgate simulate`: runs programs on simulated processors, whose instructions need not exist in
//! hardware.

mod designs;
mod exponentiations;
mod products;
mod program;
mod records;
mod study;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use tollgate_record::{Machine, Record};
use tollgate_simulator::Timing;

use crate::error::CliError;
use crate::options::values::Written;
use crate::read;
use crate::run::Run;

#[derive(Args, Clone, Debug)]
pub(crate) struct Simulate {
    #[command(subcommand)]
    pub(crate) verb: SubVerb,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SubVerb {
    /// Run a program; print its output, its cycles and a profile
    Run(RunProgram),
    /// Count the cycles that a multiply-accumulate instruction saves
    Study(Study),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct RunProgram {
    /// An ELF file for 32-bit SPARC, an assembly file (.s), or with --flat a flat binary
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Timing file of the core [default: LEON-2]
    #[arg(long, value_name = "FILE")]
    pub(crate) timing: Option<PathBuf>,

    /// Address at which a flat binary is loaded and entered
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) flat: Option<u32>,

    /// Simulate SPARC V8 without the multiply-accumulate extension
    #[arg(long)]
    pub(crate) plain: bool,

    /// Maximum number of instructions; a program that runs longer is stopped
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: u64,

    /// Also print the cycles of each routine
    #[arg(long)]
    pub(crate) profile: bool,

    /// Also print the first N instructions, one per line: cycle, address, instruction, result
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) trace: u64,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Study {
    /// Sizes of moduli in bits, separated by commas: multiples of 512 up to 4096
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "512,1024,2048")]
    #[arg(value_parser = bits)]
    pub(crate) bits: Vec<u32>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Study products only, without exponentiations; takes a few seconds
    #[arg(long)]
    pub(crate) products: bool,

    /// Run only the exponentiation of the ladder's report, with and without the extension, and
    /// print the paper's figure; takes a second
    #[arg(long, conflicts_with_all = ["bits", "products", "svg", "timing"])]
    pub(crate) headline: bool,

    /// Draw cycles against code, table and multiplier as SVG in FILE, replacing it
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Timing file of the core; the study varies its multiplier [default: LEON-2]
    #[arg(long, value_name = "FILE")]
    pub(crate) timing: Option<PathBuf>,
}

/// Parses a size that every unrolling divides.
fn bits(text: &str) -> Result<u32, String> {
    let bits = text
        .parse()
        .ok()
        .filter(|bits: &u32| (512..=4096).contains(bits) && bits.is_multiple_of(512));
    bits.ok_or_else(|| "sizes are multiples of 512 from 512 to 4096".to_owned())
}

/// Parses an address, decimal or with 0x.
fn address(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix("0x");
    let address = digits.map_or_else(|| text.parse(), |digits| u32::from_str_radix(digits, 16));
    address.map_err(|_| "an address is a number up to 0xffffffff".to_owned())
}

pub(crate) fn run(options: &Simulate) -> Result<ExitCode, CliError> {
    match &options.verb {
        SubVerb::Run(options) => program::run(options),
        SubVerb::Study(options) => study::run(options),
    }
}

/// Returns the records of the study's headline, for the report.
pub(crate) fn collect(run: &mut Run) -> Result<Vec<Record>, CliError> {
    study::headline(&Core::leon2(), run)
}

struct Core {
    /// Its name in record subjects.
    word: String,
    timing: Timing,
}

impl Core {
    fn leon2() -> Self {
        Self { word: "leon-2".to_owned(), timing: Timing::leon2() }
    }

    /// Returns the core of a timing file, or LEON-2.
    fn of(file: Option<&Path>) -> Result<Self, CliError> {
        let Some(file) = file else { return Ok(Self::leon2()) };
        let text = read::text(file)?;
        let wrong = CliError::about(file.display());
        let timing = Timing::from_toml(&text).map_err(wrong)?;
        Ok(Self { word: Machine::unknown(&timing.name).slug(), timing })
    }

    /// Returns whether its timing is the built-in one.
    fn is_leon2(&self) -> bool {
        self.timing == Timing::leon2()
    }
}

/// Returns a number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
