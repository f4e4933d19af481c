//! Options of `tollgate fleet`.

use std::path::PathBuf;

use clap::Args;
use tollgate_fleet::{Currency, Utilisation};

use crate::options::values::Written;

#[derive(Args, Clone, Debug)]
pub(crate) struct Fleet {
    /// Payload of a session in bytes, with --cpu-us
    #[arg(long, value_name = "N", default_value = "14336")]
    pub(crate) bytes: u64,

    /// Cores of one machine, which share one queue [default: those of this machine]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) cores_per_machine: Option<u32>,

    /// Server CPU time of one session in microseconds, instead of files
    #[arg(long, value_name = "X", value_parser = positive)]
    #[arg(conflicts_with = "files")]
    pub(crate) cpu_us: Option<f64>,

    /// Currency of the price
    #[arg(long, value_name = "CODE", default_value = "USD", value_parser = currency)]
    pub(crate) currency: Currency,

    /// Links to fill with payload, in 10^9 bits per second, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,10,100")]
    #[arg(value_parser = positive)]
    pub(crate) gbps: Vec<f64>,

    /// Files of records, as `tollgate bench --json` writes them
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// Price of one core for one hour; without it no costs are computed
    #[arg(long, value_name = "PRICE", value_parser = positive)]
    pub(crate) price_per_core_hour: Option<f64>,

    /// Sessions per second to serve, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = positive)]
    pub(crate) sessions_per_s: Vec<f64>,

    /// Share of the cores' time to use; the rest is head room
    #[arg(long, value_name = "SHARE", default_value = "0.7", value_parser = utilisation)]
    pub(crate) utilisation: Utilisation,

    /// Squared coefficient of variation of the service time: 0 for equal sessions, 1 for an
    /// exponential distribution
    #[arg(long, value_name = "SCV", default_value = "1", value_parser = not_negative)]
    pub(crate) variation: f64,

    /// Power of one busy core in watts, including its share of the machine; without it no energy is
    /// computed
    #[arg(long, value_name = "W", value_parser = positive)]
    pub(crate) watts: Option<f64>,
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if 0.0 < value && value <= 1e12 => Ok(value),
        _ => Err("give a number above 0, at most 10^12".to_owned()),
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..=1e6).contains(&value) => Ok(value),
        _ => Err("give a number from 0 to 1000000".to_owned()),
    }
}

fn currency(text: &str) -> Result<Currency, String> {
    Currency::new(text).ok_or_else(|| "give three capital letters, such as EUR".to_owned())
}

fn utilisation(text: &str) -> Result<Utilisation, String> {
    let why = "give a share above 0 and at most 1";
    text.parse().ok().and_then(|share| Utilisation::new(share).ok()).ok_or_else(|| why.to_owned())
}
