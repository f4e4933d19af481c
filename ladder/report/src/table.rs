//! A table as data, rendered for the terminal or the page.

use maud::{Markup, html};

use crate::grid::{Column, Side, grid};
use crate::text::wrapped;

/// Columns, rows and notes.
pub(crate) struct Table {
    /// The first column is the name of the row.
    pub(crate) columns: &'static [Column],
    pub(crate) rows: Vec<TableRow>,
    /// The meaning of the headings, and the assumptions of the figures.
    pub(crate) note: String,
}

/// A row of a [`Table`].
pub(crate) struct TableRow {
    /// Headings that it shares with adjacent rows, `TLS 1.3, RSA-2048`; the outermost first.
    pub(crate) groups: Vec<String>,
    /// `14 KB, tollgate`.
    pub(crate) name: String,
    /// One for each column after the first.
    pub(crate) cells: Vec<String>,
}

impl Table {
    /// Renders the table for a terminal. A heading is printed once above its rows, and a name once
    /// for consecutive rows that share it.
    pub(crate) fn text(&self) -> String {
        let mut rows = Vec::new();
        let mut above: Option<&TableRow> = None;
        for row in &self.rows {
            let known = |place: usize| {
                above.is_some_and(|above| above.groups.get(..=place) == row.groups.get(..=place))
            };
            let new = (0..row.groups.len()).filter(|place| !known(*place));
            rows.extend(new.map(|place| vec![row.groups[place].clone()]));
            let same =
                above.is_some_and(|above| above.groups == row.groups && above.name == row.name);
            let indent = if row.groups.is_empty() { "" } else { "  " };
            let name = if same { String::new() } else { format!("{indent}{}", row.name) };
            rows.push([vec![name], row.cells.clone()].concat());
            above = Some(row);
        }
        grid(self.columns, rows) + &wrapped(&self.note)
    }

    /// Renders the table for a page. Every row has its full name.
    pub(crate) fn markup(&self) -> Markup {
        let columns = || self.columns.iter().skip(1);
        html! {
            table.figures {
                thead { tr {
                    th scope="col" {}
                    @for column in columns() {
                        th.figure[column.side.is_right()] scope="col" { (column.heading) }
                    }
                } }
                tbody {
                    @for row in &self.rows {
                        tr {
                            th scope="row" {
                                @for group in &row.groups { (group) ", " }
                                (row.name.trim_start())
                            }
                            @for (cell, column) in row.cells.iter().zip(columns()) {
                                td.figure[column.side.is_right()] data-name=(column.heading) {
                                    (cell)
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Side {
    const fn is_right(self) -> bool {
        matches!(self, Self::Right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static COLUMNS: [Column; 2] = [Column::words("server", 12), Column::figures("per s", 6)];

    #[test]
    fn text_and_page_have_the_same_rows() {
        let row = |group: &str, name: &str, figure: &str| TableRow {
            groups: vec![group.to_owned()],
            name: name.to_owned(),
            cells: vec![figure.to_owned()],
        };
        let rows = vec![row("TLS", "a", "1"), row("TLS", "a", "2"), row("HTTP", "a", "3")];
        let table = Table { columns: &COLUMNS, rows, note: "per s: sessions".to_owned() };
        let text = table.text();
        let lines: Vec<&str> = text.lines().skip(2).map(str::trim_end).collect();
        let expected = ["TLS", "  a         1", "            2", "HTTP", "  a         3"];
        assert_eq!(lines[..5], expected);
        assert_eq!(lines[5], "per s: sessions");
        let page = table.markup().into_string();
        assert_eq!(page.matches("<tr>").count(), 4);
        assert!(page.contains("TLS, a</th><td class=\"figure\" data-name=\"per s\">2<"), "{page}");
    }
}
