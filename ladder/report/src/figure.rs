//! Formats figures with three digits. The unit is next to the figure or in the heading.

use tollgate_record::{Nanos, PerSecond, Record, Unit};

use crate::lookup::MISSING;

/// Counts below this are printed with all digits.
const WHOLE_MAX: f64 = 100_000.0;

/// Ratios of this value or more are not printed as a percentage.
pub(crate) const ERROR_MAX: f64 = 100.0;

/// Returns the number without its unit: `275k`, `38`. Only times keep their unit: `67.7 µs`.
pub(crate) fn number(point: f64, unit: Unit) -> String {
    match unit {
        _ if point == 0.0 => "0".to_owned(),
        Unit::Nanos => Nanos::new(point).to_string(),
        Unit::Count if point.fract() == 0.0 && point.abs() < WHOLE_MAX => format!("{point:.0}"),
        Unit::Ratio => format!("{point:.2}"),
        // Small amounts of money also get three significant digits.
        Unit::Count if point > 0.0 && point < 0.095 => format!("{point:.4}"),
        _ => PerSecond::new(point).to_string().trim_end_matches("/s").to_owned(),
    }
}

/// Returns the number of a record.
pub(crate) fn of_record(record: &Record) -> String {
    number(record.estimate.point(), record.unit)
}

/// Returns the number of a record, or a dash.
pub(crate) fn of(record: Option<&Record>) -> String {
    record.map_or_else(|| MISSING.to_owned(), of_record)
}

/// Returns the number, or a dash.
pub(crate) fn optional(point: Option<f64>, unit: Unit) -> String {
    point.map_or_else(|| MISSING.to_owned(), |point| number(point, unit))
}

/// Returns the interval of a record, `[5.04-5.19]`; a dash if it has zero width.
pub(crate) fn interval(record: Option<&Record>) -> String {
    match record.map(|record| (record.estimate.interval(), record.unit)) {
        Some(((low, high), unit)) if low < high => {
            format!("[{}-{}]", number(low, unit), number(high, unit))
        }
        _ => MISSING.to_owned(),
    }
}

/// Returns the figure of one record as a share of that of another, in percent; a dash if one lacks.
pub(crate) fn share(part: Option<&Record>, whole: Option<&Record>) -> String {
    let points =
        part.zip(whole).map(|(part, whole)| (part.estimate.point(), whole.estimate.point()));
    points.map_or_else(|| MISSING.to_owned(), |(part, whole)| percent(part, whole))
}

/// Returns a part of a whole in whole percent; a dash if the ratio is too large or not a number.
pub(crate) fn percent(part: f64, whole: f64) -> String {
    let share = 100.0 * part / whole;
    if whole > 0.0 && share.is_finite() && share.abs() < 100.0 * ERROR_MAX {
        format!("{share:.0} %")
    } else {
        MISSING.to_owned()
    }
}

/// Returns a difference with its sign.
pub(crate) fn difference(point: f64, unit: Unit) -> String {
    let sign = if point < 0.0 { "-" } else { "+" };
    format!("{sign}{}", number(point.abs(), unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(number(274_626.4, Unit::Cycles), "275k");
        assert_eq!(number(38.0, Unit::Count), "38");
        assert_eq!(number(37.4, Unit::Count), "37.4");
        assert_eq!(number(0.005_95, Unit::Count), "0.0060");
        assert_eq!(number(67_747.0, Unit::Nanos), "67.7 µs");
        assert_eq!(number(2.104, Unit::Ratio), "2.10");
        assert_eq!(difference(-1.2e6, Unit::Cycles), "-1.20M");
        assert_eq!(percent(1.0, 3.0), "33 %");
        assert_eq!(percent(1.0, 0.0), "-");
    }
}
