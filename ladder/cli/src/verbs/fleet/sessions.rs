//! The input of a forecast: CPU times of sessions, from records or from the command line.

use tollgate_fleet::SessionCost;
use tollgate_fleet::forecast::Basis;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Machine, Record, Service, Subject, Timestamp, Topic, Unit};

use super::Fleet;
use crate::error::CliError;
use crate::host::Host;
use crate::shelf;
use crate::verbs::compare::same_machine;

/// The cost of one session, and its record.
pub(super) struct MeasuredSession {
    pub(super) record: Record,
    pub(super) basis: Basis,
    pub(super) session: SessionCost,
    pub(super) by: String,
}

impl MeasuredSession {
    /// Returns whether this is OpenSSL's session of the same server and workload as `other`.
    pub(super) fn is_opponent_of(&self, other: &Self) -> bool {
        let session = |record: &Record| record.subject.without(&[word::BY]);
        let server = self.by.strip_suffix("openssl");
        server.is_some_and(|server| other.by == format!("{server}tollgate"))
            && session(&self.record) == session(&other.record)
    }

    /// Returns the ratio of this CPU time to `other`'s, if both were measured in pairs.
    pub(super) fn ratio_against(&self, other: &Self, known: &[Record]) -> Option<Estimate> {
        let subject = self.record.subject.with(word::AGAINST, &other.by).ok()?;
        let is = |record: &&Record| {
            record.subject == subject && record.quantity == word::SERVER_CPU_RATIO
        };
        known.iter().find(is).map(|record| record.estimate)
    }
}

/// Returns the records of the files; or, if the command line gives a CPU time, a record of this
/// time.
pub(super) fn read(options: &Fleet) -> Result<Vec<Record>, CliError> {
    if let Some(us) = options.cpu_us {
        return Ok(vec![of_command_line(us, options.bytes)?]);
    }
    if options.files.is_empty() {
        bail!("no input: give files of records, written by tollgate bench --json, or --cpu-us X");
    }
    shelf::read(&options.files)
}

fn of_command_line(us: f64, bytes: u64) -> Result<Record, CliError> {
    let topic = Topic::Server(Service::Named("session".to_owned()));
    let subject = Subject::new(topic).and_then(|subject| subject.with(word::BY, "given"))?;
    let figure = (word::SERVER_CPU_NS_PER_SESSION, Unit::Nanos, Estimate::exact(1e3 * us)?);
    let kind = Kind::Published { source: "the command line".to_owned() };
    Ok(Record::new(subject.with(word::BYTES, bytes)?, figure, kind, Machine::unknown("not named")))
}

/// Returns whether the records contain the CPU time of a session.
pub(crate) fn rests_on(known: &[Record]) -> bool {
    known.iter().any(is_cpu)
}

fn is_cpu(record: &Record) -> bool {
    record.quantity == word::SERVER_CPU_NS_PER_SESSION
        && record.subject.parameter(word::AGAINST).is_none()
}

/// Returns the sessions with a record of their CPU time; the last record of each is used. Records
/// of different machines are refused: their CPU times cannot be compared, and a later one would
/// replace an earlier one of the same session.
pub(super) fn sessions(known: &[Record], host: &Host) -> Result<Vec<MeasuredSession>, CliError> {
    let mut all = known.iter().filter(|record| is_cpu(record)).map(|record| &record.machine);
    if let Some(first) = all.next()
        && let Some(other) = all.find(|machine| !same_machine(machine, first))
    {
        let (first, other) = (first.slug(), other.slug());
        bail!("records of two machines, {first} and {other}: give files of one of them");
    }
    let mut wanted: Vec<&Record> = Vec::new();
    for record in known.iter().filter(|record| is_cpu(record)) {
        wanted.retain(|earlier| earlier.subject != record.subject);
        wanted.push(record);
    }
    // an open loop measures what the session of the closed loop predicts
    let of_closed: Vec<Subject> = wanted.iter().map(|record| record.subject.clone()).collect();
    wanted.retain(|record| {
        let closed = record.subject.without(&word::OF_OPEN_LOOPS);
        closed == record.subject || !of_closed.contains(&closed)
    });
    if wanted.is_empty() {
        let what = word::SERVER_CPU_NS_PER_SESSION;
        bail!("no record of {what}: write some with tollgate bench --json FILE, or give --cpu-us");
    }
    let given = |record: &Record| {
        let subject = &record.subject;
        let bytes = subject.parameter(word::BYTES).map_or(Ok(0), str::parse);
        let bytes = bytes.map_err(|_| error!("{subject}: bytes is not a number"))?;
        Ok(MeasuredSession {
            record: record.clone(),
            basis: Basis::new(record, host.context.commit.clone(), Timestamp::now())?,
            session: SessionCost::from_record(record, bytes)?,
            by: subject.parameter(word::BY).unwrap_or("-").to_owned(),
        })
    };
    wanted.into_iter().map(given).collect()
}
