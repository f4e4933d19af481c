//! Rung 0: the limits of the processor.

use tollgate_record::{Record, Unit};

use super::{Content, Figure};
use crate::figure::{self, percent};
use crate::model::{HOST, modelled};
use crate::simulation::Headline;
use tollgate_record::vocabulary::LIMIT;

/// The size that all papers use.
const BITS: &str = "1024";

pub(super) fn rung(records: &[Record]) -> Content<'_> {
    let mut all = modelled(records);
    all.retain(|row| row.change.is_empty());
    let find = |machine| all.iter().find(|row| row.machine == machine && row.bits == BITS);
    let host = find(HOST);
    let mut rows = Vec::new();
    if let Some(host) = host {
        let row = Figure::new("one product of 1024 bits, here", Unit::Cycles, "cycles").shown();
        rows.push(row.bound(host.predicted).measured(host.measured));
    }
    // One line stands for all machines of papers: the Itanium, otherwise the first machine with
    // both figures.
    let paper = find("itanium").or_else(|| all.iter().find(|row| row.error().is_some()));
    if let Some(paper) = paper.filter(|row| row.machine != HOST) {
        let what = format!("the same on {}", paper.name());
        let row = Figure::new(what, Unit::Cycles, "cycles").shown();
        rows.push(row.predicted(paper.predicted).published(paper.published));
    }
    let study = Headline::of(records);
    if let Some(study) = &study {
        let row = |what| Figure::new(what, Unit::Cycles, "cycles");
        rows.push(row("LEON-2, 1024-bit exponentiation").predicted(study.plain));
        let extended = row("LEON-2 that multiplies and adds");
        rows.push(extended.predicted(Some(study.extended)).published(study.published));
    }

    let mut sentences = Vec::new();
    if let Some(record) = host.and_then(|host| host.predicted) {
        let cycles = figure::number(record.estimate.point(), Unit::Cycles);
        let limit = record.conditions.get(LIMIT).map_or("unnamed", String::as_str);
        sentences.push(format!(
            "This processor cannot multiply two numbers of 1024 bits and reduce the product in \
             less than {cycles} cycles; what limits it: {limit}."
        ));
    }
    let errors: Vec<f64> = all.iter().filter_map(|row| row.error()).map(f64::abs).collect();
    if let Some(worst) = errors.iter().copied().reduce(f64::max) {
        let sources = all.iter().filter_map(|row| crate::cite::Citation::of(row.published?));
        let source = sources.map(|source| source.to_string()).next().unwrap_or_default();
        sentences.push(format!(
            "The same arithmetic lands within {} of {} published figures of {source}.",
            percent_of_ratio(worst),
            errors.len(),
        ));
    }
    sentences.extend(study.map(|study| study.sentence()));
    (rows, sentences)
}

/// Returns a ratio in percent. Small values have one decimal.
fn percent_of_ratio(ratio: f64) -> String {
    if ratio < 0.095 { format!("{:.1} %", 100.0 * ratio) } else { percent(ratio, 1.0) }
}
