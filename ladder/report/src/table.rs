//! A table as data, which is rendered for a terminal or a page.

use maud::{Markup, html};

use crate::grid::{Column, Side, grid};
use crate::lookup::MISSING;
use crate::text::wrapped;

/// Columns, rows and notes.
pub(crate) struct Table {
    /// The first column contains the names of the rows.
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// Paragraphs below the table: the meaning of the headings, and the assumptions of the figures.
    pub(crate) notes: Vec<String>,
}

/// A row of a [`Table`].
pub(crate) struct Row {
    /// Headings that the row shares with adjacent rows, such as `TLS 1.3, RSA-2048`. The outermost
    /// heading is first.
    pub(crate) groups: Vec<String>,
    /// Names of the row, such as `14 KB, tollgate`. A second name denotes a part of the first, such
    /// as `resumed`.
    pub(crate) names: Vec<String>,
    /// One cell for each column after the first.
    pub(crate) cells: Vec<String>,
}

impl Row {
    /// Creates a row without headings.
    pub(crate) fn new(name: impl Into<String>, cells: Vec<String>) -> Self {
        Self { groups: Vec::new(), names: vec![name.into()], cells }
    }

    fn path(&self) -> Vec<&str> {
        self.groups.iter().chain(&self.names).map(|name| name.trim_start()).collect()
    }
}

impl Table {
    /// Renders the table for a terminal. Headings and names are printed once for consecutive rows
    /// that share them.
    pub(crate) fn text(&self) -> String {
        let mut lines = Vec::new();
        let mut above = Vec::new();
        for row in &self.rows {
            let path = row.path();
            let known = path.iter().zip(&above).take_while(|(name, above)| name == above).count();
            let is_grouped = usize::from(!row.groups.is_empty());
            let line = |place: usize| {
                let depth = (place + is_grouped).saturating_sub(row.groups.len());
                "  ".repeat(depth) + path[place]
            };
            let last = path.len() - 1;
            lines.extend((known..last).map(|place| vec![line(place)]));
            let name = if known > last { String::new() } else { line(last) };
            lines.push([vec![name], row.cells.clone()].concat());
            above = path;
        }
        let notes: String = self.notes.iter().map(|note| wrapped(note)).collect();
        grid(&self.columns, lines) + &notes
    }

    /// Renders the table for a page, without notes. Headings are printed once for consecutive rows
    /// that share them; every row has its full name.
    pub(crate) fn markup(&self) -> Markup {
        let columns = || self.columns.iter().skip(1);
        let is_new = |place: usize| {
            let above = place.checked_sub(1).and_then(|above| self.rows.get(above));
            above.is_none_or(|above| above.groups != self.rows[place].groups)
        };
        html! {
            table.figures {
                thead { tr {
                    th scope="col" { (self.columns[0].heading) }
                    @for column in columns() {
                        th.figure[column.side == Side::Right] scope="col" { (column.heading) }
                    }
                } }
                tbody {
                    @for (place, row) in self.rows.iter().enumerate() {
                        @if !row.groups.is_empty() && is_new(place) {
                            tr.group { th colspan=(self.columns.len()) scope="rowgroup" {
                                (row.groups.join(", "))
                            } }
                        }
                        tr {
                            th scope="row" { (row.names.join(", ")) }
                            @for (cell, column) in row.cells.iter().zip(columns()) {
                                td.figure[column.side == Side::Right].none[cell == MISSING]
                                    data-name=(column.heading)
                                {
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

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 2] = [Column::words("server", 12), Column::figures("per s", 6)];

    #[test]
    fn text_and_page_have_the_same_rows() {
        let row = |groups: &[&str], names: &[&str], figure: &str| Row {
            groups: groups.iter().map(ToString::to_string).collect(),
            names: names.iter().map(ToString::to_string).collect(),
            cells: vec![figure.to_owned()],
        };
        let rows = vec![
            row(&["TLS"], &["a"], "1"),
            row(&["TLS"], &["a"], "2"),
            row(&["TLS"], &["a", "resumed"], "3"),
            row(&["HTTP", "sizes"], &["a"], "4"),
        ];
        let notes = vec!["per s: sessions".to_owned()];
        let table = Table { columns: COLUMNS.into(), rows, notes };
        let text = table.text();
        let lines: Vec<&str> = text.lines().skip(2).collect();
        let expected = [
            "TLS",
            "  a              1",
            "                 2",
            "    resumed      3",
            "HTTP",
            "sizes",
            "  a              4",
            "per s: sessions",
        ];
        assert_eq!(lines, expected);
        let page = table.markup().into_string();
        assert_eq!((page.matches("<tr>").count(), page.matches("<tr class").count()), (5, 2));
        let cell = "a, resumed</th><td class=\"figure\" data-name=\"per s\">3<";
        assert!(page.contains(cell), "{page}");
    }
}
