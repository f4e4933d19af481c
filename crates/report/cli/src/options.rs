//! The command line: every flag with help, default and unit.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::keys;
use crate::stop::Stop;

/// What a TLS connection costs, rung by rung.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, about, after_help = AFTER)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const AFTER: &str = "\
TOLLGATE_CPU_DISABLE=ifma,adx switches features of our kernels off; OpenSSL has OPENSSL_ia32cap.
Exit codes: 0 done, 2 refused (one line on standard error says why), 130 stopped by Ctrl-C.";

/// The rungs that can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Montgomery products and squares of every kernel that this machine can run
    Kernel(Kernel),
    /// RSA operations: ours beside OpenSSL's and AWS-LC's, in one run
    Speed(Speed),
}

#[derive(Args, Debug)]
pub(crate) struct Kernel {
    /// Sizes of moduli in bits, separated by commas, each 128 to 8192
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "512,1024,1536,2048")]
    #[arg(value_parser = kernel_bits)]
    pub(crate) bits: Vec<u32>,

    /// Write the records as JSON Lines to this file, made anew; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Seconds for each size [default: 2]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) seconds: Option<f64>,
}

#[derive(Args, Debug)]
pub(crate) struct Speed {
    /// With whom to compare, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "openssl,aws-lc")]
    pub(crate) against: Vec<Against>,

    /// Operations in a batch, 1 to 1024; 1 measures no batches
    #[arg(long, value_name = "N", default_value = "8")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) batch: u32,

    /// Sizes of keys in bits, separated by commas [default: 512,1024,2048,3072,4096]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = key_bits)]
    pub(crate) bits: Vec<u32>,

    /// Instead of signatures: the public operation with this exponent (odd, from 3), or "full": the
    /// private operation without CRT, its exponent as long as the modulus
    #[arg(long, value_name = "VALUE|full", value_parser = exponent)]
    pub(crate) exponent: Option<Exponent>,

    /// Write the records as JSON Lines to this file, made anew; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// An RSA private key (PEM or DER, PKCS#8 or PKCS#1) instead of the built-in ones
    #[arg(long, value_name = "FILE", conflicts_with = "bits")]
    pub(crate) key: Option<PathBuf>,

    /// Seconds for each row, a key and an operation [default: a minute for the whole table]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) seconds: Option<f64>,

    /// Another table: pkeu is that of a public-key execution unit of 2005, our cycles at its clocks
    #[arg(long, value_name = "NAME", conflicts_with_all = ["bits", "exponent", "key"])]
    pub(crate) table: Option<Table>,
}

/// Whom to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Against {
    /// AWS-LC, through aws-lc-rs.
    AwsLc,
    /// Nobody.
    None,
    /// The system's libcrypto.
    Openssl,
}

/// What is raised to which power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exponent {
    /// d, as long as the modulus, without CRT.
    Full,
    /// A public exponent, odd, from 3.
    Public(u64),
}

/// Tables other than the usual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    /// Six rows and eight clocks of Freescale, Understanding Public-Key Performance, 2005.
    Pkeu,
}

impl Options {
    /// Reads the command line; help and version end the program with code 0.
    ///
    /// # Errors
    ///
    /// The command line is not right; clap's message in one line.
    pub(crate) fn read() -> Result<Self, Stop> {
        Self::try_parse().map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            | ErrorKind::DisplayVersion => error.exit(),
            _ => one_line(&error),
        })
    }
}

/// The first paragraph of clap's message, and where to look.
fn one_line(error: &clap::Error) -> Stop {
    let text = error.to_string();
    let what = text.strip_prefix("error: ").unwrap_or(&text);
    let what = what.split("\n\n").next().unwrap_or(what).trim();
    Stop::new(format!("{what}; try 'tollgate --help'"))
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is needed".to_owned())?;
    if (0.01..=3600.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("give 0.01 to 3600 seconds".to_owned())
    }
}

fn kernel_bits(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bits @ 128..=8192) => Ok(bits),
        _ => Err("give sizes of 128 to 8192 bits".to_owned()),
    }
}

fn key_bits(text: &str) -> Result<u32, String> {
    let known = || keys::SIZES.map(|bits| bits.to_string()).join(", ");
    match text.parse() {
        Ok(bits) if keys::SIZES.contains(&bits) => Ok(bits),
        _ => Err(format!("built-in keys have {} bits; for another, give --key FILE", known())),
    }
}

fn exponent(text: &str) -> Result<Exponent, String> {
    if text == "full" {
        return Ok(Exponent::Full);
    }
    match text.parse() {
        Ok(e) if e >= 3 && e % 2 == 1 => Ok(Exponent::Public(e)),
        _ => Err("give an odd number from 3 to 2^64 - 1, or full".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use clap::CommandFactory as _;

    use super::*;

    fn speed(arguments: &[&str]) -> Result<Speed, String> {
        let line = ["tollgate", "speed"].iter().chain(arguments);
        match Options::try_parse_from(line).map(|options| options.verb) {
            Ok(Verb::Speed(options)) => Ok(options),
            Ok(Verb::Kernel(_)) => unreachable!("speed was asked for"),
            Err(error) => Err(one_line(&error).to_string()),
        }
    }

    #[test]
    fn the_declaration_is_sound() {
        Options::command().debug_assert();
    }

    #[test]
    fn flags_become_values() {
        let options = speed(&[
            "--bits",
            "512,2048",
            "--batch",
            "16",
            "--against",
            "openssl",
            "--seconds",
            "0.5",
            "--exponent",
            "7",
            "--json",
            "-",
        ])
        .unwrap();
        assert_eq!(options.bits, [512, 2048]);
        assert_eq!((options.batch, options.seconds), (16, Some(0.5)));
        assert_eq!(options.against, [Against::Openssl]);
        assert_eq!(options.exponent, Some(Exponent::Public(7)));
        assert_eq!(options.json, Some(PathBuf::from("-")));
        let options = speed(&["--exponent", "full", "--key", "x.pem"]).unwrap();
        assert_eq!(options.exponent, Some(Exponent::Full));
        assert_eq!(speed(&["--table", "pkeu"]).unwrap().table, Some(Table::Pkeu));
        let options = speed(&[]).unwrap();
        assert_eq!(options.against, [Against::Openssl, Against::AwsLc]);
        assert_eq!((options.batch, options.bits.len()), (8, 0));
    }

    #[test]
    fn what_is_not_right_is_refused_in_one_line() {
        for (bad, why) in [
            (&["--bits", "9000"][..], "--key FILE"),
            (&["--bits", "two"], "--key FILE"),
            (&["--bits", "512,"], "--key FILE"),
            (&["--exponent", "4"], "odd"),
            (&["--exponent", "1"], "odd"),
            (&["--exponent", "-7"], "-7"),
            (&["--exponent", "18446744073709551617"], "2^64"),
            (&["--batch", "0"], "1..=1024"),
            (&["--batch", "1025"], "1..=1024"),
            (&["--against", "gnutls"], "gnutls"),
            (&["--seconds", "0"], "seconds"),
            (&["--seconds", "nan"], "seconds"),
            (&["--seconds", "inf"], "seconds"),
            (&["--table", "pkeu", "--bits", "512"], "--bits"),
            (&["--bits", "512", "--key", "x.pem"], "--key"),
            (&["--speed"], "--speed"),
        ] {
            let message = speed(bad).unwrap_err();
            assert!(message.contains(why), "{bad:?}: {message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }
}
