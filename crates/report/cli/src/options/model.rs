//! The flags of `tollgate model`.

use std::path::PathBuf;

use clap::Args;

use super::Written;
use super::kernel::bits;

#[derive(Args, Clone, Debug)]
pub(crate) struct Model {
    /// Sizes of moduli in bits for this machine, separated by commas, each 128 to 8192
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "512,1024,1536,2048")]
    #[arg(value_parser = bits)]
    pub(crate) bits: Vec<u32>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Another machine in place of this one, as its machine file describes it
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,

    /// Write this machine's rates, as they were just calibrated, to a machine file, made anew
    #[arg(long, value_name = "FILE", conflicts_with = "machine")]
    pub(crate) save: Option<PathBuf>,

    /// Also how much each figure depends on each of its assumptions
    #[arg(long)]
    pub(crate) sensitivity: bool,
}
