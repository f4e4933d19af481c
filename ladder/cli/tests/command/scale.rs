//! `tollgate bench scale`: rates over numbers of cores.

use std::collections::BTreeSet;
use std::thread::available_parallelism;

use tollgate_record::vocabulary as word;

use crate::bench::{SHORT, starting};
use crate::program::{recorded, text};

/// The second measurement of the first number shows a machine that changed; its records would have
/// the subjects of the first one.
#[test]
fn the_first_number_of_cores_is_measured_again_without_records() {
    if available_parallelism().unwrap().get() < 2 {
        return println!("not tested: client and server need a core each");
    }
    let words = SHORT.replace("bench", "bench scale --span 1..2 --rounds 1 --protocol tls13");
    let (output, records) = recorded(&words, &["--engine", "tollgate"]);
    let stdout = text(&output);
    let runs = starting(&stdout, "rsa-2048 tls13, cores: ");
    let ends: Vec<_> = runs.iter().filter_map(|run| run.split(':').nth(1)).collect();
    assert_eq!(ends, [" 1", " 2", " 1, again"], "{stdout}");
    let figures = records.iter().map(|record| format!("{} {}", record.subject, record.quantity));
    let different: BTreeSet<String> = figures.collect();
    assert_eq!(different.len(), records.len(), "{different:?}");
    if output.status.code() == Some(0) {
        let rates = records.iter().filter(|record| record.quantity == word::SESSIONS_PER_S);
        let cores: Vec<_> = rates.map(|rate| rate.subject.parameter(word::SERVER_CORES)).collect();
        assert_eq!(cores, [Some("1"), Some("2")], "{stdout}");
    }
}
