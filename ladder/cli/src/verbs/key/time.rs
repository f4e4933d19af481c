//! `tollgate key gen --time` and `key check --time`: measure the times to generate and to load a
//! key, with Tollgate and with OpenSSL.

use std::process::ExitCode;

use openssl::bn::BigNum;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use tollgate_record::vocabulary as word;
use tollgate_record::{Key, Topic, Unit};
use tollgate_report::heading;
use tollgate_rsa::{PrivateKey, Workspace};

use super::generate::wanted;
use super::{Check, Gen, Timed};
use crate::contenders::{self, Contender};
use crate::error::CliError;
use crate::figures::{Figures, subject};
use crate::interrupt;
use crate::keys;
use crate::measure::measure;
use crate::progress::{self, Progress};
use crate::run::Run;

pub(crate) fn generate(options: &Gen) -> Result<ExitCode, CliError> {
    compare(options.bits as usize, "generate", generators(options)?, &options.timed)
}

/// Measures the time to load a private key: to read PEM or DER, to check its numbers, and to
/// prepare them.
pub(crate) fn load(options: &Check) -> Result<ExitCode, CliError> {
    let bytes = keys::read(&options.file)?;
    let key = PrivateKey::from_bytes(&bytes).map_err(CliError::about(options.file.display()))?;
    let theirs = bytes.clone();
    let is_pem = PKey::private_key_from_pem(&bytes).is_ok();
    let ours = move || Ok(PrivateKey::from_bytes(&bytes).map(drop)?);
    let theirs = move || {
        let key = if is_pem {
            PKey::private_key_from_pem(&theirs)
        } else {
            PKey::private_key_from_der(&theirs)
        };
        Ok(key.and_then(|key| key.rsa()).map(drop)?)
    };
    compare(key.bits(), "load", [Box::new(ours), Box::new(theirs)], &options.timed)
}

fn compare(
    bits: usize,
    what: &str,
    [ours, theirs]: [contenders::Run; 2],
    options: &Timed,
) -> Result<ExitCode, CliError> {
    let seconds = options.seconds;
    let mut contenders =
        [Contender::library("tollgate", ours), Contender::library("openssl", theirs)];
    let mut run = Run::measuring(options.json.as_deref())?;
    let label = format!("RSA-{bits} {what}");
    let progress = Progress::new("key");
    progress::plan(1, seconds);
    progress::row(0, &label);
    let measured = measure(&label, &mut contenders, seconds, &mut run.notes, progress::part)?;
    drop(progress);
    let Some(series) = measured else { return Ok(interrupt::exit_code()) };
    let figures = Figures::of_row(&run.host, seconds);
    let key = Key::Rsa(u32::try_from(bits)?);
    let topic = Topic::Operation { key, operation: what.into() };
    let (mut text, mut records) = (String::new(), Vec::new());
    for (place, contender) in contenders.iter().enumerate() {
        let subject = subject(topic.clone(), [(word::BY, contender.by)])?;
        let nanos = series.cpu_nanos(place);
        let rate = nanos.inverted(1e9)?;
        records.push(figures.measured(&subject, word::NS_PER_OPERATION, Unit::Nanos, nanos));
        records.push(figures.measured(&subject, word::OPERATIONS_PER_S, Unit::PerSecond, rate));
        let (by, ms, samples) = (contender.by, nanos.scaled(1e-6)?.point(), nanos.samples());
        let per_s = rate.point();
        text +=
            &format!("{by:10}{ms:>9.3} ms a key{per_s:>9.1} keys per s, of {samples} samples\n");
    }
    let against = records[0].subject.with(word::AGAINST, contenders[1].by)?;
    let times = series.ratio(1, 0);
    records.push(figures.measured(&against, word::TIMES_AS_FAST, Unit::Ratio, times));
    text += &format!("{:>19.1} times as fast\n", times.point());
    run.output.records(&records)?;
    let heading = heading::lines(&records);
    run.end(&format!("{heading}\n{label}, CPU time of one thread, medians\n{text}"))
}

/// Returns a run of Tollgate and a run of OpenSSL. Both generate keys with the same public exponent
/// and discard the keys.
fn generators(options: &Gen) -> Result<[contenders::Run; 2], CliError> {
    let mut workspace = Workspace::new()?;
    // the first key shows whether the parameters are accepted
    wanted(options).run(&mut workspace)?;
    let ours = {
        let options = options.clone();
        move || {
            let key = wanted(&options).run(&mut workspace)?;
            CliError::unless(key.bits() == options.bits as usize, "its size")
        }
    };
    let (bits, e) = (options.bits, options.e);
    let theirs = move || {
        let e = BigNum::from_slice(&e.to_be_bytes())?;
        let key = Rsa::generate_with_e(bits, &e)?;
        CliError::unless(key.n().num_bits() == bits.cast_signed(), "its size")
    };
    Ok([Box::new(ours), Box::new(theirs)])
}
