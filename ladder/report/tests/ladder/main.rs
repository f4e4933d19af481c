//! Tables, report and pictures of synthetic and of published records.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, reason = "a test that did not run says so")]

mod any;
mod browser;
mod html;
mod markup;
mod rates;
mod rungs;
mod runs;
mod synthetic;
mod tables;

use tollgate_record::Record;
use tollgate_report::{fleet, heading, kernel, server, session, speed};

/// Sections of the report that have a picture.
const PICTURES: [&str; 5] =
    ["rung-ladder", "operation-rates", "session-cost", "sessions-per-second", "cores-per-link"];

/// Returns the line of `table` that contains all `words`.
#[track_caller]
fn line_with<'a>(table: &'a str, words: &[&str]) -> &'a str {
    let found = table.lines().find(|line| words.iter().all(|word| line.contains(word)));
    found.unwrap_or_else(|| panic!("no line with {words:?} in\n{table}"))
}

/// Returns the tables that exist for any records.
fn all_tables(records: &[Record]) -> [String; 7] {
    [
        heading::lines(records),
        tollgate_report::rungs::table(records),
        kernel::table(records),
        speed::table(records),
        session::table(records),
        server::table(records),
        fleet::table(records),
    ]
}
