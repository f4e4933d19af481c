//! The flags of `tollgate simulate`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::options::Written;

#[derive(Args, Clone, Debug)]
pub(crate) struct Simulate {
    #[command(subcommand)]
    pub(crate) what: What,
}

/// What to do with the simulator.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum What {
    /// Run a program: what it prints, its cycles, where they went
    Run(RunProgram),
    /// What a multiply-accumulate instruction is worth: products and exponentiations, by cycles,
    /// bytes and multiplier
    Study(Study),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct RunProgram {
    /// An ELF file for SPARC of 32 bits, assembly language (.s), or with --flat a flat binary
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The core's slots and interlocks, as a timing file [default: LEON-2]
    #[arg(long, value_name = "FILE")]
    pub(crate) timing: Option<PathBuf>,

    /// The file is a flat binary for this address, where it begins
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) flat: Option<u32>,

    /// SPARC V8 alone, without the multiply-accumulate extension
    #[arg(long)]
    pub(crate) plain: bool,

    /// A program that has not ended after so many instructions is stopped
    #[arg(long, value_name = "N", default_value_t = 1_000_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: u64,

    /// Also the cycles of each routine
    #[arg(long)]
    pub(crate) profile: bool,

    /// Also the first N instructions, one in a line: cycle, address, instruction, result
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) trace: u64,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Study {
    /// Sizes of moduli in bits, separated by commas, multiples of 512 up to 4096
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "512,1024,2048")]
    #[arg(value_parser = bits)]
    pub(crate) bits: Vec<u32>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Products only: a few seconds
    #[arg(long)]
    pub(crate) products: bool,

    /// One exponentiation with the extension and without it, beside the paper's: what the ladder
    /// shows, in a second
    #[arg(long, conflicts_with_all = ["bits", "products", "svg", "timing"])]
    pub(crate) headline: bool,

    /// Draw cycles against code, table and multiplier in this file, as SVG, made anew
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// The core's slots and interlocks, as a timing file; what multiplies is varied [default:
    /// LEON-2]
    #[arg(long, value_name = "FILE")]
    pub(crate) timing: Option<PathBuf>,
}

/// A size that every unrolling divides.
fn bits(text: &str) -> Result<u32, String> {
    let bits = text
        .parse()
        .ok()
        .filter(|bits: &u32| (512..=4096).contains(bits) && bits.is_multiple_of(512));
    bits.ok_or_else(|| "sizes are multiples of 512 from 512 to 4096".to_owned())
}

/// An address, decimal or with 0x.
fn address(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix("0x");
    let address = digits.map_or_else(|| text.parse(), |digits| u32::from_str_radix(digits, 16));
    address.map_err(|_| "an address is a number up to 0xffffffff".to_owned())
}
