//! Calls that were measured, and what is known of each.

use tollgate_record::vocabulary::{BITS, CYCLES_PER_CALL, K, UNROLL, VARIANT};
use tollgate_record::{Cycles, Subject, Unit};

use crate::shelf::Origin::{self, Measured};
use crate::shelf::{MISSING, Shelf};

pub(super) const UNROLLS: [&str; 4] = ["1", "2", "4", "8"];

/// How far squares and exponentiations are unrolled.
pub(super) const UNROLL_ELSEWHERE: &str = "4";

/// Subjects of products, one for each name and size: by name, then by size.
pub(super) fn calls(shelf: Shelf<'_>) -> Vec<Subject> {
    let mut names: Vec<&str> = Vec::new();
    let mut found: Vec<Subject> = Vec::new();
    for subject in shelf.measured(VARIANT).into_iter().chain(shelf.measured("kernel")) {
        let name = name(subject);
        let Some(bare) = sized(subject).filter(|_| name.starts_with("amm")) else {
            continue;
        };
        if !found.contains(&bare) {
            found.push(bare);
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    found.sort_by_key(|subject| names.iter().position(|known| *known == name(subject)));
    found
}

/// The subject with its size and nothing else.
fn sized(subject: &Subject) -> Option<Subject> {
    let bare: Subject = subject.path().parse().ok()?;
    let bare = bare.with(BITS, subject.parameter(BITS)?).ok()?;
    bare.with(K, subject.parameter(K)?).ok()
}

pub(super) fn name(subject: &Subject) -> &str {
    subject.segments().nth(1).unwrap_or(MISSING)
}

pub(super) fn parameter(subject: &Subject, key: &str) -> String {
    subject.parameter(key).unwrap_or(MISSING).to_owned()
}

/// The same call unrolled so far.
pub(super) fn unrolled(subject: &Subject, unroll: &str) -> Option<Subject> {
    subject.with(UNROLL, unroll).ok()
}

pub(super) fn cycles_of(shelf: Shelf<'_>, subject: Option<Subject>) -> Option<Cycles> {
    shelf.cycles(Measured, &subject?, CYCLES_PER_CALL)
}

/// The square of a product's subject, if it was measured.
pub(super) fn square_of(subject: &Subject) -> Option<Subject> {
    subject.to_string().replacen("/amm", "/ams", 1).parse().ok()
}

/// A whole number without prefix.
pub(super) fn plain(
    shelf: Shelf<'_>,
    origin: Origin,
    subject: &Subject,
    quantity: &str,
    unit: Unit,
) -> Option<String> {
    shelf.find(origin, subject, quantity, unit).map(|figure| format!("{:.0}", figure.point()))
}
