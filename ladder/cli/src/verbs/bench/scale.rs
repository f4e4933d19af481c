//! `tollgate bench scale`: the servers on increasing numbers of cores, and a law fitted to the
//! rates.

use core::fmt::Write as _;
use std::process::ExitCode;

use tollgate_fleet::scaling::{Fit, Point, fit};
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, PerSecond, Record, Subject, Timestamp};
use tollgate_report::text::wrapped;

use super::moved::Moved;
use super::out::Judged;
use super::watch::Watch;
use super::{Pass, end, judge, plan, report, run_of, scenarios};
use crate::cells::bar;
use crate::error::CliError;
use crate::interrupt;
use crate::options::{Bench as Options, CoreSpan};
use crate::progress::Progress;

const BAR: u32 = 40;

struct Series {
    /// The subject without the number of cores.
    subject: Subject,
    points: Vec<(u32, Record)>,
}

/// Measures at each number of server cores, then at the first number again. Prints the rate per
/// core, and fits a law if there are enough points; a series that moved meanwhile has one line.
pub(super) fn run(
    options: &Options,
    span: CoreSpan,
    undone: &[String],
) -> Result<ExitCode, CliError> {
    let cores = Cores::of(options)?;
    let (most, last) = (cores.free(), cores.last(span));
    if span.first > last {
        bail!("--span: this machine has {most} in addition to the client's: begin at 1");
    }
    let mut run = run_of(options, undone)?;
    let watch = Watch::of(options)?;
    let (mut text, mut done) = (String::new(), Vec::new());
    let (mut all, mut again) = (Vec::new(), Vec::new());
    let is_sweep = last > span.first;
    let passes = (span.first..=last).map(|count| (count, Pass::First));
    for (count, pass) in passes.chain(is_sweep.then_some((span.first, Pass::Again))) {
        let server_cores = cores.all.iter().copied().take(count as usize).collect();
        let options = Options { server_cores, ..options.clone() };
        let progress = Progress::new("bench");
        let mut found = scenarios(&options, &mut run, &watch, pass)?;
        drop(progress);
        if text.is_empty() {
            text += &(report::machine(&run.host) + &report::asked(&options) + "\n");
        }
        text += &wrapped(&cores.words(count));
        for scenario in &mut found {
            text += &scenario.verdict_text();
            match pass {
                Pass::First => all.extend(scenario.records.iter().cloned()),
                Pass::Again => again.append(&mut scenario.records),
            }
        }
        done.extend(found);
        if interrupt::asked() {
            break;
        }
    }
    let again = series(&again)?;
    let (is_judged, mut have_moved) = (is_sweep && !interrupt::asked(), false);
    for series in series(&all)? {
        text += "\n";
        if is_judged && let Some(moved) = series.moved(span.first, &again, options.load.drift_max) {
            text += &moved;
            have_moved = true;
            continue;
        }
        text += &drawn(&series);
        if interrupt::asked() {
            text += &wrapped("no law: the first number of cores was not measured again");
            continue;
        }
        let law = fitted(&series, most);
        text += &wrapped(&match &law {
            Ok(law) => of_law(law, last),
            Err(why) => format!("no law: {why}; without the client's, this machine has {most}"),
        });
        if let Ok(law) = law {
            run.output.records(&predicted(&series, &law)?)?;
        }
    }
    if span.last.is_some_and(|asked| asked > last) {
        run.notes.add(format!("this machine has {last} cores: more were not measured"));
    }
    let code = run.end(&text)?;
    end(options, &run, &watch, &done.iter().map(Judged::scenario).collect::<Vec<_>>())?;
    let judged = judge(options, &done)?;
    Ok(if have_moved { ExitCode::FAILURE } else { judged.unwrap_or(code) })
}

/// The cores of this machine, in the order in which the server gets them.
struct Cores {
    /// The cores that the client does not use, then the cores of the client. The list begins with
    /// the last core that the client does not use, as in a run without `scale`.
    all: Vec<u32>,
    clients: Vec<u32>,
}

impl Cores {
    fn of(options: &Options) -> Result<Self, CliError> {
        let clients = plan::client_cores(options);
        let count = std::thread::available_parallelism()?.get();
        let cores = 0..u32::try_from(count).unwrap_or(u32::MAX);
        let (shared, mut all): (Vec<u32>, Vec<u32>) =
            cores.rev().partition(|core| clients.contains(core));
        if clients.is_empty() || all.is_empty() {
            bail!("scale: client and server would share the only core of this machine");
        }
        all.extend(shared.iter().rev());
        Ok(Self { all, clients: shared })
    }

    /// Returns the number of cores that only the server uses.
    fn free(&self) -> u32 {
        u32::try_from(self.all.len() - self.clients.len()).unwrap_or(u32::MAX)
    }

    /// Returns the largest number of cores to measure; by default the number of free cores.
    fn last(&self, span: CoreSpan) -> u32 {
        let most = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        span.last.map_or(self.free(), |last| last.min(most))
    }

    /// Describes a number of cores, and warns if the client shares one of them.
    fn words(&self, count: u32) -> String {
        let (all, free) = (self.all.len(), self.free());
        let mut words = format!("server on {count} of {all} cores");
        if count > free {
            let shared = plan::listed(&self.all[free as usize..count as usize]);
            words += &format!(
                "; core {shared} is the client's too: its rate is less than that of a server with \
                 {count} cores of its own, and no law is fitted to it"
            );
        }
        words
    }
}

/// Groups the rates by all but their number of cores.
fn series(all: &[Record]) -> Result<Vec<Series>, CliError> {
    let mut found: Vec<Series> = Vec::new();
    for record in all.iter().filter(|record| record.quantity == word::SESSIONS_PER_S) {
        let cores = record.subject.parameter(word::SERVER_CORES).and_then(|n| n.parse().ok());
        let cores = cores.ok_or_else(|| error!("{}: no number of cores", record.subject))?;
        let subject = record.subject.without(&[word::SERVER_CORES]);
        let point = (cores, record.clone());
        match found.iter_mut().find(|series| series.subject == subject) {
            Some(series) => series.points.push(point),
            None => found.push(Series { subject, points: vec![point] }),
        }
    }
    Ok(found)
}

impl Series {
    fn rate_at(&self, cores: u32) -> Option<f64> {
        let (_, record) = self.points.iter().find(|point| point.0 == cores)?;
        Some(record.estimate.point())
    }

    /// Returns the only line of a series whose rate at the first number of cores moved by more than
    /// this share: the points are not those of one machine.
    fn moved(&self, first: u32, again: &[Self], drift_max: f64) -> Option<String> {
        let same = again.iter().find(|series| series.subject == self.subject);
        let after = same.and_then(|series| series.rate_at(first));
        let moved = Moved::judge(self.rate_at(first), after, drift_max)?;
        Some(wrapped(&format!(
            "{}: INVALID: cores: {first}: {moved}: stop other programs, and run again",
            self.subject
        )))
    }
}

fn drawn(series: &Series) -> String {
    let per_core = |(cores, record): &(u32, Record)| record.estimate.point() / f64::from(*cores);
    let most = series.points.iter().map(per_core).fold(0.0, f64::max);
    let mut text = wrapped(&series.subject.to_string());
    text += "  cores     sess/s   per core\n";
    for point in &series.points {
        let (cores, rate) = (point.0, PerSecond::new(point.1.estimate.point()));
        let each = per_core(point);
        let bar = bar(each / most, BAR);
        let (rate, each) = (rate.to_string(), PerSecond::new(each).to_string());
        let _ = writeln!(text, "  {cores:>5} {rate:>10} {each:>10}  {bar}");
    }
    text
}

/// Fits the points at which the server did not share its cores with the client, up to `most` cores.
fn fitted(series: &Series, most: u32) -> Result<Fit, tollgate_fleet::Error> {
    let own = series.points.iter().filter(|(cores, _)| *cores <= most);
    let point = |(cores, record): &(u32, Record)| Point { cores: *cores, per_s: record.estimate };
    fit(&own.map(point).collect::<Vec<_>>())
}

/// Describes the law: Amdahl's law if cores do not slow each other down, otherwise the universal
/// scalability law.
fn of_law(fit: &Fit, last: u32) -> String {
    let law = fit.law();
    let name = if law.coherency() > 0.0 { "universal scalability law" } else { "Amdahl's law" };
    let ahead = fit.rate(2 * last).map(|rate| {
        let (low, high) = rate.per_s.interval();
        format!(
            "; on {} cores it would be {} [{}-{}]",
            2 * last,
            PerSecond::new(rate.per_s.point()),
            PerSecond::new(low),
            PerSecond::new(high)
        )
    });
    format!(
        "{name}: {} of one core, contention {:.4}, coherency {:.6}; the worst point is {:.1} % \
         off{}",
        law.one_core(),
        law.contention(),
        law.coherency(),
        100.0 * fit.worst_residual(),
        ahead.unwrap_or_default()
    )
}

/// Returns the law's rates at the measured numbers of cores, and at twice the last number.
fn predicted(series: &Series, fit: &Fit) -> Result<Vec<Record>, CliError> {
    let measured = series.points.iter().map(|(cores, _)| *cores);
    let last = measured.clone().max().unwrap_or(1);
    let from: Vec<String> = series.points.iter().map(|(_, r)| r.subject.to_string()).collect();
    let record = |cores: u32| {
        let (_, like) = series.points.first().ok_or_else(|| error!("no point"))?;
        let rate = fit.rate(cores)?;
        let subject = series.subject.with(word::SERVER_CORES, cores)?;
        Ok(Record {
            subject,
            estimate: rate.per_s,
            kind: Kind::Predicted { by: word::FLEET_RUNG.to_owned(), from: from.clone() },
            taken_at: Timestamp::now(),
            ..like.clone()
        })
    };
    measured.chain([2 * last]).map(record).collect()
}

#[cfg(test)]
mod tests {
    use tollgate_fleet::scaling::Law;
    use tollgate_record::Estimate;

    use super::*;
    use crate::verbs::compare::tests::record;

    /// A simulated machine of 64 cores: rates by a law, with deviations of up to 1 %.
    #[test]
    fn a_synthetic_sweep_gives_back_its_law_and_its_drawing() {
        for (contention, coherency) in [(0.0, 0.0), (0.02, 0.0), (0.01, 2e-4)] {
            let truth = Law::new(PerSecond::new(2000.0), contention, coherency).unwrap();
            let mut random = fastrand::Rng::with_seed(5);
            let points = (1..=64).map(|cores| {
                let rate = truth.rate(cores).get() * (0.99 + 0.02 * random.f64());
                let estimate = Estimate::new(rate, (0.99 * rate, 1.01 * rate), 9).unwrap();
                let subject = format!("server/x?by=tollgate&server_cores={cores}");
                Record { estimate, ..record(&subject, 1.0) }
            });
            let all: Vec<Record> = points.collect();
            let found = series(&all).unwrap();
            assert_eq!(found.len(), 1);
            let law = fitted(&found[0], 64).unwrap();
            assert!((law.law().contention() - contention).abs() < 0.003, "{law:?}");
            assert!((law.law().coherency() - coherency).abs() < 5e-5, "{law:?}");
            let words = of_law(&law, 64);
            assert!(words.contains("on 128 cores it would be"), "{words}");
            let text = drawn(&found[0]);
            assert_eq!(text.lines().count(), 66);
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
            let predicted = predicted(&found[0], &law).unwrap();
            assert_eq!(predicted.len(), 65);
            assert_eq!(predicted[64].subject.parameter("server_cores"), Some("128"));
        }
    }

    #[test]
    fn cores_that_the_client_has_too_come_last_and_that_is_said() {
        let cores = Cores { all: vec![3, 2, 0, 1], clients: vec![0, 1] };
        let span = |last| CoreSpan { first: 1, last };
        assert_eq!((cores.last(span(None)), cores.last(span(Some(9)))), (2, 4));
        assert_eq!(cores.words(2), "server on 2 of 4 cores");
        assert!(cores.words(3).contains("core 0 is the client's too"), "{}", cores.words(3));
    }

    /// A sweep over as many numbers of cores as there are rates.
    fn swept<const N: usize>(rates: [f64; N]) -> Vec<Record> {
        let of = |(cores, rate)| record(&format!("server/x?server_cores={cores}"), rate);
        (1..).zip(rates).map(of).collect()
    }

    #[test]
    fn a_first_point_that_moved_leaves_one_line() {
        let all = swept([1000.0, 1900.0, 2800.0]);
        let moved = |points: &[Record], again: &[Record]| {
            let found = series(points).unwrap();
            let line = found[0].moved(1, &series(again).unwrap(), 0.1)?.replace("\n  ", " ");
            assert!(line.starts_with("server/x: INVALID: cores: 1: "), "{line}");
            assert_eq!(line.lines().count(), 1, "{line}");
            Some(line)
        };
        for steady in [910.0, 1090.0] {
            assert_eq!(moved(&all, &swept([steady])), None);
        }
        let other = [record("server/y?server_cores=1", 1000.0)];
        for (points, again, words) in [
            (&all[..], &swept([880.0])[..], "1.00k/s before, 880/s after"),
            (&all, &swept([1120.0]), "1.00k/s before, 1.12k/s after"),
            (&all, &other, "1.00k/s before, - after"),
            (&all[1..], &swept([1000.0]), "- before, 1.00k/s after"),
        ] {
            let line = moved(points, again).unwrap();
            assert!(line.contains(words), "{words}: {line}");
        }
    }

    #[test]
    fn two_numbers_of_cores_are_no_law() {
        let all = swept([10.0, 19.0]);
        let found = series(&all).unwrap();
        assert!(fitted(&found[0], 2).unwrap_err().to_string().contains("three"));
    }
}
