//! The counters in Prometheus's text format.

use core::fmt::Write as _;
use std::path::Path;

use rustix::time::{ClockId, clock_gettime};

use crate::counters::{Counters, Event};

/// Returns the text for one provider in one process.
pub(super) fn text(
    counters: &Counters,
    objects: usize,
    process: u32,
    context: u32,
    program: &str,
) -> String {
    let program = Path::new(program).display().to_string();
    let program = program.replace(|c: char| c == '"' || c == '\\' || c.is_control(), "_");
    let labels = format!("{{pid=\"{process}\",context=\"{context}\",program=\"{program}\"}}");
    let mut text = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, value: &dyn core::fmt::Display| {
        writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{labels} {value}")
            .expect("writing to a string succeeds");
    };
    for (event, key, help) in Event::ALL {
        let name = key.to_string_lossy().replace('-', "_") + "_total";
        metric(&name, "counter", help, &counters.read(event));
    }
    metric(
        "tollgate_objects",
        "gauge",
        "Keys and contexts that libcrypto has not freed.",
        &objects,
    );
    let now = clock_gettime(ClockId::Boottime);
    metric(
        "tollgate_written_seconds",
        "gauge",
        "When this was written, after boot: a process with this id that started later is another.",
        &format_args!("{}.{:09}", now.tv_sec, now.tv_nsec),
    );
    text
}
