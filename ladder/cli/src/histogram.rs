//! Histograms of times on the terminal.

use tollgate_record::Nanos;
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use crate::cells::float;

/// Rows of a histogram. The limits of successive rows have a constant ratio.
const BINS: usize = 12;
const BINS_F64: f64 = 12.0;

/// Columns of the longest bar.
const BAR: usize = 24;
const BAR_F64: f64 = 24.0;

/// The least ratio of successive limits, for times that are all alike.
const RATIO_MIN: f64 = 1.001;

/// Times in nanoseconds with their counts, by name.
pub(crate) type Counted = (String, Vec<(u64, u64)>);

/// Draws a histogram below a heading, with a bar for each name in each row. Names without times are
/// left out; empty if no name has times.
pub(crate) fn drawn(heading: &str, all: &[Counted]) -> String {
    let all: Vec<&Counted> = all.iter().filter(|(_, times)| !times.is_empty()).collect();
    let times = || all.iter().flat_map(|(_, times)| times).map(|(ns, _)| *ns);
    let (Some(low), Some(high)) = (times().min(), times().max()) else { return String::new() };
    let (low, high) = (float(low.max(1)), float(high.max(2)) * RATIO_MIN);
    let ratio = (high / low).powf(1.0 / BINS_F64).max(RATIO_MIN);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number")]
    let whole = |x: f64| x.max(0.0) as usize;
    let bin = |ns: u64| whole((float(ns) / low).ln() / ratio.ln()).min(BINS - 1);
    let binned = |(_, times): &&Counted| {
        let mut counts = [0; BINS];
        times.iter().for_each(|(ns, count)| counts[bin(*ns)] += count);
        counts
    };
    let counts: Vec<[u64; BINS]> = all.iter().map(binned).collect();
    let mut columns = vec![Column::figures("up to", 8)];
    for (name, _) in &all {
        columns.push(Column::figures("share", 7));
        columns.push(Column::words("", BAR).headed(name.clone()));
    }
    let mut upper = low;
    let rows = (0..BINS).map(|at| {
        upper *= ratio;
        let mut cells = vec![Nanos::new(upper).to_string()];
        for counts in &counts {
            let share = |of: u64| float(counts[at]) / float(of.max(1));
            cells.push(format!("{:.1} %", 100.0 * share(counts.iter().sum())));
            let of_longest = share(counts.iter().copied().max().unwrap_or(0));
            // A single time is seen too.
            cells.push("#".repeat(whole((BAR_F64 * of_longest).ceil())));
        }
        cells
    });
    format!("\n{}{}", wrapped(heading), grid(&columns, rows.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_in_the_row_of_its_limit() {
        let one = ("a".to_owned(), vec![(1_000_000, 3), (2_000_000, 1), (4_000_000, 4)]);
        let text = drawn("times:", &[one, ("none".to_owned(), Vec::new())]);
        let rows: Vec<&str> = text.lines().skip(4).collect();
        assert_eq!((rows.len(), text.contains("none")), (BINS, false), "{text}");
        assert!(rows[0].contains("1.12 ms  37.5 %  ##################"), "{text}");
        assert!(rows[11].contains("4.00 ms  50.0 %  ########################"), "{text}");
        assert_eq!(rows.iter().filter(|row| row.contains('#')).count(), 3, "{text}");
        assert!(text.lines().all(|line| line.len() <= 100));
    }

    #[test]
    fn equal_times_and_no_times() {
        let text = drawn("times:", &[("a".to_owned(), vec![(5, 2)])]);
        assert!(text.contains("100.0 %  ########################"), "{text}");
        assert_eq!(drawn("times:", &[]), "");
    }
}
