//! The flags of `tollgate speed`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::keys;
use crate::options::{Written, seconds};

#[derive(Args, Clone, Debug)]
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

    /// Instead of operations, what the engine's queue costs: with many threads, alone, and with
    /// arrivals at random [sizes: 1024,2048; seconds: 12]
    #[arg(long, conflicts_with_all = ["against", "batch", "exponent", "table"])]
    pub(crate) engine: bool,

    /// Instead of signatures: the public operation with this exponent (odd, from 3), or "full": the
    /// private operation without CRT, its exponent as long as the modulus
    #[arg(long, value_name = "VALUE|full", value_parser = exponent)]
    pub(crate) exponent: Option<Exponent>,

    #[command(flatten)]
    pub(crate) written: Written,

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

    use super::*;
    use crate::options::tests::assert_refused;
    use crate::options::{Options, Verb};

    fn speed(flags: &[&str]) -> Speed {
        match Options::of(&[&["speed"], flags].concat()).unwrap().verb {
            Verb::Speed(options) => options,
            other => unreachable!("speed was asked for: {other:?}"),
        }
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
        ]);
        assert_eq!(options.bits, [512, 2048]);
        assert_eq!((options.batch, options.seconds), (16, Some(0.5)));
        assert_eq!(options.against, [Against::Openssl]);
        assert_eq!(options.exponent, Some(Exponent::Public(7)));
        assert_eq!(options.written.json, Some(PathBuf::from("-")));
        let options = speed(&["--exponent", "full", "--key", "x.pem"]);
        assert_eq!(options.exponent, Some(Exponent::Full));
        assert_eq!(speed(&["--table", "pkeu"]).table, Some(Table::Pkeu));
        let options = speed(&["--engine", "--bits", "2048"]);
        assert!(options.engine && options.bits == [2048]);
        let options = speed(&[]);
        assert_eq!(options.against, [Against::Openssl, Against::AwsLc]);
        assert_eq!((options.batch, options.bits.len()), (8, 0));
    }

    #[test]
    fn what_is_not_right_is_refused_in_one_line() {
        assert_refused(
            "speed",
            &[
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
                (&["--engine", "--batch", "4"], "--batch"),
                (&["--bits", "512", "--key", "x.pem"], "--key"),
                (&["--speed"], "--speed"),
            ],
        );
    }
}
