//! Mixtures of several kinds of sessions.

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Record, Service, Subject, Topic, Unit};

use super::Fleet;
use super::sessions::{self, MeasuredSession};
use crate::cells::{distinct, float};
use crate::error::CliError;
use crate::host::Host;
use crate::shelf;

/// The sessions of one engine.
pub(super) struct Mixed {
    pub(super) by: String,
    /// The share and the CPU time of each kind of session.
    pub(super) kinds: Vec<(f64, Estimate)>,
}

/// Reads the kinds of sessions, one from each file. Returns a record of the mean session of each
/// engine, and its kinds.
pub(super) fn read(
    options: &Fleet,
    shares: &[f64],
    host: &Host,
) -> Result<(Vec<Record>, Vec<Mixed>), CliError> {
    let files = &options.files;
    if shares.len() != files.len() {
        let (shares, files) = (shares.len(), files.len());
        bail!("--mix has {shares} shares for {files} files: give a share for each file");
    }
    let sum: f64 = shares.iter().sum();
    if (sum - 1.0).abs() > 1e-9 {
        bail!("the shares of --mix add up to {sum}: give shares that add up to 1");
    }
    let read = files.chunks(1).map(shelf::read).collect::<Result<Vec<_>, _>>()?;
    // records of different machines are refused
    sessions::sessions(&read.concat(), host)?;
    let kinds = read.iter().map(|records| sessions::sessions(records, host));
    let kinds = kinds.collect::<Result<Vec<_>, _>>()?;
    let engines = distinct(kinds.iter().flatten().map(|one| one.by.clone()));
    let mut mixed = Vec::new();
    for by in engines {
        let of_engine = kinds.iter().zip(files).map(|(kinds, file)| {
            let mut own = kinds.iter().filter(|one| one.by == by);
            let name = file.display();
            let none = || error!("{name}: no session of {by}: give files with the same engines");
            let one = own.next().ok_or_else(none)?;
            if own.next().is_some() {
                bail!("{name}: several kinds of sessions of {by}: give a file for each kind");
            }
            Ok(one)
        });
        mixed.push(mean(&by, &of_engine.collect::<Result<Vec<_>, CliError>>()?, shares)?);
    }
    Ok(mixed.into_iter().unzip())
}

/// Returns the record of the mean session, and the kinds.
fn mean(by: &str, all: &[&MeasuredSession], shares: &[f64]) -> Result<(Record, Mixed), CliError> {
    let sum = |of: &dyn Fn(&MeasuredSession) -> f64| -> f64 {
        all.iter().zip(shares).map(|(one, share)| share * of(one)).sum()
    };
    let low = sum(&|one| one.session.cpu_ns().interval().0);
    let high = sum(&|one| one.session.cpu_ns().interval().1);
    let point = sum(&|one| one.session.cpu_ns().point());
    let samples = all.iter().map(|one| one.session.cpu_ns().samples()).min().unwrap_or(1);
    let cpu_ns = Estimate::new(point, (low, high), samples)?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of sizes")]
    let bytes = sum(&|one| float(one.session.bytes())).round() as u64;
    let subject = Subject::new(Topic::Server(Service::Named("mix".to_owned())))?;
    let subject = subject.with(word::BY, by)?.with(word::BYTES, bytes)?;
    let from = all.iter().map(|one| one.record.subject.to_string()).collect();
    let kind = Kind::Predicted { by: word::FLEET_RUNG.to_owned(), from };
    let figure = (word::SERVER_CPU_NS_PER_SESSION, Unit::Nanos, cpu_ns);
    let like = &all[0].record;
    let words: Vec<String> = shares.iter().map(ToString::to_string).collect();
    let record = Record {
        versions: like.versions.clone(),
        commit: like.commit.clone(),
        conditions: [(word::MIX.to_owned(), words.join(","))].into(),
        ..Record::new(subject, figure, kind, like.machine.clone())
    };
    let kinds = all.iter().zip(shares).map(|(one, share)| (*share, one.session.cpu_ns()));
    Ok((record, Mixed { by: by.to_owned(), kinds: kinds.collect() }))
}
