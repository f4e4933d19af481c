//! `tollgate key gen --time` and `key check --time`: measure the times to generate and to load a
//! key, with Tollgate and with OpenSSL.

use std::process::ExitCode;

use openssl::bn::BigNum;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Key, Record, Subject, Topic, Unit};
use tollgate_report::heading;
use tollgate_rsa::{PrivateKey, Workspace};

use super::generate::wanted;
use crate::contenders::{Contender, Failed};
use crate::error::CliError;
use crate::figures::Figures;
use crate::interrupt;
use crate::keys;
use crate::measure::measure;
use crate::progress::Progress;
use crate::run::Run;
use crate::verbs::key::options::{Check, Gen, Timed};

/// Measures the time to generate a key.
///
/// # Errors
///
/// The parameters are refused.
pub(crate) fn generate(options: &Gen) -> Result<ExitCode, CliError> {
    compare(options.bits as usize, "generate", contenders(options)?, &options.timed)
}

/// Measures the time to load a private key: to read PEM or DER, to check its numbers, and to
/// prepare them.
///
/// # Errors
///
/// The file cannot be read, or contains no private key.
pub(crate) fn load(options: &Check) -> Result<ExitCode, CliError> {
    let name = options.file.display();
    let bytes = keys::read(&options.file)?;
    let key = PrivateKey::from_bytes(&bytes);
    let key = key.map_err(|error| CliError::new(format!("{name}: {error}")))?;
    let theirs = bytes.clone();
    let is_pem = PKey::private_key_from_pem(&bytes).is_ok();
    let ours = move || PrivateKey::from_bytes(&bytes).map(|_| ()).map_err(Failed::new);
    let theirs = move || {
        let key = if is_pem {
            PKey::private_key_from_pem(&theirs)
        } else {
            PKey::private_key_from_der(&theirs)
        };
        key.and_then(|key| key.rsa()).map(|_| ()).map_err(Failed::new)
    };
    let contenders = vec![
        Contender { by: "tollgate", batch: None, kernel: None, run: Box::new(ours) },
        Contender::library("openssl", Box::new(theirs)),
    ];
    compare(key.bits(), "load", contenders, &options.timed)
}

/// Measures both contenders and prints the times.
fn compare(
    bits: usize,
    what: &str,
    mut contenders: Vec<Contender>,
    options: &Timed,
) -> Result<ExitCode, CliError> {
    let seconds = options.seconds;
    let mut run = Run::measuring(options.json.as_deref())?;
    let label = format!("RSA-{bits} {what}");
    let progress = Progress::new("key");
    progress.plan(1, seconds);
    progress.row(0, &label);
    let round = measure(&label, &mut contenders, seconds, |part| progress.part(part))?;
    drop(progress);
    let Some(round) = round else {
        return Ok(interrupt::exit_code());
    };
    run.notes.warn(&label, round.warnings());
    let figures =
        Figures::new(&run.host).with([(word::SECONDS_PER_ROW.to_owned(), seconds.to_string())]);
    let key = Key::Rsa(u32::try_from(bits).map_err(CliError::from_error)?);
    let topic = Topic::Operation { key, operation: what.into() };
    let bare = Subject::new(topic).map_err(CliError::from_error)?;
    let mut text = String::new();
    let mut records = Vec::new();
    for (place, contender) in contenders.iter().enumerate() {
        let subject = bare.with(word::BY, contender.by).map_err(CliError::from_error)?;
        let nanos = round.nanos(place);
        let rate = nanos.inverted(1e9).map_err(CliError::from_error)?;
        records.push(figures.measured(&subject, word::NS_PER_OPERATION, Unit::Nanos, nanos));
        records.push(figures.measured(&subject, word::OPERATIONS_PER_S, Unit::PerSecond, rate));
        let (ms, per_s) = (nanos.scaled(1e-6).map_err(CliError::from_error)?, rate.point());
        text += &format!(
            "{:10}{:>9.3} ms a key{:>9.1} keys per s, of {} samples\n",
            contender.by,
            ms.point(),
            per_s,
            nanos.samples()
        );
    }
    let against =
        records[0].subject.with(word::AGAINST, contenders[1].by).map_err(CliError::from_error)?;
    let times: Estimate = round.times_as_fast(0, 1);
    records.push(figures.measured(&against, word::TIMES_AS_FAST, Unit::Ratio, times));
    text += &format!("{:>19.1} times as fast\n", times.point());
    run.output.records(&records)?;
    run.end(&report(&label, &text, &records))
}

fn report(label: &str, lines: &str, records: &[Record]) -> String {
    format!("{}\n{label}, CPU time of one thread, medians\n{lines}", heading::lines(records))
}

/// Returns the contenders, which generate keys with the same e and discard them.
fn contenders(options: &Gen) -> Result<Vec<Contender>, CliError> {
    let mut workspace = Workspace::new().map_err(CliError::from_error)?;
    // the first key shows whether the parameters are accepted
    wanted(options).run(&mut workspace).map_err(CliError::from_error)?;
    let ours = {
        let options = options.clone();
        move || {
            let key = wanted(&options).run(&mut workspace).map_err(Failed::new)?;
            if key.bits() == options.bits as usize { Ok(()) } else { Err(Failed::new("its size")) }
        }
    };
    let (bits, e) = (options.bits, options.e);
    let theirs = move || {
        let e = BigNum::from_slice(&e.to_be_bytes()).map_err(Failed::new)?;
        let key = Rsa::generate_with_e(bits, &e).map_err(Failed::new)?;
        if key.n().num_bits() == bits.cast_signed() { Ok(()) } else { Err(Failed::new("its size")) }
    };
    Ok(vec![
        Contender { by: "tollgate", batch: None, kernel: None, run: Box::new(ours) },
        Contender::library("openssl", Box::new(theirs)),
    ])
}
