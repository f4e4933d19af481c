//! A law fitted to the rates of a server on several numbers of cores.

use tollgate_fleet::scaling::{Fit, Point, fit};
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, PerSecond, Record, Timestamp};
use tollgate_report::text::wrapped;

use crate::error::CliError;

/// Describes the law of a server's rates by its number of cores, or why there is none, and returns
/// the law's rates.
pub(super) fn of_rates(
    name: &str,
    points: &[(u32, Record)],
) -> Result<(String, Vec<Record>), CliError> {
    let last = points.iter().map(|(cores, _)| *cores).max().unwrap_or(1);
    Ok(match fitted(points) {
        Ok(law) => (wrapped(&format!("{name}: {}", of_law(&law, last))), predicted(points, &law)?),
        Err(why) => (wrapped(&format!("{name}: no law: {why}")), Vec::new()),
    })
}

fn fitted(points: &[(u32, Record)]) -> Result<Fit, tollgate_fleet::Error> {
    let point = |(cores, record): &(u32, Record)| Point { cores: *cores, per_s: record.estimate };
    fit(&points.iter().map(point).collect::<Vec<_>>())
}

/// Describes the law: Amdahl's law if cores do not slow each other down, otherwise the universal
/// scalability law.
fn of_law(fit: &Fit, last: u32) -> String {
    let law = fit.law();
    let name = if law.coherency() > 0.0 { "universal scalability law" } else { "Amdahl's law" };
    let ahead = fit.rate(2 * last).map(|rate| {
        let (low, high) = rate.interval();
        format!(
            "; on {} cores it would be {} [{}-{}]",
            2 * last,
            PerSecond::new(rate.point()),
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
fn predicted(points: &[(u32, Record)], fit: &Fit) -> Result<Vec<Record>, CliError> {
    let measured = points.iter().map(|(cores, _)| *cores);
    let last = measured.clone().max().unwrap_or(1);
    let from: Vec<String> = points.iter().map(|(_, r)| r.subject.to_string()).collect();
    let record = |cores: u32| {
        let (_, like) = points.first().ok_or_else(|| error!("no point"))?;
        let rate = fit.rate(cores)?;
        let subject =
            like.subject.without(&[word::SERVER_CORES]).with(word::SERVER_CORES, cores)?;
        Ok(Record {
            subject,
            estimate: rate,
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
    fn a_synthetic_sweep_gives_back_its_law() {
        for (contention, coherency) in [(0.0, 0.0), (0.02, 0.0), (0.01, 2e-4)] {
            let truth = Law::new(PerSecond::new(2000.0), contention, coherency).unwrap();
            let mut random = fastrand::Rng::with_seed(5);
            let point = |cores| {
                let rate = truth.rate(cores).get() * (0.99 + 0.02 * random.f64());
                let estimate = Estimate::new(rate, (0.99 * rate, 1.01 * rate), 9).unwrap();
                let subject = format!("server/x?by=tollgate&server_cores={cores}");
                (cores, Record { estimate, ..record(&subject, 1.0) })
            };
            let points: Vec<(u32, Record)> = (1..=64).map(point).collect();
            let law = fitted(&points).unwrap();
            assert!((law.law().contention() - contention).abs() < 0.003, "{law:?}");
            assert!((law.law().coherency() - coherency).abs() < 5e-5, "{law:?}");
            let (words, predicted) = of_rates("x", &points).unwrap();
            assert!(words.replace("\n  ", " ").contains("on 128 cores it would be"), "{words}");
            assert_eq!(predicted.len(), 65);
            assert_eq!(predicted[64].subject.parameter("server_cores"), Some("128"));
        }
    }

    #[test]
    fn two_numbers_of_cores_are_no_law() {
        let of = |(cores, rate)| (cores, record(&format!("server/x?server_cores={cores}"), rate));
        let points: Vec<_> = (1..).zip([10.0, 19.0]).map(of).collect();
        let (words, predicted) = of_rates("x", &points).unwrap();
        assert!(words.contains("no law") && words.contains("three"), "{words}");
        assert!(predicted.is_empty());
    }
}
