//! The flags of `tollgate kernel`.

use clap::Args;

use super::{Written, seconds};

#[derive(Args, Clone, Debug)]
pub(crate) struct Kernel {
    /// Sizes of moduli in bits, separated by commas, each 128 to 8192
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "512,1024,1536,2048")]
    #[arg(value_parser = bits)]
    pub(crate) bits: Vec<u32>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Seconds for each size [default: 2]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) seconds: Option<f64>,
}

pub(super) fn bits(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bits @ 128..=8192) => Ok(bits),
        _ => Err("give sizes of 128 to 8192 bits".to_owned()),
    }
}
