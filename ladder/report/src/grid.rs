//! Columns of text. Only this module uses the table crate.

use std::borrow::Cow;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use crate::text::{WIDTH, cut};

/// Blank columns between two columns of the table.
pub(crate) const GAP: u16 = 2;

/// A column: its heading, its maximum width and the alignment of its cells.
pub struct Column {
    pub(crate) heading: Cow<'static, str>,
    pub(crate) width: usize,
    pub(crate) side: Side,
}

/// The alignment of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

impl Column {
    /// Creates a column of words, left-aligned.
    #[must_use]
    pub const fn words(heading: &'static str, width: usize) -> Self {
        Self { heading: Cow::Borrowed(heading), width, side: Side::Left }
    }

    /// Creates a column of figures, right-aligned.
    #[must_use]
    pub const fn figures(heading: &'static str, width: usize) -> Self {
        Self { heading: Cow::Borrowed(heading), width, side: Side::Right }
    }

    /// Replaces the heading by a heading that is determined at run time.
    #[must_use]
    pub fn headed(self, heading: String) -> Self {
        Self { heading: Cow::Owned(heading), ..self }
    }
}

/// Checks at compile time that a line of these columns fits into [`WIDTH`].
pub(crate) const fn fitting<const N: usize>(columns: [Column; N]) -> [Column; N] {
    let mut width = GAP as usize * (N - 1);
    let mut place = 0;
    while place < N {
        width += columns[place].width;
        place += 1;
    }
    assert!(width <= WIDTH, "a line of the table is too wide");
    columns
}

/// Draws the headings, a rule and the rows. Each line ends in a line feed and has no trailing
/// spaces. Missing cells are empty; cells that are too wide are cut.
#[must_use]
pub fn grid(columns: &[Column], rows: Vec<Vec<String>>) -> String {
    const RULED: TableStyle =
        TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));
    let mut table = Table::new();
    table
        .load_style(RULED)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(columns.iter().map(|column| cut(&column.heading, column.width)));
    for row in rows {
        let cut = |(text, column): (String, &Column)| cut(&text, column.width);
        table.add_row(row.into_iter().zip(columns).map(cut));
    }
    for (place, (drawn, column)) in table.column_iter_mut().zip(columns).enumerate() {
        // The junction in the rule takes one column of the gap.
        drawn.set_padding((if place == 0 { 0 } else { GAP - 1 }, 0));
        drawn.set_cell_alignment(match column.side {
            Side::Left => CellAlignment::Left,
            Side::Right => CellAlignment::Right,
        });
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_on_their_side_and_are_cut_to_their_column() {
        const COLUMNS: [Column; 2] = [Column::words("by", 6), Column::figures("time", 8)];
        let row = |by: &str, time: &str| vec![by.to_owned(), time.to_owned()];
        let drawn = grid(&COLUMNS, vec![row("a", "1.00 µs"), row("a long name", "-")]);
        assert_eq!(drawn, "by         time\n---------------\na       1.00 µs\na lon~        -\n");
    }
}
