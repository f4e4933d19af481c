//! The flags of `tollgate kernel`.

use clap::Args;

use crate::options::{Written, seconds};

#[derive(Args, Clone, Debug)]
pub(crate) struct Kernel {
    /// Sizes of moduli in bits, separated by commas, each 128 to 8192; with --variants up to 4096;
    /// with --plan sizes of keys: 512, 1024, 2048, 3072, 4096, 8192
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "512,1024,1536,2048")]
    #[arg(default_value_if("variants", "true", "512,1024,1536,2048,3072,4096"))]
    #[arg(default_value_if("plan", "true", "1024,2048,3072,4096"))]
    #[arg(value_parser = bits)]
    pub(crate) bits: Vec<u32>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// How batches of 1 to 16 requests are cut into calls: measured costs beside the built-in plan
    #[arg(long, conflicts_with = "variants")]
    pub(crate) plan: bool,

    /// Seconds for each size [default: 2; with --variants 5; with --plan 3, and each operation]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) seconds: Option<f64>,

    /// Textbook ways to a product and to an exponentiation instead of the kernels: a study
    #[arg(long)]
    pub(crate) variants: bool,
}

pub(crate) fn bits(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bits @ 128..=8192) => Ok(bits),
        _ => Err("give sizes of 128 to 8192 bits".to_owned()),
    }
}
