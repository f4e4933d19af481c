//! Ratios of servers that were measured alternately: a sentence for each two.

use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Unit};

use crate::lookup::Origin::Measured;
use crate::lookup::{Lookup, distinct, ratio};
use crate::names::{self, service, who};

/// Returns a sentence for each load and each two servers, in the order of the loads.
pub(crate) fn sentences(records: &[Record]) -> Vec<String> {
    let lookup = Lookup(records);
    let has_ratio = |record: &Record| {
        record.quantity == word::SESSIONS_PER_S_RATIO
            && record.subject.parameter(word::AGAINST).is_some()
    };
    let mut subjects = lookup.subjects(has_ratio);
    let loads: Vec<Subject> =
        distinct(subjects.iter().map(|subject| subject.without(&[word::BY, word::AGAINST])));
    let place = |subject: &&Subject| {
        loads.iter().position(|load| *load == subject.without(&[word::BY, word::AGAINST]))
    };
    subjects.sort_by_key(place);
    subjects.into_iter().filter_map(|subject| sentence(lookup, subject)).collect()
}

fn sentence(lookup: Lookup<'_>, subject: &Subject) -> Option<String> {
    let find = |quantity| lookup.find(Measured, subject, quantity, Unit::Ratio);
    let cpu = find(word::SERVER_CPU_RATIO);
    let cpu = cpu.map(|cpu| format!(", {} times its CPU time", ratio(cpu)));
    Some(format!(
        "{}: {} has {} times the sessions per second of {}{} (95 % intervals).",
        load(subject),
        who(subject.parameter(word::BY)?),
        ratio(find(word::SESSIONS_PER_S_RATIO)?),
        who(subject.parameter(word::AGAINST)?),
        cpu.unwrap_or_default(),
    ))
}

/// Names protocol, key, suite, group, payload and manner of a load.
fn load(subject: &Subject) -> String {
    let offered = [word::SUITE, word::GROUP].into_iter().filter_map(|name| subject.parameter(name));
    let offered: String = offered.map(|name| format!(", {name}")).collect();
    let manner = [names::sizes(subject), names::resumed(subject)].into_iter().flatten();
    let manner: String = manner.map(|what| format!(", {what}")).collect();
    let payload = names::payload(names::bytes(subject));
    format!("{}{offered}, {payload}{manner}", service(subject))
}
