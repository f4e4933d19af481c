//! The options of `tollgate kernel` and its sub-verbs.

use clap::{Args, Subcommand};

use crate::options::values::{Written, seconds};

#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Kernel {
    #[command(flatten)]
    pub(crate) table: Table,

    #[command(subcommand)]
    pub(crate) verb: Option<SubVerb>,
}

/// Other tables of the kernels.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SubVerb {
    /// Measure how batches of 1 to 16 requests are best split into calls, beside the built-in plan
    Plan(PlanOptions),
    /// Compare textbook algorithms for products and exponentiations (a study)
    Variants(Variants),
}

/// The table of all kernels.
#[derive(Args, Clone, Debug)]
pub(crate) struct Table {
    /// Sizes of moduli in bits, separated by commas, each 128 to 8192
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "512,1024,1536,2048")]
    #[arg(value_parser = bits)]
    pub(crate) bits: Vec<u32>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Seconds for each size
    #[arg(short = 'z', long, value_name = "S", default_value = "2", value_parser = seconds)]
    pub(crate) seconds: f64,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct PlanOptions {
    /// Sizes of keys in bits, separated by commas: 512, 1024, 2048, 3072, 4096, 8192
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1024,2048,3072,4096")]
    #[arg(value_parser = bits)]
    pub(crate) bits: Vec<u32>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Seconds for each size and operation
    #[arg(short = 'z', long, value_name = "S", default_value = "3", value_parser = seconds)]
    pub(crate) seconds: f64,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Variants {
    /// Sizes of moduli in bits, separated by commas, each 128 to 4096
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = bits)]
    #[arg(default_value = "512,1024,1536,2048,3072,4096")]
    pub(crate) bits: Vec<u32>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Seconds for each row
    #[arg(short = 'z', long, value_name = "S", default_value = "5", value_parser = seconds)]
    pub(crate) seconds: f64,
}

pub(crate) fn bits(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bits @ 128..=8192) => Ok(bits),
        _ => Err("give sizes of 128 to 8192 bits".to_owned()),
    }
}
