//! The curves as tables and as a picture.

use tollgate_record::{Estimate, PerSecond, Quantity};
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use super::prediction::FIGURES;
use super::{Curve, Point, percent};
use crate::cells::or_dash;
use crate::options::ResponseCurve;
use crate::verbs::bench::times::short;

const COLUMNS: [Column; 8] = [
    Column::figures("load", 4),
    Column::figures("sess/s", 6),
    Column::words("", 3),
    Column::figures("formula", 8),
    Column::figures("95 % interval", 17),
    Column::figures("measured", 8),
    Column::figures("95 % interval", 17),
    Column::figures("off", 6),
];

/// Returns a point's figure of this number in nanoseconds, if it has one.
type Figure = fn(&Point, usize) -> Option<f64>;

/// The load up to which the summary counts.
const SUMMARY_LOAD: f64 = 0.7;

pub(super) fn text(asked: &ResponseCurve, curves: &[Curve]) -> String {
    let mut text = String::new();
    for curve in curves {
        if let Some(moved) = curve.moved {
            text += &wrapped(&format!(
                "{}: INVALID: capacity {moved}: no load is known; stop other programs, and run \
                 again",
                curve.label
            ));
            continue;
        }
        let capacity = PerSecond::new(curve.capacity_per_s);
        text += &wrapped(&format!("{}: capacity {capacity}; {}", curve.label, summary(curve)));
        text += &grid(&COLUMNS, curve.points.iter().flat_map(rows).collect());
        text += "\n";
    }
    if asked.same_rates {
        text += &curves.windows(2).map(gain).collect::<String>();
        text += "\n";
    }
    text + &wrapped(
        "load: share of the capacity in a closed loop; p50, p90, p99: of the time from the \
         intended start to the last byte; CPU: of the server for a session; formula: a \
         queue for each core, for the CPU time at capacity, and what a session takes longer that \
         hardly waits; use it for goals up to a load of 70 %: above, batches, bursts of arrivals \
         and interruptions decide; measured: median of the rounds; off: formula by measured; -: no \
         steady state, or no valid run",
    )
}

/// Compares the p99 of the last load of two servers with the same arrivals; empty for servers of
/// different scenarios, and if one of them has no figure.
fn gain(two: &[Curve]) -> String {
    let of = |curve: &Curve| {
        let point = curve.points.last()?;
        Some((point.load, point.predicted[2].map(|p99| p99.point()), measured(point, 2)?.point()))
    };
    let [baseline, other] = two else { return String::new() };
    let (Some((load, predicted, seen)), Some((_, predicted_0, seen_0))) = (of(other), of(baseline))
    else {
        return String::new();
    };
    if other.scenario() != baseline.scenario() {
        return String::new();
    }
    let (by, against) = (other.by(), baseline.by());
    wrapped(&format!(
        "same arrivals, load {}: the p99 of {against} is {:.1} times that of {by}; predicted: {}",
        percent(load),
        seen_0 / seen,
        or_dash(predicted_0.zip(predicted), |(slow, fast)| format!("{:.1}", slow / fast)),
    ))
}

/// Describes the largest errors of the prediction.
fn summary(curve: &Curve) -> String {
    let worst = |number: usize, of: Figure| {
        let points = curve.points.iter().filter(|point| point.load <= SUMMARY_LOAD + 1e-9);
        let errors = points.filter_map(|point| {
            Some((of(point, number)? / measured(point, number)?.point() - 1.0).abs())
        });
        let worst = errors.fold(None, |worst: Option<f64>, error| {
            Some(worst.map_or(error, |worst| worst.max(error)))
        });
        or_dash(worst, percent)
    };
    format!(
        "up to a load of {}, the formula is off by at most {} (p50) and {} (p99)",
        percent(SUMMARY_LOAD),
        worst(0, predicted),
        worst(2, predicted)
    )
}

fn predicted(point: &Point, number: usize) -> Option<f64> {
    point.predicted[number].map(|predicted| predicted.point())
}

fn measured(point: &Point, number: usize) -> Option<Estimate> {
    let (_, quantity) = &FIGURES[number];
    point.measured.iter().find(|record| record.quantity == *quantity).map(|record| record.estimate)
}

fn rows(point: &Point) -> Vec<Vec<String>> {
    let row = |(number, (name, _)): (usize, &(&str, Quantity))| {
        let formula = point.predicted[number];
        let measured = measured(point, number);
        let is_first = number == 0;
        let of_first = |text: String| if is_first { text } else { String::new() };
        vec![
            of_first(percent(point.load)),
            of_first(PerSecond::new(point.per_s).to_string().replace("/s", "")),
            (*name).to_owned(),
            or_dash(formula, |formula| time(formula.point())),
            or_dash(formula, interval),
            or_dash(measured, |measured| time(measured.point())),
            or_dash(measured, interval),
            or_dash(formula.zip(measured), |(formula, measured)| off(formula, measured)),
        ]
    };
    FIGURES.iter().enumerate().map(row).collect()
}

/// Returns the error of a prediction.
fn off(predicted: Estimate, measured: Estimate) -> String {
    format!("{:+.0} %", 100.0 * (predicted.point() / measured.point() - 1.0))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a run")]
fn time(ns: f64) -> String {
    short(ns.round() as u64)
}

fn interval(of: Estimate) -> String {
    let (low, high) = of.interval();
    format!("[{}-{}]", time(low), time(high))
}

#[cfg(test)]
mod tests {
    use tollgate_record::{Kind, Record};

    use super::*;
    use crate::verbs::compare::tests::record;

    fn point(load: f64, measured_ns: Option<f64>) -> Point {
        let formula = Estimate::new(1e6, (0.9e6, 1.2e6), 41).unwrap();
        let formula = Some(formula).filter(|_| load < 0.95);
        let quantities = FIGURES.into_iter().map(|(_, quantity)| quantity);
        let measured = measured_ns.into_iter().flat_map(|ns| {
            quantities.clone().map(move |quantity| Record {
                quantity,
                kind: Kind::Measured,
                ..record("server/rsa-2048/tls13?by=openssl", ns)
            })
        });
        Point { load, per_s: 1000.0 * load, predicted: [formula; 4], measured: measured.collect() }
    }

    fn curve(label: &str, points: Vec<Point>) -> Curve {
        Curve { label: label.to_owned(), capacity_per_s: 1000.0, moved: None, points }
    }

    #[test]
    fn errors_stand_beside_each_point_and_above_the_table() {
        let points = vec![point(0.5, Some(0.8e6)), point(0.7, Some(1e6)), point(0.95, None)];
        let curve = curve("rsa-2048 tls13, openssl", points);
        let asked = |same_rates| ResponseCurve { loads: Vec::new(), same_rates };
        let text = text(&asked(false), &[curve]);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let flat = text.replace("\n  ", " ");
        assert!(flat.contains("the formula is off by at most 25 % (p50) and 25 % (p99)"), "{text}");
        assert!(flat.contains("goals up to a load of 70 %"), "{text}");
        let off: Vec<&str> = text.lines().filter(|line| line.contains("p50  ")).collect();
        assert!(off[0].ends_with("+25 %") && off[1].ends_with("+0 %"), "{text}");
        assert!(off[2].ends_with('-'), "no valid run, no error: {text}");
    }

    #[test]
    fn a_capacity_that_moved_leaves_one_line() {
        let asked = ResponseCurve { loads: Vec::new(), same_rates: false };
        let after = |capacity| {
            let points = vec![point(0.5, Some(0.8e6))];
            let mut curve = curve("rsa-2048 tls13, openssl", points);
            curve.judge(capacity, 0.1);
            text(&asked, &[curve]).replace("\n  ", " ")
        };
        for (capacity, words) in [(Some(880.0), "880/s after"), (None, "- after")] {
            let text = after(capacity);
            assert!(text.contains("INVALID: capacity 1.00k/s before, "), "{text}");
            assert!(text.contains(words) && !text.contains("p50  "), "{text}");
        }
        for capacity in [920.0, 1080.0] {
            let text = after(Some(capacity));
            assert!(text.contains("p50  ") && !text.contains("INVALID"), "{text}");
        }
    }

    #[test]
    fn servers_with_the_same_arrivals_are_compared() {
        let curve = |label: &str, p99| curve(label, vec![point(0.6, p99)]);
        let two = [
            curve("rsa-2048 tls13, openssl", Some(8e6)),
            curve("rsa-2048 tls13, tollgate", Some(2e6)),
        ];
        let line = gain(&two);
        assert!(line.contains("load 60 %: the p99 of openssl is 4.0 times"), "{line}");
        assert!(line.contains("predicted: 1.0"), "{line}");
        let other = curve("rsa-3072 tls13, openssl", Some(1e6));
        let [_, tollgate] = two;
        assert_eq!(gain(&[tollgate, other]), "");
        assert_eq!(gain(&[curve("a, b", None), curve("a, c", Some(1.0))]), "");
    }
}
