//! `tollgate trial verify`: checks the folder of a trial, and says what it cannot check.

use std::path::Path;
use std::process::ExitCode;

use tollgate_record::Record;
use tollgate_report::{heading, server, text::wrapped};
use tollgate_rsa::PublicKey;

use super::Verify;
use super::arithmetic::{self, Check, Figure};
use super::bundle::{Bundle, DISCLOSURE, OUTCOME, RECORDS, REQUIRED, records};
use super::disclosure::Disclosure;
use crate::error::CliError;
use crate::output::Output;
use crate::read;

/// The limits of signature and arithmetic.
const BEYOND: &str = "not checked, because no file can show it: that the counts, CPU times and \
                      histograms were measured and not invented, that they are those of the keys, \
                      protocols and payloads that the figures name, and that hardware, software \
                      and tuning were as disclosed; repeat the trial to know";

pub(super) fn run(options: &Verify) -> Result<ExitCode, CliError> {
    let output = Output::new(None)?;
    let trusted = options.key.as_deref().map(public).transpose()?;
    let bundle = Bundle::read(&options.bundle, trusted.as_ref())?;
    let disclosure = Disclosure::from_toml(bundle.text(DISCLOSURE)?)?;
    let outcome = bundle.text(OUTCOME)?;
    let figures = arithmetic::check(outcome)?;
    if records(outcome)? != bundle.text(RECORDS)? {
        bail!("{RECORDS}: not the records of {OUTCOME}: a published figure was changed");
    }
    output.text(&told(&bundle, &disclosure, &figures, trusted.is_some()))?;
    Ok(ExitCode::SUCCESS)
}

fn public(path: &Path) -> Result<PublicKey, CliError> {
    PublicKey::from_bytes(&read::key(path)?).map_err(CliError::about(path.display()))
}

fn told(bundle: &Bundle, disclosure: &Disclosure, figures: &[Figure], is_trusted: bool) -> String {
    let manifest = &bundle.manifest;
    let mut text = wrapped(match is_trusted {
        true => "signature: good, made with the key of --key",
        false => {
            "signature: good, made with the key below; compare it with the one that its author \
             names, or give that one with --key"
        }
    });
    text += &format!("  {}\n", manifest.signer);
    text += &wrapped(&format!("made: {}, by {}", manifest.made_at, manifest.made_by));
    for (name, value) in disclosure.fields() {
        text += &wrapped(&format!("{name}: {value}"));
    }
    let all: Vec<Record> = figures.iter().map(|figure| figure.record.clone()).collect();
    text += &format!("\n{}\n{}\n", heading::lines(&all), server::table(&all));
    text += &arithmetic_lines(figures);
    let added = manifest.files.iter().map(|file| file.name.as_str());
    let added: Vec<&str> = added.filter(|name| !REQUIRED.contains(name)).collect();
    if !added.is_empty() {
        text += &wrapped(&format!("only their hashes were checked: {}", added.join(", ")));
    }
    text + &wrapped(BEYOND)
}

fn arithmetic_lines(figures: &[Figure]) -> String {
    let of = |check| figures.iter().filter(move |figure| figure.check == check);
    let mut text = wrapped(&format!(
        "arithmetic: {} of {} figures follow from the raw samples, with their intervals",
        of(Check::Recomputed).count(),
        figures.len()
    ));
    for (check, why) in [
        (Check::ValueOnly, "only the value follows from the raw samples"),
        (Check::NoSamples, "not checked, because the files do not have their samples"),
    ] {
        let name =
            |Figure { record, .. }: &Figure| format!("{} {}", record.subject, record.quantity);
        let names: Vec<String> = of(check).map(name).collect();
        if !names.is_empty() {
            text += &wrapped(&format!("{why}: {} ({})", names.len(), names.join(", ")));
        }
    }
    text
}
