//! The frame of a section: heading, explanation, conclusions, picture, sources.

use maud::{Markup, html};
use tollgate_record::Record;

use super::source;
use crate::table::Table;

/// A section of the report.
pub(super) struct Section<'a> {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// The picture with its description.
    pub(super) see: Markup,
    /// Conclusions, computed from the records.
    pub(super) means: Vec<String>,
    pub(super) picture: Markup,
    /// Tables over the whole width.
    pub(super) below: Markup,
    pub(super) records: Vec<&'a Record>,
    /// The `tollgate` command that measures missing figures. An empty section names it.
    pub(super) verb: &'static str,
}

impl Section<'_> {
    /// Renders the section. Without records it names the command to run.
    pub(super) fn markup(&self) -> Markup {
        html! {
            section id=(self.id) {
                h2 { (self.title) }
                @if self.records.is_empty() {
                    (missing(self.verb))
                } @else {
                    div.beside {
                        div.picture { (self.picture) }
                        div.words {
                            h3 { "What you see" }
                            p { (self.see) }
                            @if !self.means.is_empty() {
                                h3 { "What it means" }
                                @for sentence in &self.means { p { (sentence) } }
                            }
                        }
                    }
                    (self.below)
                    (source::line(self.records.iter().copied()))
                }
            }
        }
    }
}

/// Maximum number of rows of a table that is not folded.
const OPEN_ROWS_MAX: usize = 20;

/// Returns a table under its name. A table of many rows is folded.
pub(super) fn folded(name: &str, rows: usize, table: &Markup) -> Markup {
    html! {
        details open=[(rows <= OPEN_ROWS_MAX).then_some("")] {
            summary { (name) ": " (rows) " rows" }
            (table)
        }
    }
}

/// Returns tables with their notes. The heading of the first column is the name of the table.
pub(super) fn tables(tables: &[Table]) -> Markup {
    html! {
        @for table in tables {
            (folded(&table.columns[0].heading, table.rows.len(), &table.markup()))
            @for note in &table.notes { p.note { (note) @if !note.ends_with('.') { "." } } }
        }
    }
}

/// Returns the command that measures missing figures.
pub(super) fn missing(verb: &str) -> Markup {
    html! { p.missing { "not measured: run " code { "tollgate " (verb) } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_many_rows_is_folded_away() {
        let of = |rows| folded("fleet", rows, &html! { table {} }).into_string();
        assert!(of(OPEN_ROWS_MAX).starts_with("<details open"));
        assert!(of(OPEN_ROWS_MAX + 1).starts_with("<details><summary>fleet: 21 rows</summary>"));
    }
}
