//! Computes published figures again from the raw samples of a run.

use serde_json::Value;
use tollgate_bench::median_estimate;
use tollgate_load::{Latency, Verdict};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Quantity, Record, Unit, jsonl};
use tollgate_session::measured_total;

use super::bundle::OUTCOME;
use crate::error::CliError;
use crate::verbs::bench::out::outcome::{Document, Run, Scenario};

/// The largest relative difference of two computations of a figure. Numbers in JSON can differ in
/// the last bit.
const ROUNDING: f64 = 1e-9;

/// A published figure.
pub(super) struct Figure {
    pub(super) record: Record,
    pub(super) check: Check,
}

/// The result for a figure. A figure that differs from its samples is an error instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Value and interval follow from the samples.
    Recomputed,
    /// The value follows from the samples; the interval needs samples that are not in the file.
    ValueOnly,
    /// The samples of this quantity are not in the file.
    NoSamples,
}

/// Checks all figures of `outcome.json`: those of each run, and the records.
pub(super) fn check(text: &str) -> Result<Vec<Figure>, CliError> {
    let document: Document = serde_json::from_str(text).map_err(|error| {
        error!("{OUTCOME}: {error}: give a folder of this tollgate bench --out")
    })?;
    if !document.complete {
        bail!("{OUTCOME}: the run was stopped by Ctrl-C: repeat it");
    }
    let mut figures = Vec::new();
    for scenario in &document.scenarios {
        for run in &scenario.runs {
            run.check().map_err(|error| {
                let Run { server, number, .. } = run;
                error!("{OUTCOME}: {}: {server}, run {number}: {error}", scenario.label)
            })?;
        }
        figures.extend(scenario.figures()?);
    }
    if figures.is_empty() {
        bail!("{OUTCOME}: it has no figure: every run is invalid");
    }
    Ok(figures)
}

impl Run {
    fn is_valid(&self) -> bool {
        self.verdict != Verdict::Invalid
    }

    fn rate(&self) -> Option<f64> {
        let seconds = self.sustained_s.filter(|seconds| *seconds > 0.0)?;
        self.is_valid().then(|| number(self.sustain.transactions) / seconds)
    }

    fn server_cpu_ns(&self) -> Option<f64> {
        Some(1e9 * self.server_cores? / self.rate()?)
    }

    fn client_cpu_ns(&self) -> Option<f64> {
        Some(1e9 * self.client_cpu.as_ref()?.cores / self.rate()?)
    }

    fn latency(&self, name: &str) -> Option<Latency> {
        let times = self.times.get(name)?;
        Latency::from_base64(&times.hdr_v2_base64, times.above)
    }

    fn check(&self) -> Result<(), CliError> {
        let agree =
            |what: &str, stated: Option<f64>, computed: Option<f64>| match (stated, computed) {
                (Some(stated), Some(computed)) if !is_close(stated, computed) => {
                    Err(error!("{what} is {stated}, and its samples give {computed}"))
                }
                (Some(stated), None) => {
                    Err(error!("{what} is {stated}, and its samples are missing"))
                }
                _ => Ok(()),
            };
        agree("sessions_per_s", self.sessions_per_s, self.rate())?;
        let server = self.server_cpu_ns_per_session;
        agree("server_cpu_ns_per_session", server, self.server_cpu_ns())?;
        let client = self.client_cpu_ns_per_session;
        agree("client_cpu_ns_per_session", client, self.client_cpu_ns())?;
        if self.sustain.transactions > self.whole.transactions {
            bail!("more transactions in a part of the run than in the whole");
        }
        if self.whole.transactions > self.whole.confirmed.max(self.whole.responses) {
            bail!("more transactions than handshakes and responses");
        }
        if self.verdict == Verdict::Valid {
            let log =
                self.server_log.as_ref().ok_or_else(|| error!("VALID without a server's log"))?;
            let (client, log) =
                ([self.whole.confirmed, self.whole.responses], [log.handshakes, log.requests]);
            // the server may still have served clients that gave up
            let gave_up = self.whole.timed_out.values();
            let gave_up = gave_up.fold(0, |sum: u64, count| sum.saturating_add(*count));
            let is_off = |(client, log): (u64, u64)| log < client || log - client > gave_up;
            if client.into_iter().zip(log).any(is_off) {
                bail!(
                    "VALID, but the client has {} handshakes and {} responses, the log {} and {}",
                    client[0],
                    client[1],
                    log[0],
                    log[1]
                );
            }
        }
        for (name, times) in &self.times {
            let latency = Latency::from_base64(&times.hdr_v2_base64, times.above)
                .ok_or_else(|| error!("{name}: its histogram cannot be read"))?;
            let computed = (latency.count(), latency.quantile_ns(0.5), latency.quantile_ns(0.99));
            if computed != (times.count, times.p50_ns, times.p99_ns) {
                bail!("{name}: count or quantiles are not those of its histogram");
            }
        }
        Ok(())
    }
}

impl Scenario {
    /// Returns the runs of a server that count, by number. An invalid run was repeated, because a
    /// scenario with figures has no other invalid runs.
    fn runs_of(&self, by: &str) -> Vec<&Run> {
        let counts = |run: &&Run| run.server == by && run.is_valid();
        let mut runs: Vec<&Run> = self.runs.iter().filter(counts).collect();
        runs.sort_by_key(|run| run.number);
        runs
    }

    fn figures(&self) -> Result<Vec<Figure>, CliError> {
        let mut records = Vec::new();
        for line in &self.records {
            let found = jsonl::read_all(Value::from(line.clone()).to_string().as_bytes());
            records.extend(found.map_err(|error| error!("{OUTCOME}: {}: {error}", self.label))?);
        }
        let cpu = records.clone();
        records.into_iter().map(|record| self.figure(record, &cpu)).collect()
    }

    fn figure(&self, record: Record, all: &[Record]) -> Result<Figure, CliError> {
        let wrong = |computed: &Estimate| {
            let (subject, quantity) = (&record.subject, record.quantity);
            let (stated, (low, high)) = (record.estimate.point(), record.estimate.interval());
            error!(
                "{OUTCOME}: {subject}: {quantity} is {stated} [{low}, {high}], and its samples \
                 give {} [{}, {}]",
                computed.point(),
                computed.interval().0,
                computed.interval().1
            )
        };
        let check = match self.own(&record, all)? {
            None => Check::NoSamples,
            Some(computed) if !is_close(computed.point(), record.estimate.point()) => {
                return Err(wrong(&computed));
            }
            Some(computed) if computed.samples() == 1 && record.estimate.samples() > 1 => {
                Check::ValueOnly
            }
            Some(computed) if !is_equal(&computed, &record.estimate) => {
                return Err(wrong(&computed));
            }
            Some(_) => Check::Recomputed,
        };
        Ok(Figure { record, check })
    }

    /// Computes a figure from the runs; `None` if their samples do not give it.
    fn own(&self, record: &Record, all: &[Record]) -> Result<Option<Estimate>, CliError> {
        let parameter = |key| record.subject.parameter(key);
        if record.kind != Kind::Measured
            || parameter(word::SESSIONS).is_some()
            || parameter(word::CLIENT).is_some()
        {
            return Ok(None);
        }
        if record.quantity == word::CYCLES_PER_SESSION {
            return of_cycles(record, all);
        }
        let runs_of = |name: Option<&str>| {
            let runs = name.map(|name| self.runs_of(name)).filter(|runs| !runs.is_empty());
            runs.ok_or_else(|| error!("{OUTCOME}: {}: the figure of no run", record.subject))
        };
        let runs = runs_of(parameter(word::BY))?;
        let values: Option<Vec<f64>> = match parameter(word::AGAINST) {
            None => runs.iter().map(|run| of_run(run, record.quantity)).collect(),
            Some(against) => {
                let others = runs_of(Some(against))?;
                let pairs = runs.iter().zip(&others);
                pairs.map(|(run, other)| ratio(run, other, record.quantity)).collect()
            }
        };
        Ok(values.and_then(|values| median_estimate(&values)))
    }
}

/// Returns the CPU cycles of a session, computed from the CPU time of the same session. The CPU
/// time is checked as a figure of its own.
fn of_cycles(record: &Record, all: &[Record]) -> Result<Option<Estimate>, CliError> {
    let is_cpu = |cpu: &&Record| {
        cpu.quantity == word::SERVER_CPU_NS_PER_SESSION
            && cpu.unit == Unit::Nanos
            && cpu.subject.topic().service() == record.subject.topic().service()
            && cpu.subject.parameters().eq(record.subject.parameters())
    };
    match (all.iter().find(is_cpu), record.machine.core_clock_hz) {
        (Some(cpu), Some(clock)) => Ok(Some(measured_total(cpu, &clock)?.estimate)),
        _ => Ok(None),
    }
}

/// Returns a figure of one run.
fn of_run(run: &Run, quantity: Quantity) -> Option<f64> {
    let quantile = |name, q| run.latency(name)?.quantile_ns(q).map(number);
    let at = |quantities: [Quantity; 3]| {
        let place = quantities.iter().position(|known| *known == quantity)?;
        Some([0.5, 0.9, 0.99][place])
    };
    if quantity == word::SESSIONS_PER_S {
        run.rate()
    } else if quantity == word::SERVER_CPU_NS_PER_SESSION {
        run.server_cpu_ns()
    } else if quantity == word::CLIENT_CPU_NS_PER_SESSION {
        run.client_cpu_ns()
    } else if let Some(q) = at(word::CONNECT_NS) {
        quantile("connect", q)
    } else if let Some(q) = at(word::HANDSHAKE_NS) {
        quantile("handshake", q)
    } else if let Some(q) = at(word::TRANSACTION_NS) {
        quantile("transaction", q)
    } else {
        None
    }
}

/// Returns the ratio of two runs of a round.
fn ratio(run: &Run, other: &Run, quantity: Quantity) -> Option<f64> {
    if quantity == word::SESSIONS_PER_S_RATIO {
        Some(run.rate()? / other.rate()?)
    } else if quantity == word::SERVER_CPU_RATIO {
        Some(run.server_cpu_ns()? / other.server_cpu_ns()?)
    } else {
        None
    }
}

fn is_equal(computed: &Estimate, stated: &Estimate) -> bool {
    let ends = |estimate: &Estimate| [estimate.interval().0, estimate.interval().1];
    computed.samples() == stated.samples()
        && ends(computed)
            .into_iter()
            .zip(ends(stated))
            .all(|(computed, stated)| is_close(computed, stated))
}

fn is_close(x: f64, y: f64) -> bool {
    x.is_finite() && y.is_finite() && (x - y).abs() <= ROUNDING * x.abs().max(y.abs())
}

#[allow(clippy::cast_precision_loss, reason = "counts and nanoseconds of a run are far below 2^52")]
fn number(count: u64) -> f64 {
    count as f64
}
