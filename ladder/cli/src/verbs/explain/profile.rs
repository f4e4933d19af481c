//! Samples of servers under load: their CPU time by part.
//!
//! `perf` samples a server in each of its runs. The load generator reads the server's CPU time at
//! the start and at the end of the measured period. Only the samples of this period are used.

use core::cell::RefCell;
use std::rc::Rc;

use rustix::time::{ClockId, clock_gettime};
use tollgate_bench::{median, median_estimate};
use tollgate_load::{Naming, Outcome, Plan, Server};
use tollgate_profile::{Event, Part, Profile, Recording, Threads, parts as all_parts};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Record, Timestamp};
use tollgate_session::measured_total;

use crate::cells::{distinct, float};
use crate::error::CliError;
use crate::options::{Bench as Options, Mode};
use crate::verbs::bench::plan::{client_cores, server_cores};
use crate::verbs::bench::scenario::Scenario;
use tempfile::TempDir;

/// The lowest rate of samples, per second of CPU time. Each run uses a different rate. If all runs
/// have the same rate and all sessions are equally long, samples can fall on the same part of every
/// session. With one rate, RSA was measured 10 % too high.
const SAMPLES_PER_S: u32 = 900;

/// The largest difference between the rates of two runs.
const SAMPLES_SPREAD: u32 = 200;

/// The highest share of lost samples.
const LOST_MAX: f64 = 0.01;

/// The lowest share of the server's CPU time that the samples must stand for. `perf` loses samples
/// if threads run for less than one sampling period at a time.
const SAMPLED_MIN: f64 = 0.7;

/// The highest share of the server's CPU time that the samples may stand for. It is above 1 because
/// the system accounts CPU time in steps of 10 ms.
const SAMPLED_MAX: f64 = 1.15;

/// Functions that no rule knows are listed if their share is above this value.
const UNKNOWN_SHOWN: f64 = 0.002;

pub(in crate::verbs) struct Profiler {
    event: Event,
    folder: TempDir,
    client_cores: Vec<u32>,
    runs: Rc<RefCell<Runs>>,
}

#[derive(Default)]
struct Runs {
    count: u32,
    recording: Option<Recording>,
    /// Times at which the load generator read the CPU time, in nanoseconds of the clock of `perf`.
    marks: Vec<u64>,
    taken: Vec<Taken>,
    /// The first error; the run continues after it.
    wrong: Option<CliError>,
}

struct Taken {
    server: String,
    began_at: Timestamp,
    profile: Profile,
}

impl Profiler {
    /// Chooses the event; `None` if the options ask for no profile.
    pub(in crate::verbs) fn new(options: &Options) -> Result<Option<Self>, CliError> {
        if !matches!(options.mode, Mode::Profile) {
            return Ok(None);
        }
        Ok(Some(Self {
            event: Event::available()?,
            folder: tollgate::temporary_folder()?,
            client_cores: client_cores(options),
            runs: Rc::default(),
        }))
    }

    /// Samples these servers from now on. The load generator reads the CPU time of a server before
    /// its run, and at the start and at the end of the measured period.
    pub(in crate::verbs) fn look<'a>(&'a self, servers: &mut [Server<'a>], threads: Vec<Threads>) {
        {
            let mut runs = self.runs.borrow_mut();
            runs.taken.clear();
            runs.recording = None; // of a run that ended with an error
        }
        for (server, threads) in servers.iter_mut().zip(threads) {
            let runs = Rc::clone(&self.runs);
            if let Some(mut meter) = server.cpu.take() {
                server.cpu = Some(Box::new(move || {
                    let cpu = meter();
                    self.mark(&threads);
                    cpu
                }));
            }
            let mut watched = server.witness.take();
            server.witness = Some(Box::new(move |outcome: &Outcome| {
                if let Some(watched) = &mut watched {
                    watched(outcome);
                }
                runs.borrow_mut().end(outcome);
            }));
        }
    }

    /// Starts `perf` at the first reading of a run, and notes the times of the later readings.
    fn mark(&self, threads: &Threads) {
        let mut runs = self.runs.borrow_mut();
        if runs.recording.is_some() && runs.marks.len() < 2 {
            runs.marks.push(now_ns());
            return;
        }
        runs.count += 1;
        let per_s = SAMPLES_PER_S + runs.count * 61 % SAMPLES_SPREAD;
        let file = self.folder.path().join("perf.data");
        runs.marks.clear();
        runs.recording = None; // that of a run that ended with an error
        match Recording::start((self.event, per_s), threads, &self.client_cores, &file) {
            Ok(recording) => runs.recording = Some(recording),
            Err(error) => _ = runs.wrong.get_or_insert(error.into()),
        }
    }

    /// Adds the records of a scenario that is not invalid.
    pub(in crate::verbs) fn end(
        &self,
        options: &Options,
        scenario: &mut Scenario,
        plan: &Plan,
        names: &[Naming],
    ) -> Result<(), CliError> {
        let mut runs = self.runs.borrow_mut();
        if let Some(wrong) = runs.wrong.take() {
            return Err(CliError::about("explain")(wrong));
        }
        if scenario.records.is_empty() {
            return Ok(());
        }
        if scenario.records.iter().all(|record| record.machine.core_clock_hz.is_none()) {
            bail!("explain: the core clock of this machine is unknown: samples give no cycles");
        }
        let (mut found, mut notes) = (Vec::new(), Vec::new());
        for (rounds, naming) in scenario.rounds.outcomes.iter().zip(names) {
            let rounds: Option<Vec<_>> =
                rounds.iter().map(|outcome| Some((outcome, runs.profile(outcome)?))).collect();
            let none = || error!("explain: a run has no samples: run again");
            let rounds = rounds.ok_or_else(none)?;
            let label = format!("{}, {}", scenario.label, naming.by);
            check(&rounds, self.event, &scenario.records).map_err(CliError::about(&label))?;
            let subject = naming.subject(plan)?;
            let is_cpu = |record: &&Record| {
                record.subject == subject && record.quantity == word::SERVER_CPU_NS_PER_SESSION
            };
            let cpu = scenario.records.iter().find(is_cpu).ok_or_else(none)?;
            let of_server = Sampled { cpu, rounds: &rounds, event: self.event };
            found.extend(of_server.records(idle_cores(options))?);
            let mut all = Profile::default();
            rounds.iter().for_each(|(_, profile)| all.add(profile));
            notes.extend(unknown(&label, &all));
        }
        scenario.records.extend(found);
        scenario.notes = notes;
        Ok(())
    }
}

impl Runs {
    fn profile(&self, of: &Outcome) -> Option<&Profile> {
        let is_own = |taken: &&Taken| taken.server == of.server && taken.began_at == of.began_at;
        Some(&self.taken.iter().find(is_own)?.profile)
    }

    /// Stops `perf`, and keeps the samples of the measured period.
    fn end(&mut self, outcome: &Outcome) {
        let Some(recording) = self.recording.take() else { return };
        match (recording.stop(), &*self.marks) {
            (Ok(samples), &[from, to]) => self.taken.push(Taken {
                server: outcome.server.clone(),
                began_at: outcome.began_at,
                profile: Profile::new(&samples, from..to),
            }),
            (Ok(_), _) => {} // the run was stopped
            (Err(error), _) => _ = self.wrong.get_or_insert(error.into()),
        }
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let [seconds, ns] = [now.tv_sec, now.tv_nsec].map(|part| u64::try_from(part).unwrap_or(0));
    1_000_000_000 * seconds + ns
}

type Round<'a> = (&'a Outcome, &'a Profile);

/// Refuses profiles that do not stand for the server's CPU time.
fn check(rounds: &[Round<'_>], event: Event, records: &[Record]) -> Result<(), CliError> {
    let lost = rounds.iter().map(|(_, profile)| profile.lost_share()).fold(0.0, f64::max);
    check_shares(lost, sampled_share(rounds, event, records))
}

fn check_shares(lost: f64, sampled: f64) -> Result<(), CliError> {
    if lost > LOST_MAX {
        bail!("perf lost {:.1} % of its samples: stop other programs", 100.0 * lost);
    }
    if !(SAMPLED_MIN..SAMPLED_MAX).contains(&sampled) {
        bail!(
            "the samples stand for {:.0} % of the server's CPU time: --pid must name all of its \
             processes, and --seconds give each run enough time",
            100.0 * sampled.max(0.0) // NaN if the server has used no CPU time
        );
    }
    Ok(())
}

/// Returns the CPU time of the samples, divided by the CPU time of the server: the median of the
/// rounds.
fn sampled_share(rounds: &[Round<'_>], event: Event, records: &[Record]) -> f64 {
    let clock = records.first().and_then(|record| record.machine.core_clock_hz);
    let per_s = match (event, clock) {
        (Event::Cycles, Some(clock)) => clock.point(),
        _ => 1e9,
    };
    let share = |(outcome, profile): &Round<'_>| {
        let cpu_s = outcome.server_cores? * outcome.sustained.as_secs_f64();
        Some(float(profile.total()) / per_s / cpu_s)
    };
    median(&rounds.iter().filter_map(share).collect::<Vec<_>>())
}

/// Returns the number of cores that the server may use; `None` if this number is unknown.
fn idle_cores(options: &Options) -> Option<f64> {
    let cores = server_cores(options).len();
    let is_known = options.given.target.is_none() && cores > 0;
    is_known.then(|| float(u64::try_from(cores).unwrap_or(u64::MAX)))
}

struct Sampled<'a> {
    cpu: &'a Record,
    rounds: &'a [Round<'a>],
    event: Event,
}

impl Sampled<'_> {
    /// Returns the cycles of each part and of its details for one session.
    fn records(&self, cores: Option<f64>) -> Result<Vec<Record>, CliError> {
        let mut all = Vec::new();
        for of in distinct(all_parts().iter().map(|part| part.of.as_str())) {
            let details = || all_parts().iter().filter(|part| part.of == of);
            let whole = |profile: &Profile| details().map(|part| profile.share(&part.word)).sum();
            all.extend(self.record(of, None, whole)?);
            for Part { word, .. } in details() {
                all.extend(self.record(of, Some(word), |profile| profile.share(word))?);
            }
        }
        all.extend(self.record(word::PART_UNKNOWN, None, Profile::unknown_share)?);
        if let Some(cores) = cores {
            // the cores spend cores / rate on a session; the part of it that is not CPU time is
            // waiting
            let idle = |outcome: &Outcome| {
                let busy = outcome.server_cores?;
                Some(outcome.server_cpu_ns_per_session()? * (cores - busy).max(0.0) / busy)
            };
            all.extend(self.figure(word::PART_IDLE, None, |(outcome, _)| idle(outcome))?);
        }
        Ok(all)
    }

    fn record(
        &self,
        part: &str,
        detail: Option<&str>,
        share: impl Fn(&Profile) -> f64,
    ) -> Result<Option<Record>, CliError> {
        self.figure(part, detail, |(outcome, profile)| {
            Some(outcome.server_cpu_ns_per_session()? * share(profile))
        })
    }

    /// Returns the median of the rounds; `None` if the part takes no time.
    fn figure(
        &self,
        part: &str,
        detail: Option<&str>,
        ns: impl Fn(&Round<'_>) -> Option<f64>,
    ) -> Result<Option<Record>, CliError> {
        let ns: Option<Vec<f64>> = self.rounds.iter().map(ns).collect();
        let Some(estimate) = ns.and_then(|ns| median_estimate(&ns)) else { return Ok(None) };
        let Some(clock) = self.cpu.machine.core_clock_hz.filter(|_| estimate.point() > 0.0) else {
            return Ok(None);
        };
        let mut conditions = self.cpu.conditions.clone();
        let samples: u64 = self.rounds.iter().map(|(_, profile)| profile.samples()).sum();
        let sampled = sampled_share(self.rounds, self.event, core::slice::from_ref(self.cpu));
        conditions.insert(word::SAMPLED_EVENT.to_owned(), self.event.name().to_owned());
        conditions.insert(word::SAMPLES.to_owned(), samples.to_string());
        conditions.insert(word::SAMPLED_SHARE.to_owned(), format!("{sampled:.2}"));
        let record = measured_total(&Record { estimate, ..self.cpu.clone() }, &clock)?;
        // the doubt about the clock can widen the interval of a small part below zero
        let (low, high) = record.estimate.interval();
        let of = &record.estimate;
        let estimate = Estimate::new(of.point(), (low.max(0.0), high), of.samples())?;
        let mut subject = record.subject.clone().with(word::PART, part)?;
        if let Some(detail) = detail {
            subject = subject.with(word::DETAIL, detail)?;
        }
        Ok(Some(Record { subject, conditions, estimate, ..record }))
    }
}

fn unknown(label: &str, profile: &Profile) -> Option<String> {
    let all = profile.unknown();
    let shown: Vec<String> = all
        .iter()
        .filter(|unknown| unknown.share >= UNKNOWN_SHOWN)
        .map(ToString::to_string)
        .collect();
    let share = 100.0 * profile.unknown_share();
    let list = shown.join(", ");
    (!shown.is_empty()).then(|| format!("{label}: no rule knows {share:.1} %: {list}"))
}

#[cfg(test)]
mod tests {
    use tollgate_profile::Samples;

    use super::*;

    #[test]
    fn lost_samples_and_processes_without_samples_refuse_a_profile() {
        let sample = "7 1.000000500: 1000000 cpu-clock: \n\t  12a39d f (/usr/sbin/nginx)\n\n";
        let lost = |count: u32, of: usize| {
            let text =
                sample.repeat(of) + &format!("7 1.000000600: PERF_RECORD_LOST lost {count}\n");
            let samples = Samples::of_script(&text).unwrap();
            Profile::new(&samples, 0..2_000_000_000).lost_share()
        };
        check_shares(lost(1, 200), 1.0).unwrap();
        for (lost, sampled, words) in [
            (lost(3, 200), 1.0, "perf lost 1.5 % of its samples: stop"),
            (0.0, 0.4, "stand for 40 % of the server's CPU time: --pid must name all"),
            (0.0, f64::NAN, "stand for 0 %"),
        ] {
            let error = check_shares(lost, sampled).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains('\n'), "{error}");
        }
    }
}
