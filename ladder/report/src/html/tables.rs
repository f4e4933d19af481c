//! The table of kernels.

use maud::{Markup, html};
use tollgate_record::vocabulary as word;
use tollgate_record::{Area, Record, Subject, Unit};

use super::section::{missing, tables};
use super::source;
use crate::kernel;
use crate::lookup::Lookup;
use crate::lookup::Origin::{Measured, Predicted};

pub(super) fn section(records: &[Record]) -> Markup {
    let lookup = Lookup(records);
    let subjects = lookup.measured(Area::Kernel);
    let find = |origin, subject: &Subject, quantity| {
        lookup.record(origin, subject, quantity, Unit::Cycles)
    };
    let used = subjects.iter().flat_map(|subject| {
        [
            find(Measured, subject, word::CYCLES_PER_CALL),
            find(Predicted, subject, word::BOUND_CYCLES_PER_CALL),
        ]
    });
    html! {
        section id="kernels" {
            h2 { "Kernels on this machine" }
            @if subjects.is_empty() { (missing("kernel")) } @else {
                (tables(&[kernel::kernels(records)]))
                (source::line(used.flatten()))
            }
        }
    }
}
