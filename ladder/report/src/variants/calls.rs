//! Measured calls of variants, and the figures of each call.

use tollgate_record::vocabulary::{BITS, CYCLES_PER_CALL, K, UNROLL};
use tollgate_record::{Area, Cycles, Quantity, Subject, Topic, Unit};

use crate::lookup::Origin::{self, Measured};
use crate::lookup::{Lookup, MISSING};

pub(super) const UNROLLS: [&str; 4] = ["1", "2", "4", "8"];

/// The unroll factor of squares and exponentiations. Only products are measured with all factors.
pub(super) const UNROLL_ELSEWHERE: &str = "4";

/// Returns the subjects of products, one for each name and size, sorted by name, then by size.
pub(super) fn calls(lookup: Lookup<'_>) -> Vec<Subject> {
    let mut names: Vec<&str> = Vec::new();
    let mut found: Vec<Subject> = Vec::new();
    for subject in lookup.measured(Area::Variant).into_iter().chain(lookup.measured(Area::Kernel)) {
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

/// The subject with its size as the only parameter.
fn sized(subject: &Subject) -> Option<Subject> {
    let bare = Subject::new(subject.topic().clone()).ok()?;
    let bare = bare.with(BITS, subject.parameter(BITS)?).ok()?;
    bare.with(K, subject.parameter(K)?).ok()
}

pub(super) fn name(subject: &Subject) -> &str {
    subject.topic().kernel().unwrap_or(MISSING)
}

pub(super) fn parameter(subject: &Subject, key: &str) -> String {
    subject.parameter(key).unwrap_or(MISSING).to_owned()
}

/// The same call with this unroll factor.
pub(super) fn unrolled(subject: &Subject, unroll: &str) -> Option<Subject> {
    subject.with(UNROLL, unroll).ok()
}

pub(super) fn cycles_of(lookup: Lookup<'_>, subject: Option<Subject>) -> Option<Cycles> {
    lookup.cycles(Measured, &subject?, CYCLES_PER_CALL)
}

/// The square of a product's subject, if it was measured.
pub(super) fn square_of(subject: &Subject) -> Option<Subject> {
    let square = |name: &str| Some(format!("ams{}", name.strip_prefix("amm")?));
    let topic = match subject.topic() {
        Topic::Kernel(name) => Topic::Kernel(square(name)?),
        Topic::Variant(name) => Topic::Variant(square(name)?),
        _ => return None,
    };
    subject.with_topic(topic).ok()
}

/// A whole number without a unit prefix.
pub(super) fn plain(
    lookup: Lookup<'_>,
    origin: Origin,
    subject: &Subject,
    quantity: Quantity,
    unit: Unit,
) -> Option<String> {
    lookup.find(origin, subject, quantity, unit).map(|figure| format!("{:.0}", figure.point()))
}
