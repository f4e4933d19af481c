//! `tollgate speed queue`: the cost of the engine's queue, compared with the same operations
//! without it.

mod closed;
mod open;

use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;

use tollgate_bench::median_estimate;
use tollgate_queue::{Caller, Config, PrivateJob, Queue, Work};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Key as KeyName, Operation, Record, Subject, Topic, Unit};
use tollgate_report::engine as engine_table;
use tollgate_rsa::{Hash, PrivateKey, Workspace};

use crate::contenders::{self, Contender, Job, tollgate};
use crate::error::CliError;
use crate::figures::{Figures, subject};
use crate::interrupt;
use crate::keys::{Key, KeyOperation};
use crate::measure::measure;
use crate::progress;
use crate::run::Run;
use crate::verbs::speed::Queue as QueueOptions;

/// How the time for a key size is divided: many threads, one thread, random arrivals.
const PARTS: [f64; 3] = [0.4, 0.2, 0.4];

/// The number of threads that submit without a pause.
const THREADS: u32 = 16;

/// The number of operations in a batch without the engine; a batch fills the lanes.
const BATCH: u32 = 8;

const BY: &str = "engine";
const DIRECT: &str = "tollgate";

/// Digests and their expected signatures.
struct Cases {
    key: Arc<PrivateKey>,
    digests: Vec<Vec<u8>>,
    signatures: Vec<Vec<u8>>,
}

const WORK: Work = Work::SignPkcs1v15 { hash: Hash::Sha256 };

impl Cases {
    fn of(job: &Job) -> Self {
        let digests = job.cases.iter().map(|case| case.input.clone()).collect();
        let signatures = job.cases.iter().map(|case| case.output.clone()).collect();
        Self { key: Arc::clone(&job.key.ours), digests, signatures }
    }

    /// Signs case `i` through an engine and checks the result.
    fn sign(&self, caller: &Caller<PrivateJob>, i: usize) -> Result<(), CliError> {
        let i = i % self.digests.len();
        let answer = caller.run(|job| job.load(&self.key, WORK, &self.digests[i]))?;
        self.compare(i, answer.output())
    }

    fn compare(&self, i: usize, signature: &[u8]) -> Result<(), CliError> {
        contenders::compare(signature, &self.signatures[i])
    }
}

pub(crate) fn run(options: &QueueOptions) -> Result<ExitCode, CliError> {
    let json = options.written.json.as_deref();
    Run::of_verb(json, "engine", |run| collect(options, run), engine_table::table)
}

/// Returns the records of every size. After Ctrl-C, returns the records of the completed sizes.
fn collect(options: &QueueOptions, run: &mut Run) -> Result<Vec<Record>, CliError> {
    let keys: Vec<Key> = match &options.key {
        Some(path) => vec![Key::from_file(path)?],
        None => options.bits.iter().copied().map(Key::built_in).collect::<Result<_, _>>()?,
    };
    let keys = keys.into_iter().map(|key| (format!("RSA-{}", key.bits()), key)).collect();
    run.rows(options.seconds, keys, |run, _, key| Bout::new(key, options.seconds)?.measure(run))
}

struct Bout {
    bits: u32,
    seconds: f64,
    job: Job,
    cases: Arc<Cases>,
    cores: u32,
}

impl Bout {
    fn new(key: Key, seconds: f64) -> Result<Self, CliError> {
        let bits = key.bits();
        let job = Job::new(Rc::new(key), KeyOperation::Sign, BATCH)?;
        let cases = Arc::new(Cases::of(&job));
        let cores = std::thread::available_parallelism()?;
        let cores = u32::try_from(cores.get())?;
        Ok(Self { bits, seconds, job, cases, cores })
    }

    fn measure(&self, run: &mut Run) -> Result<Option<Vec<Record>>, CliError> {
        let [closed, alone, open] = PARTS.map(|part| part * self.seconds);
        let Some(rates) = closed::rates(&self.cases, self.cores, closed)? else { return Ok(None) };
        progress::part(PARTS[0]);
        let Some(alone) = self.alone(run, alone)? else { return Ok(None) };
        progress::part(PARTS[0] + PARTS[1]);
        let Some(open) = open::responses(&self.cases, self.cores, open)? else { return Ok(None) };
        self.say_lost(run, open.windows);
        let figures = Figures::of_row(&run.host, self.seconds).with([("cores", self.cores)]);
        let mut records = self.of_rates(&figures, &rates)?;
        records.extend(alone);
        records.extend(self.of_responses(&figures, &open)?);
        Ok(Some(records))
    }

    /// Notes the number of windows in which another process used part of a core.
    fn say_lost(&self, run: &mut Run, windows: open::Windows) {
        let open::Windows { all, lost, left_out } = windows;
        if lost > 0 {
            run.notes.add(format!(
                "RSA-{}, p99: in {lost} of {all} windows the cores were shared or changed their \
                 speed: {}",
                self.bits,
                if left_out {
                    "these are left out"
                } else {
                    "the others are too few to leave these out; measure longer (--seconds), or \
                     another time"
                }
            ));
        }
    }

    fn of_rates(
        &self,
        figures: &Figures<'_>,
        rates: &closed::Rates,
    ) -> Result<Vec<Record>, CliError> {
        let on_cores = |by| self.subject(by, self.cores);
        let (direct, ours) =
            (on_cores(DIRECT)?.with(word::BATCH, BATCH)?, self.subject(BY, THREADS)?);
        let ratio = ours.with(word::AGAINST, DIRECT)?;
        let many = on_cores(BY)?.with(word::BATCH, closed::MANY)?;
        let many_ratio = many.with(word::AGAINST, DIRECT)?;
        let (per_core, ratios) = (word::OPERATIONS_PER_S_PER_CORE, word::OPERATIONS_PER_S_RATIO);
        Ok(vec![
            figures.measured(&direct, per_core, Unit::PerSecond, rates.direct),
            figures.measured(&ours, per_core, Unit::PerSecond, rates.engine),
            figures.measured(&ours, word::MEAN_FILL, Unit::Ratio, rates.fill),
            figures.measured(&ratio, ratios, Unit::Ratio, rates.ratio),
            figures.measured(&many, per_core, Unit::PerSecond, rates.many),
            figures.measured(&many_ratio, ratios, Unit::Ratio, rates.many_ratio),
        ])
    }

    fn of_responses(
        &self,
        figures: &Figures<'_>,
        open: &open::Responses,
    ) -> Result<Vec<Record>, CliError> {
        let service = format!("{:.0}", open.service_ns.point());
        let figures = figures.with([(word::SERVICE_NS, service)]);
        let subject = self.subject(BY, open::THREADS)?.with(word::LOAD, open::LOAD)?;
        Ok(vec![
            figures.measured(&subject, word::RESPONSE_NS_P50, Unit::Nanos, open.p50),
            figures.measured(&subject, word::RESPONSE_NS_P99, Unit::Nanos, open.p99),
            figures.measured(&subject, word::RESPONSE_SERVICES_P99, Unit::Ratio, open.services_p99),
            figures.measured(&subject, word::MEAN_FILL, Unit::Ratio, open.fill),
        ])
    }

    /// Measures one thread with and without the engine, in turn.
    fn alone(&self, run: &mut Run, seconds: f64) -> Result<Option<Vec<Record>>, CliError> {
        let engine = engine()?;
        let caller = engine.caller()?;
        let (cases, mut i) = (Arc::clone(&self.cases), 0);
        let through = Contender::library(
            BY,
            Box::new(move || {
                i += 1;
                cases.sign(&caller, i)
            }),
        );
        let mut contenders = tollgate::contenders(&self.job, 1)?;
        contenders.push(through);
        let label = format!("RSA-{}, alone", self.bits);
        let measured = measure(&label, &mut contenders, seconds, &mut run.notes, |_| ())?;
        let Some(series) = measured else { return Ok(None) };
        let figures = Figures::of_row(&run.host, seconds);
        let mut records = Vec::new();
        for (place, by) in [DIRECT, BY].into_iter().enumerate() {
            let subject = self.subject(by, 1)?;
            let nanos = series.cpu_nanos(place);
            records.push(figures.measured(&subject, word::NS_PER_OPERATION, Unit::Nanos, nanos));
        }
        let subject = self.subject(BY, 1)?.with(word::AGAINST, DIRECT)?;
        let times = series.ratio(0, 1);
        records.push(figures.measured(&subject, word::TIMES_AS_FAST, Unit::Ratio, times));
        Ok(Some(records))
    }

    fn subject(&self, by: &str, threads: u32) -> Result<Subject, CliError> {
        let topic = Topic::Queue { key: KeyName::Rsa(self.bits), operation: Operation::Sign };
        Ok(subject(topic, [(word::BY, by)])?.with(word::THREADS, threads)?)
    }
}

/// Returns an engine with one worker per core and the default `Config` otherwise.
fn engine() -> Result<Queue<PrivateJob>, CliError> {
    let workers = std::thread::available_parallelism()?.get();
    let config = Config { workers, ..Config::default() };
    Ok(Queue::of_this_processor(config)?)
}

const TOO_LITTLE: &str = "too little time to measure: raise --seconds";

pub(super) fn median(samples: &[f64]) -> Result<Estimate, CliError> {
    median_estimate(samples).ok_or_else(|| CliError::new(TOO_LITTLE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_there_and_in_the_table() {
        let mut run = Run::new(None).unwrap();
        let mut measure = |seconds| {
            let bout = Bout::new(Key::built_in(512).unwrap(), seconds).unwrap();
            bout.measure(&mut run)
        };
        // A busy machine needs more time to produce results.
        let mut seconds = 0.3;
        let records = loop {
            match measure(seconds) {
                Ok(records) => break records.unwrap(),
                Err(why) => assert!(seconds < 20.0 && why.to_string() == TOO_LITTLE, "{why}"),
            }
            seconds *= 2.0;
        };
        assert_eq!(records.len(), 13);
        let table = engine_table::table(&records);
        assert!(table.contains("RSA-512") && !table.contains(" - "), "{table}");
    }

    #[test]
    fn a_wrong_result_ends_the_run() {
        let mut bout = Bout::new(Key::built_in(512).unwrap(), 0.1).unwrap();
        let cases = Arc::get_mut(&mut bout.cases).unwrap();
        cases.signatures.iter_mut().for_each(|signature| signature[63] ^= 1);
        assert!(closed::rates(&bout.cases, 1, 0.1).is_err());
        assert!(open::responses(&bout.cases, 1, 0.1).is_err());
    }
}
