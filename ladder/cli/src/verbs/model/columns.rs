//! Tables of text cells within the common width.

use tollgate_report::WIDTH;
use tollgate_report::grid::{Column, grid};

/// Formats rows, the first of which is the heading. Each column is as wide as its widest cell; the
/// columns `figures` are right-aligned, the others left-aligned. Lines that are longer than the
/// common width are cut.
pub(super) fn columns(rows: &[Vec<String>], figures: core::ops::Range<usize>) -> String {
    let Some((headings, body)) = rows.split_first() else { return String::new() };
    let column = |(place, heading): (usize, &String)| {
        let cells = rows.iter().filter_map(|row| row.get(place));
        let width = cells.map(|cell| cell.chars().count()).max().unwrap_or(0).min(WIDTH);
        let is_figures = figures.contains(&place);
        let column = if is_figures { Column::figures } else { Column::words };
        column("", width).headed(heading.clone())
    };
    let columns: Vec<Column> = headings.iter().enumerate().map(column).collect();
    let cut = |line: &str| line.chars().take(WIDTH).collect::<String>().trim_end().to_owned();
    grid(&columns, body.to_vec()).lines().map(|line| cut(line) + "\n").collect()
}

/// A figure with three digits; thousands with a k.
pub(super) fn figure(value: f64) -> String {
    match value {
        v if v >= 1e4 => format!("{:.1}k", v / 1e3),
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_right_aligned_and_lines_fit_the_width() {
        let row = |words: &str, figure: &str| vec![words.to_owned(), figure.to_owned()];
        let text = columns(&[row("who", "cycles"), row("itanium", "9")], 1..2);
        assert_eq!(text, "who      cycles\n---------------\nitanium       9\n");
        let wide = columns(&[row("x", "y"), row(&"z".repeat(200), "1")], 1..2);
        assert!(wide.lines().all(|line| line.len() <= WIDTH));
    }
}
