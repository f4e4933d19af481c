//! `tollgate speed`: operations of Tollgate and of the libraries, in one run.

pub(crate) mod explained;
mod gpu;
mod multi;
pub(crate) mod rows;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use tollgate_bench::Series;
use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Unit};
use tollgate_report::speed as speed_table;

use crate::bounds::{self, Family};
use crate::contenders::Contender;
use crate::error::CliError;
use crate::figures::Figures;
use crate::host::Host;
use crate::keys;
use crate::measure::measure;
use crate::options::values::{Written, seconds};
use crate::progress;
use crate::run::Run;
use crate::verbs::kernel;

use rows::{Row, rows};

/// The libraries and the batch that operations are measured with.
#[derive(Args, Clone, Debug)]
pub(crate) struct LineupOptions {
    /// Libraries to compare with, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "openssl,aws-lc,ring")]
    pub(crate) against: Vec<Against>,

    /// Speed in a batch, 1 to 1024; 1 measures no batches
    #[arg(long, value_name = "N", default_value = "8")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) batch: u32,
}

/// The table of operations.
#[derive(Args, Clone, Debug)]
pub(crate) struct Speed {
    #[command(flatten)]
    pub(crate) lineup: LineupOptions,

    /// Sizes of RSA keys in bits, separated by commas [default: 2048,3072,4096,1024,512]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = key_bits)]
    pub(crate) bits: Vec<u32>,

    /// Exponent to measure instead of signatures: an odd public exponent of at least 3, or "full"
    /// for the private operation without CRT (an exponent as long as the modulus)
    #[arg(long, value_name = "VALUE|full", value_parser = exponent)]
    pub(crate) exponent: Option<Exponent>,

    #[command(flatten)]
    pub(crate) written: Written,

    /// RSA private key (PEM or DER, PKCS#8 or PKCS#1) to use instead of the built-in keys
    #[arg(long, value_name = "FILE", conflicts_with = "bits")]
    pub(crate) key: Option<PathBuf>,

    /// Threads that each run the operation; also prints the sum of their rates, as openssl speed
    /// -multi does [default: one thread]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) multi: Option<u32>,

    /// Seconds for each row (one key and one operation) [default: a minute for the whole table]
    #[arg(short = 'z', long, value_name = "S", value_parser = seconds)]
    pub(crate) seconds: Option<f64>,

    /// Unit to measure in batches instead of the processor: an NVIDIA GPU
    #[arg(long, value_name = "UNIT")]
    #[arg(conflicts_with_all = ["key", "multi", "exponent", "batch", "against"])]
    pub(crate) unit: Option<OffloadUnit>,
}

/// The libraries to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Against {
    /// AWS-LC, through aws-lc-rs.
    AwsLc,
    /// No library.
    None,
    /// The system's libcrypto.
    Openssl,
    /// ring, for keys that verify a single signature.
    Ring,
}

/// Units beside the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OffloadUnit {
    /// An NVIDIA GPU.
    Gpu,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exponent {
    /// The private exponent d, without CRT. It is as long as the modulus.
    Full,
    /// An odd public exponent of at least 3.
    Public(u64),
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

/// Default seconds for the whole table.
const TABLE_SECONDS: f64 = 60.0;

/// Default seconds for each row of `--multi`.
const MULTI_SECONDS: f64 = 4.0;

/// The share of a row's time for measuring the kernels that explain it.
const KERNEL_PART: f64 = 0.1;

pub(crate) fn run(options: &Speed) -> Result<ExitCode, CliError> {
    if options.unit == Some(OffloadUnit::Gpu) {
        return gpu::run(options);
    }
    let json = options.written.json.as_deref();
    if let Some(threads) = options.multi {
        let seconds = options.seconds.unwrap_or(MULTI_SECONDS);
        let collect = |run: &mut Run| multi::collect(options, (threads, seconds), run);
        return Run::of_verb(json, "speed", collect, multi::table);
    }
    Run::of_verb(json, "speed", |run| collect(options, &[], run), speed_table::table)
}

/// Returns the records of every row that the options select, and of the kernels that explain these
/// rows. Kernels in `known` are not measured again. After Ctrl-C, returns the records of the
/// completed rows.
pub(crate) fn collect(
    options: &Speed,
    known: &[Record],
    run: &mut Run,
) -> Result<Vec<Record>, CliError> {
    if options.lineup.against.contains(&Against::None) && options.lineup.against.len() > 1 {
        bail!("--against: none stands alone; drop it, or the others");
    }
    let rows: Vec<_> = rows(options)?.into_iter().map(|row| (row.label(), row)).collect();
    let count = u32::try_from(rows.len()).expect("few rows");
    let seconds = options.seconds.unwrap_or(TABLE_SECONDS / f64::from(count.max(1)));
    let mut kernels = known.to_vec();
    run.rows(seconds * (1.0 + KERNEL_PART), rows, |run, label, row| {
        let mut contenders = row.lineup(&options.lineup, &mut run.notes)?;
        let explained = explaining(&row, &contenders, &kernels, seconds, run)?;
        let Some(mut found) = explained else { return Ok(None) };
        kernels.extend(found.iter().cloned());
        let measured = measure(label, &mut contenders, seconds, &mut run.notes, progress::part)?;
        let Some(series) = measured else { return Ok(None) };
        let figures = Figures::of_row(&run.host, seconds);
        found.extend(records_of(&row, &run.host, &figures, &kernels, &contenders, &series)?);
        Ok(Some(found))
    })
}

/// Returns the figures of the kernels that a row depends on and that are not in `known`.
fn explaining(
    row: &Row,
    contenders: &[Contender],
    known: &[Record],
    seconds: f64,
    run: &mut Run,
) -> Result<Option<Vec<Record>>, CliError> {
    let Row::Rsa(job) = row else { return Ok(Some(Vec::new())) };
    let kernels: Vec<Family> = contenders.iter().filter_map(|contender| contender.kernel).collect();
    let bits = bounds::modulus_bits(&job.key, job.what);
    kernel::missing(&kernels, bits, known, KERNEL_PART * seconds, run)
}

/// Returns the records of a row: time, cycles and rate of each contender; for Tollgate's contenders
/// also the bound, the sum of the kernels' times, and ratios.
fn records_of(
    row: &Row,
    host: &Host,
    figures: &Figures<'_>,
    kernels: &[Record],
    contenders: &[Contender],
    series: &Series,
) -> Result<Vec<Record>, CliError> {
    let mut records = Vec::new();
    for (place, contender) in contenders.iter().enumerate() {
        let subject = &row.subject(contender)?;
        let figures = figures.with(contender.kernel.map(|kernel| (word::KERNEL, kernel.name())));
        if let Row::Rsa(job) = row {
            // Predicted figures precede measured ones: a table takes the last figure of a quantity.
            records.extend(explained::prediction(job, contender, subject, &figures, kernels)?);
        }
        let nanos = series.cpu_nanos(place);
        let measured = [
            (word::NS_PER_OPERATION, Unit::Nanos, Some(nanos)),
            (word::CYCLES_PER_OPERATION, Unit::Cycles, series.cycles(place)),
            (word::OPERATIONS_PER_S, Unit::PerSecond, Some(nanos.inverted(1e9)?)),
        ];
        for (quantity, unit, figure) in measured {
            records.extend(figure.map(|figure| figures.measured(subject, quantity, unit, figure)));
        }
        if let (Row::Rsa(job), Some(kernel)) = (row, contender.kernel)
            && let Some(bound) = bounds::of_operation(host.model(), kernel, &job.key, job.what)
        {
            records.push(figures.bound(subject, word::BOUND_CYCLES_PER_OPERATION, bound)?);
        }
        if contender.is_library() {
            continue;
        }
        for (other, library) in contenders.iter().enumerate() {
            if library.is_library() {
                let subject = subject.with(word::AGAINST, library.by)?;
                let times = series.ratio(other, place);
                records.push(figures.measured(&subject, word::TIMES_AS_FAST, Unit::Ratio, times));
            }
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Verb;
    use crate::options::tests::verb;

    fn speed(flags: &str) -> Speed {
        match verb(&format!("speed {flags}")) {
            Verb::Speed(options) => options,
            other => unreachable!("speed was asked for: {other:?}"),
        }
    }

    #[test]
    fn flags_become_values() {
        let options = speed(
            "--bits 512,2048 --batch 16 --against openssl --seconds 0.5 --exponent 7 --json -",
        );
        assert_eq!(options.bits, [512, 2048]);
        assert_eq!((options.lineup.batch, options.seconds), (16, Some(0.5)));
        assert_eq!(options.lineup.against, [Against::Openssl]);
        assert_eq!(options.exponent, Some(Exponent::Public(7)));
        assert_eq!(options.written.json, Some("-".into()));
        let options = speed("--exponent full --key x.pem");
        assert_eq!(options.exponent, Some(Exponent::Full));
        let options = speed("");
        assert_eq!(options.lineup.against, [Against::Openssl, Against::AwsLc, Against::Ring]);
        assert_eq!((options.lineup.batch, options.bits.len()), (8, 0));
    }
}
