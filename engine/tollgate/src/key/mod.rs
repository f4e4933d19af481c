//! `tollgate key`: generates and checks RSA keys, and makes stubs of keys on a signer.

mod file;
mod generate;
mod stub;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::error::CliError;
pub use stub::public;

#[derive(Args, Clone, Debug)]
pub(crate) struct Key {
    #[command(subcommand)]
    pub(crate) verb: SubVerb,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SubVerb {
    /// Generate an RSA key, by FIPS 186-5
    Gen(Gen),
    /// Validate a key: one line with a verdict for each test
    Check(Check),
    /// Print the stub of a key, for servers whose signer has the key
    Stub(Stub),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Gen {
    /// Size of the modulus in bits, an even number from 2048 to 8192
    #[arg(long, value_name = "N", default_value_t = 3072)]
    pub(crate) bits: u32,

    /// Public exponent, odd, from 65537 to 2^64 - 1
    #[arg(long, value_name = "E", default_value_t = 65537)]
    pub(crate) e: u64,

    /// Also allow sizes from 512 bits and exponents from 3, for tests: such keys protect nothing
    #[arg(long)]
    pub(crate) insecure: bool,

    /// File to write, readable only by you; - is standard output [default: -]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Replace an existing file
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Check {
    /// A private or a public key, PEM or DER, PKCS#8, PKCS#1 or SPKI
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Stub {
    /// The key, private or public, or its certificate, in PEM: RSA, or ECDSA with P-256
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

pub(crate) fn run(options: &Key) -> Result<ExitCode, CliError> {
    match &options.verb {
        SubVerb::Gen(options) => generate::run(options),
        SubVerb::Check(options) => file::check(options),
        SubVerb::Stub(options) => stub::run(options),
    }
}
