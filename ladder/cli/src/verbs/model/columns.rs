//! Rows of words in columns, within the width of all tables.

use tollgate_report::WIDTH;
use tollgate_report::grid::{Column, grid};

/// Rows, the first of which is the heading, each column as wide as its widest cell: words on the
/// left, and in the columns of `figures` on the right. What does not fit a line is cut.
pub(super) fn columns(rows: &[Vec<String>], figures: core::ops::Range<usize>) -> String {
    let Some((headings, body)) = rows.split_first() else {
        return String::new();
    };
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

/// A figure with three digits, and thousands by a k.
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
    fn figures_stand_on_the_right_and_nothing_is_wider_than_a_table() {
        let row = |words: &str, figure: &str| vec![words.to_owned(), figure.to_owned()];
        let text = columns(&[row("who", "cycles"), row("itanium", "9")], 1..2);
        assert_eq!(text, "who      cycles\n---------------\nitanium       9\n");
        let wide = columns(&[row("x", "y"), row(&"z".repeat(200), "1")], 1..2);
        assert!(wide.lines().all(|line| line.len() <= WIDTH));
    }
}
