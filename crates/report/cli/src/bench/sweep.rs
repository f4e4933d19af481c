//! `tollgate bench --sweep-cores`: the server on more and more cores, and the law behind its rates.

use core::fmt::Write as _;
use std::process::ExitCode;

use tollgate_fleet::scaling::{Fit, Point, fit};
use tollgate_ladder::text::wrapped;
use tollgate_load::Verdict;
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, PerSecond, Record, Subject, Timestamp};

use super::{plan, report, sittings};
use crate::interrupt;
use crate::options::{Bench as Options, CoreSpan};
use crate::progress::Progress;
use crate::run::Run;
use crate::stop::Stop;

/// Columns of the longest bar.
const BAR: f64 = 40.0;

/// A server's rates, by its number of cores.
struct Series {
    /// Without the number of cores.
    subject: Subject,
    points: Vec<(u32, Record)>,
}

/// Measures at each number of cores that this machine has beside the client's, prints the rates of
/// a core, and fits a law where there are enough of them.
///
/// # Errors
///
/// Nothing can be measured, or there is no core but the client's.
pub(super) fn run(options: &Options, span: CoreSpan) -> Result<ExitCode, Stop> {
    let free = free_cores(options)?;
    let most = u32::try_from(free.len()).unwrap_or(u32::MAX);
    let last = span.last.unwrap_or(most).min(most);
    if span.first > last {
        let why = format!("--sweep-cores: this machine has {most} beside the client's: begin at 1");
        return Err(Stop::new(why));
    }
    let mut run = Run::measuring(options.written.json.as_deref())?;
    let (mut text, mut all, mut valid) = (String::new(), Vec::new(), true);
    for cores in span.first..=last {
        let server_cores = free.iter().copied().take(cores as usize).collect();
        let options = Options { server_cores, ..options.clone() };
        let progress = Progress::new("bench");
        let found = sittings(&options, &mut run, &progress)?;
        drop(progress);
        if all.is_empty() {
            text += &(report::machine(&run.host) + &report::asked(&options) + "\n");
        }
        text += &wrapped(&format!("server on {cores} of {most} cores"));
        for sitting in &found {
            valid &= sitting.verdict() != Verdict::Invalid;
            text += &sitting.verdict_text();
            all.extend(sitting.records.iter().cloned().map(|record| (cores, record)));
        }
        if interrupt::asked() {
            break;
        }
    }
    for series in series(&all)? {
        text += "\n";
        text += &drawn(&series);
        let law = fitted(&series);
        text += &wrapped(&match &law {
            Ok(law) => of_law(law, last),
            Err(why) => format!("no law: {why}; {most} beside the client's are all there are here"),
        });
        if let Ok(law) = law {
            run.output.records(&predicted(&series, &law)?)?;
        }
    }
    let code = run.end(&text)?;
    Ok(if valid { code } else { ExitCode::FAILURE })
}

/// Every core but the client's, the last one first, as a server without a sweep has it.
fn free_cores(options: &Options) -> Result<Vec<u32>, Stop> {
    let client = plan::client_cores(options);
    let all = std::thread::available_parallelism().map_err(Stop::from_error)?.get();
    let all = u32::try_from(all).unwrap_or(u32::MAX);
    let free: Vec<u32> = (0..all).rev().filter(|core| !client.contains(core)).collect();
    if client.is_empty() || free.is_empty() {
        let why = "--sweep-cores: client and server would share the only core of this machine";
        return Err(Stop::new(why));
    }
    Ok(free)
}

/// Rates by server, with the number of cores in the subject.
fn series(all: &[(u32, Record)]) -> Result<Vec<Series>, Stop> {
    let mut found: Vec<Series> = Vec::new();
    let rates = all.iter().filter(|(_, record)| record.quantity.as_str() == word::SESSIONS_PER_S);
    for (cores, record) in rates {
        let subject = record.subject.with(word::SERVER_CORES, cores).map_err(Stop::from_error)?;
        let point = (*cores, Record { subject, ..record.clone() });
        match found.iter_mut().find(|series| series.subject == record.subject) {
            Some(series) => series.points.push(point),
            None => found.push(Series { subject: record.subject.clone(), points: vec![point] }),
        }
    }
    Ok(found)
}

/// Rates of all cores and of one, as bars.
fn drawn(series: &Series) -> String {
    let per_core = |(cores, record): &(u32, Record)| record.estimate.point() / f64::from(*cores);
    let most = series.points.iter().map(per_core).fold(0.0, f64::max);
    let mut text = wrapped(&series.subject.to_string());
    text += "  cores     sess/s   per core\n";
    for point in &series.points {
        let (cores, rate) = (point.0, PerSecond::new(point.1.estimate.point()));
        let each = per_core(point);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 40")]
        let bar = "#".repeat((BAR * each / most).round() as usize);
        let (rate, each) = (rate.to_string(), PerSecond::new(each).to_string());
        let _ = writeln!(text, "  {cores:>5} {rate:>10} {each:>10}  {bar}");
    }
    text
}

fn fitted(series: &Series) -> Result<Fit, tollgate_fleet::Error> {
    let point = |(cores, record): &(u32, Record)| Point { cores: *cores, per_s: record.estimate };
    fit(&series.points.iter().map(point).collect::<Vec<_>>())
}

/// The law in words: Amdahl's where cores do not disturb each other, else the universal one.
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

/// The law's rates at the measured numbers of cores, and at twice the last of them.
fn predicted(series: &Series, fit: &Fit) -> Result<Vec<Record>, Stop> {
    let measured = series.points.iter().map(|(cores, _)| *cores);
    let last = measured.clone().max().unwrap_or(1);
    let from: Vec<String> = series.points.iter().map(|(_, r)| r.subject.to_string()).collect();
    let record = |cores: u32| {
        let (_, like) = series.points.first().ok_or_else(|| Stop::new("no point"))?;
        let rate = fit.rate(cores).map_err(Stop::from_error)?;
        let subject = series.subject.with(word::SERVER_CORES, cores).map_err(Stop::from_error)?;
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
    #![allow(clippy::unwrap_used, reason = "tests")]

    use tollgate_fleet::scaling::Law;
    use tollgate_record::Estimate;

    use super::*;
    use crate::compare::tests::record;

    /// A machine of 64 cores that nobody here has: rates by a law, off by up to 1 %.
    #[test]
    fn a_synthetic_sweep_gives_back_its_law_and_its_drawing() {
        for (contention, coherency) in [(0.0, 0.0), (0.02, 0.0), (0.01, 2e-4)] {
            let truth = Law::new(PerSecond::new(2000.0), contention, coherency).unwrap();
            let mut random = fastrand::Rng::with_seed(5);
            let points = (1..=64).map(|cores| {
                let rate = truth.rate(cores).get() * (0.99 + 0.02 * random.f64());
                let estimate = Estimate::new(rate, (0.99 * rate, 1.01 * rate), 9).unwrap();
                (cores, Record { estimate, ..record("server/x?by=tollgate", 1.0) })
            });
            let all: Vec<(u32, Record)> = points.collect();
            let found = series(&all).unwrap();
            assert_eq!(found.len(), 1);
            let law = fitted(&found[0]).unwrap();
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
    fn two_numbers_of_cores_are_no_law() {
        let all = [(1, record("server/x", 10.0)), (2, record("server/x", 19.0))];
        let found = series(&all).unwrap();
        assert!(fitted(&found[0]).unwrap_err().to_string().contains("three"));
    }
}
