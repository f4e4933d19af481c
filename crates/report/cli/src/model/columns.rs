//! Rows of words in columns, within the width of all tables.

use tollgate_ladder::{WIDTH, text::plain};

/// Rows, the first of which is the heading, each cell as wide as its column needs: words on the
/// left, and in columns from `figures` on on the right. What does not fit a line is cut.
pub(super) fn columns(rows: &[Vec<String>], figures: core::ops::Range<usize>) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |place: usize| {
        let cells = rows.iter().filter_map(|row| row.get(place));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cell = |(place, cell): (usize, &String)| {
            let width = widths[place];
            if figures.contains(&place) {
                format!("{cell:>width$}")
            } else {
                format!("{cell:<width$}")
            }
        };
        let line = row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ");
        let line: String = plain(&line).chars().take(WIDTH).collect();
        text += line.trim_end();
        text.push('\n');
        if number == 0 {
            let whole = widths.iter().sum::<usize>() + 2 * count.saturating_sub(1);
            text += &"-".repeat(whole.min(WIDTH));
            text.push('\n');
        }
    }
    text
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
